package placement

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

// findNamers finds what each object names, for each object those that name it, and the ServiceAccounts of workloads,
// when one of these is asked for first.
func (s *placer) findNamers() {
	if s.madeSecrets != nil {
		return
	}
	s.madeSecrets = map[manifest.ID]*node{}
	s.makeSecrets()
	data := sync.OnceValue(s.dataByName)
	names := make([]Name, 0, len(s.documents))
	for i := range s.documents {
		n := &s.documents[i]
		first := len(names)
		names = appendNames(names, n.object, n.kind.workload)
		n.names = names[first:len(names):len(names)]
		if n.kind.workload {
			n.account = accountIn(podSpec(n.object, n.kind.podPath))
		}
		for i := range n.names {
			id := n.names[i].ID
			if n.kind.workload && !n.followedBy(id) {
				continue
			}
			if to := s.target(id); to != nil {
				to.namers = append(to.namers, n)
			} else if id.Namespace == "" { // its namespace is not given
				for _, to := range data()[id] {
					to.namers = append(to.namers, n)
				}
			}
		}
	}
	s.nameSupports()
	s.nameSecrets()
	s.nameFetched()
	for _, n := range s.all {
		n.sortNamers()
	}
	for _, n := range s.madeSecrets {
		n.sortNamers()
	}
}

// followedBy reports whether an object that the Pods of the node name may go where they go. What every
// Namespace has does not; nameSupports finds the others.
func (n *node) followedBy(id manifest.ID) bool {
	switch id.GroupKind() {
	case secretKind, configMapKind, priorityClassKind, runtimeClassKind:
		return true
	case accountKind:
		return n.account != ""
	}
	return false
}

