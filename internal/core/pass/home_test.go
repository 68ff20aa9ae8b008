package pass

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// TestRequestsAreReadWhereThePlanIs has plans of two repositories. One may have lost its branch.
func TestRequestsAreReadWhereThePlanIs(t *testing.T) {
	t.Parallel()
	in := func(repos ...string) *plan.Plan {
		p := &plan.Plan{Seed: "web"}
		for _, repo := range repos {
			p.Tiers = append(p.Tiers, plan.Tier{Cluster: repo, Repo: repo})
		}
		return p
	}
	at := layout.Hash{1}
	for sentence, c := range map[string]struct {
		previous *Previous
		want     string
	}{
		"the first one":                                 {&Previous{Plan: in("a", "b"), Commits: map[string]layout.Hash{"a": at, "b": at}}, "a"},
		"the first one that has its branch":             {&Previous{Plan: in("a", "b"), Commits: map[string]layout.Hash{"b": at}}, "b"},
		"that of the branches, where base has another":  {&Previous{Plan: in("b"), replaced: in("a", "b"), Commits: map[string]layout.Hash{"a": at, "b": at}}, "a"},
		"nowhere, where no repository has it":           {&Previous{Plan: in("a")}, ""},
		"nowhere, where there is no plan":               {nil, ""},
		"nowhere, where the branches only have another": {&Previous{Plan: in("a"), Commits: map[string]layout.Hash{"c": at}}, ""},
	} {
		if got := c.previous.Home(); got != c.want {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}
