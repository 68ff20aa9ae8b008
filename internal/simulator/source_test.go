package simulator

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// hashed is a tree that knows digests of its directories, as Git's do, and
// counts what is read of it.
type hashed struct {
	fstest.MapFS
	digests map[string][sha256.Size]byte
	reads   map[string]int
}

func hash(tree fstest.MapFS) *hashed {
	h := &hashed{MapFS: tree, digests: map[string][sha256.Size]byte{}, reads: map[string]int{}}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		for dir := path.Dir(name); ; dir = path.Dir(dir) {
			sum := h.digests[dir]
			h.digests[dir] = sha256.Sum256(slices.Concat(sum[:], []byte(name), tree[name].Data))
			if dir == "." {
				break
			}
		}
	}
	return h
}

func (h *hashed) ReadDir(name string) ([]fs.DirEntry, error) {
	h.reads[name]++
	return h.MapFS.ReadDir(name)
}

func (h *hashed) Stat(name string) (fs.FileInfo, error) {
	sum, ok := h.digests[name]
	if !ok {
		return h.MapFS.Stat(name)
	}
	dir := fstest.MapFS{"dir": {Mode: fs.ModeDir, Sys: sum}}
	return dir.Stat("dir")
}

// fixed is a source of given trees.
type fixed struct {
	revision int
	tree     fs.FS
}

func (f *fixed) Head(context.Context) (string, fs.FS, error) {
	return revisionOf(f.revision), f.tree, nil
}

func TestOnlyWhatChangedIsRead(t *testing.T) {
	tree := fstest.MapFS{}
	write := func(name, text string) { tree[name] = &fstest.MapFile{Data: []byte(text)} }
	for _, name := range []string{"a", "b"} {
		write("clusters/shop/"+name+".yaml", tier{name: name, path: "./planted/" + name}.String())
		write("planted/"+name+"/x.yaml", configMap("default", name))
	}
	source := &fixed{tree: hash(tree)}
	w := newWorld(t, func(o *Options) { o.Sources["fleet"] = source; o.Clusters = o.Clusters[1:] })
	w.ticks(3)

	write("planted/b/z.yaml", configMap("default", "z"))
	changed := hash(tree)
	source.revision, source.tree = 1, changed
	w.ticks(3)
	if diff := cmp.Diff(map[string]int{"planted/b": 1}, changed.reads); diff != "" {
		t.Errorf("folders read (-want +got):\n%s", diff)
	}
	if got := len(w.Objects("shop")); got != 5 {
		t.Errorf("%d objects, want two Kustomizations and three more", got)
	}
	if got := w.kustomization("a").applied; got != revisionOf(1) {
		t.Errorf("a is at %s, want the new revision", got)
	}
}

// BenchmarkMovedTick is a tick in which every cluster fetches a new revision
// that changed nothing of its own.
func BenchmarkMovedTick(b *testing.B) {
	n, git := orchard(b, 1000, 5)
	tree := hash(git.tree)
	for b.Loop() {
		git.revision++
		git.served = tree
		for range 6 { // the chain of five tiers follows one by one
			if err := n.Tick(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func TestPathsOfTheTree(t *testing.T) {
	cases := map[string]struct {
		path, want string
		wantErr    bool
	}{
		"a path from the root of the repository": {path: "./planted/a", want: "planted/a"},
		"an absolute path is one from the root":  {path: "/planted/a/", want: "planted/a"},
		"no path is the whole repository":        {path: "", want: "."},
		"a path must stay inside":                {path: "../other", wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := cleanPath(tc.path)
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestScheduleKeepsOrder(t *testing.T) {
	var got []string
	s := newSchedule()
	note := func(text string) func() { return func() { got = append(got, fmt.Sprintf("%d %s", s.now, text)) } }
	s.at(0, reconciles, "b", note("late"))
	s.at(1, reconciles, "a", func() {
		note("a")()
		s.at(1, reconciles, "c", note("same phase again"))
		s.at(1, deletions, "c", note("earlier phase"))
	})
	s.at(1, fetches, "z", func() { s.at(1, reconciles, "c", note("later phase")) })
	for range 3 {
		s.begin()
		for p := range phases {
			for _, task := range s.take(p) {
				task.run()
			}
		}
		s.close()
	}
	want := []string{"1 a", "1 late", "1 later phase", "2 earlier phase", "2 same phase again"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
