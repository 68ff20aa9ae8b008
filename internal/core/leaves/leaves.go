// Package leaves finds the fields in which two values of JSON types differ. It is pure.
package leaves

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Walk calls found for each leaf that differs, with its path. Mappings are compared key by key, lists
// by the names of their items where these have names, or else item by item where as many are there.
func Walk(path string, was, is any, found func(path string, was, is any)) {
	if reflect.DeepEqual(was, is) {
		return
	}
	if a, b, ok := bothMaps(was, is); ok {
		for _, key := range keys(a, b) {
			Walk(Join(path, key), a[key], b[key], found)
		}
		return
	}
	if a, b, ok := bothLists(was, is); ok {
		switch an, bn := named(a), named(b); {
		case an != nil && bn != nil && moreThanOrder(a, b, an, bn):
			for _, name := range keys(an, bn) {
				Walk(path+"["+name+"]", an[name], bn[name], found)
			}
			return
		case len(a) == len(b):
			for i := range a {
				Walk(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], found)
			}
			return
		}
	}
	found(path, was, is)
}

// Join adds a key to a path, in brackets where it would be read as several.
func Join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// Within reports whether a path is a field, or below it.
func Within(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func bothMaps(was, is any) (a, b map[string]any, ok bool) {
	a, isA := was.(map[string]any)
	b, isB := is.(map[string]any)
	return a, b, isA && isB
}

func bothLists(was, is any) (a, b []any, ok bool) {
	a, isA := was.([]any)
	b, isB := is.([]any)
	return a, b, isA && isB
}

// named returns the items of a list by name; nil where one has none, or two have the same.
func named(list []any) map[string]any {
	out := map[string]any{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		if metadata, ok := fields["metadata"].(map[string]any); ok && name == "" {
			name, _ = metadata["name"].(string)
		}
		if _, twice := out[name]; name == "" || twice {
			return nil
		}
		out[name] = item
	}
	return out
}

// moreThanOrder reports whether two lists of named items differ in more than the order of the items.
func moreThanOrder(a, b []any, an, bn map[string]any) bool {
	return len(a) != len(b) || !reflect.DeepEqual(an, bn)
}

// keys returns the keys of two mappings, sorted.
func keys(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
