package forge_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
)

func TestRequirementsAreListed(t *testing.T) {
	for want, r := range map[string]forge.Requirements{
		"": {},
		"2 approvals; a code owner; checks: furrow/gate, ci":          {Approvals: 2, CodeOwners: true, Checks: []string{"furrow/gate", "ci"}},
		"1 approval; approval by 2 of security; all threads resolved": {Approvals: 1, Approvers: []string{"2 of security"}, Threads: true},
		"signed commits; the merge queue; all checks":                 {Signed: true, Queue: true, AllChecks: true},
		"checks: ci; what these credentials may not see":              {Checks: []string{"ci"}, HidesReviews: true},
	} {
		if got := strings.Join(r.List(), "; "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestACheckIsRequiredByNameOrPattern(t *testing.T) {
	const name = "furrow/gate"
	for what, tc := range map[string]struct {
		of   forge.Requirements
		want bool
	}{
		"none":                    {forge.Requirements{Approvals: 1, HidesReviews: true}, false},
		"its name":                {forge.Requirements{Checks: []string{"ci", name}}, true},
		"another name":            {forge.Requirements{Checks: []string{"furrow/gateway", "ci [a]"}}, false},
		"a pattern":               {forge.Requirements{Checks: []string{"furrow/*"}}, true},
		"a pattern of all":        {forge.Requirements{Checks: []string{"**"}}, true},
		"all checks":              {forge.Requirements{AllChecks: true}, true},
		"what may not be seen":    {forge.Requirements{HidesChecks: true}, true},
		"a pattern that is wrong": {forge.Requirements{Checks: []string{"[a"}}, true},
	} {
		if got := tc.of.RequiresCheck(name); got != tc.want {
			t.Errorf("%s: got %t", what, got)
		}
	}
}
