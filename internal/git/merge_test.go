package git_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// three makes commits of three trees, two on top of the first, and gives a mirror that has them.
func three(t *testing.T, bare string, trees [3]map[string]string) (m *git.Mirror, commits [3]git.Hash) {
	t.Helper()
	for i, files := range trees {
		branch := fmt.Sprintf("furrow/t%d", i)
		var in strings.Builder
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Ann <ann@example.com> %d +0000\ndata 0\n", branch, 1_700_000_000+i)
		if i > 0 {
			fmt.Fprintf(&in, "from %s\ndeleteall\n", commits[0])
		}
		for path, content := range files {
			fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
		}
		gitcmd.Input(t, bare, in.String(), "fast-import", "--quiet")
		commits[i] = at(t, bare, branch)
	}
	m = openLocal(t, bare)
	fetch(t, m)
	return m, commits
}

func TestMergeTrees(t *testing.T) {
	type files = map[string]string
	cases := map[string]struct {
		from, to, into files
		whole          string
		wantEdits      []string
		wantConflicts  []string
	}{
		"a tree that did not change takes the change at the highest path": {
			from: files{"x": "1"}, to: files{"x": "1", "a/b/c": "1"}, into: files{"x": "1"},
			wantEdits: []string{"a"},
		},
		"nothing is left to do where the tree has the change": {
			from: files{"x": "1"}, to: files{"x": "1", "a/b/c": "1"}, into: files{"x": "2", "a/b/c": "1"},
		},
		"two new directories of the same name are joined": {
			from: files{"x": "1"}, to: files{"x": "1", "a/b": "1"}, into: files{"x": "1", "a/c": "1"},
			wantEdits: []string{"a/b"},
		},
		"two new directories that are taken whole conflict": {
			from: files{"x": "1"}, to: files{"x": "1", "a/b": "1"}, into: files{"x": "1", "a/c": "1"}, whole: "a",
			wantConflicts: []string{"a"},
		},
		"a directory is removed but for what came into it": {
			from: files{"x": "1", "a/b": "1"}, to: files{"x": "1"}, into: files{"x": "1", "a/b": "1", "a/c": "1"},
			wantEdits: []string{"-a/b"},
		},
		"a file that changed on both sides conflicts": {
			from: files{"a/b": "1", "x": "1"}, to: files{"a/b": "2", "x": "2"}, into: files{"a/b": "3", "x": "1"},
			wantEdits: []string{"x"}, wantConflicts: []string{"a/b"},
		},
		"a file that was removed on the other side conflicts": {
			from: files{"a/b": "1", "x": "1"}, to: files{"a/b": "2", "x": "1"}, into: files{"x": "1"},
			wantConflicts: []string{"a/b"},
		},
		"a file becomes a directory": {
			from: files{"a": "1", "a.b": "1"}, to: files{"a/c": "1", "a.b": "1"}, into: files{"a": "1", "a.b": "2"},
			wantEdits: []string{"a"},
		},
		"a directory becomes a file": {
			from: files{"a/c": "1", "a.b": "1"}, to: files{"a": "1", "a.b": "1"}, into: files{"a/c": "1", "a.b": "2"},
			wantEdits: []string{"a"},
		},
		"a file in the way of a new directory conflicts": {
			from: files{"x": "1"}, to: files{"x": "1", "a/b": "1"}, into: files{"x": "1", "a": "1"},
			wantConflicts: []string{"a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, at := three(t, newBare(t), [3]map[string]string{tc.from, tc.to, tc.into})
			got, err := m.MergeTrees(at[0], at[1], at[2], func(path string) bool { return path == tc.whole })
			if err != nil {
				t.Fatal(err)
			}
			var edits []string
			for _, e := range got.Edits {
				if e.Hash.IsZero() {
					e.Path = "-" + e.Path
				}
				edits = append(edits, e.Path)
			}
			if diff := cmp.Diff(tc.wantEdits, edits); diff != "" {
				t.Errorf("edits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantConflicts, got.Conflicts); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	type files = map[string]string
	cases := map[string]struct {
		from, to files
		want     []string
	}{
		"nothing": {from: files{"a/b": "1"}, to: files{"a/b": "1"}},
		"of a directory that both have, the paths that differ are listed": {
			from: files{"a/b/c": "1", "a/b/d": "1", "a/e/f": "1"}, to: files{"a/b/c": "2", "a/b/d": "1", "a/e/f": "1", "a/e/g": "1"},
			want: []string{"a/b/c", "a/e/g"},
		},
		"a directory that one of them has is one path": {
			from: files{"a/b/c": "1", "x": "1"}, to: files{"a/d/e": "1", "a/d/f": "1", "x": "1"},
			want: []string{"a/b", "a/d"},
		},
		"a file and a directory": {
			from: files{"a": "1", "b/c": "1"}, to: files{"a/c": "1", "b": "1"},
			want: []string{"a", "b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			m, at := three(t, newBare(t), [3]map[string]string{tc.from, tc.to, tc.to})
			got, err := m.Changes(at[0], at[1])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

// Every file has one line, so git, too, cannot merge inside a file, and no two files are equal, so it
// detects no renames.
func TestMergeTreesAgreesWithGit(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	change := func(files map[string]string) map[string]string {
		out := map[string]string{"keep": "1"}
		for path, content := range files {
			if random.IntN(4) > 0 {
				out[path] = content
			}
		}
		for range random.IntN(4) {
			path := fmt.Sprintf("d%d/e%d/f%d", random.IntN(3), random.IntN(3), random.IntN(3))
			out[path] = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, path, random.IntN(3))))
		}
		return out
	}
	for i := range 25 {
		from := change(change(change(nil)))
		bare := newBare(t)
		m, at := three(t, bare, [3]map[string]string{from, change(from), change(from)})
		got, err := m.MergeTrees(at[0], at[1], at[2], nil)
		if err != nil {
			t.Fatal(err)
		}
		tree, conflicts := gitMerge(t, bare, at[2], at[1])
		if conflicts != (len(got.Conflicts) > 0) {
			t.Fatalf("round %d: conflicts %v, git says %v", i, got.Conflicts, conflicts)
		}
		if conflicts {
			continue
		}
		grafted, err := m.Graft(at[2], got.Edits, message("merge"))
		if err != nil {
			t.Fatal(err)
		}
		if grafted.Tree != tree {
			t.Fatalf("round %d: tree %s, git has %s", i, grafted.Tree, tree)
		}
	}
}

// gitMerge merges two commits.
func gitMerge(t *testing.T, bare string, ours, theirs git.Hash) (tree git.Hash, conflicts bool) {
	t.Helper()
	cmd := exec.Command("git", "-C", bare, "merge-tree", "--write-tree", "--no-messages", ours.String(), theirs.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("git merge-tree: %v\n%s", err, stderr.String())
		}
		return git.Hash{}, true
	}
	return parse(t, strings.TrimSpace(string(out))), false
}
