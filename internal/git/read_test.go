package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestATreeIsAFileSystem(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a.yaml": "a\n", "a/b.yaml": "b\n", "a-b/c/d.yaml": "d\n", "a.b/e": "e\n"})
	m := openLocal(t, bare)
	tree, err := m.FS(t.Context(), fetch(t, m)["main"])
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(tree, "a.yaml", "a/b.yaml", "a-b/c/d.yaml", "a.b/e"); err != nil {
		t.Error(err)
	}
}

func TestLinksAndSubmodulesAreShownButNotFollowed(t *testing.T) {
	bare := newBare(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	input := fmt.Sprintf("commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nx\nM 120000 inline link\ndata %d\n%s\n"+
		"M 160000 %s module\nM 100755 inline run.sh\ndata 1\nx\n\n", len(secret), secret, strings.Repeat("1", 40))
	gitcmd.Input(t, bare, input, "fast-import", "--quiet")
	m := openLocal(t, bare)
	tree, err := m.FS(t.Context(), fetch(t, m)["main"])
	if err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(tree, ".")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		_, err := fs.ReadFile(tree, entry.Name())
		got[entry.Name()] = fmt.Sprint(entry.Type(), err == nil)
	}
	want := map[string]string{"link": "L--------- false", "module": "?--------- false", "run.sh": "---------- true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("type and readable (-want +got):\n%s", diff)
	}
	if text, err := fs.ReadLink(tree, "link"); err != nil || text != secret {
		t.Errorf("the link reads %q, %v", text, err)
	}
	for _, other := range []string{"module", "run.sh", "."} {
		if _, err := fs.ReadLink(tree, other); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s can be read as a link: %v", other, err)
		}
	}
	if _, err := fs.ReadFile(tree, "link/x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("below a link: %v", err)
	}
}

