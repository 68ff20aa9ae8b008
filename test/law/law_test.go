package law

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/test/program"
	"github.com/furrow-dev/furrow/test/servers"
)

var (
	orders = flag.Int("orders", 2, "random orders of each level")
	fresh  = flag.Int("fresh", 0, "how many more times the random orders of a stack begin with empty clusters")
	seed   = flag.Uint64("seed", 1, "the first random order")
)

// atOnce is how many stacks are applied at once, each on API servers of its own.
const atOnce = 2

func TestNoObjectOfARealPackageIsRejected(t *testing.T) {
	b, furrow := need(t)
	authority, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	workers := make(chan *worker, atOnce)
	for i := range atOnce {
		workers <- &worker{dir: filepath.Join(workDir(t), fmt.Sprint(i)), authority: authority}
	}
	t.Run("stacks", func(t *testing.T) {
		for _, s := range stacks {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				w := <-workers
				defer func() { workers <- w }()
				p, err := b.plan(t.Context(), furrow, s, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				obey(t, w, p)
			})
		}
	})
	for range atOnce {
		if err := (<-workers).stop(); err != nil {
			t.Error(err)
		}
	}
}

// obey applies a planned stack in its worst order and in random ones, and reports what was refused,
// once for each seed and cause.
func obey(t *testing.T, w *worker, p *planned) {
	for _, wrong := range p.minimal() {
		t.Error(wrong)
	}
	clusters, err := w.start(t.Context(), p.clusters())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{plan: p, clusters: clusters, bundle: w.authority.bundle}
	examples := map[string]rejection{}
	note := func() {
		for _, rejected := range r.rejections {
			key := rejected.object.seed + ": " + rejected.cause
			if _, noted := examples[key]; !noted {
				examples[key] = rejected
			}
		}
	}
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	needless, err := r.worst(t.Context(), rand.New(rand.NewPCG(*seed, 0)), *orders, "namespace", "crd", "conversion")
	if err != nil {
		t.Fatal(err)
	}
	note()
	for _, boundary := range needless {
		t.Errorf("needless boundary %s", boundary)
	}
	for i := range *fresh {
		if err := r.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.random(t.Context(), rand.New(rand.NewPCG(*seed, uint64(i+1))), *orders); err != nil {
			t.Fatal(err)
		}
		note()
	}
	for _, key := range slices.Sorted(maps.Keys(examples)) {
		t.Errorf("%.800s", examples[key])
	}
	t.Logf("%d objects in %d levels", len(p.objects), len(p.levels()))
}

func need(t *testing.T) (*builder, string) {
	t.Helper()
	b := &builder{bin: servers.Need(t, servers.Etcd, servers.Kubernetes, servers.Helm, servers.Packages), home: t.TempDir()}
	furrow, err := program.Furrow(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return b, furrow
}

func workDir(t *testing.T) string {
	t.Helper()
	// The path of a Unix socket is short.
	dir, err := os.MkdirTemp("", "law-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
