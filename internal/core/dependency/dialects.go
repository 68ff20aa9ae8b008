package dependency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	annotationMutation = "config.kubernetes.io/apply-time-mutation"
	kappGroup          = "kapp.k14s.io/change-group"
	kappRule           = "kapp.k14s.io/change-rule"
)

// invalid returns the finding of an annotation or field that cannot be read.
func invalid(field, message, next string) Finding {
	return Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: field, Message: message, Next: next}
}

// mutationSources returns the objects whose fields cli-utils would copy into one: the value of the
// annotation is a list in YAML. An empty namespace is that of the object, where the kind is not
// known to have none.
func mutationSources(text, namespace string) ([]manifest.ID, error) {
	var list []struct {
		SourceRef struct {
			Group      string `json:"group"`
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			Namespace  string `json:"namespace"`
		} `json:"sourceRef"`
		SourcePath string `json:"sourcePath"`
		TargetPath string `json:"targetPath"`
		Token      string `json:"token"`
	}
	if err := yaml.UnmarshalStrict([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("it is not a list of substitutions, each with sourceRef, sourcePath and targetPath")
	}
	var out []manifest.ID
	for i, item := range list {
		ref := item.SourceRef
		id := manifest.ID{Group: ref.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		if group, _, grouped := strings.Cut(ref.APIVersion, "/"); grouped && id.Group == "" {
			id.Group = group
		}
		if scope, known := manifest.BuiltinScope(id.GroupKind()); id.Namespace == "" && !(known && scope == manifest.ClusterScoped) {
			id.Namespace = namespace
		}
		switch {
		case item.SourcePath == "" || item.TargetPath == "":
			return nil, fmt.Errorf("substitution %d has no sourcePath or no targetPath", i+1)
		case !isID(id):
			return nil, fmt.Errorf("the sourceRef of substitution %d does not name an object by kind and name", i+1)
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

// isID reports whether an id could be that of an object.
func isID(id manifest.ID) bool {
	parsed, err := manifest.ParseID(id.String())
	return err == nil && parsed == id
}

// waitForSources draws the edges of an annotation of cli-utils that substitutes fields.
func waitForSources(w *World, v int32, o *manifest.Object) {
	text := o.Annotation(annotationMutation)
	if strings.TrimSpace(text) == "" {
		return
	}
	sources, err := mutationSources(text, o.ID.Namespace)
	if err != nil {
		w.Fail(v, invalid(annotationMutation, fmt.Sprintf("annotation %s: %v", annotationMutation, err), "Correct the annotation."))
		return
	}
	w.Warn(v, Finding{Reason: v1alpha1.ReasonAnnotationIgnored, Field: annotationMutation,
		Message: fmt.Sprintf("annotation %s orders the objects, and no value is substituted", annotationMutation), Next: "Write the values, or let a controller on the cluster copy them."})
	for _, id := range sources {
		waitForID(w, v, mention{annotation: annotationMutation, text: id.String()}, id, "Add that object, or correct the annotation.")
	}
}

// mention is what an annotation says, and the plugin that wrote it; empty if a person did.
type mention struct{ annotation, text, plugin string }

func (m mention) why() string {
	why := fmt.Sprintf("%s: %s", m.annotation, manifest.Printable(m.text))
	if m.plugin != "" {
		why = "plugin " + m.plugin + " wrote " + why
	}
	return why
}

// waitForID draws the edges to an object that an annotation names: on the same cluster, else on all
// clusters that have it. So an object on a workload cluster may name one on its management cluster
// and need not name the cluster. A name that nothing has is an error and not a warning as in other
// rules, since somebody wrote it on purpose.
func waitForID(w *World, v int32, by mention, id manifest.ID, next string) {
	annotation := by.annotation
	reason := Reason{Field: "metadata.annotations[" + annotation + "]", Why: by.why()}
	if to, ok := w.Beside(v, id); ok {
		if to == v {
			w.Fail(v, invalid(annotation, fmt.Sprintf("annotation %s names the object itself", annotation), "Correct the annotation."))
			return
		}
		w.Wait(v, to, reason)
		return
	}
	elsewhere := w.Everywhere(id)
	if len(elsewhere) == 0 {
		w.Fail(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Field: annotation, Missing: true, Message: fmt.Sprintf("annotation %s names %s, which is in no seed", annotation, id), Next: next})
		return
	}
	for _, to := range elsewhere {
		w.Wait(v, to, reason)
	}
}

// fluxKinds are the kinds whose spec.dependsOn names objects of the own kind, or of any.
var fluxKinds = map[manifest.GroupKind]bool{
	{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}: true,
	{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:        true,
	{Group: "fluxcd.controlplane.io", Kind: "ResourceSet"}:        true,
}

// dependsOn returns the objects that Flux waits for before it reconciles one.
func dependsOn(o *manifest.Object) ([]manifest.ID, error) {
	value, given := o.Field("spec", "dependsOn")
	if !given || value == nil {
		return nil, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("it is not a list")
	}
	var out []manifest.ID
	for i, item := range list {
		ref, _ := item.(map[string]any)
		text := func(key string) string { s, _ := ref[key].(string); return s }
		id := manifest.ID{Group: o.ID.Group, Kind: cmp.Or(text("kind"), o.ID.Kind), Namespace: cmp.Or(text("namespace"), o.ID.Namespace), Name: text("name")}
		if version := text("apiVersion"); version != "" {
			group, _, grouped := strings.Cut(version, "/")
			if id.Group = group; !grouped {
				id.Group = ""
			}
		}
		if scope, known := manifest.BuiltinScope(id.GroupKind()); known && scope == manifest.ClusterScoped {
			id.Namespace = ""
		}
		if !isID(id) {
			return nil, fmt.Errorf("item %d does not name an object", i+1)
		}
		out = append(out, id)
	}
	return out, nil
}

// waitForFlux draws the edges of spec.dependsOn: Flux reconciles an object only when those are
// ready, so a tier with it would never be if they came later. They may be on the cluster already.
func waitForFlux(w *World, v int32, o *manifest.Object) {
	const field = "spec.dependsOn"
	needed, err := dependsOn(o)
	if err != nil {
		w.Fail(v, invalid(field, fmt.Sprintf("%s: %v", field, err), "Write a list of names, as in - name: crds."))
		return
	}
	for _, id := range needed {
		to, ok := w.Beside(v, id)
		switch {
		case ok && to == v:
			w.Fail(v, invalid(field, field+" names the object itself", "Remove it."))
		case ok:
			w.Wait(v, to, Reason{Field: field, Why: fmt.Sprintf("%s: %s", field, id.Name)})
		default:
			w.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Field: field, Cluster: w.Cluster(v).Name, Missing: true,
				Message: fmt.Sprintf("%s names %s, which no seed contains for cluster %s", field, id, w.Cluster(v).Name), Next: "Add it, or check that the cluster has it: without it the tier never becomes ready."})
		}
	}
}

// kappOwnGroups are the groups in which kapp puts objects by their kind.
var kappOwnGroups = []struct {
	name  string
	kinds []manifest.GroupKind
}{
	{"change-groups.kapp.k14s.io/crds", []manifest.GroupKind{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}},
	{"change-groups.kapp.k14s.io/crds-{crd-group}-{crd-kind}", []manifest.GroupKind{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}},
	{"change-groups.kapp.k14s.io/namespaces", []manifest.GroupKind{{Kind: "Namespace"}}},
	{"change-groups.kapp.k14s.io/namespaces-{name}", []manifest.GroupKind{{Kind: "Namespace"}}},
	{"change-groups.kapp.k14s.io/storage-class", []manifest.GroupKind{{Group: "storage.k8s.io", Kind: "StorageClass"}}},
	{"change-groups.kapp.k14s.io/storage", []manifest.GroupKind{{Kind: "PersistentVolume"}, {Kind: "PersistentVolumeClaim"}}},
	{"change-groups.kapp.k14s.io/rbac-roles", []manifest.GroupKind{{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}}},
	{"change-groups.kapp.k14s.io/rbac-role-bindings", []manifest.GroupKind{{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}, {Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}}},
	{"change-groups.kapp.k14s.io/rbac", []manifest.GroupKind{{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, {Group: "rbac.authorization.k8s.io", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}, {Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}}},
	{"change-groups.kapp.k14s.io/pod-related", []manifest.GroupKind{{Group: "networking.k8s.io", Kind: "NetworkPolicy"}, {Kind: "ResourceQuota"}, {Kind: "LimitRange"}, {Group: "policy", Kind: "PodDisruptionBudget"}, {Group: "scheduling.k8s.io", Kind: "PriorityClass"}, {Group: "node.k8s.io", Kind: "RuntimeClass"}, {Kind: "ServiceAccount"}, {Kind: "Secret"}, {Kind: "ConfigMap"}}},
	{"change-groups.kapp.k14s.io/serviceaccount", []manifest.GroupKind{{Kind: "ServiceAccount"}}},
	{"change-groups.kapp.k14s.io/appcr", []manifest.GroupKind{{Group: "kappctrl.k14s.io", Kind: "App"}}},
	{"change-groups.kapp.k14s.io/packageinstall", []manifest.GroupKind{{Group: "packaging.carvel.dev", Kind: "PackageInstall"}}},
}

// kappPlaceholders are what kapp replaces in the names of groups.
var kappPlaceholders = []string{"{api-group}", "{kind}", "{name}", "{namespace}", "{crd-kind}", "{crd-group}"}

// fillPlaceholders replaces the placeholders of kapp in a text by what an object has.
func fillPlaceholders(text string, o *manifest.Object) (string, error) {
	values := []string{o.ID.Group, o.ID.Kind, o.ID.Name, o.ID.Namespace, "", ""}
	if kind, _, ok := manifest.DefinedScope(*o); ok {
		values[4], values[5] = kind.Kind, kind.Group
	}
	var b strings.Builder
	for {
		start := strings.IndexByte(text, '{')
		end := strings.IndexByte(text[max(start, 0):], '}')
		if start < 0 || end < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		placeholder := text[start : start+end+1]
		i := slices.Index(kappPlaceholders, placeholder)
		switch {
		case i < 0:
			return "", fmt.Errorf("%q is not one of %s", placeholder, strings.Join(kappPlaceholders, ", "))
		case values[i] == "":
			return "", fmt.Errorf("%s has no value for this object", placeholder)
		}
		b.WriteString(text[:start] + values[i])
		text = text[start+end+1:]
	}
}

// changeRule is a rule of kapp, about what is applied; one about what is deleted orders nothing
// here, since removals go in the reverse order.
type changeRule struct {
	before bool
	group  string
	// deletes reports whether it is about a deletion.
	deletes bool
}

// parseChangeRule reads "upsert after upserting group".
func parseChangeRule(text string) (changeRule, error) {
	const form = "(upsert|delete) (before|after) (upserting|deleting) group"
	parts := strings.Split(text, " ")
	if len(parts) != 4 || parts[0] != "upsert" && parts[0] != "delete" || parts[1] != "before" && parts[1] != "after" || parts[2] != "upserting" && parts[2] != "deleting" {
		return changeRule{}, fmt.Errorf("%q is not of the form %s", text, form)
	}
	if len(validation.IsQualifiedName(parts[3])) > 0 && !strings.HasPrefix(parts[3], "change-groups.kapp.k14s.io/") {
		return changeRule{}, fmt.Errorf("%q is not a valid name of a group", parts[3])
	}
	return changeRule{before: parts[1] == "before", group: parts[3], deletes: parts[0] == "delete" || parts[2] == "deleting"}, nil
}

// kappAnnotations returns the annotations of a kind that an object has, in order: the key itself,
// and with a suffix of any name.
func kappAnnotations(o *manifest.Object, key string) []string {
	var keys []string
	for name := range o.Map("metadata", "annotations") {
		if name == key || strings.HasPrefix(name, key+".") {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// changeGroups are the vertices in each group of kapp, by seed.
type changeGroups map[changeGroup][]int32

type changeGroup struct {
	seed int32
	name string
}

// newChangeGroups finds the groups of all objects in seeds that have rules of kapp.
func newChangeGroups(w *World) changeGroups {
	used := map[int32]bool{}
	for v, o := range w.Sources {
		if w.annotated(v) && len(kappAnnotations(o, kappRule)) > 0 {
			used[w.graph.vertices[v].seed] = true
		}
	}
	groups := changeGroups{}
	if len(used) == 0 {
		return groups
	}
	for v, o := range w.Vertices {
		seed := w.graph.vertices[v].seed
		if !used[seed] {
			continue
		}
		names, fault := groupsOf(o)
		if fault.Reason != "" {
			w.Fail(v, fault)
		}
		for _, name := range names {
			groups[changeGroup{seed, name}] = append(groups[changeGroup{seed, name}], v)
		}
	}
	for _, list := range groups {
		w.Sort(list)
	}
	return groups
}

// groupsOf returns the groups of an object: those of its annotations, and kapp's own.
func groupsOf(o *manifest.Object) (names []string, fault Finding) {
	for _, key := range kappAnnotations(o, kappGroup) {
		name, err := fillPlaceholders(o.Annotation(key), o)
		if err == nil && len(validation.IsQualifiedName(name)) > 0 {
			err = fmt.Errorf("%q is not a valid name of a group", name)
		}
		if err != nil {
			fault = invalid(key, fmt.Sprintf("annotation %s: %v", key, err), "Correct the annotation.")
			continue
		}
		names = append(names, name)
	}
	for _, own := range kappOwnGroups {
		if slices.Contains(own.kinds, o.ID.GroupKind()) {
			if name, err := fillPlaceholders(own.name, o); err == nil {
				names = append(names, name)
			}
		}
	}
	return names, fault
}

// wait draws the edges of the rules of an object. kapp's groups are those of one application, so
// only the own seed counts; on the same cluster, else wherever it has them.
func (g changeGroups) wait(w *World, v int32, o *manifest.Object) {
	for _, key := range kappAnnotations(o, kappRule) {
		text, err := fillPlaceholders(o.Annotation(key), o)
		var rule changeRule
		if err == nil {
			rule, err = parseChangeRule(text)
		}
		if err != nil {
			w.Fail(v, invalid(key, fmt.Sprintf("annotation %s: %v", key, err), "Correct the annotation, as in \"upsert after upserting apps.example.com/db\"."))
			continue
		}
		if rule.deletes {
			continue
		}
		all := g[changeGroup{w.graph.vertices[v].seed, rule.group}]
		members := w.On(v, all)
		if len(members) == 0 {
			members = all
		}
		if len(members) == 0 && !strings.HasPrefix(rule.group, "change-groups.kapp.k14s.io/") {
			w.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Field: key,
				Message: fmt.Sprintf("annotation %s names the group %s, and no object of the seed is in it", key, manifest.Printable(rule.group)), Next: "Add the object, or correct the name."})
		}
		for _, member := range members {
			from, to := v, member
			if rule.before {
				from, to = member, v
			}
			if w.held[from] {
				continue
			}
			w.Wait(from, to, Reason{Field: "metadata.annotations[" + key + "]", Why: fmt.Sprintf("%s: %s", key, manifest.Printable(text))})
		}
	}
}
