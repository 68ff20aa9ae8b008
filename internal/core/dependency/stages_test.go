package dependency

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestStagesAreThoseOfFlux(t *testing.T) {
	for kind, want := range map[manifest.GroupKind]int{
		{Kind: "Namespace"}: 0,
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: 0,
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:         0,
		{Group: "example.com", Kind: "Namespace"}:                         2,
		{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                2,
		{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:               1,
		{Group: "cluster.x-k8s.io", Kind: "ClusterClass"}:                 1,
		{Group: "apps", Kind: "Deployment"}:                               2,
	} {
		if got := stageOf(kind); got != want {
			t.Errorf("%s is of stage %d, want %d", kind, got, want)
		}
	}
}

// TestABarePodDoesNotShareTheTierOfItsNamespace: Flux goes on with the next stage once the Namespace is active, which may be
// before the account in it exists.
func TestABarePodDoesNotShareTheTierOfItsNamespace(t *testing.T) {
	const space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: jobs}\n"
	compact := "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: jobs}\nspec: {tiers: Compact}\n"
	for object, want := range map[string]bool{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: jobs}\nspec: {containers: [{name: c, image: c}]}\n": false,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, namespace: jobs}\n":                                      true,
	} {
		g := graphOf(t, oneCluster+seedOf("jobs", compact, space, object)).Graph
		tiering, conflict := g.Tiers(nil)
		if conflict != nil {
			t.Fatal(conflict)
		}
		if shared := slices.Max(tiering.Level) == 0; len(g.Edges) == 0 || shared != want {
			t.Errorf("they share a tier: %t, want %t; %s", shared, want, object)
		}
	}
}
