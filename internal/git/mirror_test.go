package git_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestOnlyTheBaseAndFurrowsBranchesAreFetched(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	plan := commitFiles(t, bare, "furrow/main/plan/s", map[string]string{"p": "1\n"})
	other := commitFiles(t, bare, "feature", map[string]string{"f": "1\n"})
	gitcmd.Run(t, bare, "tag", "v1", other.String())
	m := openLocal(t, bare)
	if diff := cmp.Diff(git.Refs{"main": base, "furrow/main/plan/s": plan}, fetch(t, m)); diff != "" {
		t.Errorf("refs (-want +got):\n%s", diff)
	}
	if m.Has(other) {
		t.Error("another branch was fetched")
	}
}

func TestTheMirrorFollowsWhatTheServerHas(t *testing.T) {
	bare := newBare(t)
	dir := filepath.Join(t.TempDir(), "mirror")
	m, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	if refs := fetch(t, m); len(refs) != 0 {
		t.Errorf("an empty repository has the refs %v", refs)
	}
	steps := map[string]func() git.Refs{}
	order := []string{"a first commit", "a new branch", "a forced push", "a deleted branch", "a base that is gone"}
	steps[order[0]] = func() git.Refs { return git.Refs{"main": commitFiles(t, bare, "main", map[string]string{"a": "1\n"})} }
	steps[order[1]] = func() git.Refs {
		return git.Refs{"main": at(t, bare, "main"), "furrow/x": commitFiles(t, bare, "furrow/x", map[string]string{"x": "1\n"})}
	}
	steps[order[2]] = func() git.Refs {
		gitcmd.Run(t, bare, "update-ref", "-d", "refs/heads/main")
		return git.Refs{"furrow/x": at(t, bare, "furrow/x"), "main": commitFiles(t, bare, "main", map[string]string{"b": "1\n"})}
	}
	steps[order[3]] = func() git.Refs {
		gitcmd.Run(t, bare, "update-ref", "-d", "refs/heads/furrow/x")
		return git.Refs{"main": at(t, bare, "main")}
	}
	steps[order[4]] = func() git.Refs {
		gitcmd.Run(t, bare, "update-ref", "-d", "refs/heads/main")
		return git.Refs{"furrow/y": commitFiles(t, bare, "furrow/y", map[string]string{"y": "1\n"})}
	}
	for _, name := range order {
		want := steps[name]()
		if diff := cmp.Diff(want, fetch(t, m)); diff != "" {
			t.Errorf("%s: refs (-want +got):\n%s", name, diff)
		}
		for branch, hash := range want {
			if got := at(t, dir, branch); got != hash {
				t.Errorf("%s: in the mirror %s is at %s, want %s", name, branch, got, hash)
			}
		}
	}
	fsck(t, dir)
}

func TestAMirrorIsKeptOrMadeAnewAsItsStateDemands(t *testing.T) {
	cases := map[string]struct {
		spoil    func(t *testing.T, dir string)
		wantKept bool
	}{
		"a sound mirror is kept":                               {func(*testing.T, string) {}, true},
		"a mirror that lost an object is made anew":            {func(t *testing.T, dir string) { remove(t, dir, "objects/pack") }, false},
		"a mirror with malformed refs is made anew":            {func(t *testing.T, dir string) { write(t, dir, "packed-refs", "nonsense\n") }, false},
		"a mirror with a truncated pack is made anew":          {truncatePack, false},
		"a mirror that lost its HEAD is repaired":              {func(t *testing.T, dir string) { remove(t, dir, "HEAD") }, true},
		"a mirror of another repository is made anew":          {func(t *testing.T, dir string) { write(t, dir, "config", "[furrow]\n\tmirror = elsewhere\n") }, false},
		"a mirror that was not finished when made is repaired": {func(t *testing.T, dir string) { remove(t, dir, "refs") }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			bare := newBare(t)
			base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
			dir := filepath.Join(t.TempDir(), "mirror")
			first, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
			if err != nil {
				t.Fatal(err)
			}
			fetch(t, first)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			tc.spoil(t, dir)
			again, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
			if err != nil {
				t.Fatal(err)
			}
			if got := again.Has(base); got != tc.wantKept {
				t.Errorf("the commit is there: %v, want %v", got, tc.wantKept)
			}
			if got := fetch(t, again)["main"]; got != base || !again.Has(base) {
				t.Errorf("after a fetch main is at %s, want %s", got, base)
			}
			fsck(t, dir)
		})
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncatePack(t *testing.T, dir string) {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatal("no pack", err)
	}
	remove(t, "", packs[0])
	write(t, "", packs[0], "PACK")
}

func TestADirectoryOfSomethingElseIsRefused(t *testing.T) {
	bare := newBare(t)
	for name, dir := range map[string]string{"another repository": newBare(t), "a folder with files": t.TempDir()} {
		write(t, dir, "file", "mine")
		_, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
		if !git.IsForeign(err) {
			t.Errorf("%s: %v", name, err)
		}
		if content, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(content) != "mine" {
			t.Errorf("%s: the file was touched", name)
		}
	}
}

