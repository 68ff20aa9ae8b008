package engine_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/simulator"
	"github.com/furrow-dev/furrow/internal/state"
)

// world is a control plane, a GitOps repository, simulated clusters, and
// engines that come and go.
type world struct {
	t         *testing.T
	control   *memory
	gitops    *memory
	forge     forge.Forge
	simulator *simulator.Simulator
	engine    *engine.Engine
	faults    *faults
	now       time.Time
	report    *engine.Report
	guard     int
	// interval lies between passes; zero for passes that are made by hand.
	interval time.Duration
	// settings are those of custom resources; nil where there are none.
	settings *engine.Settings
	// blind reports whether base was moved back, and no pass has seen that yet.
	blind bool
	// harmless is how often clusters may fetch a commit that is later removed from base by
	// force.
	harmless int
	// unamended reports whether nobody changes what is proposed, so base has what plans want.
	unamended bool
	// wrap replaces the mirror of the GitOps repository, where a test wants another.
	wrap func(faultyMirror) engine.Mirror
	// onForge replaces the forge that engines work with, where a test wants another.
	onForge func(forge.Forge) forge.Forge
	// recording guards requests.
	recording sync.Mutex
	// requests are what was proposed last, by branch.
	requests map[string]forge.Request
	// onRoot changes what the channel says of roots, where a test wants another answer.
	onRoot func(*health.Root)
	// onReconciler changes what the channel says of reconciler objects.
	onReconciler func(*health.Reconciler)
	// config changes what engines are made with, where a test wants that.
	config func(*engine.Config)
	// broken are the clusters whose documents are broken.
	broken map[string]bool
	// newForge makes the forge of an engine, where a test wants another than forge.
	newForge func() forge.Forge
	// pulls is the server of pull requests; nil where there is none.
	pulls *pullServer
	// onTime is called before each pass, where a test has another clock besides now.
	onTime func()
	// onStep is one more random step, and onPass is called after each pass with the branches of the
	// proposals that were open before, where a test wants that.
	onStep func(*rand.Rand)
	onPass func(before map[string]bool)
	// history is what happened, for failures.
	history []string
}

// head is a repository as the simulated clusters read it.
type head struct{ repo *memory }

func (h head) Head(ctx context.Context) (string, fs.FS, error) {
	refs, err := h.repo.Fetch(ctx, "main")
	if err != nil {
		return "", nil, err
	}
	tree, err := h.repo.FS(ctx, refs["main"])
	return "main@sha1:" + refs["main"].String(), tree, err
}

// fleet is what newWorld makes clusters of.
type fleet struct {
	workload []string
	chaos    simulator.Chaos
	seed     int64
}

// crdKinds are what the management cluster of every world has.
var mgmtKinds = []manifest.GroupKind{
	{Group: "cluster.x-k8s.io", Kind: "Cluster"}, {Group: "infrastructure.cluster.x-k8s.io", Kind: "FooCluster"},
	{Group: "planter.nephio.org", Kind: "Cluster"}, {Group: "planter.nephio.org", Kind: "WAN"},
	{Group: "planter.nephio.org", Kind: "KernelConfig"}, {Group: "planter.nephio.org", Kind: "MemoryConfig"},
}

func newWorld(t *testing.T, f fleet) *world {
	t.Helper()
	w := &world{t: t, control: newMemory(), gitops: newMemory(), faults: &faults{}, now: time.Unix(1_700_000_000, 0), guard: 100, broken: map[string]bool{}}
	files := map[string]string{
		"gitops-repo.yaml": document("GitOpsRepo", "gitops", "spec: {url: memory}"),
		"clusters/mgmt.yaml": document("Cluster", "mgmt", "spec: {role: Management, provides: {customResourceDefinitions: [clusters.cluster.x-k8s.io, fooclusters.infrastructure.cluster.x-k8s.io, "+
			"clusters.planter.nephio.org, wans.planter.nephio.org, kernelconfigs.planter.nephio.org, memoryconfigs.planter.nephio.org]}}"),
	}
	clusters := []simulator.Cluster{{Name: "mgmt", Role: simulator.RoleManagement, CRDs: mgmtKinds, Root: simulator.Root{Path: "clusters/mgmt", RepoID: "gitops"}}}
	roots := map[string]string{"clusters/mgmt/README.md": "root"}
	for _, name := range f.workload {
		files["clusters/"+name+".yaml"] = clusterDocument(name)
		clusters = append(clusters, simulator.Cluster{Name: name, Role: simulator.RoleWorkload, Root: simulator.Root{Path: "clusters/" + name, RepoID: "gitops"}})
		roots["clusters/"+name+"/README.md"] = "root"
	}
	w.control.put("main", "declare the fleet", files)
	w.gitops.put("main", "bootstrap", roots)
	w.forge = plain.New(w.gitops, "main")
	w.simulator = simulator.New(simulator.Options{Clusters: clusters, Sources: map[string]simulator.Source{"gitops": head{w.gitops}}, IsCreator: catalog.IsCreator, Seed: f.seed, Chaos: f.chaos})
	w.restart()
	return w
}

