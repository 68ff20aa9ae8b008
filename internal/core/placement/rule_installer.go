package placement

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var installer = Rule{
	Name: "installer",
	Doc:  "What installs an API that belongs to management clusters, such as a chart or a package of an operator, goes where the objects of that API go; without any to the management cluster. What it depends on goes along.",
	match: func(s *placer, n *node) (decision, error) {
		i := s.installations()[n]
		switch {
		case i == nil || n.kind.management != nil:
			return decision{}, nil
		case i.belongs == "" && len(i.dependants) == 0:
			return decision{}, nil
		case len(i.resources)+len(i.dependants) > 0:
			return decision{follows: append(slices.Clip(i.resources), i.dependants...), format: "it installs what %s needs"}, nil
		}
		name, err := s.management(n.object)
		return decision{clusters: []string{name}, why: "it installs " + i.belongs}, err
	},
}

// installation is what an installer of the variant installs, as far as that is known.
type installation struct {
	node *node
	apis []installs.API
	// resources are the objects of the variant that need it: those of its kinds.
	resources []*node
	// belongs says which of its kinds belongs to management clusters, and why; empty where none does.
	belongs string
	// dependants are the installers for management clusters that depend on it: a reconciler reads both
	// on one cluster.
	dependants []*node
}

// installations returns those of the variant, by their nodes, and all of them in order. What installs
// to another cluster than its own is not among them.
func (s *placer) installations() map[*node]*installation {
	if s.installed != nil {
		return s.installed
	}
	s.installed = map[*node]*installation{}
	for _, n := range s.all {
		if _, annotated := n.annotations[v1alpha1.AnnotationProvides]; (annotated || n.kind.installs) && !installsElsewhere(n.object) {
			i := &installation{node: n, apis: s.apisOf(n)}
			s.installed[n], s.installers = i, append(s.installers, i)
		}
	}
	for _, i := range s.installers {
		s.weighInstallation(i)
	}
	s.noteDependants()
	return s.installed
}

// apisOf returns what an object installs. Its annotation counts, else what the tables have.
func (s *placer) apisOf(n *node) []installs.API {
	if apis, wrong := installs.Annotated(n.object); len(apis) > 0 || wrong != "" {
		return apis
	}
	source := func(id manifest.ID) *manifest.Object {
		if n := s.node(id); n != nil {
			return n.object
		}
		return nil
	}
	var apis []installs.API
	for _, p := range installs.Packages(n.object, source) {
		apis = append(apis, p.APIs...)
	}
	return apis
}

// weighInstallation finds the objects that an installation is for, and whether it belongs to management
// clusters.
func (s *placer) weighInstallation(i *installation) {
	for _, a := range i.apis {
		for at := range managementRows {
			if row := &managementRows[at]; i.belongs == "" && row.isOf(a) {
				i.belongs = fmt.Sprintf("%s, which belongs to management clusters (%s)", a, row.Why)
			}
		}
		for _, k := range s.kinds {
			if !a.Has(k.GroupKind) || k == i.node.kind {
				continue
			}
			i.resources = append(i.resources, k.nodes...)
			if k.management != nil && i.belongs == "" {
				i.belongs = fmt.Sprintf("%s, which belongs to management clusters (%s)", k.GroupKind, k.management.Why)
			}
		}
	}
}

// isOf reports whether an API is one of the row.
func (r *managementRow) isOf(a installs.API) bool {
	kind := a.Kind()
	if !r.inGroup(kind.Group) {
		return false
	}
	return kind.Kind == "" && len(r.Kinds) == 0 || kind.Kind != "" && r.holds(kind)
}

// noteDependants adds, to each installer, those of management clusters that depend on it, directly or through
// others.
func (s *placer) noteDependants() {
	var queue []*installation
	for _, i := range s.installers {
		if i.belongs != "" {
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0].node
		for _, ref := range mappings(at.object.Map("spec")["dependsOn"]) {
			id := at.object.ID
			named := referenced(ref, id.Namespace)
			id.Namespace, id.Name = named.Namespace, named.Name
			needed := s.installed[s.node(id)]
			if needed == nil || needed.node == at || slices.Contains(needed.dependants, at) {
				continue
			}
			if needed.belongs == "" && len(needed.dependants) == 0 {
				queue = append(queue, needed)
			}
			needed.dependants = append(needed.dependants, at)
		}
	}
}

// installersOf returns what installs a kind, in order.
func (s *placer) installersOf(kind manifest.GroupKind) []*node {
	s.installations()
	var found []*node
	for _, i := range s.installers {
		if slices.ContainsFunc(i.apis, func(a installs.API) bool { return a.Has(kind) }) {
			found = append(found, i.node)
		}
	}
	return found
}

// mayInstall reports whether an object may install others.
func mayInstall(o *manifest.Object) bool {
	return installs.IsInstaller(o.ID.GroupKind()) || o.Annotation(v1alpha1.AnnotationProvides) != ""
}

// installsElsewhere reports whether an object installs to another cluster than its own.
func installsElsewhere(o *manifest.Object) bool {
	if o.ID.Group == "argoproj.io" {
		server, name := o.Text("spec", "destination", "server"), o.Text("spec", "destination", "name")
		return name != "" && name != "in-cluster" || server != "" && server != "https://kubernetes.default.svc"
	}
	return o.Map("spec", "kubeConfig") != nil
}
