package git

import (
	"fmt"
	"io/fs"
)

// Bounds limit what is read of one commit of a repository that people, or other programs, write. A
// process serves many repositories, and none of them may make it run out of memory.
type Bounds struct {
	// File limits the bytes of one file, and Total those of all files.
	File, Total int64
	// Entries limits how many files and directories are listed: a small commit may hold one
	// directory any number of times.
	Entries int
}

// Bounds of what is read of GitOps repositories: many times what Furrow and people write.
var (
	// PlanBounds are those of a plan and its parts, which no larger plan is written to: see core/plan.
	PlanBounds = Bounds{File: 64 << 20, Total: 128 << 20, Entries: 100_000}
	// StatusBounds are those of a published status.
	StatusBounds = Bounds{File: 64 << 20, Total: 64 << 20, Entries: 1000}
	// RecordBounds are those of records: each file has those of one proposal, or one rollout.
	RecordBounds = Bounds{File: 1 << 20, Total: 64 << 20, Entries: 1_000_000}
	// RootBounds are those of what others have below a cluster's root.
	RootBounds = Bounds{File: 8 << 20, Total: 24 << 20, Entries: 100_000}
)

// MaxBlob limits a single file that is read by its hash: a manifest, a reconciler object, or
// .sourceignore.
const MaxBlob = 4 << 20

// Bounded reads no more of a tree than bounds allow: beyond them, reading and listing fail
// with an error that IsTooLarge reports. It is not safe for several goroutines.
func Bounded(tree fs.FS, bounds Bounds) fs.FS { return &boundedFS{tree, bounds, bounds} }

type boundedFS struct {
	tree         fs.FS
	bounds, left Bounds
}

var (
	_ fs.ReadDirFS  = (*boundedFS)(nil)
	_ fs.ReadFileFS = (*boundedFS)(nil)
	_ fs.StatFS     = (*boundedFS)(nil)
)

// Open opens a directory, or a file that is read as a whole.
func (f *boundedFS) Open(name string) (fs.File, error) {
	if err := f.take(name); err != nil {
		return nil, err
	}
	return f.tree.Open(name)
}

// Stat describes what is at name.
func (f *boundedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.tree, name) }

// ReadFile returns a file's content.
func (f *boundedFS) ReadFile(name string) ([]byte, error) {
	if err := f.take(name); err != nil {
		return nil, err
	}
	return fs.ReadFile(f.tree, name)
}

// take counts a file by its size, before it is read. What is not there is for the reader to say.
func (f *boundedFS) take(name string) error {
	info, err := fs.Stat(f.tree, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > f.bounds.File {
		return tooLarge("read", name, fmt.Sprintf("it has %d bytes, and Furrow reads at most %d of such a file", info.Size(), f.bounds.File))
	}
	if f.left.Total -= info.Size(); f.left.Total < 0 {
		return tooLarge("read", name, fmt.Sprintf("with it, what Furrow reads here has more than %d bytes", f.bounds.Total))
	}
	return nil
}

// ReadDir lists a directory.
func (f *boundedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.tree, name)
	if f.left.Entries -= len(entries); err == nil && f.left.Entries < 0 {
		return nil, tooLarge("list", name, fmt.Sprintf("Furrow lists at most %d files and directories here", f.bounds.Entries))
	}
	return entries, err
}

func tooLarge(op, name, text string) error {
	return &Error{op: op, remote: name, kind: kindTooLarge, text: text}
}
