package catalog

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"

	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Limits bound what is read into memory. Zero is the default.
type Limits struct {
	// File is the size of the largest file that is read, in bytes.
	File int64
	// Package is the size of all files of one seed, in bytes.
	Package int64
}

// The default limits: no manifest that an API server accepts comes near them.
const (
	DefaultMaxFile    = 64 << 20
	DefaultMaxPackage = 1 << 30
)

func (l Limits) orDefault() Limits {
	return Limits{File: cmp.Or(l.File, DefaultMaxFile), Package: cmp.Or(l.Package, DefaultMaxPackage)}
}

// Files are the files of one seed, unparsed, within limits. What is over a limit is a problem of
// the seed and is not read, so a seed costs no more memory than the limits allow, whatever it
// has.
type Files struct {
	// Content by path.
	Content map[string][]byte
	// Root is the directory that all of them are below; empty if they come from several
	// directories, or from none.
	Root string
	// Skipped names what people may expect to be read and is not.
	Skipped manifest.Problems
	// Lost are those among them whose content is unknown.
	Lost []manifest.Source
	// Problems say what is too large to be read.
	Problems manifest.Problems

	limits  Limits
	markers []string
	added   int
	size    int64
}

// NewFiles holds no file yet.
func NewFiles(reading Reading) *Files {
	return &Files{Content: map[string][]byte{}, limits: reading.Limits.orDefault(), markers: reading.Markers}
}

// AddTree reads the files of a package below a directory of a tree. shown is a file's path as
// people know it. If the walk comes upon a marker of a renderer, it is repeated for all files,
// since the renderer may need any of them.
func (f *Files) AddTree(tree fs.FS, dir string, shown func(string) string) error {
	w := newWalker(tree)
	w.markers = f.markers
	err := w.walk(dir)
	if w.marked && err == nil {
		w = w.again()
		err = w.walk(dir)
	}
	if err != nil {
		return err
	}
	if err := f.addWalk(w, dir, shown); err != nil {
		return err
	}
	if f.Root = ""; f.added == 0 {
		f.Root = shown(dir)
	}
	f.added++
	return nil
}

// addWalk reads what a walk has found.
func (f *Files) addWalk(w *walker, dir string, shown func(string) string) error {
	f.Skipped = append(f.Skipped, w.allSkipped(dir, shown)...)
	for _, lost := range w.lost {
		f.Lost = append(f.Lost, manifest.Source{File: shown(lost.File)})
	}
	for _, p := range w.unnamed {
		p.Source.File = shown(p.Source.File)
		f.Problems = append(f.Problems, p)
	}
	for _, file := range w.files {
		if err := f.addFile(w.tree, file.target, shown(file.name)); err != nil {
			return err
		}
	}
	return nil
}

// addFile takes in a file of a tree. shown is its path in messages.
func (f *Files) addFile(tree fs.FS, name, shown string) error {
	info, err := fs.Lstat(tree, name)
	if err != nil || f.full() {
		return err
	}
	if info.Size() > f.limits.File {
		f.fileTooLarge(shown)
		return nil
	}
	file, err := tree.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return f.read(shown, file)
}

// Add reads one more file.
func (f *Files) Add(name string, r io.Reader) error {
	f.added++
	f.Root = ""
	return f.read(name, r)
}

// read takes in one file within the limits. It reads one byte more than is allowed, so a file or
// stream that is too large is noticed without reading it to its end. Beyond a limit the file is
// left out with a problem, and nothing further is read.
func (f *Files) read(name string, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, f.limits.File+1))
	if err != nil {
		return err
	}
	if int64(len(data)) > f.limits.File {
		f.fileTooLarge(name)
		return nil
	}
	if f.size += int64(len(data)); f.full() {
		f.tooLarge(name, "with this file the package is larger than "+size(f.limits.Package), "Split it into several seeds, or raise --max-package-size.")
		return nil
	}
	f.Content[name] = data
	return nil
}

// full reports whether nothing more is read.
func (f *Files) full() bool { return f.size > f.limits.Package }

func (f *Files) fileTooLarge(name string) {
	f.tooLarge(name, "the file is larger than "+size(f.limits.File), "Split it, or raise --max-file-size.")
}

func (f *Files) tooLarge(name, message, next string) {
	f.Problems = append(f.Problems, manifest.Problem{Reason: v1alpha1.ReasonPackageTooLarge, Source: manifest.Source{File: name}, Message: message, Next: next})
}

// size writes bytes as Kubernetes does: 64Mi.
func size(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
