package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// remembering is a forge that, other than plain Git, knows how merged proposals landed.
type remembering struct {
	forge.Forge
	merges map[string]git.Hash // by Wants
}

func (f remembering) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, wants string) (forge.Closed, error) {
	closed, err := f.Forge.Closed(ctx, refs, tier, wants)
	if closed.Outcome == forge.OutcomeMerged {
		closed.Merge = f.merges[wants]
		closed.URL = "https://forge.example.com/pulls/" + wants[len(wants)-4:]
	}
	return closed, err
}

const (
	amendedTier = "edge-1/tier-01"
	amendedFile = "planted/edge-1/edge/tier-01/deployment.web.yaml"
)

// amended is a world in which a person has changed the Deployment in its proposal
// before merging it, and everything is released.
func amended(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	merges := map[string]git.Hash{}
	w.onForge = func(f forge.Forge) forge.Forge { return remembering{f, merges} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	for range 120 {
		w.pass()
		for _, p := range w.open() {
			if p.Tier.Cluster == "edge-1" && p.Tier.Ordinal == 1 && !p.Edited {
				w.gitops.put(p.Branch, "Take the image of the mirror", map[string]string{amendedFile: strings.Replace(w.file(p.Branch, amendedFile), "web:1", "mirror/web:1", 1)})
				continue
			}
			w.merge(p)
			refs, _ := w.gitops.Fetch(t.Context(), "main")
			merges[p.Wants] = refs["main"]
		}
		w.tick()
		if w.report.Done() && len(w.report.Seeds) == 1 && !w.report.Changed {
			return w
		}
	}
	t.Fatalf("not planted:\n%s", w.describe())
	return nil
}

// file is what a branch has at a path.
func (w *world) file(branch, at string) string {
	w.t.Helper()
	w.gitops.mu.Lock()
	defer w.gitops.mu.Unlock()
	hash, ok := w.gitops.trees[w.gitops.commits[w.gitops.refs[branch]].Tree][at]
	if !ok {
		w.t.Fatalf("branch %s has no %s", branch, at)
	}
	return string(w.gitops.blobs[hash])
}

func (w *world) amendment() string {
	seed, _ := w.report.Seed("edge")
	for _, t := range seed.Tiers {
		if t.Cluster == "edge-1" && t.Ordinal == 1 {
			return t.Amended
		}
	}
	return ""
}

func TestWhatAPersonAmendsIsReleasedAndShown(t *testing.T) {
	w := amended(t)
	if got := w.state(amendedTier); got != "Released: healthy" {
		t.Errorf("the amended tier is %q", got)
	}
	for _, part := range []string{"https://forge.example.com/pulls/", "git diff origin/furrow/main/plan/edge origin/main -- planted/edge-1/edge/tier-01"} {
		if !strings.Contains(w.amendment(), part) {
			t.Errorf("the amendment is %q, want %q in it", w.amendment(), part)
		}
	}
	w.rounds(5)
	if w.report.Changed || len(w.open()) != 0 || w.amendment() == "" {
		t.Errorf("an amended tier is no reason to act:\n%s", w.describe())
	}
	w.check()
}

func TestAnUpdateReplacesWhatAPersonAmended(t *testing.T) {
	w := amended(t)
	w.control.put("main", "update", map[string]string{"seeds/edge.yaml": storySeed(2, true)})
	if !w.settle(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}
	if got := w.file("main", amendedFile); !strings.Contains(got, "web:2") || w.amendment() != "" {
		t.Errorf("base has %s\namended: %q", got, w.amendment())
	}
	w.check()
}

func TestAnAmendedTierCanBeRemoved(t *testing.T) {
	w := amended(t)
	w.control.put("main", "remove", map[string]string{"seeds/edge.yaml": ""})
	if !w.settle(60) {
		t.Fatalf("not removed:\n%s", w.describe())
	}
	w.check()
}

func TestRetryProposesThePlanOverWhatAPersonAmended(t *testing.T) {
	w := amended(t)
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	if !w.settle(60) {
		t.Fatalf("not settled:\n%s", w.describe())
	}
	if got := w.file("main", amendedFile); strings.Contains(got, "mirror/") || w.amendment() != "" {
		t.Errorf("base has %s\namended: %q", got, w.amendment())
	}
}

func TestWhatAPersonChangesOnBaseAfterAnAmendmentIsForeign(t *testing.T) {
	w := amended(t)
	w.gitops.put("main", "meddle", map[string]string{amendedFile: strings.Replace(w.file("main", amendedFile), "mirror", "other", 1)})
	w.rounds(5)
	if got := w.state(amendedTier); !strings.HasPrefix(got, "Held: ") || w.amendment() != "" {
		t.Errorf("the tier is %q, amended %q", got, w.amendment())
	}
}
