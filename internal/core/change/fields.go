package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/leaves"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

const (
	// maxFields is how many fields of an object are kept.
	maxFields = 12
	// maxValue is how long a value is shown, in bytes.
	maxValue = 120
	// maxPath is how long the path of a field is shown.
	maxPath = 200
	// maxRefusal is how long a field is shown that cannot change, with its reason.
	maxRefusal = 400
)

// prefixes are left out of paths: nearly all that people change lies below them, and what follows
// says the rest.
var prefixes = []string{"spec.jobTemplate.spec.template.spec.", "spec.template.spec.", "spec."}

// rendered is what Furrow writes about its own reconciler objects, and nothing to review.
const rendered = "metadata.annotations[furrow.dev/rendered]"

// cannotChange is added to the path of a field that an API server does not let anybody change.
const cannotChange = " (immutable: an API server refuses the change)"

// fieldsOf lists the fields of two objects that differ, by path: first the ones that cannot be
// changed.
func fieldsOf(was, is map[string]any, refused []immutable.Field) []Field {
	var out, first []Field
	leaves.Walk("", was, is, func(path string, was, is any) {
		if path == rendered {
			return
		}
		fixed := slices.ContainsFunc(refused, func(f immutable.Field) bool {
			return leaves.Within(f.Path, path) || !f.Rule && leaves.Within(path, f.Path)
		})
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
		if fixed {
			field.Path += cannotChange
			first = append(first, field)
			return
		}
		out = append(out, field)
	})
	return append(first, out...)
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
