package placement

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// referenceRow is one row of references.yaml: a field, in whatever object, that names a Secret or
// ConfigMap. Where the field holds an object or a list of objects, Name is the key that has the
// name.
type referenceRow struct {
	// Field is the name of the field, or Suffix how it ends: SecretRef is also secretRef.
	Field  string `json:"field,omitempty"`
	Suffix string `json:"suffix,omitempty"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind"`
}

//go:embed references.yaml
var referencesYAML []byte

var referenceRows = mustRows[referenceRow]("references.yaml", referencesYAML)

// fieldRows are the rows of references.yaml by the field that they are about; suffixRows are the
// others.
var fieldRows, suffixRows = func() (map[string][]referenceRow, []referenceRow) {
	byField := map[string][]referenceRow{}
	var bySuffix []referenceRow
	for _, row := range referenceRows {
		if row.Suffix != "" {
			bySuffix = append(bySuffix, row)
			continue
		}
		byField[row.Field] = append(byField[row.Field], row)
	}
	return byField, bySuffix
}()

// holds reports whether a field ends in the row's suffix, as a word: at its start, or in camel case.
func (r referenceRow) holds(field string) bool {
	return strings.HasSuffix(field, r.Suffix) || len(field) == len(r.Suffix) && field[1:] == r.Suffix[1:] && strings.EqualFold(field[:1], r.Suffix[:1])
}

// rowsOf returns the rows that are about a field.
func rowsOf(field string) []referenceRow {
	rows := fieldRows[field]
	if !mayRefer(field) {
		return rows
	}
	for _, row := range suffixRows {
		if row.holds(field) {
			rows = append(rows[:len(rows):len(rows)], row)
		}
	}
	return rows
}

// mayRefer reports whether a field may end in one of the suffixes; most do not, and each is asked.
func mayRefer(field string) bool {
	return strings.HasSuffix(field, "Ref") || strings.HasSuffix(field, "Name")
}

// NamedBy lists the objects that another one names and that only serve others, in no order and with
// duplicates.
// Fields are found by name and shape wherever they are, which serves the kinds of all operators
// that write references as Kubernetes does.
func NamedBy(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	if isData(o) {
		return nil // their keys are free, and name nothing
	}
	add := func(kind, namespace, name string) {
		if namespace == "" {
			namespace = o.ID.Namespace
		}
		if id := (manifest.ID{Kind: kind, Namespace: namespace, Name: name}); id != o.ID && name != "" {
			ids = append(ids, id)
		}
	}
	walkFields(o, func(field string, value any) {
		for _, row := range rowsOf(field) {
			row.names(value, add)
		}
		namedByShape(value, add)
	})
	if o.ID.Group == rbacGroup && o.Map("roleRef") != nil {
		ids = append(ids, roleOf(o))
	}
	return append(ids, namedByPods(o)...)
}

func isData(o *manifest.Object) bool {
	return o.ID.GroupKind() == secretKind || o.ID.GroupKind() == configMapKind
}

// names passes on what a field refers to: its own text, that of the field Name in it, or, if it is
// a list, those of its items.
func (r referenceRow) names(value any, add func(kind, namespace, name string)) {
	switch v := value.(type) {
	case string:
		if r.Name == "" {
			add(r.Kind, "", v)
		}
	case map[string]any:
		if name, ok := v[r.Name].(string); ok && r.Name != "" {
			namespace, _ := v["namespace"].(string)
			add(r.Kind, namespace, name)
		}
	case []any:
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				r.names(m, add)
			}
		}
	}
}

// namedByShape passes on the Secrets and ConfigMaps that a value refers to by kind and name,
// whatever its field is called: {kind: Secret, name: …}, alone or in a list.
func namedByShape(value any, add func(kind, namespace, name string)) {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	for _, item := range items {
		ref, _ := item.(map[string]any)
		kind, _ := ref["kind"].(string)
		name, _ := ref["name"].(string)
		if kind != "Secret" && kind != "ConfigMap" || name == "" {
			continue
		}
		if id := referenced(ref, ""); id.Group == "" {
			add(kind, id.Namespace, name)
		}
	}
}

// namersOf returns the objects that name another one, in order.
func (s *placer) namersOf(id manifest.ID) []*node {
	if s.namers == nil {
		s.namers = map[manifest.ID][]*node{}
		for _, n := range s.all {
			for _, named := range NamedBy(n.object) {
				s.namers[named] = append(s.namers[named], n)
			}
		}
		s.nameSecrets()
		for id, namers := range s.namers {
			slices.SortFunc(namers, func(a, b *node) int { return a.object.ID.Compare(b.object.ID) })
			s.namers[id] = slices.Compact(namers)
		}
	}
	return s.namers[id]
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

// nameSecrets adds to the namers of each Secret the objects for management clusters that have its
// name in any field: they name credentials in ways that no list of fields is complete for.
func (s *placer) nameSecrets() {
	names := map[string]map[string]manifest.ID{} // by namespace
	for _, n := range s.all {
		id, ok := secretOf(n.object)
		if !ok {
			continue
		}
		if names[id.Namespace] == nil {
			names[id.Namespace] = map[string]manifest.ID{}
		}
		names[id.Namespace][id.Name] = id
	}
	for namespace, secrets := range names {
		for _, n := range s.content[namespace] {
			if _, makes := secretOf(n.object); makes || isData(n.object) || !s.isForManagement(n.object) {
				continue
			}
			walkFields(n.object, func(_ string, value any) {
				forTexts(value, func(text string) {
					if id, ok := secrets[text]; ok {
						s.namers[id] = append(s.namers[id], n)
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
		if n, ok := s.nodes[id]; ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// isForManagement reports whether an object goes to management clusters alone, as far as it says so
// itself.
func (s *placer) isForManagement(o *manifest.Object) bool {
	if isManagement(o) || o.Labels()[labelClusterName] != "" || len(s.referrers()[o.ID]) > 0 {
		return true
	}
	d, err := s.annotated(o)
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
		switch field {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		visit(field, value)
		walk(value, visit)
	}
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
		for _, n := range s.all {
			row, ok := managementKind(n.object.ID.GroupKind())
			if !ok {
				continue
			}
			for _, id := range References(n.object) {
				s.refs[id] = append(s.refs[id], n)
			}
			if row.Family != "" {
				s.addFamily(row.Family, n)
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
			if other == n || ns != "" && ns != n.object.ID.Namespace || isManagement(other.object) || slices.Contains(s.refs[other.object.ID], n) {
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
		for _, n := range s.all {
			if matchesGroup(family, n.object.ID.Group) {
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
