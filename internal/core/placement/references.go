package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// namersOf returns the objects that name another one, in order.
func (s *placer) namersOf(id manifest.ID) []*node {
	s.findNamers()
	if n := s.target(id); n != nil {
		return n.namers
	}
	return nil
}

// findNamers finds for each object those that name it, and the ServiceAccounts of workloads, when
// one of these is asked for first.
func (s *placer) findNamers() {
	if s.madeSecrets != nil {
		return
	}
	s.madeSecrets = map[manifest.ID]*node{}
	s.makeSecrets()
	var named []manifest.ID
	for i := range s.documents {
		n := &s.documents[i]
		if n.kind.workload {
			spec := podSpec(n.object, n.kind.podPath)
			n.account = accountIn(spec)
			named = appendNamedByPods(named[:0], n.object.ID, spec)
		} else {
			named = appendReferences(named[:0], n.object)
		}
		for _, id := range named {
			if to := s.target(id); to != nil {
				to.namers = append(to.namers, n)
			}
		}
	}
	s.nameSecrets()
	for _, n := range s.all {
		n.sortNamers()
	}
	for _, n := range s.madeSecrets {
		n.sortNamers()
	}
}

func (n *node) sortNamers() {
	if len(n.namers) > 1 {
		slices.SortFunc(n.namers, byOrder)
		n.namers = slices.Compact(n.namers)
	}
}

// target returns the object of an id, or the Secret that an object makes; nil where there is none.
func (s *placer) target(id manifest.ID) *node {
	if n := s.node(id); n != nil {
		return n
	}
	return s.madeSecrets[id]
}

// secretMakers say which Secret the objects of a kind make, by the field that names it; an empty field
// is the object's own name.
var secretMakers = map[manifest.GroupKind][]string{
	{Group: "bitnami.com", Kind: "SealedSecret"}:           nil,
	{Group: "external-secrets.io", Kind: "ExternalSecret"}: {"spec", "target", "name"},
	{Group: "cert-manager.io", Kind: "Certificate"}:        {"spec", "secretName"},
}

// secretOf returns the Secret that an object is, or makes.
func secretOf(o *manifest.Object) (secret manifest.ID, ok bool) {
	if o.ID.GroupKind() == secretKind {
		return o.ID, true
	}
	field, ok := secretMakers[o.ID.GroupKind()]
	name := o.ID.Name
	if len(field) > 0 {
		name = cmp.Or(o.Text(field...), name)
	}
	return manifest.ID{Kind: "Secret", Namespace: o.ID.Namespace, Name: name}, ok
}

// makeSecrets adds the Secrets that objects make.
func (s *placer) makeSecrets() {
	for name := range secretMakers {
		for _, n := range s.resourcesOf(name) {
			if id, _ := secretOf(n.object); s.target(id) == nil {
				s.madeSecrets[id] = &node{}
			}
		}
	}
}

// nameSecrets adds to the namers of each Secret the objects for management clusters that have its
// name in any field: they name credentials in ways that no list of fields is complete for.
func (s *placer) nameSecrets() {
	secrets := map[string]map[string]*node{} // by namespace and name
	add := func(id manifest.ID, n *node) {
		if secrets[id.Namespace] == nil {
			secrets[id.Namespace] = map[string]*node{}
		}
		secrets[id.Namespace][id.Name] = n
	}
	for _, n := range s.resourcesOf(secretKind) {
		add(n.object.ID, n)
	}
	for id, n := range s.madeSecrets {
		add(id, n)
	}
	for namespace, named := range secrets {
		for _, n := range s.contentOf(namespace) {
			if _, makes := secretOf(n.object); makes || isData(n.object) || !s.isForManagement(n) {
				continue
			}
			walkFields(n.object, func(_ string, value any) {
				forTexts(value, func(text string) {
					if secret, ok := named[text]; ok {
						secret.namers = append(secret.namers, n)
					}
				})
			})
		}
	}
}

