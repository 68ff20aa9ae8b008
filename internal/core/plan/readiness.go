package plan

import (
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/readiness"
)

// readinessOf returns the rule by which an object is judged: of the seed, the cluster's type, the control plane, or
// the built-in one. It is false where no later tier depends on the object, and where its controller is in a later
// tier: until then, nobody writes the status that the rule asks for.
func (c *computation) readinessOf(seed *catalog.Seed, i int32, cluster string) (v1alpha1.ReadinessRule, bool) {
	kind := c.graph.Object(i).GroupKind()
	if !c.needed[i] && seed.Spec.Health != v1alpha1.HealthFull || catalog.IsCreator(kind) || kind == claimKind {
		return v1alpha1.ReadinessRule{}, false
	}
	lists := [][]v1alpha1.ReadinessRule{seed.Spec.Readiness, c.inventory.Clusters[cluster].Readiness}
	if p := c.in.Catalog.ControlPlane; p != nil {
		lists = append(lists, p.Spec.Readiness)
	}
	rule, known := readiness.Of(kind, lists...)
	return rule, known && !c.controlledLater(i)
}

// controlledLater reports whether what writes the status of an object comes in a later tier.
func (c *computation) controlledLater(i int32) bool {
	return slices.ContainsFunc(c.graph.From(i), func(e dependency.Edge) bool {
		return c.graph.Reason(e).Rule == dependency.ControllerRule && c.tiering.Level[e.To] > c.tiering.Level[i]
	})
}
