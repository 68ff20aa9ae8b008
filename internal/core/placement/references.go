package placement

import (
	_ "embed"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// referenceRow is one row of references.yaml: a field, in whatever object, that names a Secret or
// ConfigMap. Where the field holds an object or a list of objects, Name is the key that has the
// name.
type referenceRow struct {
	Field string `json:"field"`
	Name  string `json:"name,omitempty"`
	Kind  string `json:"kind"`
}

//go:embed references.yaml
var referencesYAML []byte

// referenceRows are the rows of references.yaml by the field that they are about.
var referenceRows = func() map[string][]referenceRow {
	byField := map[string][]referenceRow{}
	for _, row := range mustRows[referenceRow]("references.yaml", referencesYAML) {
		byField[row.Field] = append(byField[row.Field], row)
	}
	return byField
}()

// namedBy lists the Secrets and ConfigMaps that an object names, in no order and with duplicates.
// Fields are found by name wherever they are, which serves the kinds of all operators that use the
// names of core types.
func namedBy(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	if o.ID.Group == "" && (o.ID.Kind == "Secret" || o.ID.Kind == "ConfigMap") {
		return nil // their keys are free, and name nothing
	}
	walk(o.Body, func(field string, value any) {
		for _, row := range referenceRows[field] {
			for _, name := range row.names(value) {
				id := manifest.ID{Kind: row.Kind, Namespace: o.ID.Namespace, Name: name}
				if id != o.ID {
					ids = append(ids, id)
				}
			}
		}
	})
	return ids
}

// names returns the names that a field refers to: its own text, that of the field Name in it, or,
// if it is a list, those of its items.
func (r referenceRow) names(value any) []string {
	switch v := value.(type) {
	case string:
		if r.Name == "" {
			return []string{v}
		}
	case map[string]any:
		if name, ok := v[r.Name].(string); ok && r.Name != "" {
			return []string{name}
		}
	case []any:
		var names []string
		for _, item := range v {
			if m, ok := item.(map[string]any); ok {
				names = append(names, r.names(m)...)
			}
		}
		return names
	}
	return nil
}

// walk visits every field of a body, in no order.
func walk(value any, visit func(field string, value any)) {
	switch v := value.(type) {
	case map[string]any:
		for field, item := range v {
			visit(field, item)
			walk(item, visit)
		}
	case []any:
		for _, item := range v {
			walk(item, visit)
		}
	}
}

// referrers maps an object to the management objects that refer to it by a field that ends in Ref.
// It is made once, since each object asks.
func (s *placer) referrers() map[manifest.ID][]*manifest.Object {
	if s.refs == nil {
		s.refs = map[manifest.ID][]*manifest.Object{}
		for _, o := range s.all {
			if isManagement(o) {
				for _, id := range References(o) {
					s.refs[id] = append(s.refs[id], o)
				}
			}
		}
	}
	return s.refs
}

// References lists the objects that o refers to by fields ending in Ref that
// give kind and name, as Cluster API's infrastructureRef and controlPlaneRef do.
func References(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	walk(o.Body["spec"], func(field string, value any) {
		ref, ok := value.(map[string]any)
		if !ok || !strings.HasSuffix(field, "Ref") {
			return
		}
		if id := referenced(ref, o.ID.Namespace); id.Kind != "" && id.Name != "" {
			ids = append(ids, id)
		}
	})
	return ids
}

// referenced reads an object reference in any of the usual forms.
func referenced(ref map[string]any, namespace string) manifest.ID {
	id := manifest.ID{Namespace: namespace}
	id.Kind, _ = ref["kind"].(string)
	id.Name, _ = ref["name"].(string)
	if ns, ok := ref["namespace"].(string); ok && ns != "" {
		id.Namespace = ns
	}
	if group, ok := ref["apiGroup"].(string); ok {
		id.Group = group
	} else if version, ok := ref["apiVersion"].(string); ok {
		id.Group, _, _ = strings.Cut(version, "/")
		if !strings.Contains(version, "/") {
			id.Group = ""
		}
	}
	return id
}
