package placement

import (
	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const planterGroup = "planter.nephio.org"

// isPlanter reports whether an object makes its seed one of Planter's: it creates a
// Planter cluster, or is placed in Planter's way.
func isPlanter(o *manifest.Object) bool {
	if o.ID.Group == planterGroup && o.ID.Kind == "Cluster" {
		return true
	}
	_, placed := o.Annotations()[v1alpha1.AnnotationPlanterCluster]
	return placed
}

var planterDefault = Rule{
	Name: "planter-default",
	Doc:  "In a Planter seed, all other objects go to the management cluster.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		if !s.planter {
			return decision{}, nil
		}
		name, err := s.management(o)
		return decision{clusters: []string{name}, why: "a Planter seed's objects without a cluster go to SELF, the management cluster"}, err
	},
}