func document(kind, name, rest string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n%s\n", v1alpha1.APIVersion, kind, name, rest)
}

// clusterDocument declares a workload cluster, with its name as a label.
func clusterDocument(name string) string {
	return strings.Replace(document("Cluster", name, "spec: {}"), "{name: "+name+"}", fmt.Sprintf("{name: %s, labels: {name: %[1]s}}", name), 1)
}

// requestRecorder is a forge that notes what it is to propose.
type requestRecorder struct {
	forge.Forge
	mu       *sync.Mutex
	requests map[string]forge.Request
}

func (f requestRecorder) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	f.mu.Lock()
	f.requests[r.Branch] = r
	f.mu.Unlock()
	return f.Forge.Propose(ctx, r)
}

// restart replaces the engine by a new one that remembers nothing.
func (w *world) restart() {
	if w.requests == nil {
		w.requests = map[string]forge.Request{}
	}
	opened := w.forge
	if w.newForge != nil {
		opened = w.newForge()
	}
	config := engine.Config{
		Owner: "acme/test",
		ControlPlane: func(ctx context.Context) (engine.Tree, error) {
			tree, err := controlPlane(faultyMirror{w.control, w.faults})(ctx)
			tree.Settings = w.settings
			return tree, err
		},
		Open: func(context.Context, string, v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			m := engine.Mirror(faultyMirror{w.gitops, w.faults})
			if w.wrap != nil {
				m = w.wrap(faultyMirror{w.gitops, w.faults})
			}
			var f forge.Forge = faultyForge{opened, w.faults, w.mustBeDue}
			if w.onForge != nil {
				f = w.onForge(f)
			}
			return engine.Repo{Mirror: m, Forge: requestRecorder{f, &w.recording, w.requests}}, nil
		},
		Channel:       faultyChannel{w.simulator.Channel(), w.faults, w.onRoot, w.onReconciler},
		DeletionGuard: w.guard,
		Person:        git.Person{Name: "Furrow", Email: "furrow@example.com"},
		Interval:      w.interval,
		Now:           func() time.Time { w.now = w.now.Add(time.Second); return w.now },
	}
	if w.config != nil {
		w.config(&config)
	}
	w.engine = engine.New(config)
}

// controlPlane reads the control plane from the main branch of a repository.
func controlPlane(m engine.Mirror) func(context.Context) (engine.Tree, error) {
	return func(ctx context.Context) (engine.Tree, error) {
		refs, err := m.Fetch(ctx, "main")
		if err != nil {
			return engine.Tree{}, err
		}
		tree, err := m.FS(ctx, refs["main"])
		return engine.Tree{FS: tree, Revision: "main@sha1:" + refs["main"].String()}, err
	}
}

// mustBeDue holds a proposal that may be merged against the clusters themselves: what its
// tier waits for, and what that waits for in turn, must run there exactly as base has it.
// What only a person may let go must have been confirmed.
func (w *world) mustBeDue(r forge.Request) {
	if r.Shut != "" {
		return
	}
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	p := w.planOf(refs, r.Tiers[0].Tier.Seed)
	leaves := map[bool]bool{}
	for _, m := range r.Tiers {
		t, ok := p.Find(m.Tier.Cluster, m.Tier.Ordinal)
		if !ok {
			continue
		}
		leaves[t.Leaving != nil] = true
		switch {
		case m.Digest != t.Digest() && t.Orphan == nil:
			w.t.Errorf("%s was proposed with other entries than the plan has", m.Tier)
		case p.HeldOn(t.Cluster) && w.onlyMoves(refs, p, t):
		case t.Leaving == nil:
			w.mustRunBefore(m.Tier, refs, p, t, map[layout.Tier]bool{})
		case w.broken[t.Cluster] && w.readControlPlane():
			w.t.Errorf("%s was proposed: something leaves %s, whose document is broken", m.Tier, t.Cluster)
		case len(t.Guarded()) > 0:
			w.mustBeConfirmed(m.Tier, refs, p)
		}
	}
	if len(leaves) > 1 {
		w.t.Errorf("%s plants and removes in one proposal: %v", r.Branch, r.Tiers)
	}
}

