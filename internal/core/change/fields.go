package change

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/truncate"
)

const (
	// maxFields is how many fields of an object are kept.
	maxFields = 12
	// maxValue is how long a value is shown, in bytes.
	maxValue = 120
	// maxPath is how long the path of a field is shown.
	maxPath = 200
)

// prefixes are left out of paths: nearly all that people change lies below them, and what follows
// says the rest.
var prefixes = []string{"spec.jobTemplate.spec.template.spec.", "spec.template.spec.", "spec."}

// rendered is what Furrow writes about its own reconciler objects, and nothing to review.
const rendered = "metadata.annotations[furrow.dev/rendered]"

// cannotChange is added to the path of a field that an API server does not let anybody change.
const cannotChange = " (immutable: an API server refuses the change)"

// fieldsOf lists the fields of two objects that differ, by path: first the ones that refused says
// cannot be changed.
func fieldsOf(was, is map[string]any, refused func(path string, was, is any) bool) []Field {
	var out, first []Field
	walk("", was, is, func(path string, was, is any) {
		if path == rendered {
			return
		}
		immutable := refused(path, was, is)
		for _, prefix := range prefixes {
			if short, ok := strings.CutPrefix(path, prefix); ok {
				path = short
				break
			}
		}
		field := Field{Path: truncate.Text(path, maxPath), Was: text(was), Is: text(is)}
		if field.Was == field.Is { // they differ where they are cut, or in what is not shown
			field.Was, field.Is = "", "another "+noun(is)
		}
		if immutable {
			field.Path += cannotChange
			first = append(first, field)
			return
		}
		out = append(out, field)
	})
	return append(first, out...)
}

// walk calls found for each leaf that differs. Mappings are compared key by key, lists by the names
// of their items where these have names, or else item by item where as many are there.
func walk(path string, was, is any, found func(path string, was, is any)) {
	if reflect.DeepEqual(was, is) {
		return
	}
	if a, b, ok := bothMaps(was, is); ok {
		for _, key := range keys(a, b) {
			walk(join(path, key), a[key], b[key], found)
		}
		return
	}
	if a, b, ok := bothLists(was, is); ok {
		switch an, bn := named(a), named(b); {
		case an != nil && bn != nil && moreThanOrder(a, b, an, bn):
			for _, name := range keys(an, bn) {
				walk(path+"["+name+"]", an[name], bn[name], found)
			}
			return
		case len(a) == len(b):
			for i := range a {
				walk(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], found)
			}
			return
		}
	}
	found(path, was, is)
}

// join adds a key to a path, in brackets where it would be read as several.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
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

// text shows a value on one line; empty for none. What has parts is counted where it is long.
func text(value any) string {
	var out string
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		if out = v; strings.TrimSpace(v) == "" {
			out = fmt.Sprintf("%q", v)
		}
		if n := strings.Count(strings.TrimSuffix(v, "\n"), "\n"); n > 0 {
			return fmt.Sprintf("%d lines", n+1)
		}
	default:
		data, err := json.Marshal(v)
		if err != nil {
			return "a value"
		}
		out = string(data)
	}
	if len(out) <= maxValue {
		return out
	}
	switch v := value.(type) {
	case []any:
		return fmt.Sprintf("%d items", len(v))
	case map[string]any:
		return fmt.Sprintf("%d fields", len(v))
	}
	return truncate.Text(out, maxValue)
}

// noun says what a value is where it cannot be shown.
func noun(value any) string {
	switch value.(type) {
	case nil:
		return "value"
	case string:
		return "text"
	case []any:
		return "list"
	}
	return "value"
}
