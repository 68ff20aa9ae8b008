package placement

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var sameCloud = Rule{
	Name: "same-cloud",
	Doc:  "A resource of a cloud, also one that Crossplane composes, goes where the clusters of that cloud go that the seed makes: the same controllers serve both.",
	match: func(s *placer, n *node) (decision, error) {
		return decision{follows: s.servedWith(n), format: "the controllers that make %s serve it"}, nil
	},
}

// servedWith returns the objects for management clusters whose controllers also serve an object.
func (s *placer) servedWith(n *node) []*node {
	if n.kind.management != nil {
		return nil
	}
	families := n.kind.families
	if _, used := slices.BinarySearchFunc(s.crossplane().users, n, byOrder); used {
		families = append(slices.Clip(families), crossplaneFamilies...)
	}
	var anchors []*node
	for _, family := range families {
		for _, k := range s.kinds {
			if k.management != nil && k.management.Family == family {
				anchors = append(anchors, k.nodes...)
			}
		}
	}
	return anchors
}

// families are the patterns of groups in the column family of management.yaml.
var families = func() []string {
	var all []string
	for _, row := range managementRows {
		if row.Family != "" && !slices.Contains(all, row.Family) {
			all = append(all, row.Family)
		}
	}
	return all
}()

// crossplaneFamilies are the groups whose resources Crossplane serves.
var crossplaneFamilies = func() []string {
	var all []string
	for _, row := range managementRows {
		all = append(all, row.For...)
	}
	return all
}()

func familiesOf(group string) []string {
	return slices.DeleteFunc(slices.Clone(families), func(family string) bool { return !matchesGroup(family, group) })
}

// crossplane is Crossplane in one variant. Its packages, definitions, compositions and functions work
// only together, and only where what uses them is.
type crossplane struct {
	// users are the composite and managed resources, in order.
	users []*node
}

// crossplaneGroup has the kinds that define and compose others.
const crossplaneGroup = "apiextensions.crossplane.io"

var configurationKind = manifest.GroupKind{Group: "pkg.crossplane.io", Kind: "Configuration"}

// crossplane returns it, made when asked for first.
func (s *placer) crossplane() *crossplane {
	if s.engine != nil {
		return s.engine
	}
	s.engine = &crossplane{}
	served := map[manifest.GroupKind]bool{}
	for _, k := range s.kinds {
		if k.Group == crossplaneGroup {
			for _, n := range k.nodes {
				for _, kind := range composed(n.object) {
					served[kind] = true
				}
			}
		}
	}
	brought := s.broughtByConfigurations()
	for _, k := range s.kinds {
		ofProvider := slices.ContainsFunc(crossplaneFamilies, func(family string) bool { return matchesGroup(family, k.Group) })
		if served[k.GroupKind] || ofProvider || k.management == nil && brought(k) {
			s.engine.users = append(s.engine.users, k.nodes...)
		}
	}
	return s.engine
}

// broughtByConfigurations returns what reports whether a Configuration of the variant may bring a kind:
// one that it is annotated with, or else one that nobody is known to bring.
func (s *placer) broughtByConfigurations() func(*kind) bool {
	unknown := false
	var apis []installs.API
	for _, n := range s.resourcesOf(configurationKind) {
		annotated, _ := installs.Annotated(n.object)
		apis = append(apis, annotated...)
		unknown = unknown || len(annotated) == 0
	}
	return func(k *kind) bool {
		switch {
		case slices.ContainsFunc(apis, func(a installs.API) bool { return a.Has(k.GroupKind) }):
			return true
		case !unknown || manifest.ServedByKubernetes(k.GroupKind) || !strings.Contains(k.Group, "."):
			return false
		}
		_, known := manifest.BuiltinScope(k.GroupKind)
		return !known && !s.isDefined(k.GroupKind) && !slices.ContainsFunc(s.installersOf(k.GroupKind), func(i *node) bool { return i.kind.GroupKind != configurationKind })
	}
}

// isDefined reports whether a CustomResourceDefinition of the variant defines a kind.
func (s *placer) isDefined(kind manifest.GroupKind) bool {
	return slices.ContainsFunc(s.resourcesOf(crdKind), func(n *node) bool {
		defined, _, ok := manifest.DefinedScope(*n.object)
		return ok && defined == kind
	})
}

// composed returns the kinds that an object of Crossplane defines or composes.
func composed(o *manifest.Object) []manifest.GroupKind {
	group, _, _ := strings.Cut(o.Text("spec", "compositeTypeRef", "apiVersion"), "/")
	kinds := []manifest.GroupKind{
		{Group: o.Text("spec", "group"), Kind: o.Text("spec", "names", "kind")},
		{Group: o.Text("spec", "group"), Kind: o.Text("spec", "claimNames", "kind")},
		{Group: group, Kind: o.Text("spec", "compositeTypeRef", "kind")},
	}
	return slices.DeleteFunc(kinds, func(kind manifest.GroupKind) bool { return kind.Group == "" || kind.Kind == "" })
}
