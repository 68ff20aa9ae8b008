package gitlab_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestABranchThatIsDeletedAfterTheMergeIsMerged(t *testing.T) {
	t.Parallel()
	tier := layout.Tier{Seed: "a", Cluster: "edge"}
	for method, squash := range map[string]bool{"merge": false, "merge, squashed": true, "rebase_merge": false, "ff": false, "ff, squashed": true} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Configure(fleet, func(o *servers.Settings) {
				o.MergeMethod = map[bool]string{true: "ff", false: method}[method == "ff, squashed"]
				if method == "merge, squashed" {
					o.MergeMethod = "merge"
				}
			})
			f.list()
			p, err := f.forge.Propose(t.Context(), f.push(tier, "w1"))
			must(t, err)
			f.list()
			must(t, f.As("ann").Merge(fleet, int(p.Number), squash))
			f.As("ann").DeleteBranch(fleet, p.Branch)
			for what, process := range map[string]fleetOf{"this process": f, "another one": f.restarted()} {
				list := process.list()
				got, err := process.forge.Closed(t.Context(), process.refs(), tier, "w1")
				must(t, err)
				if got.Outcome != forge.OutcomeMerged || len(list) > 0 {
					t.Errorf("%s: the outcome is %s; listed %+v", what, got.Outcome, list)
				}
			}
		})
	}
}

func TestForksAreNeverTouched(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.list()
	tier := layout.Tier{Seed: "a", Cluster: "edge"}
	ours, err := f.forge.Propose(t.Context(), f.push(tier, "w1"))
	must(t, err)
	const fork = "ann/fleet"
	f.AddProject(fork, servers.ProjectOptions{ForkOf: fleet, Roles: map[string]servers.Role{"ann": servers.Maintainer}})
	head := f.As("ann").PushCommit(fork, ours.Branch, "Theirs\n", map[string]string{"x": "x\n"})
	theirs := f.As("ann").OpenFromFork(fork, ours.Branch, "main")
	if list := f.list(); len(list) != 1 || list[0].Number != ours.Number {
		t.Errorf("listed %+v", list)
	}
	must(t, f.forge.Supersede(t.Context(), f.list()[0], "the plan has changed"))
	f.list()
	if err := f.As("ann").Merge(fleet, theirs, false); err != nil || f.Branch(fork, ours.Branch) != head {
		t.Errorf("the merge request of the fork is not what it was: %v", err)
	}
}