// dataByName returns the Secrets and ConfigMaps of all namespaces, by ids without one.
func (s *placer) dataByName() map[manifest.ID][]*node {
	all := map[manifest.ID][]*node{}
	add := func(id manifest.ID, n *node) {
		id.Namespace = ""
		all[id] = append(all[id], n)
	}
	for _, kind := range []manifest.GroupKind{secretKind, configMapKind} {
		for _, n := range s.resourcesOf(kind) {
			add(n.object.ID, n)
		}
	}
	for id, n := range s.madeSecrets {
		add(id, n)
	}
	return all
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
// is the object's own name. These kinds do nothing else, so their objects go where the Secret is needed; a database
// makes Secrets as well (package makes), but goes where it should run.
var secretMakers = map[manifest.GroupKind][]string{
	{Group: "bitnami.com", Kind: "SealedSecret"}:                 nil,
	{Group: "external-secrets.io", Kind: "ExternalSecret"}:       {"spec", "target", "name"},
	{Group: "cert-manager.io", Kind: "Certificate"}:              {"spec", "secretName"},
	{Group: "onepassword.com", Kind: "OnePasswordItem"}:          nil,
	{Group: "secrets.hashicorp.com", Kind: "VaultStaticSecret"}:  {"spec", "destination", "name"},
	{Group: "secrets.hashicorp.com", Kind: "VaultDynamicSecret"}: {"spec", "destination", "name"},
	{Group: "secrets.hashicorp.com", Kind: "VaultPKISecret"}:     {"spec", "destination", "name"},
	{Group: "secrets.infisical.com", Kind: "InfisicalSecret"}:    {"spec", "managedSecretReference", "secretName"},
	{Group: "secrets.doppler.com", Kind: "DopplerSecret"}:        {"spec", "managedSecret", "name"},
	{Group: "k8s.bitwarden.com", Kind: "BitwardenSecret"}:        {"spec", "secretName"},
}

// secretOf returns the Secret that an object is, or makes as secretMakers says.
func secretOf(o *manifest.Object) manifest.ID {
	if o.ID.GroupKind() == secretKind {
		return o.ID
	}
	name := o.ID.Name
	if field := secretMakers[o.ID.GroupKind()]; len(field) > 0 {
		name = cmp.Or(o.Text(field...), name)
	}
	return manifest.ID{Kind: "Secret", Namespace: o.ID.Namespace, Name: name}
}

// makeSecrets adds the Secrets that objects make.
func (s *placer) makeSecrets() {
	for name := range secretMakers {
		for _, n := range s.resourcesOf(name) {
			if id := secretOf(n.object); s.target(id) == nil {
				s.madeSecrets[id] = &node{}
			}
		}
	}
}

// nameSecrets adds to the namers of each Secret the objects for management clusters that have its
// name in any field: they name credentials in ways that no list of fields is complete for. The Secret
// is in the namespace that the text or the mapping around it gives, as in cattle-global-data:cc-1, or
// else in the object's own. An object without a namespace means its operator's, and does not say which
// that is: any Secret of the name counts, unless an application has it.
func (s *placer) nameSecrets() {
	f := secretFinder{in: map[string]map[string]*node{}, anywhere: map[string][]*node{}}
	for _, n := range s.resourcesOf(secretKind) {
		f.index(n.object.ID, n)
	}
	for id, n := range s.madeSecrets {
		f.index(id, n)
	}
	if len(f.anywhere) == 0 {
		return
	}
	for _, n := range s.all {
		if n.kind.makesSecrets || isData(n.object) || n.kind.GroupKind == crdKind || !s.isForManagement(n) {
			continue
		}
		f.by = n
		for field, value := range n.object.Body {
			if mayHaveReferences(field) {
				f.visit(value, "")
			}
		}
	}
}

// secretFinder finds the Secrets that have their names in one object.
type secretFinder struct {
	by *node
	// in has the Secrets by namespace and name, and anywhere those by name that no workload names.
	in       map[string]map[string]*node
	anywhere map[string][]*node
}

func (f *secretFinder) index(id manifest.ID, n *node) {
	if f.in[id.Namespace] == nil {
		f.in[id.Namespace] = map[string]*node{}
	}
	f.in[id.Namespace][id.Name] = n
	if !slices.ContainsFunc(n.namers, func(by *node) bool { return by.kind.workload }) {
		f.anywhere[id.Name] = append(f.anywhere[id.Name], n)
	} else if _, known := f.anywhere[id.Name]; !known {
		f.anywhere[id.Name] = nil
	}
}

func (f *secretFinder) visit(value any, namespace string) {
	switch v := value.(type) {
	case string:
		f.text(v, namespace)
	case []any:
		for _, item := range v {
			f.visit(item, namespace)
		}
	case map[string]any:
		given, _ := v["namespace"].(string)
		for _, item := range v {
			if _, leaf := item.(string); leaf {
				f.visit(item, given)
			} else {
				f.visit(item, "")
			}
		}
	}
}

// text finds the Secret that a text names; namespace is the one beside it.
func (f *secretFinder) text(text, namespace string) {
	if at := strings.IndexAny(text, ":/"); at > 0 {
		namespace, text = text[:at], text[at+1:]
	}
	own := cmp.Or(namespace, f.by.object.ID.Namespace)
	if secret := f.in[own][text]; secret != nil {
		secret.namers = append(secret.namers, f.by)
		return
	}
	if own == "" {
		for _, secret := range f.anywhere[text] {
			secret.namers = append(secret.namers, f.by)
		}
	}
}

// nameFetched adds to the namers of ConfigMaps the objects for management clusters that select them by
// labels, as the providers of Cluster API do.
func (s *placer) nameFetched() {
	maps := s.resourcesOf(configMapKind)
	for _, k := range s.kinds {
		if k.management == nil || len(maps) == 0 {
			continue
		}
		for _, n := range k.nodes {
			selector, err := metav1.LabelSelectorAsSelector(selectorOf(n.object.Map("spec", "fetchConfig", "selector")))
			if err != nil || selector.Empty() {
				continue
			}
			for _, m := range maps {
				if selector.Matches(labels.Set(m.object.Labels())) {
					m.namers = append(m.namers, n)
				}
			}
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
	if n.kind.management != nil || n.forCluster != "" || len(s.referrers()[n.object.ID]) > 0 || len(s.servedWith(n)) > 0 {
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

// referrers maps an object to the management objects that refer to it by kind and name. It is made once,
// since each object asks.
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
			}
		}
	}
	return s.refs
}

// References lists the objects that o refers to by fields ending in Ref or Reference that
// give kind and name, as Cluster API's infrastructureRef and controlPlaneRef do.
func References(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	walk(o.Body["spec"], func(field string, value any) {
		ref, ok := value.(map[string]any)
		if !ok || !strings.HasSuffix(field, "Ref") && !strings.HasSuffix(field, "Reference") {
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
