package odb

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS returns the tree of commit as a read-only file system. It is safe for several goroutines if
// fetch is.
//
// Walking it reads trees only, and a file's content, or size, when it is asked for. fetch gets a blob
// that is not here yet; nil where all are. Nothing is read after ctx is done.
//
// Symbolic links are not followed, since a link may point outside the tree: they can be read as
// links, and not opened, so Stat and Lstat are the same. Submodules are irregular and cannot be
// opened.
func (o *Objects) FS(ctx context.Context, commit Hash, fetch func(context.Context, Hash) error) (fs.FS, error) {
	info, err := o.Commit(commit)
	if err != nil {
		return nil, err
	}
	if _, err := o.tree(info.Tree); err != nil {
		return nil, err
	}
	return &treeFS{objects: o, fetch: fetch, ctx: ctx, root: info.Tree}, nil
}

// treeFS keeps its context because the methods of io/fs take none.
type treeFS struct {
	objects *Objects
	fetch   func(context.Context, Hash) error
	ctx     context.Context
	root    Hash
}

var (
	_ fs.ReadDirFS  = (*treeFS)(nil)
	_ fs.ReadFileFS = (*treeFS)(nil)
	_ fs.StatFS     = (*treeFS)(nil)
	_ fs.ReadLinkFS = (*treeFS)(nil)
)

// maxLink is the length of the longest link that is read, as on Linux.
const maxLink = 4096

// find looks a path up. Its errors name op, as those of package os do.
func (f *treeFS) find(op, name string) (node fileNode, err error) {
	if !fs.ValidPath(name) {
		return fileNode{}, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if err := f.ctx.Err(); err != nil {
		return fileNode{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	entry, ok, err := f.objects.lookup(f.root, name)
	if err == nil && !ok {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fileNode{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return fileNode{f, path.Base(name), entry}, nil
}

// Open opens a file or a directory.
func (f *treeFS) Open(name string) (fs.File, error) {
	found, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if found.entry.Mode == ModeDir {
		entries, err := f.ReadDir(name)
		return &openDir{node: found, entries: entries}, err
	}
	content, err := f.content("open", name, found)
	if err != nil {
		return nil, err
	}
	return &openFile{node: found, Reader: bytes.NewReader(content)}, nil
}

// ReadFile returns a file's content.
func (f *treeFS) ReadFile(name string) ([]byte, error) {
	found, err := f.find("read", name)
	if err != nil {
		return nil, err
	}
	return f.content("read", name, found)
}

func (f *treeFS) content(op, name string, found fileNode) ([]byte, error) {
	if !found.entry.Mode.IsFile() {
		return nil, &fs.PathError{Op: op, Path: name, Err: errors.New("is not a regular file")}
	}
	content, err := f.blob(found.entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return content, nil
}

// Stat describes what is at name.
func (f *treeFS) Stat(name string) (fs.FileInfo, error) {
	found, err := f.find("stat", name)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Lstat is Stat.
func (f *treeFS) Lstat(name string) (fs.FileInfo, error) { return f.Stat(name) }

// ReadLink returns the text of a symbolic link.
func (f *treeFS) ReadLink(name string) (string, error) {
	found, err := f.find("readlink", name)
	if err != nil {
		return "", err
	}
	if found.entry.Mode != ModeSymlink || found.blobSize() > maxLink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	text, err := f.blob(found.entry.Hash)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(text), nil
}

// ReadDir lists a directory, sorted by name.
func (f *treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	found, err := f.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if found.entry.Mode != ModeDir {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("is not a directory")}
	}
	t, err := f.objects.tree(found.entry.Hash)
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	return f.dirEntries(t), nil
}

// fileNode is what the tree has at a path; it serves as fs.FileInfo and fs.DirEntry.
type fileNode struct {
	fs    *treeFS
	name  string
	entry Entry
}

func (n fileNode) Name() string               { return n.name }
func (n fileNode) IsDir() bool                { return n.entry.Mode == ModeDir }
func (n fileNode) ModTime() time.Time         { return time.Time{} }
func (n fileNode) Sys() any                   { return n.entry }
func (n fileNode) Type() fs.FileMode          { return n.Mode().Type() }
func (n fileNode) Info() (fs.FileInfo, error) { return n, nil }
func (n fileNode) String() string             { return fs.FormatDirEntry(n) }

// Mode maps the modes of Git. No file or directory is writable, whatever its mode.
func (n fileNode) Mode() fs.FileMode {
	switch n.entry.Mode {
	case ModeDir:
		return fs.ModeDir | 0o555
	case ModeExecutable:
		return 0o555
	case ModeFile, modeGroupWritable:
		return 0o444
	case ModeSymlink:
		return fs.ModeSymlink | 0o777
	}
	return fs.ModeIrregular
}

// Size is that of a regular file, and 0 for all else. It may have to fetch the blob; a size that
// cannot be known is 0 as well.
func (n fileNode) Size() int64 {
	if !n.entry.Mode.IsFile() {
		return 0
	}
	return n.blobSize()
}

// blobSize returns the size without reading the content, which may have to be fetched first.
func (n fileNode) blobSize() int64 {
	size, err := n.fs.objects.size(n.entry.Hash)
	if err != nil && n.fs.get(n.entry.Hash) == nil {
		size, err = n.fs.objects.size(n.entry.Hash)
	}
	if err != nil {
		return 0
	}
	return size
}

// blob reads a blob, and fetches it first if it is not here.
func (f *treeFS) blob(hash Hash) ([]byte, error) {
	content, err := f.objects.Blob(hash)
	if !IsUnknown(err) || f.objects.Has(hash) {
		return content, err
	}
	if err := f.get(hash); err != nil {
		return nil, err
	}
	return f.objects.Blob(hash)
}

// get fetches a blob that is not here.
func (f *treeFS) get(hash Hash) error {
	if f.fetch == nil {
		return unknown(hash, lacking)
	}
	return f.fetch(f.ctx, hash)
}

// openFile is a regular file, read as a whole when it was opened.
type openFile struct {
	node fileNode
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.node, nil }
func (f *openFile) Close() error               { return nil }

// openDir is a directory; entries are those that ReadDir has not returned yet.
type openDir struct {
	node    fileNode
	entries []fs.DirEntry
	closed  bool
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.node, nil }

func (d *openDir) Close() error {
	d.closed = true
	return nil
}

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.node.name, Err: errors.New("is a directory")}
}

// ReadDir returns the next n entries, or all that are left if n is not positive.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if d.closed {
		return nil, &fs.PathError{Op: "readdir", Path: d.node.name, Err: fs.ErrClosed}
	}
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	next := d.entries[:n:n]
	d.entries = d.entries[n:]
	return next, nil
}

// dirEntries sorts by plain names, as io/fs demands, which is not Git's order (see compareEntries).
func (f *treeFS) dirEntries(t *tree) []fs.DirEntry {
	entries := make([]fs.DirEntry, len(t.entries))
	for i, e := range t.entries {
		entries[i] = fileNode{f, e.name, e.Entry}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries
}
