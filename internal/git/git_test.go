package git_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/git"
)

// The tests talk to real repositories through the git that is installed; no configuration of the host takes part.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com",
		"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
	} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: time.Unix(1_800_000_000, 0).UTC()}

func message(text string) git.CommitMeta { return git.CommitMeta{Author: furrow, Message: text} }

// run runs git in dir and gives its trimmed output.
func run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return runInput(t, dir, "", args...)
}

func runInput(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// newBare makes an empty bare repository.
func newBare(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	run(t, ".", "init", "--quiet", "--bare", "--initial-branch=main", dir)
	return dir
}

// commitFiles commits files on a branch of the bare repository, on top of what is there; an empty content removes the file.
func commitFiles(t testing.TB, bare, branch string, files map[string]string) git.Hash {
	t.Helper()
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Ann <ann@example.com> %d +0000\ndata 4\nwork\n", branch, 1_700_000_000+countCommits(bare, branch))
	if exec.Command("git", "-C", bare, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Run() == nil {
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
	runInput(t, bare, in.String(), "fast-import", "--quiet")
	return at(t, bare, branch)
}

func countCommits(bare, branch string) int {
	out, err := exec.Command("git", "-C", bare, "rev-list", "--count", "refs/heads/"+branch).Output()
	if err != nil {
		return 0
	}
	n := 0
	_, _ = fmt.Sscan(string(out), &n)
	return n
}

// at gives the commit that a branch is at, or a zero hash.
func at(t testing.TB, bare, branch string) git.Hash {
	t.Helper()
	out, err := exec.Command("git", "-C", bare, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Output()
	if err != nil {
		return git.Hash{}
	}
	return parse(t, strings.TrimSpace(string(out)))
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
	m, err := git.Open(filepath.Join(t.TempDir(), "mirror"), remote)
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
	if out := run(t, dir, "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("git fsck says: %s", out)
	}
}
