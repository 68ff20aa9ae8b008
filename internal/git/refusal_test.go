package git_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// What Git refuses for a reason of its own has a next step, and none of Git's advice for people at a
// terminal.
func TestRefusalsOfGitHaveANextStep(t *testing.T) {
	tests := map[string]struct {
		prepare func(bare string)
		update  func(head git.Hash) git.Update
		want    string
	}{
		"a branch furrow": {
			func(bare string) { gitcmd.Run(t, bare, "branch", "furrow", "main") },
			func(head git.Hash) git.Update { return git.Update{Ref: "furrow/main/plan/web", New: head} },
			"Delete or rename branch furrow",
		},
		"deletions are forbidden": {
			func(bare string) { gitcmd.Run(t, bare, "config", "receive.denyDeletes", "true") },
			func(head git.Hash) git.Update { return git.Update{Ref: "furrow/old", Old: head} },
			"receive.denyDeletes",
		},
		"branches only go forward": {
			func(bare string) { gitcmd.Run(t, bare, "config", "receive.denyNonFastForwards", "true") },
			func(head git.Hash) git.Update { return git.Update{Ref: "furrow/old", Old: head} },
			"receive.denyNonFastForwards",
		},
		"the branch is checked out": {
			func(bare string) { gitcmd.Run(t, bare, "config", "core.bare", "false") },
			func(head git.Hash) git.Update { return git.Update{Ref: "main", Old: head} },
			"not bare",
		},
		"a lock is left": {
			func(bare string) { touch(t, filepath.Join(bare, "refs/heads/furrow/old.lock")) },
			func(head git.Hash) git.Update { return git.Update{Ref: "furrow/old", Old: head} },
			"remove the file on the server",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bare := newBare(t)
			commitFiles(t, bare, "main", map[string]string{"a": "1"})
			gitcmd.Run(t, bare, "branch", "spare", "main")
			if name != "a branch furrow" {
				gitcmd.Run(t, bare, "branch", "furrow/old", "main")
			}
			m := openLocal(t, bare)
			head := fetch(t, m)["main"]
			tc.prepare(bare)
			update := tc.update(head)
			if update.New.IsZero() && name != "deletions are forbidden" { // another commit, without the past
				commit, err := m.CommitTree(treeOf(t, m, head), nil, message("Begin anew\n"))
				if err != nil {
					t.Fatal(err)
				}
				update.New, update.Objects = commit, []git.Hash{commit}
			}
			err := m.Push(t.Context(), []git.Update{update})
			refused, ok := errors.AsType[*git.PushError](err)
			if !ok || !strings.Contains(refused.Next(), tc.want) {
				t.Fatalf("it ends with %v; next: %v", err, refused)
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hint") {
				t.Errorf("it repeats Git's advice: %v", err)
			}
		})
	}
}

func touch(t *testing.T, path string) { write(t, filepath.Dir(path), filepath.Base(path), "") }

func treeOf(t *testing.T, m *git.Mirror, commit git.Hash) git.Hash {
	t.Helper()
	info, err := m.Commit(commit)
	if err != nil {
		t.Fatal(err)
	}
	return info.Tree
}

func TestARepositoryWithLongHashesIsExplained(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "long")
	gitcmd.Run(t, ".", "init", "--quiet", "--object-format=sha256", "--initial-branch=main", dir)
	gitcmd.Run(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "-m", "x")
	_, err := openLocal(t, dir).Fetch(t.Context(), "main")
	if err == nil || !strings.Contains(err.Error(), "SHA-256") || strings.Contains(err.Error(), "pkt-line") {
		t.Errorf("it is explained as %v", err)
	}
}
