package placement

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// RequiredBy returns what an object of Kubernetes itself names in its namespace and cannot work without, in
// the order of its fields. What a cluster brings by itself, and what is marked as optional, is left out.
func RequiredBy(o *manifest.Object) []manifest.ID {
	r := required{namespace: o.ID.Namespace}
	if path, workload := podTemplates[o.ID.GroupKind()]; workload {
		r.pods(podSpec(o, path))
	}
	switch o.ID.GroupKind() {
	case manifest.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		r.add("", "Service", o.Text("spec", "serviceName"))
	case manifest.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}:
		r.backends(o)
	case manifest.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}:
		if role := roleOf(o); role.Kind == "Role" {
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
	id := manifest.ID{Group: group, Kind: kind, Namespace: r.namespace, Name: name}
	switch {
	case name == "", strings.Contains(name, "${"):
		return
	case kind == "ServiceAccount" && name == "default", kind == "ConfigMap" && name == "kube-root-ca.crt":
		return
	}
	for _, known := range r.ids {
		if known == id {
			return
		}
	}
	r.ids = append(r.ids, id)
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

func (r *required) pods(spec map[string]any) {
	r.add("", "ServiceAccount", accountIn(spec))
	for _, list := range []string{"initContainers", "containers"} {
		for _, container := range mappings(spec[list]) {
			for _, from := range mappings(container["envFrom"]) {
				r.ref("ConfigMap", from, "configMapRef", "name")
				r.ref("Secret", from, "secretRef", "name")
			}
			for _, env := range mappings(container["env"]) {
				r.ref("ConfigMap", env, "valueFrom", "configMapKeyRef", "name")
				r.ref("Secret", env, "valueFrom", "secretKeyRef", "name")
			}
		}
	}
	for _, volume := range mappings(spec["volumes"]) {
		r.ref("ConfigMap", volume, "configMap", "name")
		r.ref("Secret", volume, "secret", "secretName")
		r.ref("PersistentVolumeClaim", volume, "persistentVolumeClaim", "claimName")
		projected, _ := volume["projected"].(map[string]any)
		for _, source := range mappings(projected["sources"]) {
			r.ref("ConfigMap", source, "configMap", "name")
			r.ref("Secret", source, "secret", "name")
		}
	}
	for _, secret := range mappings(spec["imagePullSecrets"]) {
		r.ref("Secret", secret, "name")
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
		walk(o.Body, add)
		return
	}
	walk(o.Body, func(field string, value any) {
		if field == "args" || field == "command" || field == "resourceNames" {
			add(field, value)
		}
	})
}
