// Package delivery says what Furrow has to know of a kind of reconciler that applies tiers on clusters. Each kind is
// a package of its own, and package kinds lists them.
package delivery

import (
	"github.com/furrow-dev/furrow/internal/core/template"
)

// Kind is what Furrow knows of one kind of reconciler. Its methods are pure functions.
type Kind interface {
	// BuiltIn is the template of reconciler objects on clusters whose type names no other.
	BuiltIn() template.Text
	// Render returns the reconciler object of a tier as it lands in Git.
	Render(t template.Text, vars template.Reconciler) (template.Rendered, error)
	// CheckTemplate renders a template with samples. Labels are those that clusters have.
	CheckTemplate(t template.Text, labels map[string]string) error
	// Unusual returns the fields of the reconciler object in a file that the built-in template would not set, or
	// would set to something else; dir is the directory that the object applies.
	Unusual(file, dir string, data []byte) []template.Field
	// CheckAmended returns an error if a person changed the spec of a reconciler object, compared to the planned
	// one, so its health is no longer that of the tier.
	CheckAmended(spec, planned map[string]any) error
	// Orphaned returns the reconciler object in a file, but for what becomes of the objects that it applied when it
	// is deleted: they stay.
	Orphaned(file string, data []byte) (template.Rendered, error)
	// Orphans says of the spec of a reconciler object that what it applied stays when it is deleted.
	Orphans(spec map[string]any) bool
}
