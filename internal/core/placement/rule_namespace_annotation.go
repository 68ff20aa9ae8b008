package placement

import (
	"fmt"
)

var namespaceAnnotation = Rule{
	Name: "namespace-annotation",
	Doc:  "An object goes where the annotations of its Namespace, in the same seed, say.",
	match: func(s *placer, n *node) (decision, error) {
		namespace := n.namespace.object
		if namespace == nil {
			return decision{}, nil
		}
		d, err := s.annotated(namespace)
		if err != nil || len(d.clusters) == 0 {
			return decision{}, err
		}
		d.why = fmt.Sprintf("its Namespace %s has %s", namespace.object.ID.Name, d.why)
		return d, nil
	},
}
