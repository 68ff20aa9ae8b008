package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/state"
)

// RecordKind is what a record has in kind.
const RecordKind = "PassRecord"

// Record is a pass that can be written to a file and decided again, without any network.
// It holds all that was read of the control plane and of base branches, and no credentials.
type Record struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Version is Furrow's.
	Version string         `json:"version,omitempty"`
	Limits  catalog.Limits `json:"limits"`
	// Tree is what was read of the control-plane tree.
	Tree RecordedTree `json:"tree"`
	// Settings are what custom resources said about it; nil where there are none.
	Settings *Settings      `json:"settings,omitempty"`
	Facts    *pass.Facts    `json:"facts"`
	Decision *pass.Decision `json:"decision"`
	// Plugins is the directory of the executables that may run as plugins when it is decided again.
	Plugins string `json:"-"`
}

// Decide decides anew from what the record holds: the facts, and the control plane's tree, from which
// the catalog is loaded again. It asks nobody. A record that lacks an answer is one of another
// version, and an error.
func (r *Record) Decide(ctx context.Context) (*pass.Decision, error) {
	if r.APIVersion != v1alpha1.APIVersion || r.Kind != RecordKind || r.Facts == nil {
		return nil, errors.New("it is not a record of a pass: record one with furrow run --record")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Facts.Repos)) {
		if r.Facts.Repos[name] == nil {
			return nil, fmt.Errorf("it is not a record of a pass: it has nothing of repository %q", name)
		}
	}
	var err error
	if r.Facts.ControlPlane.Catalog, err = (Tree{FS: r.Tree, Limits: r.Limits, Plugins: r.Plugins, Settings: r.Settings}).Catalog(ctx); err != nil {
		return nil, err
	}
	decision, questions := pass.Decide(r.Facts)
	if len(questions) > 0 {
		return nil, fmt.Errorf("the record lacks %d answers, first of %s: it is incomplete, or this version of Furrow asks for more than %s did", len(questions), questions[0].Kind, cmp.Or(r.Version, "the one that wrote it"))
	}
	return decision, nil
}

// Same reports whether the decision is the one that was recorded.
func (r *Record) Same(decision *pass.Decision) (bool, error) {
	is, err := json.Marshal(decision)
	if err != nil {
		return false, err
	}
	was, err := json.Marshal(r.Decision)
	return bytes.Equal(is, was), err
}

// Report returns what the pass would have reported of seeds before it acted.
func (r *Record) Report(d *pass.Decision) *Report {
	out := &Report{State: state.New(r.Facts.Self.Owner, r.Facts.Self.Origin, r.Facts.ControlPlane.Revision), Plans: map[string]*plan.Plan{}}
	out.LastPass = r.Facts.Now
	for _, name := range slices.Sorted(maps.Keys(d.Seeds)) {
		if s := d.Seeds[name]; !s.Foreign() {
			out.Seeds = append(out.Seeds, reportSeed(r.Facts, s, &outcome{}))
			out.Plans[name] = s.Plan
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Facts.Repos)) {
		if f := r.Facts.Repos[name].Failure; f != nil {
			out.Problems = append(out.Problems, manifest.AsProblem(f))
		}
	}
	return out
}

func (e *Engine) record(o *observation, d *pass.Decision) {
	if e.config.Record != nil {
		e.config.Record(&Record{APIVersion: v1alpha1.APIVersion, Kind: RecordKind, Limits: e.tree.Limits, Tree: e.recorded.files, Settings: e.tree.Settings, Facts: o.facts, Decision: d})
	}
}

// RecordedTree is what was read of a file system, by path. It is one itself.
type RecordedTree map[string]RecordedFile

// RecordedFile is a file or directory of a RecordedTree.
type RecordedFile struct {
	Mode fs.FileMode `json:"mode"`
	Size int64       `json:"size,omitempty"`
	// Data is the content of a file that was read, Entries the names in a directory that was.
	Data    []byte   `json:"data,omitempty"`
	Entries []string `json:"entries,omitempty"`
	// Link is the target of a symbolic link that was read.
	Link string `json:"link,omitempty"`
	// Error is why it could not be read.
	Error string `json:"error,omitempty"`
}

