package engine_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/simulator"
	"github.com/furrow-dev/furrow/test/people"
	"github.com/furrow-dev/furrow/test/usage"
)

// farm is a control plane and a GitOps repository on disk, read through mirrors as in production, with
// simulated clusters. What a benchmark on it measures is the engine and Git, and no server.
type farm struct {
	b               *testing.B
	control, gitops string
	people          *people.People
	simulator       *simulator.Simulator
	now             time.Time
	report          *engine.Report
}

// newFarm declares clusters and a seed. files are on the base branch before Furrow comes.
func newFarm(b *testing.B, clusters int, seed string, files map[string][]byte) *farm {
	b.Helper()
	f := &farm{b: b, control: newBare(b), gitops: newBare(b), now: time.Unix(1_700_000_000, 0)}
	documents := map[string][]byte{
		"gitops-repo.yaml": []byte(document("GitOpsRepo", "gitops", "spec: {url: local}")),
		"seeds/edge.yaml":  []byte(seed),
	}
	base := map[string][]byte{}
	for path, data := range files {
		base[path] = data
	}
	options := simulator.Options{IsCreator: catalog.IsCreator, Seed: 1}
	for i := range clusters {
		name := fmt.Sprintf("site-%04d", i)
		documents["clusters/"+name+".yaml"] = []byte(document("Cluster", name, "spec: {}"))
		base["clusters/"+name+"/README.md"] = []byte("the root\n")
		options.Clusters = append(options.Clusters, simulator.Cluster{Name: name, Root: simulator.Root{Path: "clusters/" + name, RepoID: "gitops"}})
	}
	f.commit(f.control, documents)
	f.commit(f.gitops, base)
	f.people = people.Of(b, f.gitops, "main")
	options.Sources = map[string]simulator.Source{"gitops": f.people}
	f.simulator = simulator.New(options)
	return f
}

func newBare(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "remote.git")
	if out, err := exec.Command("git", "init", "--quiet", "--bare", "--initial-branch=main", dir).CombinedOutput(); err != nil {
		b.Fatalf("git init: %v\n%s", err, out)
	}
	return dir
}

// mirror opens a mirror of a repository in a directory.
func (f *farm) mirror(repository, dir string) *git.Mirror {
	f.b.Helper()
	m, err := git.Open(f.b.Context(), dir, git.Remote{URL: repository})
	if err != nil {
		f.b.Fatal(err)
	}
	f.b.Cleanup(func() { _ = m.Close() })
	return m
}

// commit makes the first commit of a repository's main branch.
func (f *farm) commit(repository string, files map[string][]byte) {
	f.b.Helper()
	m := f.mirror(repository, filepath.Join(f.b.TempDir(), "mirror"))
	tree, err := m.WriteTree(files)
	f.must(err)
	commit, err := m.CommitTree(tree.Hash, nil, git.CommitMeta{Author: git.Person{Name: "Ann", Email: "ann@example.com", When: f.now}, Message: "first\n"})
	f.must(err)
	f.must(m.Push(f.b.Context(), []git.Update{{Ref: "main", New: commit, Objects: append(tree.Objects, commit)}}))
}

func (f *farm) must(err error) {
	f.b.Helper()
	if err != nil {
		f.b.Fatal(err)
	}
}

// furrow is an engine that starts, with its mirrors in a directory.
func (f *farm) furrow(cache string) *engine.Engine {
	f.b.Helper()
	control, gitops := f.mirror(f.control, filepath.Join(cache, "control")), f.mirror(f.gitops, filepath.Join(cache, "gitops"))
	return engine.New(engine.Config{
		Owner: "acme/prod", ControlPlane: controlPlane(control), DeletionGuard: 100, Channel: f.simulator.Channel(),
		Open: func(context.Context, string, v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			return engine.Repo{Mirror: gitops, Forge: plain.New(gitops, "main")}, nil
		},
		Person: git.Person{Name: "Furrow", Email: "furrow@example.com"},
		Now:    func() time.Time { f.now = f.now.Add(time.Second); return f.now },
	})
}

// rest makes passes until one has nothing to do.
func (f *farm) rest(furrow *engine.Engine) {
	f.b.Helper()
	for {
		f.pass(furrow)
		if !f.report.Changed {
			return
		}
	}
}

func (f *farm) pass(furrow *engine.Engine) {
	f.b.Helper()
	report, err := furrow.Pass(f.b.Context())
	f.must(err)
	if len(report.Problems) > 0 {
		f.b.Fatalf("problems: %q", report.Problems)
	}
	f.report = report
}

// merge accepts at most so many proposals, and lets the clusters take them up.
func (f *farm) merge(most int) (merged int) {
	f.b.Helper()
	merged, err := f.people.Merge(f.b.Context(), most)
	f.must(err)
	for range 5 { // fetch, apply, and become healthy
		f.must(f.simulator.Tick(context.Background()))
	}
	return merged
}

// plant merges until everything is Released.
func (f *farm) plant(furrow *engine.Engine) {
	f.b.Helper()
	for range 20 {
		f.rest(furrow)
		if f.report.Done() {
			return
		}
		f.merge(1 << 20)
	}
	f.b.Fatal("it is not Released after 20 rounds")
}

