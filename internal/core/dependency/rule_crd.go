package dependency

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

var crd = Rule{
	Name: "crd",
	Doc:  "A custom resource waits for the CustomResourceDefinition of its group and kind.",
	Why:  "An API server refuses an object of an unknown kind.",
	draw: func(s *graphBuilder, from source) {
		v := s.graph.Vertices[from.vertex]
		kind := v.Object.GroupKind()
		if manifest.ServedByKubernetes(kind) {
			return
		}
		if to, ok := s.nearest(v.Seed, s.defines[kindOnCluster{kind, v.Cluster}]); ok {
			s.wait(from, to, fmt.Sprintf("kind: %s%s", kind, s.brought(v.Seed, to)))
			return
		}
		if Provides(s.inventory.Clusters[v.Cluster], kind) {
			return
		}
		s.warn(Finding{Reason: v1alpha1.ReasonMissingDependency, Seed: v.Seed, Object: v.Object, Cluster: v.Cluster, Missing: true,
			Message: fmt.Sprintf("no seed contains the CustomResourceDefinition of %s for cluster %s", kind, v.Cluster),
			Next:    "Add it, or list it in spec.provides.customResourceDefinitions of the Cluster."})
	},
}

// Provides reports whether a cluster has the kind although no seed contains it. It compares by group
// and by the regular plurals of the kind, because names of CRDs are all that is known of what a
// cluster provides. A kind with an irregular plural is reported as missing, which is a warning and
// blocks nothing.
func Provides(c catalog.Cluster, kind manifest.GroupKind) bool {
	singular := strings.ToLower(kind.Kind)
	plurals := []string{singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies", singular}
	for _, name := range c.Provides.CustomResourceDefinitions {
		plural, group, _ := strings.Cut(name, ".")
		if group == kind.Group && slices.Contains(plurals, strings.ReplaceAll(plural, "-", "")) {
			return true
		}
	}
	return false
}
