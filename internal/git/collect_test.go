package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func openAt(t testing.TB, dir, bare string) *git.Mirror {
	t.Helper()
	m, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func collect(t testing.TB, m *git.Mirror) {
	t.Helper()
	if err := m.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// report replaces a branch by a commit without history, as the engine reports its status.
func report(t testing.TB, m *git.Mirror, old git.Hash, text string) git.Hash {
	t.Helper()
	tree, err := m.WriteTree(map[string][]byte{"status.json": []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := m.CommitTree(tree.Hash, nil, message(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/status", Old: old, New: commit, Objects: append(tree.Objects, commit)}}); err != nil {
		t.Fatal(err)
	}
	return commit
}

// holdings counts the loose objects and packs of a mirror, and the bytes of all files.
func holdings(t testing.TB, dir string) (loose, packs int, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		switch {
		case strings.HasSuffix(path, ".pack"):
			packs++
		case len(filepath.Base(filepath.Dir(path))) == 2:
			loose++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return loose, packs, bytes
}

func TestMirrorStaysSmallOverManyReports(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a/b": "b", "c": "c"})
	dir := filepath.Join(t.TempDir(), "mirror")
	m := openAt(t, dir, bare)
	m.CollectAt(20, 5, 64<<10)
	var at git.Hash
	for i := range 60 {
		if got := fetch(t, m)["furrow/status"]; got != at {
			t.Fatalf("the branch is at %s, want %s", got, at)
		}
		at = report(t, m, at, strings.Repeat(fmt.Sprint(i), 1000))
		collect(t, m)
		if loose, packs, bytes := holdings(t, dir); loose > 20 || packs > 5 || bytes > 64<<10 {
			t.Fatalf("after %d reports there are %d loose objects and %d packs, of %d bytes", i, loose, packs, bytes)
		}
	}
	fsck(t, dir)
}

// A process that was asked to end is killed soon: a mirror that is closed is not collected for longer than a
// moment, and the next one goes on.
func TestClosingDoesNotWaitForTheEndOfACollection(t *testing.T) {
	m, bare, dir := grownMirror(t)
	m.CollectAt(1, 1, 1)
	loose, packs, _ := holdings(t, dir)
	m.CloseWithin(0)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if l, p, _ := holdings(t, dir); l != loose || p != packs {
		t.Errorf("%d loose objects and %d packs became %d and %d", loose, packs, l, p)
	}
	m = openAt(t, dir, bare)
	m.CollectAt(1, 1, 1)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if l, _, _ := holdings(t, dir); l >= loose {
		t.Errorf("with time, %d loose objects of %d are left", l, loose)
	}
	fsck(t, dir)
}

// A mirror of the usual limits keeps what little there is.
func TestCollectWaitsUntilThereIsEnough(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"c": "c"})
	dir := filepath.Join(t.TempDir(), "mirror")
	m := openAt(t, dir, bare)
	fetch(t, m)
	collect(t, m)
	at := report(t, m, git.Hash{}, "one")
	report(t, m, at, "two")
	collect(t, m)
	if loose, _, _ := holdings(t, dir); loose != 6 {
		t.Errorf("%d loose objects are left, want all 6", loose)
	}
}

// grownMirror has two complete packs, new ones and loose objects, some unreachable.
func grownMirror(t testing.TB) (m *git.Mirror, bare, dir string) {
	t.Helper()
	bare, dir = newBare(t), filepath.Join(t.TempDir(), "mirror")
	commitFiles(t, bare, "main", map[string]string{"a/b": "b", "c": "c"})
	m = openAt(t, dir, bare)
	fetch(t, m)
	at := report(t, m, git.Hash{}, "first")
	m.CollectAt(0, 0, 1<<20)
	collect(t, m)
	for i := range 3 {
		commitFiles(t, bare, "main", map[string]string{fmt.Sprintf("d%d/e", i): fmt.Sprint(i)})
		head := fetch(t, m)["main"]
		commit, objects := graftFile(t, m, head, fmt.Sprintf("f%d", i), "f")
		if err := m.Push(t.Context(), []git.Update{{Ref: "main", Old: head, New: commit, Objects: objects}}); err != nil {
			t.Fatal(err)
		}
		at = report(t, m, at, fmt.Sprint("report ", i))
		graftFile(t, m, commit, "never", "pushed")
	}
	fetch(t, m)
	return m, bare, dir
}

// deletedBranch pushes and fetches a branch, so its commits and trees are loose and in several packs, and deletes it.
func deletedBranch(t testing.TB, bare string, m *git.Mirror) git.Hash {
	t.Helper()
	const branch = "furrow/gone"
	head := git.Hash{}
	for i := range 3 {
		base := fetch(t, m)["main"]
		if i > 0 {
			base = head
		}
		commit, objects := graftFile(t, m, base, fmt.Sprintf("gone/%d/file", i), fmt.Sprint(i))
		if err := m.Push(t.Context(), []git.Update{{Ref: branch, Old: head, New: commit, Objects: objects}}); err != nil {
			t.Fatal(err)
		}
		head = commitFiles(t, bare, branch, map[string]string{fmt.Sprintf("gone/server%d/file", i): fmt.Sprint(i)})
		fetch(t, m)
	}
	gitcmd.Run(t, bare, "update-ref", "-d", "refs/heads/"+branch)
	fetch(t, m)
	return head
}

// crashing takes a copy of the mirror before each change of a file: what a process that is killed there leaves.
type crashing struct {
	odb.Files
	before func(op, path string)
}

func (c crashing) CreateTemp(dir, prefix string) (odb.File, string, error) {
	c.before("create", dir)
	file, path, err := c.Files.CreateTemp(dir, prefix)
	return crashingFile{file, path, c}, path, err
}

func (c crashing) Rename(from, to string) error {
	c.before("rename", to)
	return c.Files.Rename(from, to)
}

func (c crashing) Remove(path string) error {
	c.before("remove", path)
	return c.Files.Remove(path)
}

type crashingFile struct {
	odb.File
	path string
	crashing
}

func (f crashingFile) Write(p []byte) (int, error) {
	f.before("write", f.path)
	return f.File.Write(p)
}

func (f crashingFile) Close() error {
	f.before("close", f.path)
	return f.File.Close()
}

func TestCollectionMayCrashAnywhere(t *testing.T) {
	m, bare, dir := grownMirror(t)
	crashes := t.TempDir()
	gone := deletedBranch(t, bare, m)
	var mu sync.Mutex
	var ops []string
	writes := 0
	m.OnFiles(func(files odb.Files) odb.Files {
		return crashing{files, func(op, path string) {
			mu.Lock()
			defer mu.Unlock()
			if op == "write" {
				if writes++; writes%25 != 1 {
					return // one part of a file is like another
				}
			}
			if err := os.CopyFS(filepath.Join(crashes, fmt.Sprint(len(ops))), os.DirFS(dir)); err != nil {
				t.Error(err)
			}
			ops = append(ops, op+" "+filepath.Base(path))
		}}
	})
	collect(t, m)
	if loose, packs, _ := holdings(t, dir); loose != 0 || packs != 2 {
		t.Errorf("%d loose objects and %d packs are left, want none and 2", loose, packs)
	}
	fsck(t, dir)
	if len(ops) < 20 {
		t.Fatalf("only %d changes of files were seen: %v", len(ops), ops)
	}
	gitcmd.Run(t, bare, "update-ref", "refs/heads/furrow/gone", gone.String())
	for i, op := range ops {
		left := filepath.Join(crashes, fmt.Sprint(i))
		fsck(t, left)
		again := openAt(t, left, bare)
		refs := fetch(t, again)
		if got, want := refs["main"], at(t, bare, "main"); got != want {
			t.Errorf("killed before %q, main is at %s, want %s", op, got, want)
		}
		if got := refs["furrow/gone"]; got != gone {
			t.Errorf("killed before %q, the branch that came back is at %s, want %s", op, got, gone)
		}
		if _, err := gitcmd.Try(left, "rev-list", "--objects", "--quiet", "--all"); err != nil {
			t.Errorf("killed before %q, the branch that came back lacks objects: %s", op, err)
		}
		again.CollectAt(0, 0, 1<<20)
		collect(t, again)
		if loose, packs, _ := holdings(t, left); loose != 0 || packs > 2 {
			t.Errorf("killed before %q, the next collection leaves %d loose objects and %d packs", op, loose, packs)
		}
		if left, _ := filepath.Glob(filepath.Join(left, "objects/pack/tmp_*")); len(left) > 0 {
			t.Errorf("killed before %q, these stay: %v", op, left)
		}
		fsck(t, left)
	}
}

func TestCollectionThatFailsRemovesNothing(t *testing.T) {
	m, _, dir := grownMirror(t)
	before, _, _ := holdings(t, dir)
	full := errors.New("no space left on device")
	m.OnFiles(func(files odb.Files) odb.Files { return fullDisk{files, full} })
	if err := m.Collect(t.Context()); err == nil || !strings.Contains(err.Error(), full.Error()) {
		t.Errorf("got %v, want %v", err, full)
	}
	if after, _, _ := holdings(t, dir); after != before {
		t.Errorf("%d loose objects are left of %d", after, before)
	}
	fsck(t, dir)
}

// A mirror that is open fills itself anew, too, when a collection could not remove all.
func TestFetchAfterACollectionThatDidNotRemoveAll(t *testing.T) {
	refused := errors.New("refused")
	first, bare, grown := grownMirror(t)
	gone := deletedBranch(t, bare, first)
	for after := range 12 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(after))
		if err := os.CopyFS(dir, os.DirFS(grown)); err != nil {
			t.Fatal(err)
		}
		m, other := openAt(t, dir, bare), openAt(t, dir, bare)
		m.CollectAt(0, 0, 1<<20)
		collect(t, other)
		m.OnFiles(func(files odb.Files) odb.Files {
			left := after
			return refusing{files, func() error {
				if left--; left < 0 {
					return refused
				}
				return nil
			}}
		})
		if err := m.Collect(t.Context()); !errors.Is(err, refused) {
			t.Fatalf("got %v, want %v", err, refused)
		}
		gitcmd.Run(t, bare, "update-ref", "refs/heads/furrow/gone", gone.String())
		if got := fetch(t, other)["furrow/gone"]; got != gone {
			t.Errorf("the branch that came back is at %s, want %s", got, gone)
		}
		if _, err := gitcmd.Try(dir, "rev-list", "--objects", "--quiet", "--all"); err != nil {
			t.Errorf("after %d files were removed, the branch that came back lacks objects: %s", after, err)
		}
		if _, err := other.Commit(gone); err != nil {
			t.Errorf("the mirror that is open cannot read the branch: %v", err)
		}
	}
}

type refusing struct {
	odb.Files
	remove func() error
}

func (r refusing) Remove(path string) error {
	if err := r.remove(); err != nil {
		return err
	}
	return r.Files.Remove(path)
}

type fullDisk struct {
	odb.Files
	err error
}

func (f fullDisk) CreateTemp(string, string) (odb.File, string, error) { return nil, "", f.err }

func TestCollectionSparesWhatOthersUse(t *testing.T) {
	m, bare, dir := grownMirror(t)
	other := openAt(t, dir, bare)
	head := fetch(t, other)["main"]
	commit, objects := graftFile(t, other, head, "built", "by the other")
	before, _, _ := holdings(t, dir)
	collect(t, m)
	if after, _, _ := holdings(t, dir); after != before {
		t.Errorf("%d loose objects are left of %d, while another uses them", after, before)
	}
	if err := other.Push(t.Context(), []git.Update{{Ref: "main", Old: head, New: commit, Objects: objects}}); err != nil {
		t.Errorf("what the other has built cannot be pushed: %v", err)
	}
	other.CollectAt(1<<20, 1<<20, 1<<30)
	collect(t, other)
	collect(t, m)
	if after, _, _ := holdings(t, dir); after != 0 {
		t.Errorf("%d loose objects are left after the other has let go", after)
	}
	if got := fetch(t, other)["main"]; got != commit {
		t.Errorf("main is at %s, want %s", got, commit)
	}
	if _, ok, err := other.Entry(commit, "built"); err != nil || !ok {
		t.Errorf("the other cannot read what it built: %v", err)
	}
	fsck(t, dir)
}

// A reader between two uses still reads what the branches reach while another collects again and again.
func TestReadersGoOnDuringCollections(t *testing.T) {
	m, bare, dir := grownMirror(t)
	reader := openAt(t, dir, bare)
	head := fetch(t, reader)["main"]
	collect(t, reader)
	done, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() {
		for done.Err() == nil {
			fresh, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
			if err != nil {
				t.Error(err)
				return
			}
			for _, one := range []*git.Mirror{fresh, reader} {
				for commit, err := range one.Log(head, git.Hash{}) {
					if err != nil {
						t.Error(err)
						return
					}
					files, err := one.FS(t.Context(), commit.Hash)
					if err == nil {
						var file io.ReadCloser
						if file, err = files.Open("c"); err == nil {
							_ = file.Close()
						}
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			}
			_ = fresh.Close()
		}
	})
	var last git.Hash
	for i := range 20 {
		last = fetch(t, m)["furrow/status"]
		report(t, m, last, fmt.Sprint("again ", i))
		collect(t, m)
	}
	cancel()
	reading.Wait()
	fsck(t, dir)
}

func TestMirrorThatGrewTooMuchIsFetchedAnew(t *testing.T) {
	m, bare, dir := grownMirror(t)
	m.CollectAt(0, 0, -1<<20)
	collect(t, m)
	if loose, packs, _ := holdings(t, dir); loose+packs != 0 {
		t.Errorf("%d loose objects and %d packs are left", loose, packs)
	}
	refs := fetch(t, m)
	if refs["main"] != at(t, bare, "main") || refs["furrow/status"] != at(t, bare, "furrow/status") {
		t.Errorf("got %v", refs)
	}
	if _, packs, _ := holdings(t, dir); packs != 1 {
		t.Errorf("there are %d packs, want 1", packs)
	}
	fsck(t, dir)
}

// A mirror in which something is missing is emptied, rather than that what is there is thrown away.
func TestBrokenMirrorIsEmptiedWhenItIsCollected(t *testing.T) {
	m, bare, dir := grownMirror(t)
	tree := strings.TrimSpace(gitcmd.Run(t, bare, "rev-parse", "main^^:d1"))
	removedAny := false
	for _, path := range []string{filepath.Join(dir, "objects", tree[:2], tree[2:])} {
		removedAny = os.Remove(path) == nil
	}
	packs, _ := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	for _, pack := range packs {
		if !removedAny && strings.Contains(gitcmd.Run(t, dir, "verify-pack", "-v", pack), tree) {
			removedAny = true
			_ = os.Remove(pack)
			_ = os.Remove(strings.TrimSuffix(pack, ".pack") + ".idx")
		}
	}
	if !removedAny {
		t.Fatal("the tree is nowhere")
	}
	collect(t, m)
	if refs := fetch(t, m); refs["main"] != at(t, bare, "main") {
		t.Errorf("got %v", refs)
	}
	fsck(t, dir)
}

// randomly does at random what happens to a mirror.
type randomly struct {
	testing.TB
	*rand.Rand
	bare   string
	mirror *git.Mirror
}

func (h randomly) step(i int) {
	branch := fmt.Sprintf("furrow/b%d", h.IntN(4))
	refs := fetch(h, h.mirror)
	old, base := refs[branch], refs["main"]
	switch h.IntN(7) {
	case 0:
		commitFiles(h, h.bare, "main", map[string]string{fmt.Sprintf("d%d/e", h.IntN(9)): fmt.Sprint(i)})
	case 1:
		collect(h, h.mirror)
	case 2:
		graftFile(h, h.mirror, base, fmt.Sprintf("d%d/never", h.IntN(9)), "pushed")
	case 3:
		if !old.IsZero() {
			h.push(git.Update{Ref: branch, Old: old})
		}
	case 4: // as a proposal that follows its branch
		if !old.IsZero() {
			base = old
		}
		fallthrough
	default:
		commit, objects := graftFile(h, h.mirror, base, fmt.Sprintf("d%d/f%d", h.IntN(3), h.IntN(3)), fmt.Sprint(i))
		if all, err := h.mirror.NewObjects(commitTree(h, h.mirror, commit), refs["main"]); err == nil {
			objects = slices.Concat(all, []git.Hash{commit})
		}
		h.push(git.Update{Ref: branch, Old: old, New: commit, Objects: objects})
	}
}

func commitTree(t testing.TB, m *git.Mirror, commit git.Hash) git.Hash {
	t.Helper()
	info, err := m.Commit(commit)
	if err != nil {
		t.Fatal(err)
	}
	return info.Tree
}

func (h randomly) push(u git.Update) {
	h.Helper()
	if err := h.mirror.Push(h.Context(), []git.Update{u}); err != nil {
		h.Fatal(err)
	}
}

func TestRandomHistoriesLoseNothing(t *testing.T) {
	for seed := range uint64(3) {
		bare, dir := newBare(t), filepath.Join(t.TempDir(), "mirror")
		commitFiles(t, bare, "main", map[string]string{"d0/e": "e"})
		h := randomly{t, rand.New(rand.NewPCG(seed, 0)), bare, openAt(t, dir, bare)}
		h.mirror.CollectAt(int(seed)*5, int(seed), int64(seed)*2000+500)
		for i := range 60 {
			h.step(i)
			if i%4 == 0 {
				fsck(t, dir)
			}
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, i)
			}
		}
	}
}

// The blobs of a mirror without blobs come after the trees that name them, so no new tree leads to them.
func TestCollectionKeepsTheFilesThatWereRead(t *testing.T) {
	bare, dir := newBare(t), filepath.Join(t.TempDir(), "mirror")
	offerBlobs(t, bare)
	commitFiles(t, bare, "main", map[string]string{"seeds/a": "a", "seeds/old": "old", "seeds/link/b": "b", "c": "c"})
	m := openAt(t, dir, bare)
	base := fetch(t, m)["main"]
	m.CollectAt(0, 0, 1<<20)
	if err := m.Prefetch(t.Context(), base, "seeds"); err != nil {
		t.Fatal(err)
	}
	old, _, err := m.Entry(base, "seeds/old")
	if err != nil {
		t.Fatal(err)
	}
	var status git.Hash
	for i := range 4 { // later collections take up what the earlier ones packed
		collect(t, m)
		base = fetch(t, m)["main"]
		for name, want := range map[string]bool{"seeds/a": true, "seeds/link/b": true, "c": false} {
			entry, _, err := m.Entry(base, name)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Has(entry.Hash); got != want {
				t.Errorf("after %d collections, %s is there: %v, want %v", i+1, name, got, want)
			}
		}
		if i == 1 {
			commitFiles(t, bare, "main", map[string]string{"seeds/old": ""})
			fetch(t, m)
		}
		status = report(t, m, status, fmt.Sprint(i))
	}
	if m.Has(old.Hash) {
		t.Error("a file that is at no branch's head any more is still there")
	}
}
