package schema

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Dropped returns the paths of required fields that one value has and a later one lacks, in order. A field
// is required if its Go type always writes it. Lists are compared where they have the same length.
func Dropped(before, after any, t reflect.Type) [][]any {
	var out [][]any
	dropped(before, after, t, nil, &out)
	return out
}

func dropped(before, after any, t reflect.Type, path []any, out *[][]any) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		was, _ := before.(map[string]any)
		is, ok := after.(map[string]any)
		if !ok {
			return
		}
		fields, required := fieldsOf(t), requiredOf(t)
		for _, key := range slices.Sorted(maps.Keys(was)) {
			switch {
			case fields[key] == nil || was[key] == nil:
			case is[key] != nil:
				dropped(was[key], is[key], fields[key], append(path, key), out)
			case required[key]:
				*out = append(*out, append(slices.Clone(path), key))
			}
		}
	case reflect.Slice:
		was, _ := before.([]any)
		is, _ := after.([]any)
		for i := 0; i < len(was) && len(was) == len(is); i++ {
			dropped(was[i], is[i], t.Elem(), append(path, i), out)
		}
	default:
	}
}

// requiredOf returns the fields of a struct that are always written.
func requiredOf(t reflect.Type) map[string]bool {
	out := map[string]bool{}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous && field.Type.Kind() == reflect.Struct:
			maps.Copy(out, requiredOf(field.Type))
		case name != "" && name != "-" && !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero"):
			out[name] = true
		}
	}
	return out
}