func TestRemotesThatCannotBeUsedAreExplained(t *testing.T) {
	for url, want := range map[string]string{
		"":                               "no URL",
		"ssh://git@example.com/x":        "have no identity",
		"ssh://u:hunter2@example.com/x":  "have no identity",
		"ftp://u:hunter2@example.com/x":  "use https, ssh or a local path",
		"https://u:hunter2@exa mple/%zz": "cannot be parsed",
	} {
		_, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "m"), git.Remote{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestALocalPathWithoutGitInstalledIsExplained(t *testing.T) {
	bare := newBare(t)
	t.Setenv("PATH", t.TempDir())
	_, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "m"), git.Remote{URL: bare})
	if err == nil || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}

func TestALocalPathWithoutARepositoryIsNotFound(t *testing.T) {
	_, err := open(t, git.Remote{URL: filepath.Join(t.TempDir(), "none.git")}).Fetch(t.Context(), "main")
	if !git.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
}

func TestCredentialsInAURLNeverComeOut(t *testing.T) {
	remote := git.Remote{URL: "https://robot:hun/ter2@127.0.0.1:1/x.git", Token: token}
	for _, url := range []string{remote.URL, "https://hunter2@127.0.0.1:1/x.git", "https://robot:hunter2@127.0.0.1:1/x.git"} {
		remote.URL = url
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "remote", remote)
		text := fmt.Sprintf("%v %+v %#v %s %q %d", remote, remote, remote, remote, remote, remote) + logged.String()
		m, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "m"), remote)
		if err == nil {
			_, err = m.Fetch(t.Context(), "main")
			raw, _ := os.ReadFile(filepath.Join(t.TempDir(), "m", "config"))
			text += m.String() + string(raw)
		}
		text += fmt.Sprintf("%v %#v", err, err)
		for _, secret := range []string{"hun", "ter2", token} {
			if strings.Contains(text, secret) {
				t.Errorf("%s: %q appears in %s", url, secret, text)
			}
		}
	}
}

func TestManyReadersFetchersAndMirrorsShareOneDirectory(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	commitFiles(t, bare, "main", map[string]string{"a/b": "0\n"})
	dir := filepath.Join(t.TempDir(), "mirror")
	var wait sync.WaitGroup
	for range 4 {
		m, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
		if err != nil {
			t.Fatal(err)
		}
		for w := range 3 {
			wait.Go(func() {
				for i := range 5 {
					if w == 0 {
						_ = exec.Command("git", "-C", bare, "update-ref", fmt.Sprintf("refs/heads/furrow/%d", i), "main").Run()
					}
					refs, err := m.Fetch(t.Context(), "main")
					if err != nil {
						t.Error(err)
						return
					}
					entry, _, err := m.Entry(refs["main"], "a/b")
					if err != nil {
						t.Error(err)
						return
					}
					if content, err := m.Blob(t.Context(), entry.Hash); err != nil || string(content) != "0\n" {
						t.Errorf("got %q, %v", content, err)
					}
				}
			})
		}
	}
	wait.Wait()
}

func TestManySmallFetchesDoNotLeaveManyPacks(t *testing.T) {
	bare := newBare(t)
	dir := filepath.Join(t.TempDir(), "mirror")
	m, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	other, err := git.Open(t.Context(), dir, git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		head := commitFiles(t, bare, "main", map[string]string{fmt.Sprintf("f%d", i): fmt.Sprint(i)})
		if got := fetch(t, m)["main"]; got != head {
			t.Fatalf("main is at %s, want %s", got, head)
		}
		if err := errors.Join(m.Collect(t.Context()), other.Collect(t.Context())); err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.Entry(head, "f0"); err != nil {
			t.Fatal(err)
		}
	}
	packs, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.pack"))
	if err != nil || len(packs) > 20 {
		t.Errorf("%d packs are left, %v", len(packs), err)
	}
	for _, mirror := range []*git.Mirror{m, other} {
		n := 0
		for _, err := range mirror.Log(at(t, bare, "main"), git.Hash{}) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != 60 {
			t.Errorf("%d commits are left, want 60", n)
		}
	}
	fsck(t, dir)
}

func TestBranchNamesAreCheckedAsGitDoes(t *testing.T) {
	for _, name := range []string{"main", "furrow/main/plan/edge-5g", "a.b", "a@b", "", "-a", "a..b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", `a\b`,
		"/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a@{b", "a\x7f", "a\tb", "ä", "HEAD", "a/-b", "a.b/c", "@/a", "a{b"} {
		want := exec.Command("git", "check-ref-format", "--branch", name).Run() == nil
		if got := git.CheckRef(name); (got == nil) != want {
			t.Errorf("%q: got %v, git accepts it: %v", name, got, want)
		}
	}
}
