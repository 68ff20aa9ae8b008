package placement

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var namespaceAnnotation = Rule{
	Name: "namespace-annotation",
	Doc:  "An object goes where the annotations of its Namespace, in the same seed, say.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		n, ok := s.nodes[manifest.ID{Kind: "Namespace", Name: o.ID.Namespace}]
		if o.ID.Namespace == "" || !ok {
			return decision{}, nil
		}
		d, err := s.annotated(n.object)
		if err != nil || len(d.clusters) == 0 {
			return decision{}, err
		}
		d.why = fmt.Sprintf("its Namespace %s has %s", n.object.ID.Name, d.why)
		return d, nil
	},
}
