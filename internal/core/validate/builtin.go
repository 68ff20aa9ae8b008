package validate

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

//go:embed schemas.json.gz
var packed []byte

// definition is the schema of a type in a range of releases, by their minor versions.
type definition struct {
	Name        string
	First, Last int
	Kinds       []kind
	Schema      map[string]any
}

type kind struct{ Group, Version, Kind string }

// table has the definitions by name and by kind.
type table struct {
	byName map[string][]*definition
	byKind map[kind][]*definition
}

var definitions = sync.OnceValue(func() table {
	t := table{map[string][]*definition{}, map[kind][]*definition{}}
	var all []*definition
	if err := unpack(&all); err != nil {
		panic(fmt.Sprintf("schemas.json.gz: %v", err))
	}
	for _, d := range all {
		t.byName[d.Name] = append(t.byName[d.Name], d)
		for _, k := range d.Kinds {
			t.byKind[k] = append(t.byKind[k], d)
		}
	}
	return t
})

func unpack(into any) error {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func at(all []*definition, minor int) *definition {
	for _, d := range all {
		if d.First <= minor && minor <= d.Last {
			return d
		}
	}
	return nil
}

// Assumed is the minor release of a cluster whose release is not known.
const Assumed = 36

// builtins keeps the schemas of kinds, by release: there are only so many.
var builtins sync.Map

// release is a kind in a release of Kubernetes.
type release struct {
	minor int
	kind
}

// BuiltIn returns the schema of a kind of Kubernetes in a minor release; nil where the release does not have it. Releases
// with equal definitions share a Schema.
func BuiltIn(minor int, group, version, name string) *Schema {
	key := release{minor, kind{group, version, name}}
	if known, ok := builtins.Load(key); ok {
		return known.(*Schema)
	}
	t := definitions()
	root := at(t.byKind[key.kind], minor)
	if root == nil || root.Schema["properties"] == nil {
		return nil
	}
	e := expansion{table: t, minor: minor, open: map[string]bool{}}
	b := shaper{find: e.find, named: map[string]*shape{}}
	made := &Schema{shape: b.root(root)}
	made.checks = sync.OnceValues(func() (*checks, error) { return newChecks(e.root(root)) })
	// Definitions are compared by where they come from: all that the kind is made of, and since which release.
	parts := root.Name
	for _, name := range slices.Sorted(maps.Keys(b.named)) {
		if d := at(t.byName[name], minor); d != nil {
			parts += fmt.Sprintf(" %s@%d", name, d.First)
		}
	}
	shared, _ := builtins.LoadOrStore(fmt.Sprintf("%s@%d", parts, root.First), made)
	builtins.Store(key, shared)
	return shared.(*Schema)
}

// root returns the shape of the objects of a kind: their metadata and status are not compared.
func (b *shaper) root(d *definition) *shape {
	out := b.of(d.Schema)
	delete(out.fields, "status")
	out.fields["metadata"] = &shape{free: true}
	return out
}

// find returns a definition by its name, or a looser one instead.
func (e *expansion) find(name string) map[string]any {
	if same, ok := loose[name]; ok {
		return same
	}
	if d := at(e.byName[name], e.minor); d != nil {
		return d.Schema
	}
	return anything
}

// root returns the schema of the objects of a kind, without their metadata and status.
func (e *expansion) root(d *definition) map[string]any {
	props := maps.Clone(e.definition(d))
	fields, _ := props["properties"].(map[string]any)
	fields = maps.Clone(fields)
	delete(fields, "status")
	fields["metadata"] = map[string]any{"type": "object"}
	props["properties"] = fields
	return props
}

// loose are types whose schemas say less, or something else, than what API servers take.
var loose = map[string]map[string]any{
	"io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": true},
	"io.k8s.apimachinery.pkg.api.resource.Quantity":   anything,
	"io.k8s.apimachinery.pkg.runtime.RawExtension":    anything,
	"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1":   anything,
	// A definition of kinds has itself in it.
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": anything,
}

var anything = map[string]any{"x-kubernetes-preserve-unknown-fields": true}

// expansion puts definitions in the place of references to them.
type expansion struct {
	table
	minor int
	// open are the definitions around the one at hand.
	open map[string]bool
}

func (e *expansion) definition(d *definition) map[string]any {
	if same, ok := loose[d.Name]; ok {
		return same
	}
	if e.open[d.Name] {
		return anything
	}
	e.open[d.Name] = true
	defer delete(e.open, d.Name)
	return e.schema(d.Schema)
}

func (e *expansion) schema(schema map[string]any) map[string]any {
	if name, ok := schema["$ref"].(string); ok {
		if d := at(e.byName[name], e.minor); d != nil {
			return e.definition(d)
		}
		return anything
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		switch value := schema[key].(type) {
		case map[string]any:
			if key != "properties" {
				out[key] = e.schema(value)
				continue
			}
			fields := map[string]any{}
			for name, field := range value {
				if field, ok := field.(map[string]any); ok {
					fields[name] = e.schema(field)
				}
			}
			out[key] = fields
		default:
			out[key] = value
		}
	}
	if out["type"] == nil && out["x-kubernetes-int-or-string"] == nil || out["type"] == "object" && out["properties"] == nil && out["additionalProperties"] == nil {
		out["x-kubernetes-preserve-unknown-fields"] = true
	}
	return out
}
