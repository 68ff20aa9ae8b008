// Package change says what a commit changes, object by object: which objects it adds and removes,
// and which fields of the others it gives another value.
//
//	objects before, objects after ─▶ Comparer.Between ─▶ changes, in order
//
// It compares what two sides have as values; where an object is in Git, and how it is shown, is
// the caller's concern. What is compared was written by people: its texts are as they are, and
// whoever shows them escapes them.
//
// Values of Secrets and of documents that SOPS encrypted are never compared field by field.
package change

import (
	"cmp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/recent"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// Kind says what becomes of an object.
type Kind string

// What becomes of an object.
const (
	Added   Kind = "added"
	Changed Kind = "changed"
	Removed Kind = "removed"
	// Moved is an object that goes to another tier, or comes from one, and stays on its cluster.
	Moved Kind = "moved"
)

// kinds is their order: what people have to check first comes first.
var kinds = []Kind{Removed, Moved, Changed, Added}

// Object is an object as one side has it.
type Object struct {
	// ID is zero where only its content says which object it is.
	ID manifest.ID
	// Hash names the content.
	Hash githash.Hash
	// Content is its file; nil where it was not read. An object that both sides have with other
	// contents has changed, and without both contents there are no fields.
	Content []byte
	// Definition names the CustomResourceDefinition of the object's kind, whose rules may refuse an update; zero where
	// none is known. It counts where the object is after the change.
	Definition githash.Hash
	// Skipped reports whether it is not to be compared.
	Skipped bool
	// Kept reports whether the reconciler is known to keep it on its cluster when it leaves.
	Kept bool
}

// Change is what becomes of one object.
type Change struct {
	Kind Kind
	// Object is zero where nothing says which it is; File is then all there is.
	Object manifest.ID
	File   string
	// Fields are those that get another value, More how many others there are.
	Fields []Field
	More   int
	// Hidden reports whether the values are not compared because they are secret, and Unread
	// whether they are not because the contents were not read.
	Hidden, Unread bool
	// Refused are the fields that an API server does not let anybody change, with the message of a rule that refuses
	// the change. Recreated reports whether the reconciler deletes the object and creates it again for them.
	Refused   []string
	Recreated bool
	// Destroys says what is lost when the object is removed; empty where nothing else is.
	Destroys string
	// Stays reports whether an object that is removed stays on its cluster.
	Stays bool
	// Where says from or to which tier an object is moved.
	Where string
}

// Field is a field that gets another value. Was is empty where it is new, Is where it goes.
type Field struct{ Path, Was, Is string }

// Comparer compares objects, and remembers the pairs that it has compared: the clusters of a fleet
// mostly have the same change. The zero value is ready to use; it is for one goroutine.
type Comparer struct {
	fields      recent.Cache[pair, detail]
	definitions recent.Cache[githash.Hash, *immutable.Definition]
}

// pair is two contents of an object, and the definition by which they are compared.
type pair struct{ was, is, definition githash.Hash }

func pairOf(was, is Object) pair { return pair{was.Hash, is.Hash, is.Definition} }

// detail is what differs between two contents.
type detail struct {
	fields    []Field
	more      int
	hidden    bool
	refused   []string
	recreated bool
}

// Turn begins another pass: pairs and definitions that neither this pass nor the one before needed are forgotten.
func (c *Comparer) Turn() {
	c.fields.Turn()
	c.definitions.Turn()
}

// Knows reports whether an object was compared before with what becomes of it, so neither their contents nor the
// definition need be read.
func (c *Comparer) Knows(was, is Object) bool {
	_, ok := c.fields.Get(pairOf(was, is))
	return ok
}

// Define takes in the content of a CustomResourceDefinition, which objects name by its hash.
func (c *Comparer) Define(hash githash.Hash, content []byte) {
	var definition *immutable.Definition
	if o := parse(content); o != nil {
		definition = immutable.NewDefinition(*o)
	}
	c.definitions.Put(hash, definition)
}

// Defined reports whether a definition was taken in, and so need not be read.
func (c *Comparer) Defined(hash githash.Hash) bool {
	_, ok := c.definitions.Get(hash)
	return ok
}

// Between lists what changes between two directories, given their objects by file name: what is
// removed first, then what changes, then what is added, each in the order of the objects.
func (c *Comparer) Between(before, after map[string]Object) []Change {
	var out []Change
	for file, was := range before {
		is, stays := after[file]
		switch {
		case !stays:
			out = append(out, was.removed(file))
		case was.Hash != is.Hash:
			out = append(out, c.changed(file, was, is))
		}
	}
	for file, is := range after {
		if _, had := before[file]; !had {
			out = append(out, Change{Kind: Added, Object: is.id(), File: file})
		}
	}
	slices.SortFunc(out, Change.compare)
	return out
}

// Protection is the annotation of Flux by which an object is never pruned, if its value is disabled.
const Protection = "kustomize.toolkit.fluxcd.io/prune"

// unreconciled is the annotation of Flux by which an object is neither applied nor pruned.
const unreconciled = "kustomize.toolkit.fluxcd.io/reconcile"

// removed is the change by which an object goes from a file. One that is marked as not to be pruned stays on
// its cluster.
func (o Object) removed(file string) Change {
	id := o.id()
	out := Change{Kind: Removed, Object: id, File: file, Destroys: Destroys(id.GroupKind())}
	if !o.Kept && o.Content != nil {
		objects, err := manifest.Parse(file, o.Content)
		o.Kept = err == nil && len(objects) == 1 && Kept(objects[0])
	}
	if o.Kept {
		out.Destroys, out.Where, out.Stays = "", "it stays on the cluster, because it is marked as not to be pruned", true
	}
	return out
}

// Kept reports whether Flux keeps an object on its cluster when it leaves.
func Kept(o manifest.Object) bool {
	return o.Annotation(Protection) == "disabled" || o.Annotation(unreconciled) == "disabled"
}

// compare orders changes by kind, and what destroys data first.
func (c Change) compare(other Change) int {
	return cmp.Or(
		cmp.Compare(slices.Index(kinds, c.Kind), slices.Index(kinds, other.Kind)),
		cmp.Compare(intOf(c.Destroys == ""), intOf(other.Destroys == "")),
		c.Object.Compare(other.Object), strings.Compare(c.File, other.File),
	)
}

func intOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Name returns what people call the object.
func (c Change) Name() string {
	if c.Object == (manifest.ID{}) {
		return c.File
	}
	return c.Object.String()
}

// id returns the object's identity; zero where neither the caller nor the content says it.
func (o Object) id() manifest.ID {
	if o.ID != (manifest.ID{}) || o.Content == nil {
		return o.ID
	}
	if objects, err := manifest.Parse("", o.Content); err == nil && len(objects) == 1 {
		return objects[0].ID
	}
	return o.ID
}

func (c *Comparer) changed(file string, was, is Object) Change {
	out := Change{Kind: Changed, Object: cmp.Or(is.id(), was.id()), File: file}
	key := pairOf(was, is)
	d, known := c.fields.Get(key)
	switch {
	case was.Skipped, !known && (was.Content == nil || is.Content == nil):
		out.Unread = true
		return out
	case !known:
		definition, _ := c.definitions.Get(is.Definition)
		d = compare(was.Content, is.Content, definition)
		c.fields.Put(key, d)
	}
	out.Fields, out.More, out.Hidden, out.Refused, out.Recreated = d.fields, d.more, d.hidden, d.refused, d.recreated
	if out.Recreated {
		out.Destroys = Destroys(out.Object.GroupKind())
	}
	return out
}

// compare compares two files of one object each. Of what cannot be parsed nothing is shown: who
// edits a proposal may write anything.
func compare(was, is []byte, definition *immutable.Definition) detail {
	before, after := parse(was), parse(is)
	if before == nil || after == nil {
		return detail{}
	}
	refused := definition.Refused(*before, *after)
	recreated := len(refused) > 0 && immutable.Recreates(*after)
	var d detail
	if recreated {
		d = compareObjects(*before, *after, nil)
	} else {
		d = compareObjects(*before, *after, refused)
	}
	d.recreated = recreated
	for _, f := range refused {
		d.refused = append(d.refused, truncate.Line(f.String(), maxRefusal))
	}
	return d
}

func compareObjects(was, is manifest.Object, refused []immutable.Field) detail {
	if secret(was) || secret(is) {
		return detail{hidden: true}
	}
	fields := fieldsOf(was.Body, is.Body, refused)
	shown := fields[:min(len(fields), maxFields)]
	return detail{fields: shown, more: len(fields) - len(shown)}
}

// Fields returns what differs between two forms of an object, where none is an update of the
// other, and how many other fields there are. hidden
// reports that the values are not compared because they are secret.
func Fields(was, is manifest.Object) (fields []Field, more int, hidden bool) {
	d := compareObjects(was, is, nil)
	return d.fields, d.more, d.hidden
}

// String returns the change of the field on one line.
func (f Field) String() string {
	switch {
	case f.Was == "" && f.Is == "":
		return f.Path
	case f.Was == "":
		return f.Path + " " + f.Is
	case f.Is == "":
		return f.Path + " goes (was " + f.Was + ")"
	}
	return f.Path + " " + f.Was + " → " + f.Is
}

func parse(content []byte) *manifest.Object {
	objects, err := manifest.Parse("", content)
	if err != nil || len(objects) != 1 {
		return nil
	}
	return &objects[0]
}

// secret reports whether the values of an object must not be shown.
func secret(o manifest.Object) bool {
	_, encrypted := o.Body["sops"]
	return encrypted || o.ID.GroupKind() == manifest.GroupKind{Kind: "Secret"}
}

// Destroys says what is lost with an object of a kind when it is removed, beside itself.
func Destroys(kind manifest.GroupKind) string {
	switch kind {
	case manifest.GroupKind{Kind: "Namespace"}:
		return "everything in the namespace"
	case manifest.GroupKind{Kind: "PersistentVolumeClaim"}:
		return "the data of the volume"
	case manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return "all objects of the kind"
	}
	if catalog.IsCreator(kind) {
		return "the cluster that it creates"
	}
	return ""
}

// Counts says how many objects are added, changed and removed.
func Counts(changes []Change) map[Kind]int {
	out := map[Kind]int{}
	for _, c := range changes {
		out[c.Kind]++
	}
	return out
}
