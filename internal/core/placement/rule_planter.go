package placement

import "github.com/furrow-dev/furrow/api/v1alpha1"

const planterGroup = "planter.nephio.org"

// isPlanter reports whether an object makes its seed one of Planter's: it creates a
// Planter cluster, or is placed in Planter's way.
func isPlanter(n *node) bool {
	if n.kind.Group == planterGroup && n.kind.Kind == "Cluster" {
		return true
	}
	_, placed := n.annotations[v1alpha1.AnnotationPlanterCluster].(string)
	return placed
}

var planterDefault = Rule{
	Name: "planter-default",
	Doc:  "In a Planter seed, all other objects go to the management cluster.",
	match: func(s *placer, n *node) (decision, error) {
		if !s.planter {
			return decision{}, nil
		}
		name, err := s.management(n.object)
		return decision{clusters: []string{name}, why: "a Planter seed's objects without a cluster go to SELF, the management cluster"}, err
	},
}