// readControlPlane reports whether the pass before has read the control plane as it is now.
func (w *world) readControlPlane() bool {
	refs, _ := w.control.Fetch(context.Background(), "main")
	return w.report != nil && w.report.Revision == "main@sha1:"+refs["main"].String()
}

func (w *world) mustBeConfirmed(proposed layout.Tier, refs git.Refs, p *plan.Plan) {
	marker := layout.ConfirmLeavingBranch("main", p.Seed)
	if p.Removal {
		marker = layout.ConfirmBranch("main", p.Seed)
	}
	if w.asked(refs, marker) != refs[layout.PlanBranch("main", p.Seed)] {
		w.t.Errorf("%s was proposed although nobody confirmed what goes with it", proposed)
	}
}

// asked returns the commit about which a marker asks for something.
func (w *world) asked(refs git.Refs, marker string) git.Hash {
	c, err := w.gitops.Commit(refs[marker])
	if err != nil || len(c.Parents) != 1 || forge.Trailers(c.Message)["Furrow-Request"] != marker {
		return refs[marker]
	}
	return c.Parents[0]
}

// onlyMoves reports whether a tier brings nothing but objects that move: base has all others as the
// plan does, and those that come are on the cluster, protected. Only then need it not wait.
func (w *world) onlyMoves(refs git.Refs, p *plan.Plan, t *plan.Tier) bool {
	base, _ := w.gitops.FS(context.Background(), refs["main"])
	planned, _ := w.gitops.FS(context.Background(), refs[layout.PlanBranch("main", p.Seed)])
	moves := p.MovesOn(t)
	for _, o := range p.Objects(t) {
		want, has := readObject(planned, t.FilePath(o)), readObject(base, t.FilePath(o))
		if i := slices.IndexFunc(moves, func(m plan.Move) bool { return m.Object == o.ID }); i >= 0 {
			if moves[i].Stage == plan.StageMove && has == nil {
				live, there := w.simulator.Object(t.Cluster, o.ID)
				if !there || live.Annotation(plan.Protection) != "disabled" {
					return false
				}
				has = &live
			}
			want, has = bare(want), bare(has)
		}
		if want == nil || has == nil || !cmp.Equal(want.Body, has.Body) {
			return false
		}
	}
	return true
}

// readObject reads the only object of a file, nil where there is none.
func readObject(from fs.FS, file string) *manifest.Object {
	data, err := fs.ReadFile(from, file)
	if err != nil {
		return nil
	}
	objects, err := manifest.Parse(file, data)
	if err != nil || len(objects) != 1 {
		return nil
	}
	return &objects[0]
}

// bare returns an object without the annotation by which it is not pruned.
func bare(o *manifest.Object) *manifest.Object {
	if o == nil {
		return nil
	}
	without := o.WithoutAnnotation(plan.Protection)
	return &without
}

