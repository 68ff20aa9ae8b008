package githash

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestKnownHashes(t *testing.T) {
	cases := map[string]struct {
		got  Hash
		want string
	}{
		"the empty file":             {Blob(nil), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"},
		"a file":                     {Blob([]byte("hello\n")), "ce013625030ba8dba906f756967f9e9ca394464a"},
		"a directory without files":  {Tree(nil), ""},
		"a directory of directories": {Dirs(map[string]Hash{"a": Tree(map[string]Hash{"f": Blob(nil)}), "a-b": Tree(map[string]Hash{"f": Blob(nil)})}), Tree(map[string]Hash{"a/f": Blob(nil), "a-b/f": Blob(nil)}).String()},
		"a directory of one file":    {Tree(map[string]Hash{"hello": Blob([]byte("hello\n"))}), "b4d01e9b0c4a9356736dfddf8830ba9a54f5271c"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got.String()); diff != "" {
				t.Errorf("the hash differs (-want +got):\n%s", diff)
			}
		})
	}
}

// repository is an empty Git repository for the real git to hash in.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("SKIPPED, hashes are not compared with those of git: %v", err)
	}
	r := repository{t, t.TempDir()}
	r.git(nil, "init", "--quiet", "--object-format=sha1")
	return r
}

func (r repository) git(stdin []byte, args ...string) string {
	r.t.Helper()
	return gitcmd.Input(r.t, r.dir, string(stdin), args...)
}

func TestBlobHashesAreThoseOfGit(t *testing.T) {
	r := newRepository(t)
	for _, data := range [][]byte{nil, []byte("a"), []byte("a\r\nb\n"), {0, 255, 10}, bytes.Repeat([]byte("long\n"), 10_000)} {
		if got, want := Blob(data), r.git(data, "hash-object", "--no-filters", "--stdin"); got.String() != want {
			t.Errorf("%d bytes: %s, and git says %s", len(data), got, want)
		}
	}
}

// TestTreeHashesAreThoseOfGit writes files into a work tree and lets git hash it.
func TestTreeHashesAreThoseOfGit(t *testing.T) {
	trees := map[string][]string{
		"files alone": {"b.yaml", "a.yaml"},
		"a directory sorts as if it ended in a slash": {"a/x", "a.b", "a-b", "a0"},
		"the same in reverse":                         {"foo.yaml", "foo/bar.yaml", "foo-bar.yaml"},
		"directories in directories":                  {"planted/edge/web/tier-00/c.yaml", "planted/edge/web/tier-01/d.yaml", "clusters/x.yaml"},
		"names are bytes":                             {"ä.yaml", "Z.yaml", "a b.yaml"},
	}
	random := rand.New(rand.NewPCG(4, 4))
	for i := range 5 {
		var paths []string
		for range 40 {
			parts := make([]string, 1+random.IntN(4))
			for j := range parts {
				parts[j] = []string{"a", "a.b", "a-b", "ab", "b", "tier-00"}[random.IntN(6)]
			}
			paths = append(paths, strings.Join(parts, "/")+"/"+fmt.Sprint(random.IntN(9)))
		}
		trees[fmt.Sprintf("random paths %d", i)] = paths
	}
	for sentence, paths := range trees {
		t.Run(sentence, func(t *testing.T) {
			r := newRepository(t)
			files := map[string]Hash{}
			for _, p := range paths {
				data := []byte("content of " + p)
				files[p] = Blob(data)
				at := filepath.Join(r.dir, filepath.FromSlash(p))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r.git(nil, "add", "--all", ".")
			if got, want := Tree(files), r.git(nil, "write-tree"); got.String() != want {
				t.Errorf("%v: %s, and git says %s:\n%s", slices.Sorted(maps.Keys(files)), got, want, r.git(nil, "ls-files", "--stage"))
			}
		})
	}
}
