package pass_test

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
)

func TestATierIsRetriedAlone(t *testing.T) {
	tier := func(cluster string) layout.Tier { return layout.Tier{Seed: "web", Cluster: cluster} }
	f := newFleet(t, map[string][]string{"a": {"east", "west"}})
	f.seed("web", configMap("c", 1))
	f.step()
	for _, cluster := range []string{"east", "west"} {
		branch := "furrow/main/tier/web/" + cluster + "/00"
		p := f.repos["a"].proposals[branch]
		delete(f.repos["a"].proposals, branch)
		delete(f.repos["a"].refs, branch)
		f.repos["a"].closed[pass.ClosedKey(p.Tiers[0].Tier, p.Tiers[0].Digest)] = closed{outcome: release.ClosedRejected}
	}
	marker := func(string, string) string { return layout.RetryTierBranch("main", tier("east")) }
	f.mark("a", marker, "web")
	d := f.decide()
	var proposed []string
	for _, a := range d.Actions {
		if a.Verb == pass.Propose {
			proposed = append(proposed, a.Branch)
		}
	}
	if want := []string{layout.TierBranch("main", tier("east"))}; !slices.Equal(proposed, want) {
		t.Errorf("proposed again are %q, want %q: %q", proposed, want, actions(d))
	}
	if !slices.Contains(actions(d), "a: Drop retry-tier/web/east/00") {
		t.Errorf("the marker stays: %q", actions(d))
	}
}

func TestOpenProposalsOfARepositoryAreLimited(t *testing.T) {
	f := newFleet(t, map[string][]string{"a": {"east", "west"}})
	f.put("repos/a.yaml", document("GitOpsRepo", "a", "url: memory, proposals: {maxOpen: 3}"))
	f.seed("api", configMap("a", 1))
	f.seed("web", configMap("c", 1))
	f.step()
	open := func() (n int) { return len(f.repos["a"].proposals) }
	if open() != 3 {
		t.Errorf("%d proposals are open, want 3", open())
	}
	d := f.decide()
	queued := 0
	for _, s := range d.Seeds {
		for _, tier := range s.Result.Tiers {
			if tier.Reason == "MaxOpenProposals" {
				queued++
			}
		}
	}
	if queued != 1 {
		t.Errorf("%d tiers wait for room, want 1", queued)
	}
	f.plain = true
	f.step()
	if open() != 4 {
		t.Errorf("on plain Git %d proposals are open, want 4", open())
	}
}
