package github_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestWhatBaseRequires(t *testing.T) {
	t.Parallel()
	all := servers.Protection{Checks: []string{"furrow/gate", "ci"}, Reviews: 2, Owners: true, Threads: true, Signed: true}
	rules := all
	rules.Ruleset, rules.Queue = true, true
	for name, tc := range map[string]struct {
		protection *servers.Protection
		admin      bool
		want       forge.Requirements
		requests   int
	}{
		"no protection":                       {nil, false, forge.Requirements{}, 2},
		"branch protection":                   {&all, false, forge.Requirements{Checks: []string{"ci", "furrow/gate"}, HidesReviews: true}, 3},
		"branch protection, as administrator": {&all, true, forge.Requirements{Checks: []string{"ci", "furrow/gate"}, Approvals: 2, CodeOwners: true, Threads: true, Signed: true}, 3},
		"rules":                               {&rules, false, forge.Requirements{Checks: []string{"ci", "furrow/gate"}, Approvals: 2, CodeOwners: true, Threads: true, Signed: true, Queue: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Protect(fleet, "main", tc.protection)
			if tc.admin {
				s.AddRole(fleet, "bot", "admin")
			}
			asked := s.asked(func() {
				got, err := s.api.Requires(t.Context())
				must(t, err)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			if sum(asked) != tc.requests {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func TestWhatBaseRequiresMayBeHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Protect(fleet, "main", &servers.Protection{Checks: []string{"gate"}})
	got, err := s.as(s.Token("eve", "repo")).Requires(t.Context())
	must(t, err)
	if want := (forge.Requirements{HidesChecks: true, HidesReviews: true}); !cmp.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	s.Fail(servers.Fault{Kind: servers.BadGateway})
	if _, err := s.api.Requires(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Error(err)
	}
}
