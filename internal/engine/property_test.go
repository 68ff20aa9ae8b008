package engine_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/simulator"
)

var (
	runs  = flag.Int("runs", 60, "how many random histories to try")
	start = flag.Int64("start", 1, "seed of the first random history")
)

// convergeLimit is how many rounds a world gets to converge. A round is a pass, the merge of all
// open proposals, and a tick.
const convergeLimit = 400

// TestRandomHistories lets random seeds be planted on random fleets while passes,
// merges, rejections, changes of seeds, failures of edges, crashes and base branches that
// are moved back come in random order: no cluster ever rejects anything, nothing is merged
// twice, nothing may be merged before all that it waits for through whatever seeds is
// released, merging a proposal changes nothing but its tier, and in the end all is
// planted. A failure names the history's seed: run it alone
// with -run TestRandomHistories -runs 1 -start SEED.
func TestRandomHistories(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { history(t, seed, nil, alone) })
}

// TestRandomHistoriesInGroups is the same where seeds have their tiers proposed in groups, now
// in these and then in those. Besides, no proposal both plants and removes.
func TestRandomHistoriesInGroups(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { history(t, seed, nil, inGroups) })
}

// eachHistory runs a history for each of the seeds that -runs and -start choose.
func eachHistory(t *testing.T, history func(t *testing.T, seed int64)) {
	n := *runs
	if testing.Short() {
		n = min(n, 15/slower)
	}
	for i := range n {
		seed := *start + int64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			history(t, seed)
		})
	}
}

// history is a random one, of engines that are configured otherwise where config is not nil; more
// is added to the text of a seed, and arrange changes the world before it begins.
func history(t *testing.T, seed int64, config func(*engine.Config), more func(r *rand.Rand, name string) string, arrange ...func(*world)) {
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	f := fleet{seed: seed, chaos: simulator.Chaos{Late: 0.2, Stale: 0.1, Missing: 0.1, Error: 0.05, FetchLag: 3, Reorder: true, Until: 120}}
	for i := range r.IntN(4) {
		f.workload = append(f.workload, fmt.Sprintf("site-%d", i))
	}
	w := newWorld(t, f)
	w.unamended, w.config = true, config
	for _, arrange := range arrange {
		arrange(w)
	}
	w.restart()
	names := []string{"alpha", "beta"}[:1+r.IntN(2)]
	shape := map[string]uint64{}
	for _, name := range names {
		shape[name] = r.Uint64()
		w.control.put("main", "plant "+name, map[string]string{"seeds/" + name + ".yaml": seedText(shape[name], name, f.workload, 1, 0) + more(r, name)})
	}
	w.faults.rate = func() mode {
		if n := r.IntN(60); n < 4 {
			return []mode{failsBefore, failsAfter, crashesBefore, crashesAfter}[n]
		}
		return passes
	}
	change := func() {
		if len(f.workload) > 0 && r.IntN(4) == 0 {
			w.breakOrFix(f.workload[r.IntN(len(f.workload))])
			return
		}
		name := names[r.IntN(len(names))]
		text := seedText(shape[name], name, f.workload, 2+r.IntN(3), 0.5*float64(r.IntN(2))) + more(r, name)
		if r.IntN(4) == 0 {
			text = "" // removed, for a while
		}
		w.say("changed %s, now %d bytes", name, len(text))
		w.control.put("main", "change "+name, map[string]string{"seeds/" + name + ".yaml": text})
	}
	for range 60 {
		w.randomStep(r, change)
	}
	w.faults.rate, w.blind = nil, false
	for cluster, broken := range w.broken {
		if broken {
			w.breakOrFix(cluster)
		}
	}
	w.reopen()
	for _, name := range names {
		w.control.put("main", "plant "+name+" after all", map[string]string{"seeds/" + name + ".yaml": seedText(shape[name], name, f.workload, 9, 0) + more(r, name)})
	}
	if !w.converge(convergeLimit) {
		t.Errorf("it was not planted in the end")
	}
	w.check()
}

// TestRandomHistoriesAcrossSeeds is the same for seeds of ConfigMaps that wait for each other
// across seeds and clusters, and change at random.
func TestRandomHistoriesAcrossSeeds(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { historyAcrossSeeds(t, seed, alone) })
}

// TestRandomHistoriesAcrossSeedsInGroups is the same where each change may group anew.
func TestRandomHistoriesAcrossSeedsInGroups(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { historyAcrossSeeds(t, seed, inGroups) })
}

// alone leaves a seed's tiers in proposals of their own; inGroups has them proposed in some way.
func alone(*rand.Rand, string) string { return "" }

