package immutable

import (
	"cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/validate"
)

// Definition is a CustomResourceDefinition whose rules for updates are compiled once for each version, when an update
// is checked first. It is for one goroutine. A nil Definition is one that nobody knows.
type Definition struct {
	object  manifest.Object
	kind    manifest.GroupKind
	schemas map[string]*validate.Schema
}

// NewDefinition returns what a CustomResourceDefinition refuses of updates; nil of another object.
func NewDefinition(o manifest.Object) *Definition {
	kind, _, ok := manifest.DefinedScope(o)
	if !ok {
		return nil
	}
	return &Definition{o, kind, map[string]*validate.Schema{}}
}

// Refused is Refused, and what the rules of the definition refuse of the update of a custom resource. A resource of
// another version than before is not compared: a webhook may convert it.
func (d *Definition) Refused(was, is manifest.Object) []Field {
	out := Refused(was, is)
	if d == nil || d.kind != is.ID.GroupKind() || d.kind != was.ID.GroupKind() || was.Version != is.Version || was.Encrypted() || is.Encrypted() {
		return out
	}
	schema := d.schema(is.Version)
	if schema == nil {
		return out
	}
	for _, f := range schema.CheckUpdate(was.Body, is.Body) {
		out = append(out, Field{Path: cmp.Or(f.Field, "the object"), Why: f.Message, Rule: true})
	}
	return out
}

// schema returns the schema of a version; nil where no rule of it is about updates.
func (d *Definition) schema(version string) *validate.Schema {
	schema, known := d.schemas[version]
	if !known {
		schema, _ = validate.CustomUpdates(d.object.Body, version) // an API server reports its mistakes at the definition
		d.schemas[version] = schema
	}
	return schema
}
