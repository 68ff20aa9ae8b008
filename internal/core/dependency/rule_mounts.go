package dependency

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

var mounts = Rule{
	Name:  "mounts",
	Doc:   "A workload is not in an earlier tier than the Secrets, ConfigMaps and ServiceAccount that it names, and what brings these Secrets, if those wait for more than the workload does.",
	Why:   "Its pods would not start before a later tier, which may wait for this one.",
	Phase: Mounts,
	Draw: func(w *World) {
		for v, o := range w.Sources {
			if made[o.ID.GroupKind()] == nil && o.ID.GroupKind() != (manifest.GroupKind{Kind: "Pod"}) {
				continue
			}
			named := w.surroundings().producers(v)
			for _, id := range placement.NamedBy(o) {
				if to, ok := w.Beside(v, id); ok {
					named = append(named, to)
				}
			}
			for _, to := range named {
				if !w.leaving[to] && w.waitsForMore(to, v) && !w.Reaches(to, v) {
					w.Wait(v, to, Reason{Field: "spec", Why: "its pods need " + w.ID(to).Kind + " " + w.ID(to).Name, Folds: true, OrderOnly: true, Once: true})
				}
			}
		}
	},
}

// waitsForMore reports whether a vertex waits for anything that another one does not wait for. Mostly
// both wait for their Namespace and nothing else, which is seen at once.
func (w *World) waitsForMore(v, other int32) bool {
	targets := w.targets(other)
	if !slices.ContainsFunc(w.targets(v), func(to int32) bool { return !slices.Contains(targets, to) }) {
		return false
	}
	needs := w.Needs(other)
	for to := range w.Needs(v) {
		if to != v && !needs[to] {
			return true
		}
	}
	return false
}

// targets lists what a vertex waits for directly.
func (w *World) targets(v int32) []int32 {
	var out []int32
	for e := w.last[v]; e != 0; e = w.before[e-1] {
		if edge := w.graph.Edges[e-1]; w.graph.Reason(edge).Kind == Hard {
			out = append(out, edge.To)
		}
	}
	return out
}