func (w *world) mustRunBefore(proposed layout.Tier, refs git.Refs, p *plan.Plan, t *plan.Tier, seen map[layout.Tier]bool) {
	for _, pre := range t.Prerequisites {
		of := p
		if pre.Seed != "" {
			of = w.planOf(refs, pre.Seed)
		}
		before, ok := of.Find(pre.Cluster, pre.Ordinal)
		if !ok {
			w.t.Errorf("%s was proposed although %s tier %02d is not planned", proposed, pre.Cluster, pre.Ordinal)
			continue
		}
		name := of.Name(before)
		if of.HeldOn(before.Cluster) && !p.HeldOn(t.Cluster) {
			w.t.Errorf("%s was proposed although objects of %s move to other tiers first", proposed, name)
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		if w.unamended {
			w.mustBeMerged(proposed, refs, of, before)
		}
		for _, o := range of.Objects(before) {
			w.mustRun(proposed, refs, before, o)
		}
		w.mustRunBefore(proposed, refs, of, before, seen)
	}
}

// mustBeMerged asserts that base has exactly the entries that a plan has of a tier.
func (w *world) mustBeMerged(proposed layout.Tier, refs git.Refs, of *plan.Plan, before *plan.Tier) {
	have, err := w.gitops.Entries(refs["main"], before.Paths())
	if err != nil {
		w.t.Fatal(err)
	}
	for at, want := range before.Want() {
		if got := have[at].Hash; got != want {
			w.t.Errorf("%s was proposed although base does not have %s as %s wants it", proposed, at, of.Name(before))
		}
	}
}

func (w *world) planOf(refs git.Refs, seed string) *plan.Plan {
	tree, _ := w.gitops.FS(context.Background(), refs[layout.PlanBranch("main", seed)])
	p, err := plan.Decode(tree)
	if err != nil {
		w.t.Fatalf("the plan of %s: %v", seed, err)
	}
	return p
}

func (w *world) mustRun(proposed layout.Tier, refs git.Refs, before *plan.Tier, o plan.Object) {
	tree, _ := w.gitops.FS(context.Background(), refs["main"])
	data, err := fs.ReadFile(tree, before.FilePath(o))
	if err != nil {
		w.t.Errorf("%s was proposed although base does not have %s", proposed, before.FilePath(o))
		return
	}
	want, err := manifest.Parse(o.File, data)
	if err != nil {
		w.t.Fatal(err)
	}
	got, there := w.simulator.Object(before.Cluster, o.ID)
	if !there || !cmp.Equal(want[0].Body, got.Body) {
		w.t.Errorf("%s was proposed early: %s on %s is not what base has", proposed, o.ID, before.Cluster)
	}
}

func (w *world) say(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf(format, args...))
}

// pass makes one pass; an engine that crashes in it is replaced by a new one.
func (w *world) pass() {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(crash); !ok {
				panic(r)
			}
			w.say("the engine crashed at call %d", w.faults.calls)
			w.restart()
		}
	}()
	if w.onTime != nil {
		w.onTime()
	}
	before := map[string]bool{}
	for _, p := range w.open() {
		before[p.Branch] = true
	}
	report, err := w.engine.Pass(context.Background())
	if err != nil {
		w.say("pass: %v", err)
		return
	}
	w.report = report
	if len(report.Problems) == 0 {
		w.blind = false
		w.mustTouchTheirTiers()
	}
	for _, s := range report.Seeds {
		w.mustOfferWhatItNames(s)
	}
	mustGiveReasons(w.t, report)
	if w.onPass != nil {
		w.onPass(before)
	}
}

// mustGiveReasons asserts that every state, problem, warning and gate of a report has a reason of the list, and that none
// is the one of errors without a reason.
func mustGiveReasons(t testing.TB, r *engine.Report) {
	known := map[v1alpha1.Reason]bool{}
	for _, topic := range v1alpha1.ReasonTopics {
		for _, info := range topic.Reasons {
			known[info.Reason] = info.Reason != v1alpha1.ReasonInternal
		}
	}
	must := func(reason v1alpha1.Reason, format string, args ...any) {
		if !known[reason] {
			t.Errorf("%q is the reason of: %s", reason, fmt.Sprintf(format, args...))
		}
	}
	for _, p := range slices.Concat(r.Problems, r.Warnings) {
		must(p.Reason, "%v", p)
	}
	for _, s := range r.Seeds {
		if s.State == state.Stalled {
			must(s.Reason, "seed %s: %s", s.Name, s.Message)
		}
		for _, p := range slices.Concat(s.Problems, s.Warnings) {
			must(p.Reason, "%v", p)
		}
		for _, tier := range s.Tiers {
			must(tier.Reason, "%s tier %d: %s: %s", tier.Cluster, tier.Ordinal, tier.State, tier.Message)
			for _, wait := range tier.Waits {
				must(wait.Reason, "%s tier %d waits for %s: %s", tier.Cluster, tier.Ordinal, wait.Tier, wait.Why)
			}
			if tier.Proposal != nil && tier.Proposal.Gate != "" {
				must(tier.Proposal.GateReason, "%s tier %d: gate: %s", tier.Cluster, tier.Ordinal, tier.Proposal.Gate)
			}
		}
	}
}

