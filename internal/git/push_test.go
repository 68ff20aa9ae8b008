package git_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// graftFile grafts one file onto base.
func graftFile(t testing.TB, m *git.Mirror, base git.Hash, path, content string) (git.Hash, []git.Hash) {
	t.Helper()
	tree, err := m.WriteTree(map[string][]byte{"f": []byte(content)})
	if err != nil {
		t.Fatal(err)
	}
	edits := []git.Edit{{Path: path, Hash: tree.Objects[0], Mode: git.ModeFile}}
	grafted, err := m.Graft(base, edits, message("Put "+path))
	if err != nil {
		t.Fatal(err)
	}
	return grafted.Commit, append(grafted.Objects, tree.Objects[0])
}

// hook installs a hook script in a bare repository.
func hook(t *testing.T, bare, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(bare, "hooks", name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestABranchThatMovedSinceItWasReadIsNotTouched(t *testing.T) {
	const ref = "furrow/main/x"
	cases := map[string]struct {
		exists      bool
		old, change func(seen, news git.Hash) git.Hash
		wantRefused bool
	}{
		"a new branch that exists is refused":              {exists: true, old: none, change: news, wantRefused: true},
		"a new branch is made":                             {old: none, change: news},
		"an update of a branch that is gone is refused":    {old: seen, change: news, wantRefused: true},
		"an update of a branch that has moved is refused":  {exists: true, old: news, change: seen, wantRefused: true},
		"an update of a branch that is as seen is made":    {exists: true, old: seen, change: news},
		"a deletion of a branch that is as seen is made":   {exists: true, old: seen, change: none},
		"a deletion of a branch that has moved is refused": {exists: true, old: news, change: none, wantRefused: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bare := newBare(t)
			commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
			before := git.Hash{}
			if tc.exists {
				before = commitFiles(t, bare, ref, map[string]string{"x": "1\n"})
			}
			m := openLocal(t, bare)
			refs := fetch(t, m)
			seenAt := refs["main"]
			if tc.exists {
				seenAt = before
			}
			commit, objects := graftFile(t, m, refs["main"], "y", "y\n")
			update := git.Update{Ref: ref, Old: tc.old(seenAt, commit), New: tc.change(seenAt, commit), Objects: objects}
			other := git.Update{Ref: "furrow/main/other", New: commit, Objects: objects}
			err := m.Push(t.Context(), []git.Update{update, other})
			if git.IsLeaseRefused(err) != tc.wantRefused || (err != nil && !tc.wantRefused) {
				t.Fatalf("got %v, want refused: %v", err, tc.wantRefused)
			}
			want, wantOther := update.New, commit
			if tc.wantRefused {
				want, wantOther = before, git.Hash{}
				var refused *git.PushError
				if !errors.As(err, &refused) || !refused.LeaseRefused(ref) || !slices.Equal(refused.NotPushed, []string{other.Ref}) {
					t.Errorf("the error does not distinguish %s from %s: %v", ref, other.Ref, err)
				}
			}
			if got := at(t, bare, ref); got != want {
				t.Errorf("the branch is at %s, want %s", got, want)
			}
			if got := at(t, bare, other.Ref); got != wantOther {
				t.Errorf("the other branch is at %s, want %s", got, wantOther)
			}
		})
	}
}

func none(_, _ git.Hash) git.Hash { return git.Hash{} }
func seen(s, _ git.Hash) git.Hash { return s }
func news(_, n git.Hash) git.Hash { return n }

func TestARefusedBranchIsNamedWithTheServersWords(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	hook(t, bare, "update", `case $1 in refs/heads/furrow/main/bad) echo "protected: ask the $2 owner" >&2; exit 1;; esac`)
	s := serve(t, bare)
	for name, remote := range map[string]git.Remote{"local": {URL: bare}, "https": s.remote()} {
		t.Run(name, func(t *testing.T) {
			m := open(t, remote)
			commit, objects := graftFile(t, m, fetch(t, m)["main"], "y", name)
			good := git.Update{Ref: "furrow/main/good-" + name, New: commit, Objects: objects}
			err := m.Push(t.Context(), []git.Update{good, {Ref: "furrow/main/bad", New: commit, Objects: objects}})
			var refused *git.PushError
			if !errors.As(err, &refused) || !git.IsRefRefused(err) || git.IsLeaseRefused(err) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(map[string]string{"furrow/main/bad": "hook declined"}, refused.Refs); diff != "" {
				t.Errorf("refs to blame (-want +got):\n%s", diff)
			}
			if !strings.Contains(err.Error(), "protected: ask the") || !slices.Equal(refused.NotPushed, []string{good.Ref}) {
				t.Errorf("the server's words or the branch that was held up are missing: %v", err)
			}
			if !at(t, bare, good.Ref).IsZero() {
				t.Error("the push was not atomic")
			}
			if err := m.Push(t.Context(), []git.Update{good}); err != nil {
				t.Errorf("without the culprit: %v", err)
			}
		})
	}
}

func TestABranchThatMovesWhileTheServerWorksIsALostLease(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	commitFiles(t, bare, "furrow/main/x", map[string]string{"x": "1\n"})
	other := commitFiles(t, bare, "elsewhere", map[string]string{"z": "1\n"})
	hook(t, bare, "pre-receive", "unset GIT_QUARANTINE_PATH; git update-ref refs/heads/furrow/main/x "+other.String())
	m := openLocal(t, bare)
	refs := fetch(t, m)
	commit, objects := graftFile(t, m, base, "y", "y\n")
	err := m.Push(t.Context(), []git.Update{
		{Ref: "furrow/main/x", Old: refs["furrow/main/x"], New: commit, Objects: objects},
		{Ref: "furrow/main/y", New: commit, Objects: objects},
	})
	var refused *git.PushError
	if !errors.As(err, &refused) || !refused.LeaseRefused("furrow/main/x") || refused.LeaseRefused("furrow/main/y") {
		t.Fatalf("got %v", err)
	}
	if got := at(t, bare, "furrow/main/x"); got != other {
		t.Errorf("the branch is at %s, want what somebody else made of it", got)
	}
}

// TestALockThatWasLeftIsSeen: a server whose receive-pack was killed leaves the lock of a branch.
func TestALockThatWasLeftIsSeen(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	s := serve(t, bare)
	for name, remote := range map[string]git.Remote{"local": {URL: bare}, "https": s.remote()} {
		t.Run(name, func(t *testing.T) {
			m := open(t, remote)
			commit, objects := graftFile(t, m, fetch(t, m)["main"], "y", name)
			locked := git.Update{Ref: "furrow/main/locked/" + name, New: commit, Objects: objects}
			free := git.Update{Ref: "furrow/main/free/" + name, New: commit, Objects: objects}
			lock := filepath.Join(bare, "refs", "heads", filepath.FromSlash(locked.Ref)+".lock")
			if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(lock, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			err := m.Push(t.Context(), []git.Update{free, locked})
			var refused *git.PushError
			if !errors.As(err, &refused) || !refused.LeaseRefused(locked.Ref) || !refused.Locked(locked.Ref) || refused.Locked(free.Ref) {
				t.Fatalf("got %v", err)
			}
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			if err := m.Push(t.Context(), []git.Update{free, locked}); err != nil {
				t.Errorf("without the lock: %v", err)
			}
		})
	}
}

func TestABranchBelowAnotherBranchIsRefusedAndNotALease(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	commitFiles(t, bare, "furrow/main/x", map[string]string{"x": "1\n"})
	m := openLocal(t, bare)
	fetch(t, m)
	err := m.Push(t.Context(), []git.Update{{Ref: "furrow/main/x/y", New: base}})
	if !git.IsRefRefused(err) || git.IsLeaseRefused(err) {
		t.Errorf("got %v", err)
	}
}

func TestAPushOfObjectsThatTheServerLacksFails(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	m := openLocal(t, bare)
	commit, objects := graftFile(t, m, fetch(t, m)["main"], "y", "y\n")
	if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/main/y", New: commit, Objects: objects[:1]}}); err == nil {
		t.Error("a push without all its objects went through")
	}
	if err := m.Push(t.Context(), []git.Update{{Ref: "furrow/main/y", New: commit, Objects: objects}}); err != nil {
		t.Errorf("the push after it failed: %v", err)
	}
}

func TestAGraftOnACommitThatTheServerForgotIsSentInFull(t *testing.T) {
	bare := newBare(t)
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("dir/%02d", i)] = fmt.Sprint(i)
	}
	commitFiles(t, bare, "main", files)
	m := openLocal(t, bare)
	base := fetch(t, m)["main"]
	graft, err := m.Graft(base, []git.Edit{{Path: "dir/00"}}, message("Remove"))
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := m.CommitTree(graft.Tree, nil, message("Start anew"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := m.Entries(base, filePaths(files))
	if err != nil {
		t.Fatal(err)
	}
	objects := append([]git.Hash{orphan}, graft.Objects[:len(graft.Objects)-1]...)
	for _, entry := range entries {
		objects = append(objects, entry.Hash)
	}
	empty := newBare(t)
	gitcmd.Run(t, bare, "update-ref", "-d", "refs/heads/main")
	if err := os.RemoveAll(filepath.Join(bare, "objects")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(empty, "objects"), filepath.Join(bare, "objects")); err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), []git.Update{{Ref: "main", New: orphan, Objects: objects}}); err != nil {
		t.Fatal(err)
	}
	fsck(t, bare)
}

