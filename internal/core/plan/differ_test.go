package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// TestOnlyOverridesOfAnObjectAreNamedWhereItDiffers has two overrides, each of another object, on
// clusters that overlap.
func TestOnlyOverridesOfAnObjectAreNamedWhereItDiffers(t *testing.T) {
	one, two := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "one"}, manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "two"}
	of := func(id manifest.ID, content string) plan.Object {
		return plan.Object{ID: id, Hash: githash.Blob([]byte(content)), From: "seeds/web.yaml:1"}
	}
	p := &plan.Plan{
		Seed: "web", Tiers: []plan.Tier{{Cluster: "east", Contents: "c1"}, {Cluster: "north", Contents: "c2"}, {Cluster: "south", Contents: "c3"}},
		Contents: []plan.Contents{
			{ID: "c1", Objects: []plan.Object{of(one, "big"), of(two, "big")}},
			{ID: "c2", Objects: []plan.Object{of(one, "small"), of(two, "big")}},
			{ID: "c3", Objects: []plan.Object{of(one, "small"), of(two, "small")}},
		},
		Variants: []plan.Variant{{Name: "overlays/prod + big-one + big-two", Clusters: []string{"east"}}, {Name: "big-two", Clusters: []string{"north"}}},
		Overrides: []plan.Override{
			{Name: "big-one", Clusters: []string{"east"}, Objects: []plan.OverriddenObject{{ID: one}}},
			{Name: "big-two", Clusters: []string{"east", "north"}, Objects: []plan.OverriddenObject{{ID: two}}},
		},
	}
	got := map[string][]string{}
	for _, d := range p.Differ() {
		for _, c := range d.Contents {
			got[d.Object.Name+" on "+c.Clusters[0]] = c.Variants
		}
	}
	want := map[string][]string{
		"one on east": {"overlays/prod + big-one"}, "one on north": nil,
		"two on east": {"overlays/prod + big-two", "big-two"}, "two on south": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
