package odb_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// power is a file system that reports to a test what is on the disk and what is still in memory.
type power struct {
	odb.Files
	dir string
	// before is called before each change.
	before func(op, path string) error
	// unsynced are the files whose content is not on the disk.
	unsynced map[string]bool
	// undo reverts the changes of names, by directory, that are not on the disk.
	undo map[string][]func(root string) error
}

func (p *power) CreateTemp(dir, prefix string) (odb.File, string, error) {
	if err := p.before("create", dir); err != nil {
		return nil, "", err
	}
	file, path, err := p.Files.CreateTemp(dir, prefix)
	if err != nil {
		return nil, "", err
	}
	p.unsynced[path] = true
	p.changed(path, nil, os.ErrNotExist)
	return &powerFile{file, path, p}, path, nil
}

// changed notes what a name stood for, in case the power fails.
func (p *power) changed(path string, before []byte, err error) {
	dir := filepath.Dir(path)
	p.undo[dir] = append(p.undo[dir], func(root string) error {
		path := filepath.Join(root, path)
		if removeErr := os.Remove(path); err != nil || removeErr != nil && !os.IsNotExist(removeErr) {
			return nil //nolint:nilerr // there was no such name
		}
		return os.WriteFile(path, before, 0o600)
	})
}

func (p *power) Rename(from, to string) error {
	if err := p.before("rename", to); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(p.dir, to))
	p.changed(to, content, err)
	if p.unsynced[from] {
		p.unsynced[to] = true
	}
	delete(p.unsynced, from)
	return p.Files.Rename(from, to)
}

func (p *power) Remove(path string) error {
	if err := p.before("remove", path); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(p.dir, path))
	p.changed(path, content, err)
	return p.Files.Remove(path)
}

func (p *power) SyncDir(dir string) error {
	if err := p.before("sync names", dir); err != nil {
		return err
	}
	delete(p.undo, filepath.Clean(dir))
	return p.Files.SyncDir(dir)
}

// fail leaves in root, a copy, what a power failure leaves: files without the content that is not on the disk, and either all names
// or only those that are on the disk.
func (p *power) fail(root string, allNames bool) error {
	var errs []error
	for path := range p.unsynced {
		if err := os.Truncate(filepath.Join(root, path), 0); err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
			errs = append(errs, err)
		}
	}
	if !allNames {
		for _, undo := range p.undo {
			for _, one := range slices.Backward(undo) {
				errs = append(errs, one(root))
			}
		}
	}
	return errors.Join(errs...)
}

type powerFile struct {
	odb.File
	path  string
	power *power
}

func (f *powerFile) Write(p []byte) (int, error) {
	if err := f.power.before("write", f.path); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	f.power.unsynced[f.path] = true
	return f.File.Write(p)
}

func (f *powerFile) Sync() error {
	if err := f.power.before("sync", f.path); err != nil {
		return err
	}
	delete(f.power.unsynced, f.path)
	return f.File.Sync()
}

// history is a database to which things happen one after the other, and what its branches are then.
type history struct {
	t     *testing.T
	db    *odb.DB
	steps []func(refs odb.Refs) ([]odb.Move, error)
	// states are the branches before each step, and after the last.
	states []odb.Refs
	done   int
}

func newHistory(t *testing.T, db *odb.DB) *history {
	h := &history{t: t, db: db, states: []odb.Refs{{}}}
	h.steps = []func(odb.Refs) ([]odb.Move, error){
		h.batch("one", "two", "three"), h.batch("one", "-two", "four"), h.loose("three"), h.batch("one", "four"),
		h.restart("one"), h.collect, h.batch("four", "five"), h.collect, h.batch("-four", "one"), h.batch("one"), h.batch("one"), h.collectIfDue,
		h.loose("one"),
	}
	return h
}

