// Package delivery says what Furrow has to know of a kind of reconciler that applies tiers on clusters. Each kind is
// a package of its own, and package kinds lists them.
package delivery

import (
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
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
	// one, so its health says nothing of the tier any more.
	CheckAmended(spec, planned map[string]any) error
	// Orphaned returns the reconciler object in a file, but for what becomes of the objects that it applied when it
	// is deleted: they stay.
	Orphaned(file string, data []byte) (template.Rendered, error)
	// Orphans says of the spec of a reconciler object that what it applied stays when it is deleted.
	Orphans(spec map[string]any) bool

	// ReadFolder reads the directory of a root. files are its regular files by path relative to the repository;
	// those that are not ReadsFile do not matter.
	ReadFolder(root string, files map[string][]byte) Folder
	// ReadsFile reports whether a regular file counts in the directory of a root. Both are relative to the
	// repository; an empty root is all of it.
	ReadsFile(root, file string) bool
	// UnreadFolder is the directory of a root that is too large to be read.
	UnreadFolder(root string, why error) Folder
	// Claims reports whether a file of others defines an object that Furrow would put into the directory, in a file
	// of its own.
	Claims(f Folder, id manifest.ID, own string) (manifest.Problem, bool)

	// Judge says how far a tier is whose reconciler object is there as base has it, and may work.
	Judge(r health.Reconciler, want health.Want) health.Verdict
	// RootUnfit returns what keeps a root from taking up what lands in its directory, and what to do about it;
	// without a reason when it is fit. Of a root that is not Known it says nothing.
	RootUnfit(r health.Root, w health.WantRoot) manifest.Problem
	// RootUnknown returns why nothing can be said about a root; without a reason when something can.
	RootUnknown(r health.Root, w health.WantRoot) manifest.Problem
	// MergeBy returns the ways to merge that leave a signature which the root's source accepts; none if its source
	// verifies nothing, or any way of Git will do. The problem is a warning if the repository allows others too, and
	// RootVerification if it accepts none.
	MergeBy(r health.Root, w health.WantRoot) (accepted []merging.Way, problem manifest.Problem)
	// Applies reports whether an object is the reconciler object of a name that applies a directory.
	Applies(o manifest.Object, namespace, name, dir string) bool
	// OrphanByHand says how a person lets a reconciler object leave behind what it applied.
	OrphanByHand(cluster, namespace, name string) string
	// Resume is the command that resumes a reconciler object.
	Resume(namespace, name string) string
	// Words are those that people know the kind by.
	Words() Words
}

// Words are what people call the parts of a kind of reconciler.
type Words struct {
	// Reconciler is its name, as in "Flux on edge".
	Reconciler string
	// Object is the kind of its reconciler objects. Source is the kind of the objects that name their repository.
	Object manifest.GroupKind
	Source string
	// IgnoreFile is the file of a repository whose patterns it does not read, and IgnoreField the field of a source.
	IgnoreFile, IgnoreField string
	// MakeRoot says how the directory of a root comes to be.
	MakeRoot string
}

// Folder is what a reconciler makes of the directory of a root: one build of all files below it, so one bad file
// stops every change of the cluster.
type Folder struct {
	// Problems keep the reconciler from building the directory, sorted by file and line.
	Problems manifest.Problems `json:"problems,omitempty"`
	// Objects are in order of their ids.
	Objects []FolderObject `json:"objects,omitempty"`
}

// FolderObject is an object in the directory of a root. Its namespace is the effective one.
type FolderObject struct {
	ID      manifest.ID     `json:"id"`
	Version string          `json:"version,omitempty"`
	Source  manifest.Source `json:"source"`
}