// known returns the nodes of those objects that are in the variant.
func (s *placer) known(ids []manifest.ID) []*node {
	var nodes []*node
	for _, id := range ids {
		if n := s.node(id); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// isForManagement reports whether an object goes to management clusters alone, as far as it says so
// itself.
func (s *placer) isForManagement(n *node) bool {
	if n.kind.management != nil || n.forCluster != "" || len(s.referrers()[n.object.ID]) > 0 {
		return true
	}
	d, err := s.annotated(n)
	return err == nil && len(d.clusters) > 0 && !slices.ContainsFunc(d.clusters, func(name string) bool {
		return s.inventory.Clusters[name].Role != v1alpha1.RoleManagement
	})
}

// forTexts passes on a text, or those in a list.
func forTexts(value any, visit func(string)) {
	switch v := value.(type) {
	case string:
		visit(v)
	case []any:
		for _, item := range v {
			forTexts(item, visit)
		}
	}
}

// walkFields visits every field of an object in which it may refer to others, in no order.
func walkFields(o *manifest.Object, visit func(field string, value any)) {
	for field, value := range o.Body {
		if mayHaveReferences(field) {
			visit(field, value)
			walk(value, visit)
		}
	}
}

func mayHaveReferences(field string) bool {
	switch field {
	case "apiVersion", "kind", "metadata", "status":
		return false
	}
	return true
}

// walk visits every field of a body, in no order.
func walk(value any, visit func(field string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for field, item := range v {
			visit(field, item)
			walk(item, visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// referrers maps an object to the management objects that refer to it by kind and name, or that
// name it and are of one cloud with it. It is made once, since each object asks.
func (s *placer) referrers() map[manifest.ID][]*node {
	if s.refs == nil {
		s.refs = map[manifest.ID][]*node{}
		for _, k := range s.kinds {
			if k.management == nil {
				continue
			}
			for _, n := range k.nodes {
				for _, id := range References(n.object) {
					s.refs[id] = append(s.refs[id], n)
				}
				if k.management.Family != "" {
					s.addFamily(k.management.Family, n)
				}
			}
		}
	}
	return s.refs
}

// addFamily adds to the referrers the objects of a cloud's groups that an object names in any field,
// and what these name: a cluster, its subnets, their network. Such references give no kind.
func (s *placer) addFamily(family string, n *node) {
	names := map[string]bool{}
	walkFields(n.object, func(_ string, value any) {
		forTexts(value, func(text string) { names[text] = true })
	})
	for _, name := range sortedKeys(names) {
		for _, other := range s.named(family, name) {
			ns := other.object.ID.Namespace
			if other == n || ns != "" && ns != n.object.ID.Namespace || other.kind.management != nil || slices.Contains(s.refs[other.object.ID], n) {
				continue
			}
			s.refs[other.object.ID] = append(s.refs[other.object.ID], n)
			if len(s.refs[other.object.ID]) == 1 {
				s.addFamily(family, other)
			}
		}
	}
}

// named returns the objects of a family of groups that have a name.
func (s *placer) named(family, name string) []*node {
	if s.families == nil {
		s.families = map[string]map[string][]*node{}
	}
	if s.families[family] == nil {
		byName := map[string][]*node{}
		for _, k := range s.kinds {
			if !matchesGroup(family, k.Group) {
				continue
			}
			for _, n := range k.nodes {
				byName[n.object.ID.Name] = append(byName[n.object.ID.Name], n)
			}
		}
		s.families[family] = byName
	}
	return s.families[family][name]
}

// References lists the objects that o refers to by fields ending in Ref that
// give kind and name, as Cluster API's infrastructureRef and controlPlaneRef do.
func References(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	walk(o.Body["spec"], func(field string, value any) {
		ref, ok := value.(map[string]any)
		if !ok || !strings.HasSuffix(field, "Ref") {
			return
		}
		if id := referenced(ref, o.ID.Namespace); id.Kind != "" && id.Name != "" {
			ids = append(ids, id)
		}
	})
	return ids
}

// referenced reads an object reference in any of the usual forms.
func referenced(ref map[string]any, namespace string) manifest.ID {
	id := manifest.ID{Namespace: namespace}
	id.Kind, _ = ref["kind"].(string)
	id.Name, _ = ref["name"].(string)
	if ns, ok := ref["namespace"].(string); ok && ns != "" {
		id.Namespace = ns
	}
	if group, ok := ref["apiGroup"].(string); ok {
		id.Group = group
	} else if version, ok := ref["apiVersion"].(string); ok {
		id.Group, _, _ = strings.Cut(version, "/")
		if !strings.Contains(version, "/") {
			id.Group = ""
		}
	}
	return id
}

// mappings returns the mappings of a list.
func mappings(list any) []map[string]any {
	items, _ := list.([]any)
	var out []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// texts returns the strings of a list.
func texts(list any) []string {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
