package dependency

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// addMade notes what the objects of a kind make, and what they name in their bodies.
func (s *surroundings) addMade(run kindRun) {
	find := makes.FinderOf(run.kind)
	if find == nil {
		return
	}
	free := run.kind == secretKind || run.kind == configMapKind // only those with annotations are copied
	custom := !manifest.ServedByKubernetes(run.kind)
	for v, o := range s.those(s.stays, run.first, run.end) {
		if !free || s.annotated(v) {
			s.made[s.graph.vertices[v].cluster].Add(v, find(o, s.sourceOf(v)))
		}
		if custom {
			s.addInBody(v, o)
		}
	}
}

// makersOf lists what makes a thing on the cluster of a vertex, in order. Where a seed has the object itself, that
// is what fills it.
func (s *surroundings) makersOf(v int32, kind, namespace, name string, known bool) []int32 {
	found := s.made[s.graph.vertices[v].cluster].MakersOf(kind, namespace, name, known)
	found = slices.DeleteFunc(found, func(to int32) bool { return to == v })
	slices.Sort(found)
	return slices.Compact(found)
}
