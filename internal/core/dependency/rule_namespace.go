package dependency

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

var namespace = Rule{
	Name: "namespace",
	Doc:  "A namespaced object waits for its Namespace.",
	Why:  "An API server refuses an object whose Namespace does not exist.",
	Draw: func(w *World) {
		var name string // of the last object: objects are in order of namespace within their kind
		var everywhere []int32
		var reason Reason
		missing := map[missingNamespace]*Finding{}
		var order []*Finding
		for v := range w.Sources {
			id := w.ID(v)
			if id.Namespace == "" {
				continue
			}
			if id.Namespace != name {
				name = id.Namespace
				everywhere = w.Everywhere(manifest.ID{Kind: "Namespace", Name: name})
				reason = Reason{Field: "metadata.namespace", Why: "metadata.namespace: " + name}
			}
			if to, ok := w.Nearest(v, everywhere); ok {
				w.Wait(v, to, reason)
				continue
			}
			c := w.Cluster(v)
			if c.HasNamespace(name) {
				continue
			}
			key := missingNamespace{w.graph.vertices[v].seed, name, c.Name}
			if missing[key] == nil {
				missing[key] = &Finding{Reason: v1alpha1.ReasonMissingDependency, Seed: w.Vertex(v).Seed, Object: id, Cluster: c.Name, Missing: true,
					Message: fmt.Sprintf("no seed contains Namespace %q for cluster %s", name, c.Name),
					Next:    "Add it, or list it in spec.provides.namespaces of the Cluster."}
				order = append(order, missing[key])
			}
			missing[key].Objects++
		}
		for _, f := range order {
			w.result.Warnings = append(w.result.Warnings, *f)
		}
	},
}

// missingNamespace is what one finding is about, however many objects are in the Namespace.
type missingNamespace struct {
	seed          int32
	name, cluster string
}
