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
	draw: func(s *graphBuilder, from source) {
		name := from.object.ID.Namespace
		if name == "" {
			return
		}
		v := s.graph.Vertices[from.vertex]
		id := manifest.ID{Kind: "Namespace", Name: name}
		if to, ok := s.nearest(v.Seed, s.owners[objectOnCluster{id, v.Cluster}]); ok {
			s.wait(from, to, fmt.Sprintf("metadata.namespace: %s%s", name, s.brought(v.Seed, to)))
			return
		}
		c := s.inventory.Clusters[v.Cluster]
		if existsAlways(name, c.Source.Namespace) || slices.Contains(c.Provides.Namespaces, name) {
			return
		}
		s.warn(Finding{Reason: v1alpha1.ReasonMissingDependency, Seed: v.Seed, Object: v.Object, Cluster: v.Cluster, Missing: true,
			Message: fmt.Sprintf("no seed contains Namespace %q for cluster %s", name, v.Cluster),
			Next:    "Add it, or list it in spec.provides.namespaces of the Cluster."})
	},
}

// existsAlways reports whether every cluster has the namespace; the reconciler's is one.
func existsAlways(name, reconciler string) bool {
	return name == "default" || strings.HasPrefix(name, "kube-") || name == reconciler
}
