package makes

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Annotations of controllers that copy Secrets and ConfigMaps. The first ones name the object that an empty one
// gets its content from, as namespace/name; the others name where an object is copied to, as a list of
// namespaces, or say that it is.
var (
	copiedFrom = []string{"replicator.v1.mittwald.de/replicate-from", "reflector.v1.k8s.emberstack.com/reflects"}
	copiedTo   = []string{"replicator.v1.mittwald.de/replicate-to", "reflector.v1.k8s.emberstack.com/reflection-auto-namespaces"}
	copied     = []string{"kubed.appscode.com/sync", "replicator.v1.mittwald.de/replicate-to-matching"}
)

// CopyOf returns the object that one gets its content from, by an annotation; false where it has its own.
func CopyOf(o *manifest.Object) (id manifest.ID, annotation string, ok bool) {
	for _, annotation := range copiedFrom {
		if namespace, name, ok := strings.Cut(o.Annotation(annotation), "/"); ok {
			return manifest.ID{Kind: o.ID.Kind, Namespace: namespace, Name: name}, annotation, true
		}
	}
	return manifest.ID{}, "", false
}

// copies returns the copies of a Secret or ConfigMap, or those of the Secrets that a custom resource gives such
// annotations.
func copies(o *manifest.Object, own []Thing) []Thing {
	annotations := [][]string{{"metadata", "annotations"}}
	if len(own) > 0 {
		annotations = [][]string{{"spec", "secretTemplate", "annotations"}, {"spec", "target", "template", "metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}}
	} else {
		own = []Thing{{Kind: o.ID.Kind, Namespace: o.ID.Namespace, Name: o.ID.Name}}
	}
	var out []Thing
	for _, at := range annotations {
		for _, namespace := range namespacesIn(o.Map(at...)) {
			for _, t := range own {
				if namespace != "" && t.Namespace != namespace && (t.Kind == "Secret" || t.Kind == "ConfigMap") {
					out = append(out, newThing(t.Kind, namespace, t.Name, false))
				}
			}
		}
	}
	return out
}

// namespacesIn returns the namespaces that annotations copy an object to. A list may have patterns, and one
// that is a regular expression counts as any namespace.
func namespacesIn(annotations map[string]any) []string {
	var out []string
	for _, key := range copiedTo {
		list, _ := annotations[key].(string)
		for namespace := range strings.SplitSeq(list, ",") {
			if namespace = strings.TrimSpace(namespace); strings.ContainsAny(namespace, `.*[(\|^$+?`) {
				namespace = "*"
			}
			out = append(out, namespace)
		}
	}
	for _, key := range copied {
		if _, ok := annotations[key]; ok {
			out = append(out, "*")
		}
	}
	if auto, _ := annotations["reflector.v1.k8s.emberstack.com/reflection-auto-enabled"].(string); auto == "true" && annotations[copiedTo[1]] == nil {
		out = append(out, "*")
	}
	return out
}
