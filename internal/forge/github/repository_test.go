package github_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

var tier = layout.Tier{Seed: "a", Cluster: "edge"}

// propose opens the proposal of tier.
func (f fleetOf) propose(digest string) forge.Proposal {
	f.Helper()
	p, err := f.forge.Propose(f.Context(), f.push(tier, digest))
	must(f.T, err)
	return p
}

func (f fleetOf) wantOutcome(digest string, want forge.Outcome) {
	f.Helper()
	list := f.list()
	got, err := f.forge.Closed(f.Context(), f.refs(), tier, digest)
	must(f.T, err)
	if got.Outcome != want || len(list) > 0 {
		f.Errorf("the outcome is %s, want %s; listed %+v", got.Outcome, want, list)
	}
}

func TestABranchThatGitHubDeletesOnMergeIsMerged(t *testing.T) {
	t.Parallel()
	for name, merge := range map[string]func(f fleetOf, p forge.Proposal) error{
		"by Furrow":           func(f fleetOf, p forge.Proposal) error { return f.forge.Merge(f.Context(), p, bob) },
		"by a merge commit":   func(f fleetOf, p forge.Proposal) error { return f.As("ann").Merge(fleet, int(p.Number), "merge") },
		"squashed":            func(f fleetOf, p forge.Proposal) error { return f.As("ann").Merge(fleet, int(p.Number), "squash") },
		"rebased onto a base": func(f fleetOf, p forge.Proposal) error { return f.As("ann").Merge(fleet, int(p.Number), "rebase") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Configure(fleet, func(o *servers.Settings) { o.DeleteBranchOnMerge = true })
			f.list()
			f.propose("w1")
			p := f.list()[0]
			must(t, merge(f, p))
			if f.Branch(fleet, p.Branch) != "" {
				t.Fatal("the branch is still there")
			}
			f.wantOutcome("w1", forge.OutcomeMerged)
			f.restarted().wantOutcome("w1", forge.OutcomeMerged)
		})
	}
}

func TestForksAreNeverTouched(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.list()
	ours := f.propose("w1")
	const fork = "ann/fleet"
	f.AddRepo(fork, servers.RepoOptions{ForkOf: fleet, Private: true})
	head := f.As("ann").PushCommit(fork, ours.Branch, "Theirs\n", map[string]string{"x": "x\n"})
	if _, err := f.as(f.Token("ann", "repo")).Create(t.Context(), pull.NewRequest{Branch: "ann:" + ours.Branch, Title: ours.Title, Body: ours.Body}); !forge.IsGone(err) {
		t.Fatal(err)
	}
	again := f.propose("w2")
	if list := f.list(); len(list) != 1 || list[0].Number != ours.Number || again.Number != ours.Number {
		t.Errorf("opened %d, then %d; listed %+v", ours.Number, again.Number, list)
	}
	must(t, f.forge.Supersede(t.Context(), f.list()[0], "the plan has changed"))
	f.wantRequests("a pass", func() { f.list() }, "1 GET /pulls")
	if err := f.As("ann").Merge(fleet, int(ours.Number)+1, "merge"); err != nil || f.Branch(fork, ours.Branch) != head {
		t.Errorf("the pull request of the fork is not what it was: %v", err)
	}
}

func TestAnotherDefaultBranchChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.list()
	p := f.propose("w1")
	f.site.push("trunk", "trunk", "trunk\n")
	f.Configure(fleet, func(o *servers.Settings) { o.DefaultBranch = "trunk" })
	if list := f.list(); len(list) != 1 || list[0].Number != p.Number || list[0].Stale {
		t.Errorf("listed %+v", list)
	}
	must(t, f.forge.Merge(t.Context(), f.list()[0], bob))
	f.wantOutcome("w1", forge.OutcomeMerged)
	got, err := f.api.Repository(t.Context())
	must(t, err)
	if want := (pull.Repository{Methods: got.Methods, DefaultBranch: "trunk"}); !cmp.Equal(got, want) {
		t.Errorf("it is %+v", got)
	}
}
