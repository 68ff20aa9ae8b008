package githash_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/githash"
)

// A directory by the hashes of its directories is the one by its files.
func TestTreeOfDirectoriesIsThatOfTheirFiles(t *testing.T) {
	file := githash.Blob([]byte("a"))
	inner := githash.Tree(map[string]githash.Hash{"x.yaml": file, "y/z.yaml": file})
	whole := githash.Tree(map[string]githash.Hash{"b/tier-00/x.yaml": file, "b/tier-00/y/z.yaml": file, "b.yaml": file})
	got := githash.TreeOf(map[string]githash.Entry{"b/tier-00": {Hash: inner, Dir: true}, "b.yaml": {Hash: file}})
	if got != whole {
		t.Errorf("got %s, want %s", got, whole)
	}
}