// find returns a file, or the error with which it could not be read when it was recorded.
func (t RecordedTree) find(op, name string) (RecordedFile, error) {
	f, ok := t[name]
	switch {
	case !ok:
		return f, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	case f.Error != "" && op != "stat":
		return f, errors.New(f.Error)
	}
	return f, nil
}

// Open implements fs.FS.
func (t RecordedTree) Open(name string) (fs.File, error) {
	f, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	return &openFile{recordedInfo{path.Base(name), f}, bytes.NewReader(f.Data)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t RecordedTree) ReadLink(name string) (string, error) {
	f, err := t.find("readlink", name)
	return f.Link, err
}

// Lstat implements fs.ReadLinkFS.
func (t RecordedTree) Lstat(name string) (fs.FileInfo, error) {
	f, err := t.find("stat", name)
	return recordedInfo{path.Base(name), f}, err
}

// ReadDir implements fs.ReadDirFS.
func (t RecordedTree) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, len(f.Entries))
	for i, child := range f.Entries {
		entries[i] = fs.FileInfoToDirEntry(recordedInfo{child, t[path.Join(name, child)]})
	}
	return entries, nil
}

type recordedInfo struct {
	name string
	file RecordedFile
}

func (i recordedInfo) Name() string       { return i.name }
func (i recordedInfo) Size() int64        { return i.file.Size }
func (i recordedInfo) Mode() fs.FileMode  { return i.file.Mode }
func (i recordedInfo) ModTime() time.Time { return time.Time{} }
func (i recordedInfo) IsDir() bool        { return i.file.Mode.IsDir() }
func (i recordedInfo) Sys() any           { return nil }

type openFile struct {
	info recordedInfo
	*bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

// recordingFS is a file system that remembers what is read of it. So a record has the part of the control
// plane that a pass depends on, and replaying it reads the same or fails.
type recordingFS struct {
	of    fs.FS
	files RecordedTree
}

// note keeps what was read of a file, or why it could not be read.
func (t *recordingFS) note(name string, err error, change func(*RecordedFile)) {
	f := t.files[name]
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		f.Error = err.Error()
	default:
		change(&f)
	}
	t.files[name] = f
}

// Open implements fs.FS.
func (t *recordingFS) Open(name string) (fs.File, error) {
	info, err := t.Lstat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if _, err := t.ReadDir(name); err != nil {
			return nil, err
		}
		return t.of.Open(name)
	}
	data, err := fs.ReadFile(t.of, name)
	t.note(name, err, func(f *RecordedFile) { f.Data, f.Size = data, int64(len(data)) })
	if err != nil {
		return nil, err
	}
	return &openFile{recordedInfo{path.Base(name), RecordedFile{Mode: info.Mode(), Size: info.Size()}}, bytes.NewReader(data)}, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *recordingFS) ReadLink(name string) (string, error) {
	target, err := fs.ReadLink(t.of, name)
	t.note(name, err, func(f *RecordedFile) { f.Link = target })
	return target, err
}

// Lstat implements fs.ReadLinkFS.
func (t *recordingFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := fs.Lstat(t.of, name)
	t.note(name, err, func(f *RecordedFile) { f.Mode, f.Size = info.Mode(), info.Size() })
	return info, err
}

// ReadDir implements fs.ReadDirFS.
func (t *recordingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.of, name)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		t.note(path.Join(name, entry.Name()), nil, func(f *RecordedFile) {
			f.Mode = entry.Type()
			if info, err := entry.Info(); err == nil {
				f.Mode, f.Size = info.Mode(), info.Size()
			}
		})
	}
	t.note(name, err, func(f *RecordedFile) { f.Mode, f.Entries = f.Mode|fs.ModeDir, names })
	return entries, err
}