func filePaths(files map[string]string) (paths []string) {
	for path := range files {
		paths = append(paths, path)
	}
	return paths
}

func TestTwoWritersAtOnceBothGetThroughAndNothingIsLost(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	shared := openLocal(t, bare)
	mirrors := []*git.Mirror{shared, shared, openLocal(t, bare)}
	const each = 8
	var wait sync.WaitGroup
	for w, m := range mirrors {
		wait.Go(func() {
			for i := range each {
				if err := putUntilDone(t, m, fmt.Sprintf("w%d/%d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	files := strings.Split(gitcmd.Run(t, bare, "ls-tree", "-r", "--name-only", "main"), "\n")
	if want := 1 + each*len(mirrors); len(files) != want {
		t.Errorf("main has %d files, want %d", len(files), want)
	}
	if got, want := countCommits(bare, "main"), 1+each*len(mirrors); got != want {
		t.Errorf("main has %d commits, want %d", got, want)
	}
	fsck(t, bare)
}

// putUntilDone puts a file on main and starts over whenever another writer was faster.
func putUntilDone(t *testing.T, m *git.Mirror, path string) error {
	for range 200 {
		refs, err := m.Fetch(t.Context(), "main")
		if err != nil {
			return err
		}
		commit, objects := graftFile(t, m, refs["main"], path, path)
		err = m.Push(t.Context(), []git.Update{{Ref: "main", Old: refs["main"], New: commit, Objects: objects}})
		if err == nil || !git.IsLeaseRefused(err) {
			return err
		}
	}
	return errors.New("another writer was faster two hundred times")
}

func TestAPushThatIsStoppedInTheMiddleLeavesTheNextOneFree(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	started, release := filepath.Join(t.TempDir(), "started"), filepath.Join(t.TempDir(), "release")
	for _, fifo := range []string{started, release} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Skip("no named pipes here: stopping in the middle of a push is NOT tested")
		}
	}
	hook(t, bare, "pre-receive", "echo now > "+started+"; read go < "+release+"; exit 1")
	m := openLocal(t, bare)
	commit, objects := graftFile(t, m, fetch(t, m)["main"], "y", "y\n")
	update := git.Update{Ref: "furrow/main/y", New: commit, Objects: objects}
	ctx, cancel := context.WithCancel(t.Context())
	pushed := make(chan error, 1)
	go func() { pushed <- m.Push(ctx, []git.Update{update}) }()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-pushed; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a canceled context", err)
	}
	if err := os.WriteFile(release, []byte("go\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(bare, "hooks", "pre-receive")); err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), []git.Update{update}); err != nil {
		t.Fatal(err)
	}
	if got := at(t, bare, update.Ref); got != commit {
		t.Errorf("the branch is at %s, want %s", got, commit)
	}
	fsck(t, bare)
}

func TestAContextThatIsOverStopsEveryCall(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	m := openLocal(t, bare)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Fetch(over, "main"); !errors.Is(err, context.Canceled) {
		t.Errorf("fetch: %v", err)
	}
	if err := m.Push(over, []git.Update{{Ref: "x", New: base}}); !errors.Is(err, context.Canceled) {
		t.Errorf("push: %v", err)
	}
	fetch(t, m)
}
