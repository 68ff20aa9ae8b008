package flux

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What Flux's objects carry of ours; package template of the core sets them.
const (
	seedLabel          = "furrow.dev/seed"
	renderedAnnotation = "furrow.dev/rendered"
)

const kindGitRepository = "GitRepository"

var (
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	gitRepositories = schema.GroupVersionResource{Group: sourceGroup, Version: "v1", Resource: "gitrepositories"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

const sourceGroup = "source.toolkit.fluxcd.io"

// condition is one of an object's conditions.
type condition struct {
	status, reason, message string
	generation              int64
}

// conditionOf returns a condition by its type; the zero value if there is none.
func conditionOf(object map[string]any, kind string) condition {
	all, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, one := range all {
		c, ok := one.(map[string]any)
		if !ok || text(c, "type") != kind {
			continue
		}
		return condition{
			status: text(c, "status"), reason: text(c, "reason"), message: stable(text(c, "message")),
			generation: number(c, "observedGeneration"),
		}
	}
	return condition{}
}

func (c condition) because() string {
	switch {
	case c.reason == "" && c.message == "":
		return ""
	case c.message == "":
		return " (" + c.reason + ")"
	}
	return " (" + c.reason + ": " + c.message + ")"
}

func text(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedString(object, path...)
	return value
}

func number(object map[string]any, path ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object, path...)
	return value
}

func truth(object map[string]any, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object, path...)
	return value
}

// trim drops what is large and what nobody here reads.
func trim(object *unstructured.Unstructured) {
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	if object.GroupVersionKind().Group == kustomizations.Group {
		unstructured.RemoveNestedField(object.Object, "status", "inventory")
	}
}
