package placement

import (
	"slices"
	"strings"
)

var operatorNamespace = Rule{
	Name: "operator-namespace",
	Doc:  "What is in the Namespace of an operator that is known to serve objects of the seed, and that nothing else places, goes where these go.",
	match: func(s *placer, n *node) (decision, error) {
		ns := n.object.ID.Namespace
		if n.kind.GroupKind == namespaceKind {
			ns = n.object.ID.Name
		}
		if ns == "" {
			return decision{}, nil
		}
		var served []*node
		for _, k := range s.kinds {
			if k.management != nil && k.management.runsIn(ns) {
				served = append(served, k.nodes...)
			}
		}
		return decision{follows: served, format: "its Namespace is that of the operator of %s"}, nil
	},
}

// runsIn reports whether an operator of the row's kinds usually runs in a namespace.
func (r *managementRow) runsIn(namespace string) bool {
	return slices.ContainsFunc(r.Namespaces, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return namespace == pattern || wild && strings.HasPrefix(namespace, prefix)
	})
}