// mustHave asserts that so many tiers are in a state.
func (f *farm) mustHave(want int, state string) {
	f.b.Helper()
	have := 0
	for _, s := range f.report.Seeds {
		for _, t := range s.Tiers {
			if string(t.State) == state {
				have++
			}
		}
	}
	if have != want {
		f.b.Fatalf("%d tiers are %s, want %d", have, state, want)
	}
}

// measured repeats some work and reports its processor time and memory, beside the time that passes.
func measured(b *testing.B, prepare, work func()) {
	b.Helper()
	b.ReportAllocs()
	var processor time.Duration
	var peak, n float64
	for b.Loop() {
		b.StopTimer()
		prepare()
		heap, most, before := usage.Heap(), usage.Peak(), usage.Processor()
		b.StartTimer()
		work()
		b.StopTimer()
		processor += usage.Processor() - before
		peak = max(peak, usage.MiB(most(), heap))
		n++
		b.StartTimer()
	}
	b.ReportMetric(processor.Seconds()*1000/n, "cpu-ms/op")
	b.ReportMetric(peak, "peak-MiB")
}

func nothing() {}

// BenchmarkPass makes the passes of a fleet of 1,000 clusters with five tiers each.
func BenchmarkPass(b *testing.B) {
	const clusters = 1000
	seed := fiveTiers(clusters)
	b.Run("plan", func(b *testing.B) {
		f := newFarm(b, clusters, seed, nil)
		cache, furrow := b.TempDir(), (*engine.Engine)(nil)
		measured(b, func() { furrow = f.furrow(cache) }, func() {
			report, err := furrow.DryRun(b.Context())
			f.must(err)
			f.report = report
		})
		if n := len(f.report.Seeds[0].Tiers); n != 5*clusters {
			b.Fatalf("%d tiers are planned, want %d", n, 5*clusters)
		}
	})
	b.Run("propose", func(b *testing.B) {
		var f *farm
		var furrow *engine.Engine
		measured(b, func() {
			f = newFarm(b, clusters, seed, nil)
			furrow = f.furrow(b.TempDir())
		}, func() { f.rest(furrow) })
		f.mustHave(clusters, "Proposed")
	})
	b.Run("open", func(b *testing.B) {
		f := newFarm(b, clusters, seed, nil)
		cache := b.TempDir()
		furrow := f.furrow(cache)
		f.rest(furrow)
		f.mustHave(clusters, "Proposed")
		b.Run("idle", func(b *testing.B) { measured(b, nothing, func() { f.pass(furrow) }) })
		b.Run("one-merged", func(b *testing.B) {
			measured(b, func() {
				if n := f.merge(1); n != 1 {
					b.Fatalf("%d proposals were merged, want 1", n)
				}
			}, func() { f.pass(furrow) })
		})
		b.Run("all-released", func(b *testing.B) {
			f.plant(furrow)
			measured(b, nothing, func() { f.pass(furrow) })
			f.mustHave(5*clusters, "Released")
		})
		// An engine that knows of no plan whether it is its own verifies all.
		b.Run("restarted", func(b *testing.B) { measured(b, nothing, func() { f.pass(f.furrow(cache)) }) })
	})
}

// fiveTiers is a seed of five tiers on each of some clusters.
func fiveTiers(clusters int) string {
	var names []string
	for i := range clusters {
		names = append(names, fmt.Sprintf("site-%04d", i))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: edge, annotations: {furrow.dev/cluster: %q}}\n", strings.Join(names, ","))
	for i := range 4 {
		after := ""
		if i > 0 {
			after = fmt.Sprintf("\n  annotations: {furrow.dev/depends-on: core/ConfigMap/edge/step-%d}", i-1)
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: step-%d\n  namespace: edge%s\ndata: {text: hello}\n", i, after)
	}
	return b.String()
}

// BenchmarkIdlePass is a pass with nothing to do over a base branch of 20,000 files and a seed of 3,000 objects that
// is planted: in an engine that runs on, and in one that was started anew with the mirrors of before.
func BenchmarkIdlePass(b *testing.B) {
	const objects, files = 3000, 20_000
	base := map[string][]byte{}
	for i := range files {
		base[fmt.Sprintf("apps/%03d/%02d.yaml", i/100, i%100)] = fmt.Appendf(nil, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app-%d, namespace: apps}\n", i)
	}
	var seed strings.Builder
	seed.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: edge}\n")
	for i := range objects {
		fmt.Fprintf(&seed, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d, namespace: edge}\ndata:\n  text: this is object %d\n", i, i)
	}
	f := newFarm(b, 1, seed.String(), base)
	cache := b.TempDir()
	furrow := f.furrow(cache)
	f.plant(furrow)
	b.Run("running", func(b *testing.B) { measured(b, nothing, func() { f.pass(furrow) }) })
	b.Run("restarted", func(b *testing.B) {
		measured(b, nothing, func() { f.pass(f.furrow(cache)) })
	})
	if f.report.Changed || !f.report.Done() {
		b.Error("the pass was not idle")
	}
}