// mustOfferWhatItNames: where a message names a command, that command has something to do.
func (w *world) mustOfferWhatItNames(s state.Seed) {
	confirm := strings.Contains(s.Message, "'furrow confirm "+s.Name)
	retriable := slices.ContainsFunc(s.Tiers, func(t state.Tier) bool { return t.Retry })
	for _, t := range s.Tiers {
		if retriable && (t.Reason == v1alpha1.ReasonWaitingForWave || t.Reason == v1alpha1.ReasonWaveFailed) {
			continue // it says of another tier of the seed what is the matter with that
		}
		confirm = confirm || strings.Contains(t.Message, "'furrow confirm "+s.Name)
		if strings.Contains(t.Message, "'furrow retry "+s.Name) && !t.Retry {
			w.t.Errorf("%s tier %d names retry, which does nothing: %s", t.Cluster, t.Ordinal, t.Message)
		}
	}
	if confirm && len(s.Unconfirmed) == 0 {
		w.t.Errorf("seed %s names confirm, which does nothing:\n%s", s.Name, w.describe())
	}
}

func (w *world) tick() {
	if err := w.simulator.Tick(context.Background()); err != nil {
		w.t.Fatalf("tick: %v", err)
	}
}

// open are the proposals that a person could merge.
func (w *world) open() []forge.Proposal {
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	list, err := w.forge.List(context.Background(), refs)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list {
		if r, ok := w.requests[list[i].Branch]; ok { // plain Git has no other text than the commit's
			list[i].Body = r.Body
		}
	}
	return slices.DeleteFunc(list, func(p forge.Proposal) bool { return p.Rejected })
}

// merge accepts a proposal.
func (w *world) merge(p forge.Proposal) {
	w.now = w.now.Add(time.Second)
	err := w.forge.Merge(context.Background(), p, git.Person{Name: "person", Email: "p@example.com", When: w.now})
	if err != nil && !forge.IsConflict(err) && !forge.IsGone(err) {
		w.t.Fatalf("merging %s: %v", p.Branch, err)
	}
	w.say("merged %s", p.Branch)
}

// confirm lets a person confirm every removal that the deletion guard holds.
func (w *world) confirm() {
	if w.report == nil {
		return
	}
	for _, s := range w.report.Seeds {
		if len(s.Unconfirmed) == 0 {
			continue
		}
		held, err := w.person().Confirm(context.Background(), s.Name)
		w.say("confirmed %s: %q, %v", s.Name, held, err)
	}
}

// person is an engine that a person asks: it never fails, and observes no cluster.
func (w *world) person() *engine.Engine {
	return engine.New(engine.Config{
		Owner: "acme/test", ControlPlane: controlPlane(w.control), DeletionGuard: w.guard,
		Open: func(context.Context, string, v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			return engine.Repo{Mirror: w.gitops, Forge: w.forge}, nil
		},
		Now: func() time.Time { return w.now },
	})
}

// converge merges and confirms everything, lets rollouts go on, and lets the clusters work until nothing
// is left to do.
func (w *world) converge(limit int) bool {
	for range limit {
		w.pass()
		w.confirm()
		w.letRolloutsGoOn()
		for _, p := range w.mergeable() {
			w.merge(p)
		}
		w.tick()
		if w.report != nil && !w.report.Changed && len(w.open()) == 0 && w.report.Done() && len(w.report.Seeds) == w.seedsDue() {
			return true
		}
	}
	return false
}

// seedsDue is how many seeds the control plane has.
func (w *world) seedsDue() int {
	refs, _ := w.control.Fetch(context.Background(), "main")
	n := 0
	for p := range w.control.trees[w.control.commits[refs["main"]].Tree] {
		if strings.HasPrefix(p, "seeds/") {
			n++
		}
	}
	return n
}

// check asserts what must hold whatever happened.
func (w *world) check() {
	w.t.Helper()
	mustBeUnharmed(w.t, w.simulator)
	for key, n := range w.mergedTwice() {
		w.t.Errorf("%s was proposed and merged %d times", key, n)
	}
	if w.t.Failed() {
		w.t.Logf("what happened:\n%s\n%s", strings.Join(w.history, "\n"), w.describe())
	}
}

// mustBeUnharmed asserts that no cluster rejected or lost an object.
func mustBeUnharmed(t testing.TB, n *simulator.Simulator) {
	t.Helper()
	for _, r := range n.Rejections() {
		t.Errorf("a cluster rejected an object, so a tier was released early: %s", r)
	}
	for _, l := range n.Losses() {
		t.Errorf("an object was lost: %s", l)
	}
}