// batch changes a file of each branch; "-" deletes the branch.
func (h *history) batch(branches ...string) func(odb.Refs) ([]odb.Move, error) {
	return func(refs odb.Refs) (moves []odb.Move, err error) {
		batch, err := h.db.Begin(h.t.Context())
		if err != nil {
			return nil, err
		}
		defer batch.Discard()
		for _, branch := range branches {
			branch, gone := strings.CutPrefix(branch, "-")
			move := odb.Move{Ref: branch, Old: refs[branch]}
			if !gone {
				if move.New, err = tryCommit(batch, refs[branch], fmt.Sprintf("d/%s/%d", branch, len(h.states)), branch); err != nil {
					return nil, err
				}
			}
			moves = append(moves, move)
		}
		return moves, batch.Commit(h.t.Context(), moves...)
	}
}

// loose changes a file of a branch without a batch.
func (h *history) loose(branch string) func(odb.Refs) ([]odb.Move, error) {
	return func(refs odb.Refs) ([]odb.Move, error) {
		head, err := tryCommit(h.db, refs[branch], fmt.Sprintf("l/%d", len(h.states)), "loose")
		moves := []odb.Move{{Ref: branch, Old: refs[branch], New: head}}
		if err != nil {
			return moves, err
		}
		return moves, h.db.Update(h.t.Context(), moves...)
	}
}

// restart leaves the history of a branch behind.
func (h *history) restart(branch string) func(odb.Refs) ([]odb.Move, error) {
	return func(refs odb.Refs) ([]odb.Move, error) {
		info, err := h.db.Commit(refs[branch])
		if err != nil {
			return nil, err
		}
		head, err := h.db.CommitTree(info.Tree, nil, message("Restart"))
		moves := []odb.Move{{Ref: branch, Old: refs[branch], New: head}}
		if err != nil {
			return moves, err
		}
		return moves, h.db.Update(h.t.Context(), moves...)
	}
}

func (h *history) collect(odb.Refs) ([]odb.Move, error) { return nil, h.db.Collect(h.t.Context()) }

func (h *history) collectIfDue(odb.Refs) ([]odb.Move, error) {
	return nil, h.db.CollectIfDue(h.t.Context())
}

// step does the next thing. What it does to the branches is known before it is done.
func (h *history) step() error {
	before := h.states[h.done]
	moves, err := h.steps[h.done](before)
	h.know(moves)
	if err == nil {
		h.done++
	}
	return err
}

func (h *history) know(moves []odb.Move) {
	after := maps.Clone(h.states[h.done])
	for _, m := range moves {
		if after[m.Ref] = m.New; m.New.IsZero() {
			delete(after, m.Ref)
		}
	}
	h.states = append(h.states[:h.done+1], after)
}

// allOrNone fails unless the branches, as git reads them, are as before or as after the step that was interrupted.
func (h *history) allOrNone(dir string, done int, context string) (refs odb.Refs) {
	h.t.Helper()
	fsck(h.t, dir)
	out, err := gitcmd.Try(dir, "for-each-ref", "--format=%(objectname) %(refname:short)")
	if err != nil {
		h.t.Fatal(context, err)
	}
	refs = odb.Refs{}
	for line := range strings.Lines(out) {
		hex, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if refs[name], err = odb.ParseHash(hex); err != nil {
			h.t.Fatal(err)
		}
	}
	for _, want := range h.states[done:min(done+2, len(h.states))] {
		if maps.Equal(refs, want) {
			return refs
		}
	}
	h.t.Fatalf("%s: the branches are neither as before nor as after:\n%s", context, cmp.Diff(h.states[done], refs))
	return nil
}

var collectSoon = odb.Limits{Loose: 1, Packs: 1, Growth: 1}

