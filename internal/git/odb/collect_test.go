package odb_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestCollectedSizeIsCloseToThatOfGit(t *testing.T) {
	for name, path := range map[string]func(i, n int) string{
		"files that change": func(_, n int) string { return fmt.Sprintf("registry/ns-%02d/object-%04d.yaml", n%20, n) },
		"files that are new": func(i, n int) string {
			return fmt.Sprintf("registry/ns-%02d/event-%08x.yaml", n%20, i*0x9e3779b9&0xffffffff)
		},
		"one file that changes": func(_, _ int) string { return "status.yaml" },
	} {
		t.Run(name, func(t *testing.T) { sizeIsClose(t, path) })
	}
}

func sizeIsClose(t *testing.T, path func(i, n int) string) {
	commits := 10_000
	if testing.Short() {
		commits = 1_000
	}
	db, dir := newDB(t, odb.Options{})
	head := growAt(t, db, commits, path)
	if err := db.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
	theirs := filepath.Join(t.TempDir(), "git")
	gitcmd.Run(t, ".", "clone", "--quiet", "--mirror", dir, theirs)
	gitcmd.Run(t, theirs, "repack", "-q", "-a", "-d", "-F") // or git would take over our differences
	gitcmd.Run(t, theirs, "gc", "--quiet", "--prune=now")
	ours, others := packBytes(t, dir), packBytes(t, theirs)
	t.Logf("%d commits take %d bytes, and %d after git gc: %.2f", commits, ours, others, float64(ours)/float64(others))
	if ours*10 > others*12 {
		t.Errorf("%d bytes are more than 1.2 times the %d of git gc", ours, others)
	}
	n := 0
	for _, err := range db.Log(head, odb.Hash{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != commits {
		t.Errorf("%d commits are left of %d", n, commits)
	}
}

// grow adds commits that change one of 2,000 manifests each.
func grow(t testing.TB, db *odb.DB, commits int) (head odb.Hash) {
	t.Helper()
	return growAt(t, db, commits, func(_, n int) string { return fmt.Sprintf("registry/ns-%02d/object-%04d.yaml", n%20, n) })
}

// growAt adds commits in groups; path is where one of 2,000 manifests is in commit i.
func growAt(t testing.TB, db *odb.DB, commits int, path func(i, n int) string) (head odb.Hash) {
	t.Helper()
	const group = 100
	random := rand.New(rand.NewPCG(1, 2))
	for g := range commits / group {
		batch, before := begin(t, db), head
		for i := range group {
			n := random.IntN(2_000)
			head = commit(t, batch, head, path(g*group+i, n), resource(n, random.IntN(1000)))
		}
		if err := batch.Commit(t.Context(), odb.Move{Ref: "main", Old: before, New: head}); err != nil {
			t.Fatal(err)
		}
	}
	return head
}

// Old history is compacted away by a branch that starts anew.
func TestCollectionDropsTheHistoryThatABranchLeftBehind(t *testing.T) {
	db, dir := newDB(t, odb.Options{})
	head := grow(t, db, 500)
	if err := db.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := packBytes(t, dir)
	info, err := db.Commit(head)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := db.CommitTree(info.Tree, nil, message("Snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(t.Context(), odb.Move{Ref: "main", Old: head, New: snapshot}); err != nil {
		t.Fatal(err)
	}
	if err := db.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
	if after := packBytes(t, dir); after*2 > before {
		t.Errorf("%d bytes are left of %d", after, before)
	}
	if _, err := db.Commit(head); !odb.IsUnknown(err) {
		t.Errorf("the old history is still there: %v", err)
	}
	if got := gitcmd.Run(t, dir, "rev-parse", "main^{tree}"); got != info.Tree.String() {
		t.Errorf("the tree is %s, want %s", got, info.Tree)
	}
}

func TestOnlyACopyIsEmptied(t *testing.T) {
	db, _ := newDB(t, odb.Options{})
	if err := db.Empty(); err == nil {
		t.Error("a database that is not a copy was emptied")
	}
	cases := map[string]struct {
		of, path, content string
		wantBranches      int
	}{
		"a sound copy stays":                           {of: "here", wantBranches: 1},
		"one of another repository is emptied":         {of: "elsewhere"},
		"one whose branch lacks its commit is emptied": {of: "here", path: "packed-refs", content: strings.Repeat("1", 40) + " refs/heads/main\n"},
		"one with an interrupted removal is emptied":   {of: "here", path: "objects/info/furrow.dropping"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			db, dir := newDB(t, odb.Options{CopyOf: "here"})
			grow(t, db, 100)
			if err := errors.Join(db.Collect(t.Context()), db.Close()); err != nil {
				t.Fatal(err)
			}
			fsck(t, dir)
			if tc.path != "" {
				write(t, filepath.Join(dir, tc.path), tc.content)
			}
			refs, err := open(t, dir, odb.Options{CopyOf: tc.of}).Refs()
			if err != nil || len(refs) != tc.wantBranches {
				t.Errorf("got the branches %v, %v, want %d", refs, err, tc.wantBranches)
			}
			fsck(t, dir)
		})
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCollectionKeepsWhatABranchComesToReachMeanwhile(t *testing.T) {
	db, dir := newDB(t, odb.Options{})
	head := grow(t, db, 100)
	// A commit that no branch reaches is garbage, until the batch builds on it.
	garbage := commit(t, db, head, "came/back", "to life")
	batch := begin(t, db)
	next := commit(t, batch, garbage, "on/top", "of it")
	packs := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	before := packs()
	collected := make(chan error, 1)
	go func() { collected <- db.Collect(t.Context()) }()
	for deadline := time.Now().Add(time.Minute); packs() == before; {
		if time.Now().After(deadline) {
			t.Fatal("the collection does not pack anything")
		}
	}
	if err := batch.Commit(t.Context(), odb.Move{Ref: "main", Old: head, New: next}); err != nil {
		t.Fatal(err)
	}
	if err := <-collected; err != nil {
		t.Fatal(err)
	}
	fsck(t, dir)
	if files := gitcmd.Run(t, dir, "ls-tree", "-r", "--name-only", "main", "came", "on"); strings.Fields(files)[0] != "came/back" {
		t.Errorf("main has %q", files)
	}
	if got := gitcmd.Run(t, dir, "rev-list", "--count", "main"); got != "102" {
		t.Errorf("main has %s commits, want 102", got)
	}
	if loose := gitcmd.Run(t, dir, "count-objects"); !strings.HasPrefix(loose, "0 objects") {
		t.Errorf("git counts %s", loose)
	}
}

// resource is a manifest that changes in one line.
func resource(n, revision int) string {
	text := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: object-%d\n  resourceVersion: \"%d\"\nspec:\n", n, revision)
	for i := range 20 {
		text += fmt.Sprintf("  field%d: value of field %d in object %d\n", i, i*7, n)
	}
	return text
}

// packBytes is the size of packs and their indexes.
func packBytes(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	for _, pattern := range []string{"*.pack", "*.idx"} {
		paths, err := filepath.Glob(filepath.Join(dir, "objects", "pack", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			bytes += info.Size()
		}
	}
	return bytes
}