// mergedTwice finds tiers whose same entries were merged more than once in a row.
func (w *world) mergedTwice() map[string]int {
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	last := map[layout.Tier]string{}
	twice := map[string]int{}
	var commits []git.CommitInfo
	for c, err := range w.gitops.Log(refs["main"], git.Hash{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		commits = append(commits, c)
	}
	slices.SortStableFunc(commits, func(a, b git.CommitInfo) int { return a.Author.When.Compare(b.Author.When) })
	for _, c := range commits {
		for _, m := range forge.CarriedBy(c.Message).Tiers {
			if last[m.Tier] == m.Digest {
				twice[m.Tier.String()+" "+m.Digest]++
			}
			last[m.Tier] = m.Digest
		}
	}
	return twice
}

// describe is the last report, for failures.
func (w *world) describe() string { return describe(w.report, w.simulator) }

// describe is a report and what the clusters say.
func describe(r *engine.Report, n *simulator.Simulator) string {
	if r == nil {
		return "no report"
	}
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "problem: %s\n", p)
	}
	for _, s := range r.Seeds {
		fmt.Fprintf(&b, "seed %s: %s %s\n", s.Name, s.State, s.Message)
		for _, t := range s.Tiers {
			fmt.Fprintf(&b, "  %s tier %02d: %s: %s\n", t.Cluster, t.Ordinal, t.State, t.Message)
		}
	}
	for _, c := range n.Describe() {
		for _, k := range c.Kustomizations {
			fmt.Fprintf(&b, "  %s: %s ready=%s %s: %s\n", c.Name, k.Name, k.Ready, k.Reason, k.Message)
		}
	}
	return b.String()
}

// planted are the objects on the clusters, but for what roots put there.
func (w *world) planted() map[string]bool { return plantedOn(w.simulator) }

func plantedOn(n *simulator.Simulator) map[string]bool {
	out := map[string]bool{}
	for _, cluster := range n.Clusters() {
		for _, id := range n.Objects(cluster) {
			if id.Group != "kustomize.toolkit.fluxcd.io" {
				out[id.String()+" on "+cluster] = true
			}
		}
	}
	return out
}

// randomSeed writes a seed that may bring a cluster, CRDs, namespaces and what
// lives in them. fleet are the declared workload clusters. dropped leaves out
// that share of what nothing else needs.
func randomSeed(r *rand.Rand, name string, fleet []string, version int, dropped float64) string {
	var docs []string
	add := func(format string, args ...any) { docs = append(docs, fmt.Sprintf(format, args...)) }
	targets := slices.Clone(fleet)
	if len(fleet) == 0 || r.IntN(2) == 0 {
		created := "born-" + name
		targets = append(targets, created)
		add("apiVersion: v1\nkind: Namespace\nmetadata: {name: infra-%s}", name)
		add("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: %s, namespace: infra-%s}\nspec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: FooCluster, name: %s}}", created, name, created)
		add("apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: FooCluster\nmetadata: {name: %s, namespace: infra-%s}", created, name)
	}
	on := func() string {
		n := 1 + r.IntN(len(targets))
		return strings.Join(targets[:n], ",")
	}
	for i := range 1 + r.IntN(3) {
		where := on()
		ns := fmt.Sprintf("%s-%d", name, i)
		add("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s, annotations: {furrow.dev/cluster: %q}}", ns, where)
		kind := fmt.Sprintf("%sKind%d", strings.ToUpper(name[:1])+name[1:], i)
		if r.IntN(2) == 0 {
			group := name + ".example.com"
			add("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: %ss.%s}\nspec: {group: %s, names: {kind: %s, plural: %ss}, scope: Namespaced, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}",
				strings.ToLower(kind), group, group, kind, strings.ToLower(kind))
			for j := range 1 + r.IntN(2) {
				if j == 0 || r.Float64() >= dropped {
					add("apiVersion: %s/v1\nkind: %s\nmetadata: {name: r%d, namespace: %s}\nspec: {version: %d}", group, kind, j, ns, version)
				}
			}
		}
		previous := ""
		for j := range 1 + r.IntN(3) {
			depends := ""
			if previous != "" && r.IntN(2) == 0 {
				depends = fmt.Sprintf(", annotations: {furrow.dev/depends-on: %q}", previous)
			}
			if j > 0 && r.Float64() < dropped {
				continue
			}
			add("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, namespace: %s%s}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'app:%d'}]}}}", j, ns, depends, version)
			previous = fmt.Sprintf("apps/Deployment/%s/d%d", ns, j)
		}
	}
	r.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	return strings.Join(docs, "\n---\n") + "\n"
}

func mustID(t *testing.T, s string) manifest.ID {
	t.Helper()
	id, err := manifest.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