func inGroups(r *rand.Rand, name string) string {
	by := []v1alpha1.GroupBy{v1alpha1.GroupByTier, v1alpha1.GroupByLevel, v1alpha1.GroupByCluster, v1alpha1.GroupBySeed}[r.IntN(4)]
	return "---\n" + document("Seed", name, fmt.Sprintf("spec: {rollout: {groupBy: %s}}", by))
}

func historyAcrossSeeds(t *testing.T, seed int64, more func(r *rand.Rand, name string) string, arrange ...func(*world)) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	// No late answers: one from before base was moved back would be true of base again.
	f := fleet{seed: seed, workload: []string{"east", "west"}, chaos: simulator.Chaos{Missing: 0.1, FetchLag: 2, Reorder: true, Until: 120}}
	w := newWorld(t, f)
	w.unamended, w.harmless = true, 3
	for _, arrange := range arrange {
		arrange(w)
		w.restart()
	}
	all := randomMaps(r, []string{"alpha", "beta", "gamma"}, []string{"mgmt", "east", "west"})
	commit := func() {
		seeds := map[string]string{}
		for _, m := range all {
			seeds["seeds/"+m.seed+".yaml"] += dependent(m.name, m.cluster, m.after, fmt.Sprint(m.version))
		}
		for _, at := range slices.Sorted(maps.Keys(seeds)) {
			seeds[at] += more(r, strings.TrimSuffix(strings.TrimPrefix(at, "seeds/"), ".yaml"))
		}
		w.control.put("main", "change", seeds)
	}
	commit()
	if !w.converge(convergeLimit) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	for range 60 {
		w.randomStep(r, func() {
			for range 1 + r.IntN(3) {
				m := all[r.IntN(len(all))]
				m.version++
				w.say("changed %s of seed %s", m.name, m.seed)
			}
			commit()
		})
	}
	w.blind = false
	w.reopen()
	for _, m := range all {
		m.version = 99
	}
	commit()
	if !w.converge(convergeLimit) {
		t.Errorf("it was not planted in the end")
	}
	w.check()
}

// chained is a ConfigMap of a seed that waits for others, of whatever seed.
type chained struct {
	seed, name, cluster, after string
	version                    int
}

// randomMaps are ConfigMaps; each may wait for some before it.
func randomMaps(r *rand.Rand, seeds, clusters []string) []*chained {
	var out []*chained
	for i := range 6 + r.IntN(4) {
		m := &chained{seed: seeds[i%len(seeds)], name: fmt.Sprintf("c%d", i), cluster: clusters[r.IntN(len(clusters))]}
		if i > 0 && r.IntN(5) > 0 {
			m.after = "core/ConfigMap/default/" + out[r.IntN(len(out))].name
		}
		out = append(out, m)
	}
	return out
}

// seedText is the same seed for the same shape, in a version and with a share of it left out.
func seedText(shape uint64, name string, fleet []string, version int, dropped float64) string {
	return randomSeed(rand.New(rand.NewPCG(shape, 1)), name, fleet, version, dropped)
}

func (w *world) randomStep(r *rand.Rand, change func()) {
	if w.onStep != nil {
		w.onStep(r)
	}
	switch n := r.IntN(23); {
	case n == 22:
		w.confirm()
	case n < 8:
		w.pass()
	case n < 14:
		w.tick()
	case n < 18:
		w.mergeOne(r)
	case n < 19:
		if open := w.open(); len(open) > 0 {
			p := open[r.IntN(len(open))]
			w.say("rejected %s", p.Branch)
			_ = w.forge.Reject(w.t.Context(), p, git.Person{Name: "person", Email: "p@example.com", When: w.now}, "not now") // a lost race is fine
		}
	case n < 21:
		change()
	default:
		w.moveBack(r, change)
	}
}

// breakOrFix breaks the document of a cluster, or corrects it again.
func (w *world) breakOrFix(cluster string) {
	w.broken[cluster] = !w.broken[cluster]
	text := clusterDocument(cluster)
	if w.broken[cluster] {
		text = document("Cluster", cluster, "spec: {") // which no longer names its cluster
	}
	w.say("the document of %s is broken: %v", cluster, w.broken[cluster])
	w.control.put("main", "edit "+cluster, map[string]string{"clusters/" + cluster + ".yaml": text})
}

// mergeOne merges one of the proposals that may be merged.
func (w *world) mergeOne(r *rand.Rand) {
	if open := w.mergeable(); len(open) > 0 {
		w.merge(open[r.IntN(len(open))])
	}
}

// moveBack merges something, lets other things happen, and moves base back to before that by
// force. The clusters fetch it only if that does no harm.
func (w *world) moveBack(r *rand.Rand, change func()) {
	before := w.gitops.refs["main"]
	for range 1 + r.IntN(4) {
		w.mergeOne(r)
		if r.IntN(2) == 0 {
			change()
		}
		w.pass()
		for range w.harmless {
			w.tick()
			w.pass()
		}
	}
	w.gitops.refs["main"] = before
	w.say("base was moved back")
	w.blind = true
	w.pass()
}

