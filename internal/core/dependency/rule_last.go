package dependency

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

var last = Rule{
	Name:      "last",
	Doc:       "A workload that nothing waits for or needs, and that is neither an operator nor an add-on in kube-system, is in the last tier that its seed has on its cluster and that waits for no other seeds than its own would.",
	Why:       "Its pods may need something that no field names and no table knows. It draws no edges and costs no tier.",
	OrderOnly: true,
	Once:      true,
	Phase:     Last,
	Draw: func(w *World) {
		w.graph.roles = w.surroundings().roles()
	},
}

// role says whether a workload may be in a later tier than it has to be. Other objects have none.
type role uint8

const (
	// roleStays is a workload that something waits for or needs.
	roleStays role = iota + 1
	// roleOperator is a workload of an operator. It may need what is in its namespace.
	roleOperator
	// roleLast is a workload that nothing waits for or needs.
	roleLast
)

// roles returns the role of each vertex.
func (s *surroundings) roles() []role {
	s.needed()
	roles := make([]role, s.graph.Len())
	for _, run := range s.runs {
		if !runsSomething(run.kind) {
			continue
		}
		for v, o := range s.those(s.stays, run.first, run.end) {
			switch {
			case s.operates(v, o):
				roles[v] = roleOperator
			case s.awaited[v] || s.isNeeded[v] || !s.draws(v):
				roles[v] = roleStays
			default:
				roles[v] = roleLast
			}
		}
	}
	return roles
}

// runsSomething reports whether objects of a kind have pods, or make others that have.
func runsSomething(kind manifest.GroupKind) bool {
	return placement.RunsPods(kind) || installs.IsInstaller(kind)
}

// operates reports whether a workload is an operator: its ServiceAccount has rights on the whole cluster or may
// write the status of custom resources, it is an add-on of the cluster in a Namespace of Kubernetes, or it is known to
// install kinds.
func (s *surroundings) operates(v int32, o *manifest.Object) bool {
	if !placement.RunsPods(o.ID.GroupKind()) {
		return s.installations().vertices[v]
	}
	s.findWriters()
	return s.operators[v] || strings.HasPrefix(o.ID.Namespace, "kube-")
}
