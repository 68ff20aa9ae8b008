package git_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// The tests talk to real repositories through the git that is installed; no configuration of the host takes part.
func TestMain(m *testing.M) { gitcmd.Main(m) }

var furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: time.Unix(1_800_000_000, 0).UTC()}

func message(text string) git.CommitMeta { return git.CommitMeta{Author: furrow, Message: text} }

// newBare makes an empty bare repository.
func newBare(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	gitcmd.Run(t, ".", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir
}

// commitFiles commits files on a branch of the bare repository, on top of what is there; an empty content removes the file.
func commitFiles(t testing.TB, bare, branch string, files map[string]string) git.Hash {
	t.Helper()
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Ann <ann@example.com> %d +0000\ndata 4\nwork\n", branch, 1_700_000_000+countCommits(bare, branch))
	if !at(t, bare, branch).IsZero() {
		fmt.Fprintf(&in, "from refs/heads/%s^0\n", branch)
	}
	for path, content := range files {
		if content == "" {
			fmt.Fprintf(&in, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	in.WriteString("\n")
	gitcmd.Input(t, bare, in.String(), "fast-import", "--quiet")
	return at(t, bare, branch)
}

func countCommits(bare, branch string) int {
	out, err := gitcmd.Try(bare, "rev-list", "--count", "refs/heads/"+branch)
	if err != nil {
		return 0
	}
	n := 0
	_, _ = fmt.Sscan(out, &n)
	return n
}

// at gives the commit that a branch is at, or a zero hash.
func at(t testing.TB, bare, branch string) git.Hash {
	t.Helper()
	out, err := gitcmd.Try(bare, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch)
	if err != nil {
		return git.Hash{}
	}
	return parse(t, out)
}

func parse(t testing.TB, hex string) git.Hash {
	t.Helper()
	hash, err := git.ParseHash(hex)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func open(t testing.TB, remote git.Remote) *git.Mirror {
	t.Helper()
	m, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"), remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func openLocal(t testing.TB, bare string) *git.Mirror {
	t.Helper()
	return open(t, git.Remote{URL: bare})
}

func fetch(t testing.TB, m *git.Mirror) git.Refs {
	t.Helper()
	refs, err := m.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return refs
}

// fsck checks every object of a repository as strictly as git can.
func fsck(t testing.TB, dir string) {
	t.Helper()
	if out := gitcmd.Run(t, dir, "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("git fsck says: %s", out)
	}
}