// mergeable are the open proposals that people merge: those that the status does not mark as not
// to be merged.
func (w *world) mergeable() []forge.Proposal {
	if w.blind {
		return nil
	}
	shut := w.proposed()
	return slices.DeleteFunc(w.open(), func(p forge.Proposal) bool { return isShut(shut, p) })
}

// reopen cancels every rejection.
func (w *world) reopen() {
	refs, _ := w.gitops.Fetch(w.t.Context(), "main")
	list, err := w.forge.List(w.t.Context(), refs)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range list {
		if p.Rejected {
			if err := w.forge.Reopen(w.t.Context(), p); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// story is a fixed history that goes through planting, an update in which
// something leaves, and the removal of the seed. More is added to the seed's text.
func story(t *testing.T, disturb *faults, more string) *world {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 7})
	w.faults = disturb
	w.restart()
	steps := []struct {
		name string
		text string
	}{
		{"plant", storySeed(1, true) + more},
		{"update", storySeed(2, false) + more},
		{"remove", ""},
	}
	for _, step := range steps {
		w.say("%s", step.name)
		w.control.put("main", step.name, map[string]string{"seeds/edge.yaml": step.text})
		if !w.converge(120) {
			t.Errorf("%s did not come to an end", step.name)
			break
		}
	}
	w.check()
	if left := w.planted(); len(left) > 0 && !t.Failed() {
		t.Errorf("the seed is removed, and the clusters still have %v", left)
	}
	return w
}

func storySeed(version int, extra bool) string {
	text := fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: infra}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge-1, namespace: infra}
spec: {}
---
apiVersion: v1
kind: Namespace
metadata: {name: app}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: app}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'web:%d'}]}}}
`, version)
	if extra {
		text += `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec: {group: example.com, names: {kind: Toy, plural: toys}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
---
apiVersion: example.com/v1
kind: Toy
metadata: {name: bear, namespace: app}
`
	}
	return text
}

// TestEveryEdgeCallMayFail disturbs the N-th edge call of a story, for every N:
// the engine is killed before or after its effect, or the call fails before its
// effect, after it, or twice. The end is the same.
func TestEveryEdgeCallMayFail(t *testing.T) { failAtEveryEdgeCall(t, "", 1) }

// TestEveryEdgeCallMayFailInGroups is the same where tiers are proposed together.
func TestEveryEdgeCallMayFailInGroups(t *testing.T) {
	failAtEveryEdgeCall(t, "---\n"+document("Seed", "edge", "spec: {rollout: {groupBy: Seed}}"), 2)
}

// failAtEveryEdgeCall plays the story of a seed with more in it, in short runs with fewer failures.
func failAtEveryEdgeCall(t *testing.T, more string, sparse int) {
	undisturbed := &faults{}
	want := outcome(story(t, undisturbed, more))
	if t.Failed() {
		t.Fatal("the story does not even work undisturbed")
	}
	t.Logf("%d edge calls", undisturbed.calls)
	step := 1
	if testing.Short() {
		step = 7 * slower * sparse
	}
	modes := map[string]mode{"killed before": crashesBefore, "killed after": crashesAfter, "fails before": failsBefore, "fails after": failsAfter, "fails twice": failsTwice}
	for name, m := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= undisturbed.calls; at += step {
				if got := outcome(story(t, &faults{at: at, mode: m}, more)); t.Failed() || !cmp.Equal(want, got) {
					t.Fatalf("disturbed at call %d:\n%s", at, cmp.Diff(want, got))
				}
			}
		})
	}
}

// outcome is what a story leaves behind: the base branch's files, and the
// branches that there are.
func outcome(w *world) map[string]string {
	out := w.gitops.files()
	for branch := range w.gitops.refs {
		out["branch "+branch] = "there"
	}
	return out
}

// TestNothingChangesNothingIsPushed: a pass in which nothing changed lists each
// repository once and pushes nothing.
func TestNothingChangesNothingIsPushed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 3})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	if !w.converge(120) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.pass()
	pushes := w.gitops.pushes
	w.faults.calls = 0
	for range 3 {
		w.pass()
	}
	if w.gitops.pushes != pushes {
		t.Errorf("%d pushes in passes in which nothing changed", w.gitops.pushes-pushes)
	}
	if n := w.report.Seeds[0].Tiers; len(n) == 0 || w.report.Seeds[0].State != string(release.Released) {
		t.Errorf("state %s of %d tiers", w.report.Seeds[0].State, len(n))
	}
}
