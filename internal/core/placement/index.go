package placement

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// kind is a kind of objects that a variant has.
type kind struct {
	manifest.GroupKind
	nodes []*node // in order
	// management is the row of the kind if its objects belong on a management cluster.
	management *managementRow
	serves     bool
	// standard reports whether the kind is of a group of Kubernetes itself.
	standard bool
	// families are the clouds that its objects are of, as patterns of groups.
	families []string
	// installs reports whether its objects install others, and targets how its objects follow what they
	// name or select (targets), and named whether they follow what names them.
	installs bool
	targets  func(*placer, *node) []*node
	named    bool
	// makesSecrets reports whether its objects make Secrets (secretMakers).
	makesSecrets bool
	// workload reports whether its objects run Pods, whose template is at podPath.
	workload bool
	podPath  []string
}

// namespace is a namespace that objects of a variant are in. The empty name is that of objects
// without one.
type namespace struct {
	// object is the Namespace itself, nil if the variant lacks it.
	object  *node
	content []*node // in order
	// rest is the node for what else is in the namespace; made when first asked for.
	rest *node
}

// newPlacer indexes the objects of one variant by what the rules ask for: by id, kind and namespace.
// It is linear in the objects; a rule must not go through all objects for each.
func newPlacer(seed *catalog.Seed, objects []manifest.Object, inv *catalog.Inventory) *placer {
	s := &placer{
		seed: seed, all: make([]*node, 0, len(objects)), inventory: inv, rules: Rules(), index: make(map[manifest.ID]int, len(objects)),
		resources: map[manifest.GroupKind]*kind{}, namespaces: map[string]*namespace{"": {}},
	}
	s.documents = make([]node, len(objects))
	for i := range objects {
		n := &s.documents[i]
		n.object = &objects[i]
		metadata, _ := n.object.Body["metadata"].(map[string]any)
		n.annotations, _ = metadata["annotations"].(map[string]any)
		n.owners, _ = metadata["ownerReferences"].([]any)
		labels, _ := metadata["labels"].(map[string]any)
		n.forCluster, _ = labels[labelClusterName].(string)
		n.kind, n.namespace = s.kindOf(n.object.ID.GroupKind()), s.namespaceOf(n.object.ID.Namespace)
		n.namespace.content = append(n.namespace.content, n)
		s.index[n.object.ID] = i
		s.planter = s.planter || isPlanter(n)
	}
	s.sort()
	return s
}

func (s *placer) kindOf(name manifest.GroupKind) *kind {
	k := s.resources[name]
	if k == nil {
		k = &kind{GroupKind: name, serves: serves(name), families: familiesOf(name.Group), installs: installs.IsInstaller(name)}
		k.targets, k.named, k.standard = targets[name], isNamed(name), manifest.ServedByKubernetes(name)
		_, k.makesSecrets = secretMakers[name]
		k.podPath, k.workload = podTemplates[name]
		if row, ok := managementKind(name); ok {
			k.management = &row
		}
		s.resources[name] = k
		s.kinds = append(s.kinds, k)
	}
	return k
}

func (s *placer) namespaceOf(name string) *namespace {
	ns := s.namespaces[name]
	if ns == nil {
		ns = &namespace{}
		s.namespaces[name] = ns
	}
	return ns
}

// sort lists all objects, those of each kind and those of each namespace by id. Ids are ordered by kind,
// namespace and name, so only names are compared, and only in a namespace.
func (s *placer) sort() {
	for _, name := range sortedKeys(s.namespaces) {
		ns := s.namespaces[name]
		ns.object = s.node(manifest.ID{Kind: "Namespace", Name: name})
		slices.SortFunc(ns.content, func(a, b *node) int { return strings.Compare(a.object.ID.Name, b.object.ID.Name) })
		for _, n := range ns.content {
			n.kind.nodes = append(n.kind.nodes, n)
		}
		ns.content = ns.content[:0]
	}
	slices.SortFunc(s.kinds, func(a, b *kind) int { return a.Compare(b.GroupKind) })
	for _, k := range s.kinds {
		for _, n := range k.nodes {
			n.order = len(s.all)
			s.all = append(s.all, n)
			n.namespace.content = append(n.namespace.content, n)
		}
	}
}

func byOrder(a, b *node) int { return a.order - b.order }

// node returns the node of an object, nil if the variant lacks it.
func (s *placer) node(id manifest.ID) *node {
	if i, ok := s.index[id]; ok {
		return &s.documents[i]
	}
	return nil
}

// resourcesOf returns the objects of a kind, in order.
func (s *placer) resourcesOf(name manifest.GroupKind) []*node {
	if k, ok := s.resources[name]; ok {
		return k.nodes
	}
	return nil
}

// contentOf returns the objects in a namespace, in order; none for the empty name.
func (s *placer) contentOf(name string) []*node {
	if ns, ok := s.namespaces[name]; ok && name != "" {
		return ns.content
	}
	return nil
}
