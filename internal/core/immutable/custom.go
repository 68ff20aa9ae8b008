package immutable

import (
	"cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/validate"
)

// Definitions has the schemas of CustomResourceDefinitions, each made once. The zero value is ready to use; it is
// for one goroutine.
type Definitions struct{ schemas map[schemaOf]*validate.Schema }

// schemaOf is a version of a definition.
type schemaOf struct {
	definition *manifest.Object
	version    string
}

// Refused is Refused, and what the rules of a custom resource's definition refuse of the update. The definition is nil
// where it is not known. A resource of another version than before is not compared: a webhook may convert it.
func (d *Definitions) Refused(definition *manifest.Object, was, is manifest.Object) []Field {
	out := Refused(was, is)
	if definition == nil || was.ID.GroupKind() != is.ID.GroupKind() || was.Version != is.Version || was.Encrypted() || is.Encrypted() {
		return out
	}
	key := schemaOf{definition, is.Version}
	schema, known := d.schemas[key]
	if !known {
		schema, _ = validate.Custom(definition.Body, is.Version) // an API server reports its mistakes at the definition
		if d.schemas == nil {
			d.schemas = map[schemaOf]*validate.Schema{}
		}
		d.schemas[key] = schema
	}
	if schema == nil {
		return out
	}
	for _, f := range schema.CheckUpdate(was.Body, is.Body) {
		out = append(out, Field{Path: cmp.Or(f.Field, "the object"), Why: f.Message})
	}
	return out
}
