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

// staged reports whether the reconciler of a cluster applies one object after the other, with all
// that is between them, although they share a tier, and whether their seed wants that.
func (w *World) staged(from, to int32) bool {
	waits, first := w.graph.vertices[from], w.graph.vertices[to]
	return waits.seed == first.seed && waits.cluster == first.cluster && w.seeds[waits.seed].Compact &&
		stageOf(w.ID(to).GroupKind()) < stageOf(w.ID(from).GroupKind())
}
