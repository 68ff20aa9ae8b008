package dependency

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// stageOf returns in which stage of one apply Flux applies an object: what defines namespaces, kinds
// and roles, then what has a kind named Class, then all the rest. It goes on with a stage once all
// objects of the one before are ready.
func stageOf(kind manifest.GroupKind) int {
	switch kind {
	case manifest.GroupKind{Kind: "Namespace"},
		manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		manifest.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		return 0
	}
	if strings.HasSuffix(kind.Kind, "Class") {
		return 1
	}
	return 2
}

// staged reports whether the reconciler of a cluster applies one end of an edge after the other, with all
// that is between them, although they share a tier, and whether their seed wants that. What has to be
// more than healthy is not waited for.
func (g *Graph) staged(e Edge) bool {
	from, to := g.vertices[e.From], g.vertices[e.To]
	r := g.Reason(e)
	return g.compact[from.seed] && from.seed == to.seed && from.cluster == to.cluster && r.Ready == "" && r.Beside == (manifest.ID{}) &&
		stageOf(g.objects[to.object].GroupKind()) < stageOf(g.objects[from.object].GroupKind())
}
