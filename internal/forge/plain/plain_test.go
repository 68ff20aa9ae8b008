package plain_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
)

// People use the git that is installed; no configuration of the host takes part.
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

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		bare, m := newRepository(t)
		return forgetest.Fixture{
			Forge: plain.New(m, "main"), Mirror: m, Base: "main", Person: person{bare},
			Ways: map[forgetest.Way]bool{
				forgetest.MergeCommit: true, forgetest.FastForward: true, forgetest.Rebase: true, forgetest.Squash: false,
			},
		}
	})
}

// newRepository makes a bare repository whose branch main has a commit, and a mirror of it.
func newRepository(t *testing.T) (bare string, m *git.Mirror) {
	t.Helper()
	dir := t.TempDir()
	bare = filepath.Join(dir, "remote.git")
	run(t, dir, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	empty := run(t, bare, "mktree")
	run(t, bare, "update-ref", "refs/heads/main", run(t, bare, "commit-tree", "-m", "Start", empty))
	m, err := git.Open(filepath.Join(dir, "mirror"), git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return bare, m
}
