package dependency

import (
	"iter"
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
		m := newMountable(w)
		for kind, sources := range w.ByKind {
			if made[kind] == nil && kind != podKind {
				continue
			}
			for v, o := range sources {
				if m.noneWaitsForMore(v) {
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
		}
	},
}

// mountedKinds are those of what the Pods of a workload name.
var mountedKinds = []manifest.GroupKind{
	{Kind: "Secret"}, {Kind: "ConfigMap"}, {Kind: "ServiceAccount"},
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "node.k8s.io", Kind: "RuntimeClass"},
}

// mountable reports, without reading a workload, whether anything that its Pods may name waits for more
// than the workload does. Mostly all that is in a namespace waits for the Namespace and nothing else.
type mountable struct {
	*World
	// first is the first object in each namespace that Pods may name; objects without a namespace are
	// under the empty name. The others there wait for the same as the first, unless they differ.
	first  map[namespaceOn]int32
	differ map[namespaceOn]bool
}

func newMountable(w *World) *mountable {
	m := &mountable{World: w, first: map[namespaceOn]int32{}, differ: map[namespaceOn]bool{}}
	for _, run := range w.runs {
		if !slices.Contains(mountedKinds, run.kind) {
			continue
		}
		for v := run.first; v < run.end; v++ {
			if w.leaving[v] {
				continue
			}
			at := w.namespaceOf(v)
			if first, known := m.first[at]; !known {
				m.first[at] = v
			} else if !w.waitsForAll(v, first) || !w.waitsForAll(first, v) {
				m.differ[at] = true
			}
		}
	}
	for secret := range w.surroundings().brings {
		m.differ[secret.namespaceOn] = true
	}
	return m
}

// noneWaitsForMore reports whether direct edges show that nothing which a workload may name waits for
// more than the workload does.
func (m *mountable) noneWaitsForMore(v int32) bool {
	own := m.namespaceOf(v)
	for _, at := range []namespaceOn{own, {cluster: own.cluster}} {
		if first, known := m.first[at]; m.differ[at] || known && !m.waitsForAll(v, first) {
			return false
		}
	}
	return true
}

// namespaceOf returns where the object of a vertex is.
func (w *World) namespaceOf(v int32) namespaceOn {
	return namespaceOn{w.graph.vertices[v].cluster, w.ID(v).Namespace}
}

// waitsForMore reports whether a vertex waits for anything that another one does not wait for. Mostly
// both wait for their Namespace and nothing else, which is seen at once.
func (w *World) waitsForMore(v, other int32) bool {
	if w.waitsForAll(other, v) {
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

// waitsForAll reports whether a vertex waits directly for all that another one waits for directly.
func (w *World) waitsForAll(v, other int32) bool {
	for to := range w.targets(other) {
		found := false
		for own := range w.targets(v) {
			found = found || own == to
		}
		if !found {
			return false
		}
	}
	return true
}

// targets visits what a vertex waits for directly.
func (w *World) targets(v int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for e := w.last[v]; e != 0; e = w.before[e-1] {
			if edge := w.graph.Edges[e-1]; w.graph.Reason(edge).Kind == Hard && !yield(edge.To) {
				return
			}
		}
	}
}
