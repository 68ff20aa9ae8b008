package manifest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Object is one Kubernetes manifest.
//
// Invariant: Body is never changed after the object is made, by this package
// or by anybody else; copies of an Object share it. The With functions return
// an object with a Body of its own where it differs.
type Object struct {
	ID      ID
	Version string // the API version without its group
	Source  Source
	// Body has JSON types only: map[string]any, []any, string, int64, float64,
	// bool and nil.
	Body map[string]any
	// Raw is set only for documents with a top-level sops key: the document's
	// exact bytes.
	Raw []byte
	// Written says what plugins wrote in the annotations; nil where people wrote all of them.
	Written Written `json:"-"`
	// Lines has the line of each field of a document of Furrow, by path, as spec.overrides[0].name; nil
	// for other objects.
	Lines Lines `json:"-"`
	// Remarks are what reading it found that does not keep it from being read; nil where that is
	// nothing.
	Remarks *Remarks `json:"-"`
}

// APIVersion returns "group/version", or "version" for the core group.
func (o Object) APIVersion() string {
	if o.ID.Group == "" {
		return o.Version
	}
	return o.ID.Group + "/" + o.Version
}

// Title names the object for people, as in `Deployment "web"`.
func (o Object) Title() string { return title(o.ID.Kind, o.ID.Name) }

// Problem returns what is wrong with the object.
func (o Object) Problem(reason v1alpha1.Reason, message, next string) Problem {
	return Problem{Reason: reason, Source: o.Source, Object: o.Title(), Message: message, Next: next}
}

// Encrypted reports whether the object is a sops document, which nobody may change.
func (o Object) Encrypted() bool { return o.Raw != nil }

// Labels returns a copy of the object's labels, nil when it has none.
func (o Object) Labels() map[string]string { return stringMap(o.Map("metadata", "labels")) }

// Annotations returns a copy of the object's annotations, nil when it has none.
func (o Object) Annotations() map[string]string { return stringMap(o.Map("metadata", "annotations")) }

// Annotation returns the value of one annotation, "" when it is absent.
func (o Object) Annotation(key string) string { return o.Text("metadata", "annotations", key) }

// Field returns the value at a path of keys. It does not descend into lists.
func (o Object) Field(path ...string) (any, bool) {
	var at any = o.Body
	for _, key := range path {
		fields, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = fields[key]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Text returns the string at a path of keys, "" when there is none.
func (o Object) Text(path ...string) string {
	value, _ := o.Field(path...)
	s, _ := value.(string)
	return s
}

// Texts returns the strings at a path of keys, through lists. The key "*" is any.
func (o Object) Texts(path ...string) []string { return textsAt(nil, o.Body, path) }

func textsAt(out []string, value any, path []string) []string {
	switch at := value.(type) {
	case []any:
		for _, item := range at {
			out = textsAt(out, item, path)
		}
	case map[string]any:
		switch {
		case len(path) == 0:
		case path[0] == "*":
			for _, key := range slices.Sorted(maps.Keys(at)) {
				out = textsAt(out, at[key], path[1:])
			}
		default:
			out = textsAt(out, at[path[0]], path[1:])
		}
	case string:
		if len(path) == 0 && at != "" {
			out = append(out, at)
		}
	}
	return out
}

// Map returns the mapping at a path of keys, nil when there is none. It is
// part of Body: read it, never change it.
func (o Object) Map(path ...string) map[string]any {
	value, _ := o.Field(path...)
	m, _ := value.(map[string]any)
	return m
}

// Slice returns the list at a path of keys, nil when there is none. It is
// part of Body: read it, never change it.
func (o Object) Slice(path ...string) []any {
	value, _ := o.Field(path...)
	s, _ := value.([]any)
	return s
}

// WithAnnotation returns the object with one annotation set, and o unchanged: only the mappings on
// the way to the annotation are copied. Bytes refuses the result where that changed a sops
// document.
func (o Object) WithAnnotation(key, value string) Object {
	metadata := clone(o.Map("metadata"))
	annotations := clone(o.Map("metadata", "annotations"))
	annotations[key] = value
	metadata["annotations"] = annotations
	return o.withMetadata(metadata)
}

// WithoutAnnotation returns the object without one annotation, and without
// the mapping of annotations when that was the last.
func (o Object) WithoutAnnotation(key string) Object {
	if _, ok := o.Field("metadata", "annotations", key); !ok {
		return o
	}
	metadata := clone(o.Map("metadata"))
	annotations := clone(o.Map("metadata", "annotations"))
	delete(annotations, key)
	metadata["annotations"] = annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return o.withMetadata(metadata)
}

// WithNamespace returns the object in another namespace, in none when it is
// empty. Bytes refuses the result where that changed a sops document.
func (o Object) WithNamespace(namespace string) Object {
	metadata := clone(o.Map("metadata"))
	metadata["namespace"] = namespace
	if namespace == "" {
		delete(metadata, "namespace")
	}
	o.ID.Namespace = namespace
	return o.withMetadata(metadata)
}

func (o Object) withMetadata(metadata map[string]any) Object {
	o.Body = clone(o.Body)
	o.Body["metadata"] = metadata
	return o
}

// clone copies one level, and makes a map of nil.
func clone(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return maps.Clone(m)
}

// stringMap copies the strings of m, nil when there are none.
func stringMap(m map[string]any) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		if s, ok := value.(string); ok {
			out[key] = s
		}
	}
	return out
}

// title names an object for people by what is known of it.
func title(kind, name string) string {
	switch {
	case kind == "" && name == "":
		return ""
	case name == "":
		return kind
	case kind == "":
		return fmt.Sprintf("object %q", name)
	}
	return fmt.Sprintf("%s %q", kind, name)
}