// A mirror without blobs fetches links with the files, and one that it lacks when it is read.
func TestLinksAreFetchedLikeFiles(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	gitcmd.Input(t, bare, "commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nx\nM 120000 inline seeds/link\ndata 6\n../a/b\nM 120000 inline other\ndata 7\nelswere\n\n", "fast-import", "--quiet")
	m := open(t, serve(t, bare).remote())
	base := fetch(t, m)["main"]
	tree, err := m.FS(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Prefetch(t.Context(), base, "seeds"); err != nil {
		t.Fatal(err)
	}
	for name, prefetched := range map[string]bool{"seeds/link": true, "other": false} {
		entry, _, err := m.Entry(base, name)
		if err != nil || m.Has(entry.Hash) != prefetched {
			t.Errorf("%s is there: %v (%v)", name, !prefetched, err)
		}
		if text, err := fs.ReadLink(tree, name); err != nil || len(text) < 6 {
			t.Errorf("%s reads %q, %v", name, text, err)
		}
	}
}

func TestEntriesAreFoundWithoutReadingBlobs(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	commitFiles(t, bare, "main", map[string]string{"d/e/f.yaml": "f\n", "d.yaml": "x\n"})
	m := openLocal(t, bare)
	base := fetch(t, m)["main"]
	found, err := m.Entries(base, []string{".", "d", "d/e/f.yaml", "d.yaml", "d/none", "d.yaml/below", "../d", "/d"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]git.Entry{
		".":          {Hash: parse(t, gitcmd.Run(t, bare, "rev-parse", "main^{tree}")), Mode: git.ModeDir},
		"d":          {Hash: parse(t, gitcmd.Run(t, bare, "rev-parse", "main:d")), Mode: git.ModeDir},
		"d/e/f.yaml": {Hash: parse(t, gitcmd.Run(t, bare, "rev-parse", "main:d/e/f.yaml")), Mode: git.ModeFile},
		"d.yaml":     {Hash: parse(t, gitcmd.Run(t, bare, "rev-parse", "main:d.yaml")), Mode: git.ModeFile},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if m.Has(want["d.yaml"].Hash) {
		t.Error("a blob was fetched")
	}
}

// history makes a graph of commits with the given dates: name → date, parents.
func history(t *testing.T, bare string, commits [][]string) map[string]git.Hash {
	t.Helper()
	tree := gitcmd.Input(t, bare, "", "mktree")
	made := map[string]git.Hash{}
	for _, c := range commits {
		var text strings.Builder
		fmt.Fprintf(&text, "tree %s\n", tree)
		for _, parent := range c[2:] {
			fmt.Fprintf(&text, "parent %s\n", made[parent])
		}
		fmt.Fprintf(&text, "author A <a@b> %s +0000\ncommitter A <a@b> %s +0000\n\n%s\n", c[1], c[1], c[0])
		made[c[0]] = parse(t, gitcmd.Input(t, bare, text.String(), "hash-object", "-t", "commit", "-w", "--stdin"))
		gitcmd.Run(t, bare, "update-ref", "refs/heads/furrow/"+c[0], made[c[0]].String())
	}
	return made
}

func TestAncestryAndLogAgreeWithGitAlsoWhenClocksAreWrong(t *testing.T) {
	bare := newBare(t)
	made := history(t, bare, [][]string{
		{"a", "100"}, {"b", "200", "a"}, {"c", "50", "b"}, {"d", "400", "b"}, {"e", "300", "c", "d"}, {"f", "10", "e"}, {"g", "500", "a"},
		{"h", "20", "g"}, {"i", "600", "h", "c"}, {"island", "700"},
	})
	m := openLocal(t, bare)
	fetch(t, m)
	for x, hashX := range made {
		for y, hashY := range made {
			base := strings.Fields(gitcmd.Input(t, bare, "", "rev-list", hashY.String()))
			want := strings.Contains(strings.Join(base, " "), hashX.String())
			if got, err := m.IsAncestor(hashX, hashY); got != want || err != nil {
				t.Errorf("IsAncestor(%s, %s) = %v, %v, want %v", x, y, got, err, want)
			}
			var got, hashes []string
			for c, err := range m.Log(hashX, hashY) {
				if err != nil {
					t.Fatal(err)
				}
				got, hashes = append(got, strings.TrimSpace(c.Message)), append(hashes, c.Hash.String())
			}
			wantLog := map[string]bool{}
			for _, hash := range strings.Fields(gitcmd.Run(t, bare, "rev-list", hashX.String(), "^"+hashY.String())) {
				wantLog[hash] = true
			}
			gotLog := map[string]bool{}
			for _, hash := range hashes {
				gotLog[hash] = true
			}
			if diff := cmp.Diff(wantLog, gotLog); diff != "" {
				t.Errorf("Log(%s, %s) gives %v (-want +got):\n%s", x, y, got, diff)
			}
		}
	}
}

func TestALogCanBeLeftEarlyAndEndsWithAnError(t *testing.T) {
	bare := newBare(t)
	for i := range 5 {
		commitFiles(t, bare, "main", map[string]string{"a": fmt.Sprint(i)})
	}
	m := openLocal(t, bare)
	base := fetch(t, m)["main"]
	n := 0
	for range m.Log(base, git.Hash{}) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d commits were seen, want 2", n)
	}
	for _, err := range m.Log(git.Hash{1}, git.Hash{}) {
		if !git.IsUnknown(err) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWhatTheMirrorDoesNotHaveIsUnknown(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	m := openLocal(t, bare)
	fetch(t, m)
	absent := git.Hash{1}
	entry, _, err := m.Entry(base, "a")
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a commit":                   second(m.Commit(absent)),
		"a blob treated as a commit": second(m.Commit(entry.Hash)),
		"a tree":                     second(m.FS(t.Context(), absent)),
		"an ancestor":                second(m.IsAncestor(absent, base)),
		"a descendant":               second(m.IsAncestor(base, absent)),
		"a blob":                     second(m.Blob(t.Context(), absent)),
		"a base of a graft":          second(m.Graft(absent, nil, message("x"))),
	} {
		if !git.IsUnknown(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m.Has(absent) || !m.Has(base) {
		t.Error("Has is wrong")
	}
}

func second[T any](_ T, err error) error { return err }
