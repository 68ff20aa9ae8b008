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
	orders = flag.Int("orders", 1, "random orders of each level")
	fresh  = flag.Int("fresh", 0, "how many more times the random orders of a stack begin with empty clusters")
	seed   = flag.Uint64("seed", 1, "the first random order")
)

// atOnce is how many stacks are applied at once, each on API servers of its own.
const atOnce = 2

func TestNoObjectOfARealPackageIsRejected(t *testing.T) {
	eachStack(t, stacks, func(t *testing.T, w *worker, plan func(stack) *planned, s stack) {
		obey(t, w, plan(s))
	})
}

func TestNoTierOfAMinimalInputWaitsForItself(t *testing.T) {
	var all []stack
	byName := map[string]input{}
	for _, in := range inputs {
		all, byName[in.name] = append(all, in.stack), in
	}
	eachStack(t, all, func(t *testing.T, w *worker, plan func(stack) *planned, s stack) {
		obey(t, w, plan(s))
		in := byName[s.name]
		if in.ready {
			return
		}
		if in.refused != nil {
			mustRefuse(t, start(t, w, plan(s.without(in.refused))))
			return
		}
		r := start(t, w, plan(s.without(needRules)))
		if err := r.random(t.Context(), rand.New(rand.NewPCG(*seed, 0)), 1); err != nil {
			t.Fatal(err)
		}
		if stuck, _ := r.waited(); len(stuck) == 0 {
			t.Error("no tier waits for itself without the rules that should keep it from that")
		}
	})
}

// mustRefuse fails unless something is refused or lost in the worst order.
func mustRefuse(t *testing.T, r *run) {
	t.Helper()
	if _, err := r.worst(t.Context(), rand.New(rand.NewPCG(*seed, 0)), 1); err != nil {
		t.Fatal(err)
	}
	if len(r.rejections) == 0 {
		t.Error("nothing is refused or lost without the rules that should keep it from that")
	}
	t.Logf("without them: %.800s", fmt.Sprint(r.rejections))
}

// eachStack plans and tests stacks, several at once.
func eachStack(t *testing.T, stacks []stack, test func(t *testing.T, w *worker, plan func(stack) *planned, s stack)) {
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
				test(t, w, func(s stack) *planned {
					p, err := b.plan(t.Context(), furrow, s, t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					return p
				}, s)
			})
		}
	})
	for range atOnce {
		if err := (<-workers).stop(); err != nil {
			t.Error(err)
		}
	}
}

// start returns a run of a plan on empty clusters.
func start(t *testing.T, w *worker, p *planned) *run {
	t.Helper()
	clusters, err := w.start(t.Context(), p.clusters())
	if err != nil {
		t.Fatal(err)
	}
	r := &run{plan: p, clusters: clusters, bundle: w.authority.bundle}
	if err := r.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// obey applies a planned stack in its worst order and in random ones, and reports what was refused,
// once for each seed and cause.
func obey(t *testing.T, w *worker, p *planned) {
	for _, wrong := range p.minimal() {
		t.Error(wrong)
	}
	r := start(t, w, p)
	examples := map[string]rejection{}
	note := func() {
		for _, rejected := range r.rejections {
			key := rejected.object.seed + ": " + rejected.cause
			if _, noted := examples[key]; !noted {
				examples[key] = rejected
			}
		}
		stuck, never := r.waited()
		for _, l := range stuck {
			rejected := rejection{l.object, "stuck " + l.object.id, "it waits for a later tier: " + l.why.Error()}
			examples[l.object.seed+": "+rejected.cause] = rejected
		}
		for _, l := range never {
			rejected := rejection{l.object, "never ready " + l.object.id, l.why.Error()}
			examples[l.object.seed+": "+rejected.cause] = rejected
		}
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
