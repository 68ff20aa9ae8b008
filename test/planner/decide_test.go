package planner

import (
	"fmt"
	"maps"
	"path"
	"testing"
	"testing/fstest"
	"time"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/test/sample"
	"github.com/furrow-dev/furrow/test/usage"
)

// BenchmarkDecide decides about seeds that are planted and released, after one seed has changed since
// the pass before: all that a pass does but for reading and writing. peak-MiB is all memory in use, with
// what the pass before left and what clusters and repositories answer.
func BenchmarkDecide(b *testing.B) {
	const clusters = 100
	for _, seeds := range []int{100, 1000} {
		b.Run(fmt.Sprintf("seeds=%d", seeds), func(b *testing.B) {
			p := plant(b, sample.ControlPlane(seeds, 20, clusters))
			p.decide(b, p.facts(b, "planted"))
			p.tree["seeds/seed-0000.yaml"] = sample.File(sample.Seed(0, 20, "changed"))
			var s samples
			var peak float64
			for b.Loop() {
				facts := p.facts(b, fmt.Sprint(len(s)))
				usage.Heap()
				most := usage.Peak()
				var d *pass.Decision
				s.measure(func() { d = p.decide(b, facts) })
				peak = max(peak, usage.MiB(most(), 0))
				if proposed := len(d.Actions) - 1; d.Actions[0].Verb != pass.PushPlan || proposed != clusters {
					b.Fatalf("%s, and %d tiers are proposed, want %d", d.Actions[0].Verb, proposed, clusters)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(s.median()), "cpu-ms")
			b.ReportMetric(peak, "peak-MiB")
		})
	}
}

// planted is a control plane whose plans are on their branches and on the base branch, and run on the
// clusters.
type planted struct {
	tree  fstest.MapFS
	self  plan.Identity
	plans []pass.PlanOnBranch
	// head is the commit of the base branch; base is what it has, and blobs and dirs are its files.
	head  layout.Hash
	base  map[string]layout.Hash
	blobs map[layout.Hash][]byte
	dirs  map[string]plan.Files
	live  map[health.ReconcilerKey]health.Reconciler
	memo  pass.Memo
}

func plant(b *testing.B, tree fstest.MapFS) *planted {
	b.Helper()
	tree["gitops.yaml"] = sample.File([]byte("apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {url: https://git.example.com/gitops, proposals: {maxOpen: 1000}}\n"))
	p := &planted{
		tree: tree, self: plan.Identity{Owner: "acme/bench"}, head: githash.Blob([]byte("head")),
		base: map[string]layout.Hash{"clusters/management": githash.Blob([]byte("the root"))}, blobs: map[layout.Hash][]byte{}, dirs: map[string]plan.Files{}, live: map[health.ReconcilerKey]health.Reconciler{},
	}
	revision := "main@sha1:" + p.head.String()
	for name, o := range plan.Compute(plan.Input{Catalog: mustLoad(b, tree), Owner: p.self.Owner}) {
		must(b, o.Err)
		p.plans = append(p.plans, pass.PlanOnBranch{Vouched: true, Repo: "gitops", Seed: name, Commit: githash.Blob([]byte(name)), Plan: o.Plan})
		for at, dir := range o.Files["gitops"] {
			p.dirs[at] = dir.Files
		}
		for _, file := range o.Files["gitops"].Flat() {
			p.blobs[file.Hash] = file.Data
		}
		for i := range o.Plan.Tiers {
			t := &o.Plan.Tiers[i]
			for _, e := range t.Entries {
				p.base[e.Path] = e.Hash
			}
			objects, err := manifest.Parse(t.ReconcilerFile(), p.blobs[t.ReconcilerHash()])
			must(b, err)
			p.live[health.ReconcilerKey{Cluster: t.Object.Cluster, Namespace: t.Object.Namespace, Name: t.Object.Name}] = health.Reconciler{
				Known: true, Found: true, Rendered: t.Object.Rendered, Spec: objects[0].Map("spec"), Generation: 1, ObservedGeneration: 1, ReadyGeneration: 1,
				Ready: "True", Revision: revision, AttemptedRevision: revision,
			}
		}
	}
	return p
}

// facts are those that a pass lists before it asks anything, of a version of the control plane.
func (p *planted) facts(b *testing.B, version string) *pass.Facts {
	b.Helper()
	refs := map[string]layout.Hash{"main": p.head}
	for _, one := range p.plans {
		refs[layout.PlanBranch("main", one.Seed)] = one.Commit
	}
	return &pass.Facts{
		Now: time.Unix(1_700_000_000, 0), Self: p.self, DeletionGuard: 20, Plans: p.plans,
		ControlPlane: pass.ControlPlane{Version: version, Catalog: mustLoad(b, p.tree)},
		Repos: map[string]*pass.Repo{"gitops": {Base: "main", Head: p.head, Refs: refs, Amends: true, Answers: pass.Answers{
			Entries: map[layout.Hash]map[string]layout.Hash{p.head: maps.Clone(p.base)}, Blobs: p.blobs, Files: map[layout.Hash]map[string]map[string]layout.Hash{p.head: {}},
			Since: map[layout.Hash]*pass.Since{}, Past: map[layout.Hash][]map[string]layout.Hash{}, Closed: map[string]*pass.Closed{}, Roots: map[string]*pass.RootDir{},
		}}},
		Health: pass.Health{Reconcilers: map[health.ReconcilerKey]health.Reconciler{}, Roots: map[health.RootKey]health.Root{}},
	}
}

// decide makes the decision of a pass, and answers what it asks.
func (p *planted) decide(b *testing.B, facts *pass.Facts) *pass.Decision {
	b.Helper()
	p.memo.Turn()
	for {
		d, questions := p.memo.Decide(facts)
		if len(questions) == 0 {
			return d
		}
		for _, q := range questions {
			p.answer(b, facts, q)
		}
	}
}

// answer answers a question as it is where nobody but Furrow writes to the repository.
func (p *planted) answer(b *testing.B, facts *pass.Facts, q pass.Question) {
	b.Helper()
	to := facts.Repos["gitops"]
	switch q.Kind {
	case pass.AskEntries:
		for _, at := range q.Paths {
			to.Entries[q.Commit][at] = p.base[at]
		}
	case pass.AskFiles:
		for _, dir := range q.Paths {
			files := map[string]layout.Hash{}
			for name, file := range p.dirs[dir] {
				files[path.Join(dir, name)] = file.Hash
			}
			to.Files[q.Commit][dir] = files
		}
	case pass.AskHealth:
		for _, key := range q.Reconcilers {
			facts.Health.Reconcilers[key] = p.live[key]
		}
		for _, key := range q.Roots {
			facts.Health.Roots[key] = health.Root{Known: true, Found: true, Name: "flux-system/flux-system", Path: key.Path, Prune: true, Source: key.Source, SourceKind: "GitRepository", SourceFound: true, Ready: "True"}
		}
	case pass.AskSince:
		since := &pass.Since{OnBase: true, Changed: make(map[string]bool, len(q.Paths))}
		for _, at := range q.Paths {
			since.Changed[at] = false
		}
		to.Since[q.Commit] = since
	case pass.AskPast:
		had := map[string]layout.Hash{}
		for _, at := range q.Paths {
			had[at] = p.base[at]
		}
		to.Past[q.Commit] = append(to.Past[q.Commit], had)
	case pass.AskClosed:
		to.Closed[pass.ClosedKey(q.Tier, q.Digest)] = &pass.Closed{Outcome: release.ClosedNone}
	case pass.AskRootDir:
		to.Roots[pass.RootDirKey(q.Reconciler, q.Dir, q.Ignores)] = &pass.RootDir{Ignored: map[string]pass.IgnoredBy{}}
		for _, at := range q.Paths {
			to.Roots[pass.RootDirKey(q.Reconciler, q.Dir, q.Ignores)].Ignored[at] = pass.IgnoredByNothing
		}
	default:
		b.Fatalf("asked for %s of %v", q.Kind, q.Paths)
	}
}
