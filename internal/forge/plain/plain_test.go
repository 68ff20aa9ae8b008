package plain_test

import (
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
)

// People use the git that is installed; no configuration of the host takes part.
func TestMain(m *testing.M) { gitcmd.Main(m) }

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		bare, m := newRepository(t)
		return forgetest.Fixture{
			Forge: plain.New(m, "main"), Mirror: m, Base: "main", Person: people.Clone{Bare: bare},
			MergeMethods: map[forgetest.MergeMethod]bool{
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
	gitcmd.Run(t, dir, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	empty := gitcmd.Run(t, bare, "mktree")
	gitcmd.Run(t, bare, "update-ref", "refs/heads/main", gitcmd.Run(t, bare, "commit-tree", "-m", "Start", empty))
	m, err := git.Open(t.Context(), filepath.Join(dir, "mirror"), git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return bare, m
}
