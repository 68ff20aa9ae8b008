package dependency

import (
	"fmt"
	"slices"
	"strings"

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
			if existsAlways(name, c.Source.Namespace) || slices.Contains(c.Provides.AllNamespaces(), name) {
				continue
			}
			w.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Cluster: c.Name, Missing: true,
				Message: fmt.Sprintf("no seed contains Namespace %q for cluster %s", name, c.Name),
				Next:    "Add it, or list it in spec.provides.namespaces of the Cluster."})
		}
	},
}

// existsAlways reports whether every cluster has the namespace; the reconciler's is one.
func existsAlways(name, reconciler string) bool {
	return name == "default" || strings.HasPrefix(name, "kube-") || name == reconciler
}
