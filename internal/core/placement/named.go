package placement

import (
	"cmp"
	_ "embed"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// referenceRow is one row of references.yaml: a field, in whatever object but a workload, that names a Secret or
// ConfigMap. The fields of Pods are known (podNames). Where the field holds an object or a list of objects, Name is the key that has the
// name.
type referenceRow struct {
	// Field is the name of the field, or Suffix how it ends: SecretRef is also secretRef.
	Field  string `json:"field,omitempty"`
	Suffix string `json:"suffix,omitempty"`
	Name   string `json:"name,omitempty"`
	Kind   string `json:"kind"`
}

//go:embed references.yaml
var referencesYAML []byte

var referenceRows = mustRows[referenceRow]("references.yaml", referencesYAML)

// textRows are the rows of fields that hold a name, and mappingRows those of fields that hold objects
// with a name.
var textRows, mappingRows = newRowTable(func(r referenceRow) bool { return r.Name == "" }), newRowTable(func(r referenceRow) bool { return r.Name != "" })

// rowTable has rows by the field that they are about, and those that are about a suffix.
type rowTable struct {
	byField  map[string][]referenceRow
	bySuffix []referenceRow
}

func newRowTable(has func(referenceRow) bool) rowTable {
	table := rowTable{byField: map[string][]referenceRow{}}
	for _, row := range referenceRows {
		switch {
		case !has(row):
		case row.Suffix != "":
			table.bySuffix = append(table.bySuffix, row)
		default:
			table.byField[row.Field] = append(table.byField[row.Field], row)
		}
	}
	return table
}

// of returns the rows that are about a field.
func (t *rowTable) of(field string) []referenceRow {
	rows := t.byField[field]
	if !mayRefer(field) {
		return rows
	}
	for _, row := range t.bySuffix {
		if row.holds(field) {
			rows = append(rows[:len(rows):len(rows)], row)
		}
	}
	return rows
}

// holds reports whether a field ends in the row's suffix, as a word: at its start, or in camel case.
func (r referenceRow) holds(field string) bool {
	return strings.HasSuffix(field, r.Suffix) || len(field) == len(r.Suffix) && field[1:] == r.Suffix[1:] && strings.EqualFold(field[:1], r.Suffix[:1])
}

// mayRefer reports whether a field may end in one of the suffixes; most do not, and each is asked.
func mayRefer(field string) bool {
	return strings.HasSuffix(field, "Ref") || strings.HasSuffix(field, "Name") || strings.HasSuffix(field, "Reference") || strings.HasSuffix(field, "Secret")
}

// NamesOf lists what an object names: for a workload, what its Pods name, in the order of their fields; for others,
// the Secrets, ConfigMaps and roles that they name, in no order and with duplicates.
// Fields of these are found by name and shape wherever they are, which serves the kinds of all operators
// that write references as Kubernetes does.
func NamesOf(o *manifest.Object) []Name { return appendNames(nil, o, isWorkload(o.ID.GroupKind())) }

func appendNames(list []Name, o *manifest.Object, workload bool) []Name {
	if workload {
		return appendNamedByPods(list, o)
	}
	return appendReferences(list, o)
}

// appendReferences appends what an object names that is not a workload.
func appendReferences(list []Name, o *manifest.Object) []Name {
	if isData(o) {
		return list // their keys are free, and name nothing
	}
	r := references{by: o.ID, list: list}
	for field, value := range o.Body {
		if mayHaveReferences(field) {
			r.top = field
			r.addField(field, value)
		}
	}
	if o.ID.Group == rbacGroup && o.Map("roleRef") != nil {
		r.list = append(r.list, Name{ID: RoleOf(o), Field: "roleRef"})
	}
	return r.list
}

func isData(o *manifest.Object) bool {
	return o.ID.GroupKind() == secretKind || o.ID.GroupKind() == configMapKind
}

// references are the Secrets and ConfigMaps that an object names.
type references struct {
	by manifest.ID
	// top is the field of the object that the present one is in.
	top  string
	list []Name
}

func (r *references) add(kind, namespace, name string) {
	id := manifest.ID{Kind: kind, Namespace: cmp.Or(namespace, r.by.Namespace), Name: name}
	if name != "" && id != r.by {
		r.list = append(r.list, Name{ID: id, Field: r.top})
	}
}

// addField adds what a field refers to, and all fields in it.
func (r *references) addField(field string, value any) {
	switch v := value.(type) {
	case string:
		for _, row := range textRows.of(field) {
			r.add(row.Kind, "", v)
		}
	case map[string]any:
		r.addByRows(mappingRows.of(field), v)
		r.addMapping(v)
	case []any:
		rows := mappingRows.of(field)
		for _, item := range v {
			switch item := item.(type) {
			case map[string]any:
				r.addByRows(rows, item)
				r.addMapping(item)
			case []any:
				r.addNested(item)
			}
		}
	}
}

// addNested adds what the fields in a list of a list refer to.
func (r *references) addNested(list []any) {
	for _, item := range list {
		switch item := item.(type) {
		case map[string]any:
			for field, value := range item {
				r.addField(field, value)
			}
		case []any:
			r.addNested(item)
		}
	}
}

func (r *references) addByRows(rows []referenceRow, ref map[string]any) {
	for i := range rows {
		name, _ := ref[rows[i].Name].(string)
		namespace, _ := ref["namespace"].(string)
		r.add(rows[i].Kind, namespace, name)
	}
}

// addMapping adds what the fields of a mapping refer to, and the Secret or ConfigMap that it refers
// to itself by kind and name, whatever its field is called: {kind: Secret, name: …}.
func (r *references) addMapping(ref map[string]any) {
	for field, value := range ref {
		if field == "kind" && (value == "Secret" || value == "ConfigMap") {
			if id := referenced(ref, ""); id.Group == "" {
				r.add(id.Kind, id.Namespace, id.Name)
			}
		}
		r.addField(field, value)
	}
}
