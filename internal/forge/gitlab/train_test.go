package gitlab_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestAMergeTrainMerges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.CheckedAfter(0)
	s.Configure(fleet, func(o *servers.Settings) { o.Trains = true })
	r := s.open("a")
	repository, err := s.api.Repository(t.Context())
	must(t, err)
	if !repository.Queue {
		t.Error("the train is not noticed")
	}
	how := pull.Merge{Method: pull.MergeCommit, Head: r.Head}
	for range 2 { // the second time it is there already
		must(t, s.api.Enqueue(t.Context(), r.Number, how))
	}
	is, err := s.api.Queued(t.Context(), r.Number)
	must(t, err)
	if want := (pull.Queued{Is: true, Why: "which is fresh"}); is != want {
		t.Errorf("it is %+v", is)
	}
	s.Derail(fleet, int(r.Number), "the pipeline did not succeed")
	is, err = s.api.Queued(t.Context(), r.Number)
	must(t, err)
	if want := (pull.Queued{Why: "the pipeline did not succeed"}); is != want {
		t.Errorf("removed, it is %+v", is)
	}
	must(t, s.api.Enqueue(t.Context(), r.Number, how))
	s.RunTrain(fleet)
	got, err := s.api.Get(t.Context(), r.Number)
	must(t, err)
	if got.State != pull.Merged {
		t.Errorf("it is %+v", got)
	}
}

func TestWhatTheTrainRefusesIsExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.CheckedAfter(0)
	s.Configure(fleet, func(o *servers.Settings) { o.Trains, o.Approvals = true, 1 })
	r := s.open("a")
	if err := s.api.Enqueue(t.Context(), r.Number, pull.Merge{Head: r.Head}); !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), "not approved") {
		t.Errorf("an approval is missing: %v", err)
	}
	if err := s.api.Enqueue(t.Context(), r.Number, pull.Merge{Head: git.Hash{1}}); !forge.IsGone(err) {
		t.Errorf("its branch has moved: %v", err)
	}
}

// TestProposalsThatAreBehindAreGraftedAnew: fast-forward merges only what is on top of base.
func TestProposalsThatAreBehindAreGraftedAnew(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"ff", "rebase_merge"} {
		f := newFleet(t)
		f.Configure(fleet, func(o *servers.Settings) { o.MergeMethod = method })
		f.list()
		tier := layout.Tier{Seed: "a", Cluster: "edge"}
		_, err := f.forge.Propose(t.Context(), f.push(tier, "w1"))
		must(t, err)
		f.site.push("main", "b", "b\n")
		p := f.list()[0]
		if p.Stale {
			t.Fatal("it is stale before anybody tried")
		}
		if err := f.forge.Merge(t.Context(), p, bob); !forge.IsConflict(err) {
			t.Fatalf("%s: got %v", method, err)
		}
		if p = f.list()[0]; !p.Stale {
			t.Fatalf("%s: it is not grafted anew", method)
		}
		_, err = f.forge.Propose(t.Context(), f.push(tier, "w1"))
		must(t, err)
		p = f.list()[0]
		if err := f.forge.Merge(t.Context(), p, bob); err != nil || p.Stale {
			t.Errorf("%s: stale %t, %v", method, p.Stale, err)
		}
	}
}
