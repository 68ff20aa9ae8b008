package validate

import "slices"

// shape is what Fits knows of a schema: types, known fields and required ones.
type shape struct {
	kind     string
	required []string
	fields   map[string]*shape
	// others is the shape of all other fields; nil where there may be none, and free where they may be anything.
	others *shape
	items  *shape
	// free reports whether every value fits, more whether the schema asks for anything else, and keyed whether the
	// items of a list must differ.
	free, more, keyed, intOrString bool
}

// harmless are the parts of a schema that ask for nothing of a value; shaper reads those that are left.
var harmless = []string{
	"$ref", "type", "properties", "required", "items", "additionalProperties", "description", "title", "default", "x-kubernetes-preserve-unknown-fields",
	"x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
}

// shaper makes shapes of schemas. Definitions of Kubernetes may name each other, in circles.
type shaper struct {
	// find returns a definition by its name; nil of CustomResourceDefinitions, which have none.
	find  func(name string) map[string]any
	named map[string]*shape
}

func (b *shaper) of(schema map[string]any) *shape {
	if name, ok := schema["$ref"].(string); ok && b.find != nil {
		return b.definition(name)
	}
	out := &shape{}
	b.fill(out, schema)
	return out
}

func (b *shaper) definition(name string) *shape {
	made, known := b.named[name]
	if !known {
		made = &shape{}
		b.named[name] = made
		b.fill(made, b.find(name))
	}
	return made
}

func (b *shaper) fill(out *shape, schema map[string]any) {
	out.kind, _ = schema["type"].(string)
	out.intOrString, _ = schema["x-kubernetes-int-or-string"].(bool)
	keeps, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool)
	fields, _ := schema["properties"].(map[string]any)
	list, isList := schema["x-kubernetes-list-type"].(string)
	out.keyed = isList && list != "atomic"
	for key := range schema {
		out.more = out.more || !slices.Contains(harmless, key)
	}
	out.required = textsOf(schema["required"])
	out.fields = make(map[string]*shape, len(fields))
	for name, field := range fields {
		if field, ok := field.(map[string]any); ok {
			out.fields[name] = b.of(field)
		}
	}
	out.others = b.others(schema["additionalProperties"])
	bare := out.others == nil && len(fields) == 0 && len(out.required) == 0
	if keeps && out.others == nil || b.find != nil && bare && out.kind == "object" {
		out.others = &shape{free: true}
	}
	out.free = bare && out.kind == "" && !out.intOrString && (keeps || b.find != nil)
	if items, ok := schema["items"].(map[string]any); ok {
		out.items = b.of(items)
	}
}

// others returns the shape of fields that a schema does not name; nil where it allows none.
func (b *shaper) others(schema any) *shape {
	switch others := schema.(type) {
	case map[string]any:
		return b.of(others)
	case bool:
		if others {
			return &shape{free: true}
		}
	}
	return nil
}

// textsOf returns the strings of a list.
func textsOf(list any) []string {
	items, _ := list.([]any)
	var out []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// Fits reports whether an object certainly has nothing that Check would find. It costs a hundredth of that, and is
// false wherever a schema asks for more than types, known fields and required ones.
func (s *Schema) Fits(body map[string]any) bool {
	root := s.shape
	if root.more || root.kind != "object" {
		return false
	}
	if metadata := root.fields["metadata"]; metadata != nil && (metadata.more || len(metadata.fields) > 0) {
		return false
	}
	if !root.hasRequired(body) {
		return false
	}
	for key, value := range body {
		switch key {
		case "apiVersion", "kind", "metadata", "status":
		default:
			if !s.fitsField(root, key, value) {
				return false
			}
		}
	}
	return true
}

func (s *Schema) fits(at *shape, value any) bool {
	switch {
	case at.free:
		return true
	case at.more:
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return s.fitsMapping(at, v)
	case []any:
		fits := at.kind == "array" && at.items != nil && (!s.custom || !at.keyed || len(v) <= 1)
		return fits && !slices.ContainsFunc(v, func(item any) bool { return !s.fits(at.items, item) })
	case string:
		return at.kind == "string" || at.intOrString
	case int64:
		return at.kind == "integer" || at.kind == "number" || at.intOrString
	case float64:
		return at.kind == "number"
	case bool:
		return at.kind == "boolean"
	}
	return false
}

func (s *Schema) fitsMapping(at *shape, fields map[string]any) bool {
	if at.kind != "object" || !at.hasRequired(fields) {
		return false
	}
	for key, field := range fields {
		if !s.fitsField(at, key, field) {
			return false
		}
	}
	return true
}

// hasRequired reports whether a mapping has all fields that it must have.
func (at *shape) hasRequired(fields map[string]any) bool {
	return !slices.ContainsFunc(at.required, func(key string) bool { return fields[key] == nil })
}

func (s *Schema) fitsField(at *shape, key string, value any) bool {
	if field, known := at.fields[key]; known {
		return value == nil && !field.more || s.fits(field, value) // null is nothing
	}
	return at.others != nil && s.fits(at.others, value)
}
