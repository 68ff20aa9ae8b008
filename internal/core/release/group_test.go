package release_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// TestAProposalHasNoMoreTiersThanFit: the rest is proposed beside it, and what becomes free
// later fills those up that have room.
func TestAProposalHasNoMoreTiersThanFit(t *testing.T) {
	p := &plan.Plan{Seed: "app"}
	facts := release.Facts{GroupBy: v1alpha1.GroupByLevel, Tiers: map[layout.Tier]release.TierFacts{}}
	for i := range 2*release.MaxMembers + 50 {
		name := layout.Tier{Seed: "app", Cluster: fmt.Sprintf("c%04d", i)}
		p.Tiers = append(p.Tiers, makeTier(name, "h"))
		facts.Tiers[name] = release.TierFacts{Base: release.BaseNothing, Closed: release.ClosedNone}
	}
	count := func() map[string]string {
		out := map[string]string{}
		for _, g := range release.Next(p, facts).Groups {
			out[g.Name] = fmt.Sprintf("%s %d", g.Act, len(g.Tiers))
		}
		return out
	}
	want := map[string]string{"level-00": "Propose 200", "level-00.2": "Propose 200", "level-00.3": "Propose 50"}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("the proposals differ (-want +got):\n%s", diff)
	}
	// The first of them was merged, and the third is open.
	third := release.Group{Name: "level-00.3"}
	for i := range p.Tiers {
		name := p.Name(&p.Tiers[i])
		f := facts.Tiers[name]
		switch {
		case i < release.MaxMembers:
			f.Base = release.BaseEntries
		case i >= 2*release.MaxMembers:
			f.Proposal = &release.Proposal{Group: third.Name, Digest: p.Tiers[i].Digest()}
			third.Tiers = append(third.Tiers, name)
		}
		facts.Tiers[name] = f
	}
	facts.Groups = []release.Group{third}
	want = map[string]string{"level-00.3": "Update 200", "level-00": "Propose 50"}
	if diff := cmp.Diff(want, count()); diff != "" {
		t.Errorf("the proposals differ (-want +got):\n%s", diff)
	}
}

// TestGroupsAreOfOneRepository: tiers in several GitOps repositories are never proposed together.
func TestGroupsAreOfOneRepository(t *testing.T) {
	f := makeFleet(v1alpha1.GroupBySeed)
	f.merged(mgmt0, "Ready")
	for i := range f.plan.Tiers {
		if f.plan.Tiers[i].Cluster == "west" {
			f.plan.Tiers[i].Repo = "other"
		}
	}
	got := map[string]string{}
	for _, g := range release.Next(f.plan, f.facts).Groups {
		got[g.Repo+" "+g.Name] = fmt.Sprint(g.Act, g.Tiers)
	}
	want := map[string]string{" seed": "Propose[app/east/tier-00 app/north/tier-00]", "other seed": "Propose[app/west/tier-00]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the proposals differ (-want +got):\n%s", diff)
	}
}
