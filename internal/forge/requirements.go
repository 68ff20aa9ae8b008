package forge

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Requirements are what a base branch asks of a merge.
type Requirements struct {
	// Checks are the names of statuses and check runs that must have passed, or glob patterns; with
	// AllChecks all that there are must have.
	Checks    []string
	AllChecks bool
	// Approvals is how many people have to approve. Approvers are further ones, for people: "2 of
	// security". CodeOwners reports whether the owners of changed files have to.
	Approvals  int
	Approvers  []string
	CodeOwners bool
	// Threads reports whether all threads of reviews must be resolved.
	Threads bool
	// Queue reports whether base is merged to only by a merge queue or train.
	Queue bool
	// Linear reports whether base takes no merge commits.
	Linear bool
	// Signed reports whether base takes only signed commits, as far as the credentials may see that.
	Signed bool
	// HidesChecks and HidesReviews report whether there may be more checks, or other requirements,
	// that the credentials may not see.
	HidesChecks, HidesReviews bool
}

// RequiresCheck reports whether base may require a check.
func (r Requirements) RequiresCheck(name string) bool {
	return r.HidesChecks || r.AllChecks || slices.ContainsFunc(r.Checks, func(pattern string) bool {
		matches, err := path.Match(pattern, name)
		return pattern == name || matches || err != nil || strings.Contains(pattern, "**")
	})
}

// List returns the requirements for people, who approves first; none where base asks for nothing.
func (r Requirements) List() []string {
	var out []string
	if r.Approvals == 1 {
		out = append(out, "1 approval")
	} else if r.Approvals > 1 {
		out = append(out, fmt.Sprintf("%d approvals", r.Approvals))
	}
	for _, who := range r.Approvers {
		out = append(out, "approval by "+who)
	}
	for _, row := range []struct {
		is   bool
		text string
	}{
		{r.CodeOwners, "a code owner"},
		{r.Threads, "all threads resolved"},
		{r.Signed, "signed commits"},
		{r.Queue, "the merge queue"},
		{r.AllChecks, "all checks"},
		{len(r.Checks) > 0, "checks: " + strings.Join(r.Checks, ", ")},
		{r.HidesChecks || r.HidesReviews, "what these credentials may not see"},
	} {
		if row.is {
			out = append(out, row.text)
		}
	}
	return out
}
