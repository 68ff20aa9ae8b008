package placement

import (
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// RequiredBy returns what an object names and cannot work without, in
// the order of its fields. What a cluster brings by itself, and what is marked as optional, is left out.
func RequiredBy(o *manifest.Object) []manifest.ID {
	r := required{namespace: o.ID.Namespace}
	if isWorkload(o.ID.GroupKind()) {
		for _, n := range NamesOf(o) {
			if !n.Optional && n.IsObject() {
				r.addID(n.ID)
			}
		}
	}
	switch o.ID.GroupKind() {
	case manifest.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		r.add("", "Service", o.Text("spec", "serviceName"))
	case claimKind:
		r.addID(manifest.ID{Group: storageClassKind.Group, Kind: storageClassKind.Kind, Name: o.Text("spec", "storageClassName")})
	case manifest.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:
		r.sources(o.Slice("spec", "valuesFrom"))
	case manifest.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}:
		r.sources(o.Slice("spec", "postBuild", "substituteFrom"))
	case manifest.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}:
		r.backends(o)
	case manifest.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}:
		if role := RoleOf(o); role.Kind == "Role" {
			r.add(role.Group, role.Kind, role.Name)
		}
	case manifest.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		group, _, grouped := strings.Cut(o.Text("spec", "scaleTargetRef", "apiVersion"), "/")
		if grouped {
			r.add(group, o.Text("spec", "scaleTargetRef", "kind"), o.Text("spec", "scaleTargetRef", "name"))
		}
	}
	return r.ids
}

// required gathers what one object names.
type required struct {
	namespace string
	ids       []manifest.ID
}

// add notes an object, each once. Names with variables, which Flux replaces, are unknown.
func (r *required) add(group, kind, name string) {
	r.addID(manifest.ID{Group: group, Kind: kind, Namespace: r.namespace, Name: name})
}

func (r *required) addID(id manifest.ID) {
	if id.Name == "" || strings.Contains(id.Name, "${") || isBuiltIn(id) || slices.Contains(r.ids, id) {
		return
	}
	r.ids = append(r.ids, id)
}

// isBuiltIn reports whether every cluster has an object by itself.
func isBuiltIn(id manifest.ID) bool {
	switch id.GroupKind() {
	case accountKind:
		return id.Name == "default"
	case configMapKind:
		return id.Name == "kube-root-ca.crt" || id.Name == "openshift-service-ca.crt"
	case priorityClassKind:
		return strings.HasPrefix(id.Name, "system-")
	}
	return false
}

// ref notes what a reference names, unless it is optional.
func (r *required) ref(kind string, from map[string]any, path ...string) {
	ref := from
	for _, field := range path[:len(path)-1] {
		ref, _ = ref[field].(map[string]any)
	}
	name, _ := ref[path[len(path)-1]].(string)
	if optional, _ := ref["optional"].(bool); !optional {
		r.add("", kind, name)
	}
}

// sources adds the Secrets and ConfigMaps of a list of kinds and names.
func (r *required) sources(list []any) {
	for _, from := range mappings(list) {
		kind, _ := from["kind"].(string)
		r.ref(kind, from, "name")
	}
}

func (r *required) backends(ingress *manifest.Object) {
	spec := ingress.Map("spec")
	r.ref("Service", spec, "defaultBackend", "service", "name")
	for _, rule := range mappings(spec["rules"]) {
		http, _ := rule["http"].(map[string]any)
		for _, path := range mappings(http["paths"]) {
			r.ref("Service", path, "backend", "service", "name")
		}
	}
}

// Mentions adds the words by which an object may say what it makes, or has made: those of the command
// lines of its Pods, of rules for single resources, and every text of a kind that is not of Kubernetes
// itself.
func Mentions(o *manifest.Object, words map[string]bool) {
	add := func(_ string, value any) {
		forTexts(value, func(text string) {
			words[text] = true
			for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" =\"'\n,;/", r) }) {
				words[word] = true
			}
		})
	}
	if !o.Typed() {
		words[o.ID.Name] = true
		body := o.Body
		if spec := o.Map("spec"); spec["valuesFrom"] != nil || spec["postBuild"] != nil { // that is what it needs
			spec = maps.Clone(spec)
			delete(spec, "valuesFrom")
			delete(spec, "postBuild")
			body = map[string]any{"spec": spec}
		}
		walk(body, add)
		return
	}
	walk(o.Body, func(field string, value any) {
		if field == "args" || field == "command" || field == "resourceNames" {
			add(field, value)
		}
	})
}
