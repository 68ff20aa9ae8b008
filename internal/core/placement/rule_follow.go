package placement

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var followResources = Rule{
	Name: "follow-resources",
	Doc:  "A CustomResourceDefinition goes where the resources of its kind go.",
	match: func(s *placer, n *node) (decision, error) {
		kind, _, ok := manifest.DefinedScope(*n.object)
		if !ok {
			return decision{}, nil
		}
		return decision{follows: s.resourcesOf(kind), format: "it follows its resource %s"}, nil
	},
}

var followContent = Rule{
	Name: "follow-content",
	Doc:  "A Namespace goes where its content goes, and what installs something there.",
	match: func(s *placer, n *node) (decision, error) {
		if n.kind.GroupKind != namespaceKind {
			return decision{}, nil
		}
		return decision{follows: slices.Concat(s.contentOf(n.object.ID.Name), s.installersTo(n.object.ID.Name)), format: "it follows its content, %s"}, nil
	},
}

var followReferences = Rule{
	Name: "follow-references",
	Doc:  "A Secret, or what makes one, a ConfigMap, ServiceAccount, role, class, claim, volume, issuer, store or source goes where the objects that name it go, a binding where its ServiceAccounts go, a Service where what it selects goes.",
	match: func(s *placer, n *node) (decision, error) {
		o := n.object
		if n.kind.makesSecrets {
			secret := secretOf(o)
			return decision{follows: s.namersOf(secret), format: "%s names the Secret that it makes"}, nil
		}
		switch n.kind.GroupKind {
		case roleKind, clusterRoleKind:
			if s.findNamers(); len(n.namers) == 0 {
				return decision{follows: s.granted(o), format: "it grants access to the resources of %s"}, nil
			}
		case bindingKind, clusterBindingKind:
			return decision{follows: s.known(SubjectsOf(o)), format: "it names %s"}, nil
		case serviceKind:
			return decision{follows: s.selectedBy(o), format: "it selects %s"}, nil
		case operatorGroupKind:
			return decision{follows: s.subscriptionsIn(o.ID.Namespace), format: "%s is in its Namespace"}, nil
		}
		if !n.kind.named {
			return decision{}, nil
		}
		s.findNamers()
		return decision{follows: n.namers, format: "%s names it"}, nil
	},
}

var followRest = Rule{
	Name: "follow-rest",
	Doc:  "A Secret, ConfigMap, role or other object that only serves others, and that nothing names, goes where the rest of its Namespace goes; without a Namespace where the rest of the seed goes.",
	match: func(s *placer, n *node) (decision, error) {
		switch {
		case !n.kind.serves:
			return decision{}, nil
		case n.object.ID.Namespace != "":
			return decision{follows: []*node{s.restOf(n.object.ID.Namespace)}, format: "nothing names it, and it is in one Namespace with %s"}, nil
		}
		return decision{follows: []*node{s.restOf("")}, format: "nothing names it, and it is in one seed with %s"}, nil
	},
}

// servingKinds are the kinds of Kubernetes whose objects do nothing by themselves: they serve, or
// limit, what else is in their Namespace or on their cluster.
var servingKinds = []manifest.GroupKind{
	secretKind, configMapKind, accountKind, roleKind, bindingKind, clusterRoleKind, clusterBindingKind, priorityClassKind, runtimeClassKind,
	{Kind: "ResourceQuota"}, {Kind: "LimitRange"}, {Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Group: "policy", Kind: "PodDisruptionBudget"},
}

func serves(kind manifest.GroupKind) bool {
	_, makes := secretMakers[kind]
	scope, _ := manifest.BuiltinScope(kind)
	return makes || slices.Contains(servingKinds, kind) || scope == manifest.Namespaced && slices.Contains(origins, kind)
}

// restOf returns the node that goes where all goes that is in a namespace, or without one in the
// seed, and does not only serve others.
func (s *placer) restOf(namespace string) *node {
	ns := s.namespaces[namespace]
	if ns.rest == nil {
		ns.rest = &node{decide: func() (decision, error) {
			content := s.all
			if namespace != "" {
				content = ns.content
			}
			rest := slices.DeleteFunc(slices.Clone(content), func(n *node) bool { return n.kind.serves })
			return decision{follows: rest, format: "%s is there"}, nil
		}}
	}
	return ns.rest
}

// warnOfMixed warns of a Secret that nothing names and that goes to clusters of both roles, because
// other objects of its Namespace do: credentials for one end up on the other.
func (s *placer) warnOfMixed(o *manifest.Object, p Placement) (manifest.Problem, bool) {
	if p.Rule != followRest.Name || o.ID.GroupKind() != secretKind {
		return manifest.Problem{}, false
	}
	var manages, works string
	for _, name := range p.Clusters {
		if s.inventory.Clusters[name].Role == v1alpha1.RoleManagement {
			manages = name
		} else {
			works = name
		}
	}
	if manages == "" || works == "" {
		return manifest.Problem{}, false
	}
	return o.Problem(v1alpha1.ReasonMixedNamespace, fmt.Sprintf("nothing names it, and other objects of its Namespace go to management cluster %s and to workload cluster %s, so it goes to both", manages, works),
		"Set annotation "+v1alpha1.AnnotationRole+" or "+v1alpha1.AnnotationCluster+"."), true
}
