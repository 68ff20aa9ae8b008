package git_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/git"
)

// What is over a bound is refused by its size, before it is in memory.
func TestWhatIsOverABoundIsNotRead(t *testing.T) {
	m, commit := filled(t, map[string]string{
		"small": "x", "large": strings.Repeat("x", 1000), "dir/a": strings.Repeat("a", 400), "dir/b": strings.Repeat("b", 400), "dir/c": strings.Repeat("c", 400),
	})
	bounds := git.Bounds{File: 500, Total: 1000, Entries: 3}
	bounded := func() fs.FS {
		t.Helper()
		tree, err := m.FS(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		return git.Bounded(tree, bounds)
	}
	tree := bounded()
	if content, err := fs.ReadFile(tree, "small"); err != nil || string(content) != "x" {
		t.Errorf("small: %q, %v", content, err)
	}
	if _, err := fs.ReadFile(tree, "large"); !git.IsTooLarge(err) || !strings.Contains(err.Error(), "large: ") || !strings.Contains(err.Error(), "1000 bytes") {
		t.Errorf("large: %v", err)
	}
	if _, err := fs.ReadFile(tree, "absent"); git.IsTooLarge(err) || err == nil {
		t.Errorf("absent: %v", err)
	}
	for _, name := range []string{"dir/a", "dir/b"} {
		if _, err := fs.ReadFile(tree, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fs.ReadFile(tree, "dir/c"); !git.IsTooLarge(err) || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("more than the total: %v", err)
	}
	listed := func(tree fs.FS) error {
		return fs.WalkDir(tree, ".", func(_ string, _ fs.DirEntry, err error) error { return err })
	}
	if err := listed(bounded()); !git.IsTooLarge(err) {
		t.Errorf("more entries than are listed: %v", err)
	}
	bounds.Entries = 7
	if err := listed(bounded()); err != nil {
		t.Errorf("as many entries as are listed: %v", err)
	}
}

// The size of a large file is known without its content, from a pack and from a file of its own.
func TestSizesAreReadBeforeBlobs(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	m, commit := filled(t, map[string]string{"large": string(content)})
	entry, ok, err := m.Entry(commit, "large")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			if _, err := m.BlobUpTo(t.Context(), entry.Hash, 1<<20); !git.IsTooLarge(err) {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 1<<20 {
		t.Errorf("it took %d bytes to find that a file of %d is too large", allocated, len(content))
	}
	if got, err := m.BlobUpTo(t.Context(), entry.Hash, int64(len(content))); err != nil || !bytes.Equal(got, content) {
		t.Errorf("a file of the limit: %d bytes, %v", len(got), err)
	}
	tree, err := m.WriteTree(map[string][]byte{"loose": content})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.BlobUpTo(t.Context(), tree.Objects[0], 1<<20); !git.IsTooLarge(err) || !strings.Contains(err.Error(), fmt.Sprint(len(content))) {
		t.Errorf("a loose object: %v", err)
	}
}

// filled fetches a repository with some files.
func filled(t *testing.T, files map[string]string) (*git.Mirror, git.Hash) {
	t.Helper()
	bare := newBare(t)
	commitFiles(t, bare, "main", files)
	m := openLocal(t, bare)
	return m, fetch(t, m)["main"]
}
