package dependency

import (
	"fmt"
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// benchSeeds is one seed of n objects on one cluster: 2 % are Namespaces, 1 % are
// CustomResourceDefinitions, a third are of the kinds that these define, and the rest ConfigMaps.
func benchSeeds(b *testing.B, n int) ([]Seed, *catalog.Inventory) {
	b.Helper()
	seed := &catalog.Seed{Name: "bench", Variants: []catalog.Variant{{}}}
	add := func(id manifest.ID, body map[string]any) {
		seed.Variants[0].Objects = append(seed.Variants[0].Objects, manifest.Object{ID: id, Version: "v1", Body: body})
	}
	namespaces, definitions := n/50, n/100
	for i := range n {
		namespace := fmt.Sprintf("ns-%05d", i%namespaces)
		switch {
		case i < namespaces:
			add(manifest.ID{Kind: "Namespace", Name: namespace}, map[string]any{})
		case i < namespaces+definitions:
			kind := fmt.Sprintf("Kind%04d", i-namespaces)
			add(manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things-" + kind},
				map[string]any{"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": kind}}})
		case i%3 == 0:
			add(manifest.ID{Group: "example.com", Kind: fmt.Sprintf("Kind%04d", i%definitions), Namespace: namespace, Name: fmt.Sprint("resource-", i)}, map[string]any{})
		default:
			add(manifest.ID{Kind: "ConfigMap", Namespace: namespace, Name: fmt.Sprint("config-", i)}, map[string]any{})
		}
	}
	slices.SortFunc(seed.Variants[0].Objects, func(a, b manifest.Object) int { return a.ID.Compare(b.ID) })
	inventory := catalogOf(b, "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\n").Inventory
	placed, err := placement.Place(seed, inventory)
	if err != nil {
		b.Fatal(err)
	}
	return []Seed{{Name: seed.Name, Spec: allRules{}, Contents: placed.Contents, Placements: placed.Placements}}, inventory
}

type allRules struct{}

func (allRules) RuleEnabled(string) bool { return true }

func BenchmarkBuildAndTiers(b *testing.B) {
	for _, n := range []int{1000, 10000, 50000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			seeds, inventory := benchSeeds(b, n)
			for b.Loop() {
				if _, conflict := Build(seeds, inventory).Graph.Tiers(nil); conflict != nil {
					b.Fatal(conflict)
				}
			}
		})
	}
}
