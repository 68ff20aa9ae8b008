package dependency

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfCustom lists what a custom resource needs to become ready: what it names, its controller, and what
// checks resources of its group.
func (s *surroundings) needsOfCustom(v int32, o *manifest.Object) []need {
	var out []need
	for i := range s.placed[v].Names {
		out = append(out, s.needsOfNamed(v, &s.placed[v].Names[i], ruleReferences, "it names ")...)
	}
	k := s.needsOfKind(o.ID.GroupKind())
	if k.flux {
		out = append(out, s.needsOfValues(v, o)...)
	}
	out = append(out, s.inBody[v]...)
	if o.ID.Group == gatewayGroup {
		class := manifest.ID{Group: gatewayGroup, Kind: "GatewayClass", Name: o.Text("spec", "gatewayClassName")}
		out = append(out, s.needsOfNamed(v, &placement.Name{ID: class, Field: "spec.gatewayClassName"}, ruleRoutes, "it names ")...)
	}
	for _, to := range s.controllers(v) {
		out = append(out, need{to: to, rule: ControllerRule, field: "kind", why: "it writes the status of " + o.ID.Kind})
	}
	for _, to := range s.guards(v) {
		out = append(out, need{to: to, rule: ControllerRule, field: "kind", why: "it checks resources of " + o.ID.Group})
	}
	if crd, ok := s.Nearest(v, k.definitions); ok && s.stays(crd) && converts(s.content[crd]) && !isConverted(s.content[crd], o.Version) {
		for _, to := range s.bundleMakers(crd) { // its controller may ask for another version
			why := "the conversion webhook of " + s.ID(crd).Name + " gets its bundle of certificates from it"
			out = append(out, need{to: to, rule: ruleBundle, field: "kind", why: why})
		}
	}
	return out
}

// kindNeeds is what is the same for all resources of a kind.
type kindNeeds struct {
	flux bool
	// group are the kinds whose names fields may have: those of the kind's group, none for installers, because
	// values of charts are called as their authors like.
	group []manifest.GroupKind
	// called are those of them that a field is called like, by the field.
	called      map[string][]manifest.GroupKind
	definitions []int32
}

// needsOfKind returns what is known of a kind. Resources are asked for kind by kind.
func (s *surroundings) needsOfKind(kind manifest.GroupKind) *kindNeeds {
	if s.custom != nil && s.customIs == kind {
		return s.custom
	}
	s.findKinds()
	s.customIs, s.custom = kind, &kindNeeds{flux: fluxKinds[kind], called: map[string][]manifest.GroupKind{}, definitions: s.definitions()[kind]}
	if !installs.IsInstaller(kind) {
		s.custom.group = s.ofGroup[kind.Group]
	}
	return s.custom
}

const gatewayGroup = "gateway.networking.k8s.io"

// needsOfCopy lists what a Secret or ConfigMap gets its content from.
func (s *surroundings) needsOfCopy(v int32, o *manifest.Object) []need {
	if !s.annotated(v) {
		return nil
	}
	id, annotation, ok := makes.CopyOf(o)
	if !ok {
		return nil
	}
	return s.needsOfNamed(v, &placement.Name{ID: id, Field: "metadata.annotations[" + annotation + "]"}, ruleReferences, "it is a copy of ")
}

// addInBody notes what a custom resource names in its body and labels. It reads them when addMade does: to have them
// in the processor's cache is most of the work.
func (s *surroundings) addInBody(v int32, o *manifest.Object) {
	r := resourceNames{surroundings: s, from: v, of: s.needsOfKind(o.ID.GroupKind())}
	for field, value := range o.Body {
		if field != "metadata" && field != "status" && field != "kind" && field != "apiVersion" {
			r.add(field, value)
		}
	}
	r.addLabels(o)
	if len(r.found) > 0 {
		s.inBody[v] = r.found
	}
}

// resourceNames finds the objects that a custom resource names by their kind and name, or by a field that is
// called like a kind of its group: issuerRef, clusterName, cluster.name.
type resourceNames struct {
	*surroundings
	from  int32
	of    *kindNeeds
	found []need
}

func (r *resourceNames) add(field string, value any) {
	switch v := value.(type) {
	case string:
		r.addLike(field, "", v)
	case []any:
		for _, item := range v {
			if _, isText := item.(string); !isText {
				r.add(field, item)
			}
		}
	case map[string]any:
		r.addMapping(field, v)
		for key, item := range v {
			r.add(key, item)
		}
	}
}

// addMapping adds what a mapping with a name names.
func (r *resourceNames) addMapping(field string, ref map[string]any) {
	name, _ := ref["name"].(string)
	if name == "" {
		return
	}
	namespace, _ := ref["namespace"].(string)
	kind, _ := ref["kind"].(string)
	if kind == "" {
		if field == "parentRefs" {
			r.addNamed(field, manifest.GroupKind{Group: gatewayGroup, Kind: "Gateway"}, namespace, name)
		}
		r.addLike(field, namespace, name)
		return
	}
	group, said := "", false
	for _, key := range []string{"apiVersion", "apiGroup", "group"} {
		if text, ok := ref[key].(string); ok {
			group, _, _ = strings.Cut(text, "/")
			if key == "apiVersion" && !strings.Contains(text, "/") {
				group = ""
			}
			said = true
		}
	}
	for _, candidate := range r.kinds[kind] {
		if !said || candidate.Group == group {
			r.addNamed(field, candidate, namespace, name)
		}
	}
}

