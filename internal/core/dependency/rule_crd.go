package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var crd = Rule{
	Name: "crd",
	Doc:  "A custom resource waits for the CustomResourceDefinition of its group and kind.",
	Why:  "An API server refuses an object of a kind that it does not know yet.",
	draw: func(s *scope, from source) {
		v := s.graph.Vertices[from.vertex]
		kind := v.Object.GroupKind()
		if ServedByKubernetes(kind) {
			return
		}
		if to, ok := s.nearest(v.Seed, s.defines[kindPlace{kind, v.Cluster}]); ok {
			s.wait(from, to, fmt.Sprintf("kind: %s%s", kind, s.brought(v.Seed, to)))
			return
		}
		if providesKind(s.inventory.Clusters[v.Cluster], kind) {
			return
		}
		s.warn(Finding{Seed: v.Seed, Object: v.Object, Missing: true,
			Message: fmt.Sprintf("no seed brings the CustomResourceDefinition of %s to cluster %s; add it, or list it in the cluster's spec.provides.customResourceDefinitions", kind, v.Cluster)})
	},
}

// providesKind compares by group and by the kind in lower case, which every
// regular plural starts with (but for -y to -ies).
func providesKind(c catalog.Cluster, kind manifest.GroupKind) bool {
	stem := strings.TrimSuffix(strings.ToLower(kind.Kind), "y")
	for _, name := range c.Provides.CustomResourceDefinitions {
		plural, group, _ := strings.Cut(name, ".")
		if group == kind.Group && strings.HasPrefix(plural, stem) {
			return true
		}
	}
	return false
}