func TestCrashAtEveryWriteLeavesAllOrNone(t *testing.T) {
	crashes := t.TempDir()
	type crash struct {
		dir, name string
		done      int
	}
	var left []crash
	var h *history
	p := &power{unsynced: map[string]bool{}, undo: map[string][]func(string) error{}}
	dir := filepath.Join(t.TempDir(), "db")
	p.dir = dir
	variants := map[string]func(root string) error{
		"killed":                  func(string) error { return nil },
		"power failure":           func(root string) error { return p.fail(root, false) },
		"power failure, names on": func(root string) error { return p.fail(root, true) },
	}
	p.before = func(op, path string) error {
		if h == nil {
			return nil // the database is being created
		}
		for _, variant := range slices.Sorted(maps.Keys(variants)) {
			if testing.Short() && len(left)%7 > 0 { // which hits each variant
				left = append(left, crash{})
				continue
			}
			root := filepath.Join(crashes, fmt.Sprint(len(left)))
			if err := errors.Join(os.CopyFS(root, os.DirFS(dir)), variants[variant](root)); err != nil {
				t.Fatal(err)
			}
			left = append(left, crash{root, fmt.Sprintf("%s before step %d, %s %s", variant, h.done, op, path), h.done})
		}
		return nil
	}
	p.Files = odb.OSFiles(dir)
	db, err := odb.OpenOn(t.Context(), p, dir, odb.Options{Durable: true, Limits: collectSoon})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	h = newHistory(t, db)
	for h.done < len(h.steps) {
		if err := h.step(); err != nil {
			t.Fatal(err)
		}
	}
	if len(left) < 300 {
		t.Fatalf("only %d crashes", len(left))
	}
	h.allOrNone(dir, h.done, "at the end")
	for _, c := range left {
		if c.dir == "" {
			continue
		}
		refs := h.allOrNone(c.dir, c.done, c.name)
		again := open(t, c.dir, odb.Options{Durable: true})
		if got, err := again.Refs(); err != nil || !maps.Equal(got, refs) {
			t.Fatalf("%s: reopened, the branches are %v, %v", c.name, got, err)
		}
		batch := begin(t, again)
		next := commit(t, batch, refs["one"], "after", "the crash")
		if err := batch.Commit(t.Context(), odb.Move{Ref: "one", Old: refs["one"], New: next}); err != nil {
			t.Fatal(c.name, err)
		}
		if err := errors.Join(again.Collect(t.Context()), again.Close()); err != nil {
			t.Fatal(c.name, err)
		}
		fsck(t, c.dir)
		if files, _ := filepath.Glob(filepath.Join(c.dir, "objects/*/tmp_*")); len(files) > 0 {
			t.Errorf("%s: %v stay", c.name, files)
		}
		if err := os.RemoveAll(c.dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A full disk, say, fails one write; the process lives on, and tries again.
func TestEveryWriteMayFail(t *testing.T) {
	full := errors.New("no space left on device")
	step := 1
	if testing.Short() {
		step = 7
	}
	for n := 0; ; n += step {
		writes := 0
		dir := filepath.Join(t.TempDir(), "db")
		p := &power{dir: dir, unsynced: map[string]bool{}, undo: map[string][]func(string) error{}}
		db := open(t, dir, odb.Options{Limits: collectSoon})
		p.before = func(string, string) error {
			if writes++; writes == n+1 {
				return full
			}
			return nil
		}
		db.OnFiles(func(files odb.Files) odb.Files {
			p.Files = files
			return p
		})
		h := newHistory(t, db)
		for h.done < len(h.steps) {
			if err := h.step(); err != nil {
				if !errors.Is(err, full) {
					t.Fatalf("write %d of step %d: %v", n, h.done, err)
				}
				if refs := h.allOrNone(dir, h.done, fmt.Sprintf("write %d", n)); !maps.Equal(refs, h.states[h.done]) {
					h.done++ // it was done all the same
				}
			}
		}
		h.allOrNone(dir, h.done, "at the end")
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if writes <= n {
			return
		}
	}
}

func TestCreationThatFailsIsFinishedByTheNext(t *testing.T) {
	full := errors.New("no space left on device")
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "db")
		left := n
		p := &power{Files: odb.OSFiles(dir), dir: dir, unsynced: map[string]bool{}, undo: map[string][]func(string) error{}}
		p.before = func(string, string) error {
			if left--; left == -1 {
				return full
			}
			return nil
		}
		db, err := odb.OpenOn(t.Context(), p, dir, odb.Options{Durable: true})
		if err == nil {
			if err := db.Close(); err != nil || n < 5 {
				t.Errorf("%d changes of files were enough (%v)", n, err)
			}
			return
		}
		if !errors.Is(err, full) {
			t.Fatal(err)
		}
		again := open(t, dir, odb.Options{Durable: true})
		grow(t, again, 100)
		fsck(t, dir)
	}
}