// addLike adds an object whose kind is what a field is called, in the group of who names it.
func (r *resourceNames) addLike(field, namespace, name string) {
	if name == "" {
		return
	}
	kinds, known := r.of.called[field]
	if !known {
		kinds = kindsCalled(field, r.of.group)
		r.of.called[field] = kinds
	}
	for _, kind := range kinds {
		r.addNamed(field, kind, namespace, name)
	}
}

// kindsCalled returns those kinds that a field is called like: by a word before Ref, Reference or Name, which may be the
// end of the kind.
func kindsCalled(field string, kinds []manifest.GroupKind) []manifest.GroupKind {
	word := strings.ToLower(field)
	for _, suffix := range []string{"refs", "ref", "references", "reference", "names", "name", "selector", "s"} {
		if cut, ok := strings.CutSuffix(word, suffix); ok && cut != "" {
			word = cut
			break
		}
	}
	if len(word) < 3 {
		return nil
	}
	var out []manifest.GroupKind
	for _, kind := range kinds {
		if lower := strings.ToLower(kind.Kind); strings.HasSuffix(lower, word) || strings.HasSuffix(word, lower) {
			out = append(out, kind)
		}
	}
	return out
}

// addLabels adds the objects that labels such as strimzi.io/cluster name. The domain of the label is the API group.
func (r *resourceNames) addLabels(o *manifest.Object) {
	for key, value := range o.Map("metadata", "labels") {
		domain, ok := strings.CutSuffix(key, "/cluster")
		if name, _ := value.(string); ok && (o.ID.Group == domain || strings.HasSuffix(o.ID.Group, "."+domain)) {
			for _, candidate := range r.of.group {
				r.addNamed("metadata.labels["+key+"]", candidate, "", name)
			}
		}
	}
}

// addNamed adds an object beside the one that names it, in the namespace that is given, else its own, or in none.
func (r *resourceNames) addNamed(field string, kind manifest.GroupKind, namespace, name string) {
	if namespace == "" {
		namespace = r.ID(r.from).Namespace
	}
	for _, in := range []string{namespace, ""} {
		to, ok := r.Beside(r.from, manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: in, Name: name})
		if ok {
			r.found = append(r.found, need{to: to, rule: ruleReferences, field: field, why: "it names " + kind.Kind + " " + name})
			return
		}
	}
}

// findKinds finds the kinds of custom resources and workloads, by their names and by their groups.
func (s *surroundings) findKinds() {
	if s.kinds != nil {
		return
	}
	s.kinds, s.ofGroup = map[string][]manifest.GroupKind{}, map[string][]manifest.GroupKind{}
	for _, run := range s.runs {
		if manifest.ServedByKubernetes(run.kind) && !placement.RunsPods(run.kind) || slices.Contains(s.kinds[run.kind.Kind], run.kind) {
			continue
		}
		s.kinds[run.kind.Kind] = append(s.kinds[run.kind.Kind], run.kind)
		s.ofGroup[run.kind.Group] = append(s.ofGroup[run.kind.Group], run.kind)
	}
}

// controllers lists the workloads whose ServiceAccount may write the status of resources of a kind.
func (s *surroundings) controllers(v int32) []int32 {
	kind := s.ID(v).GroupKind()
	var out []int32
	for _, w := range s.findWriters()[groupOn{s.graph.vertices[v].cluster, kind.Group}] {
		if slices.ContainsFunc(s.pluralsOf(kind), w.rule.Writes) {
			out = append(out, w.vertex)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// writer is a workload with a rule by which it may write statuses.
type writer struct {
	vertex int32
	rule   placement.StatusWriting
}

// findWriters finds the workloads of controllers by their roles.
func (s *surroundings) findWriters() map[groupOn][]writer {
	if s.writers != nil {
		return s.writers
	}
	s.writers, s.operators = map[groupOn][]writer{}, map[int32]bool{}
	var accounts map[accountOn][]int32
	for v, binding := range s.VerticesOf(clusterBindingKind, bindingKind) {
		if s.leaving[v] {
			continue
		}
		if accounts == nil {
			accounts = s.workloadsByAccount()
		}
		cluster := s.graph.vertices[v].cluster
		var rules []placement.StatusWriting
		if role, ok := s.Beside(v, placement.RoleOf(binding)); ok && s.stays(role) {
			rules = placement.WritesStatus(s.content[role])
		}
		for _, account := range placement.SubjectsOf(binding) {
			for _, workload := range accounts[accountOn{namespaceOn{cluster, account.Namespace}, account.Name}] {
				s.operators[workload] = s.operators[workload] || len(rules) > 0 || binding.ID.GroupKind() == clusterBindingKind
				for _, rule := range rules {
					key := groupOn{cluster, rule.Group}
					s.writers[key] = append(s.writers[key], writer{workload, rule})
				}
			}
		}
	}
	return s.writers
}

var (
	clusterBindingKind = manifest.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}
	bindingKind        = manifest.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}
)

// accountOn is a ServiceAccount on a cluster.
type accountOn struct {
	namespaceOn
	name string
}

// workloadsByAccount lists what has Pods by their ServiceAccount.
func (s *surroundings) workloadsByAccount() map[accountOn][]int32 {
	out := map[accountOn][]int32{}
	for _, workloads := range s.findWorkloads() {
		for _, v := range workloads {
			_, spec := placement.PodsOf(s.content[v])
			key := accountOn{s.namespaceOf(v), placement.AccountOf(spec)}
			out[key] = append(out[key], v)
		}
	}
	return out
}
