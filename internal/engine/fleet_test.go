package engine_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/simulator"
)

// estate is several GitOps repositories with their simulated clusters, on which
// any number of engines work, of one owner or of several.
type estate struct {
	t         testing.TB
	control   *memory
	repos     map[string]*memory
	forges    map[string]*plain.Forge
	simulator *simulator.Simulator
	now       time.Time
	// still reports whether the clock is stopped, so no status becomes old.
	still bool
	// onPush is called with every push to a GitOps repository and may refuse it.
	onPush func(repo string, updates []git.Update) error
	// onPushed is called after every push to a GitOps repository that succeeded.
	onPushed func(repo string, updates []git.Update)
	reads    reads
	report   *engine.Report
	// guarded reports whether nobody confirms removals but the test itself.
	guarded bool
}

// reads counts what engines read of GitOps repositories.
type reads struct{ paths, commits, diffs int }

// seeds are the texts of seeds, by name; an empty one is removed.
type seeds map[string]string

// newEstate declares GitOps repositories by name, each with its clusters. A cluster
// that another one reconciles is written as cluster@hub, with the hub's repository.
func newEstate(t testing.TB, repos map[string][]string) *estate {
	t.Helper()
	e := &estate{t: t, control: newMemory(), repos: map[string]*memory{}, forges: map[string]*plain.Forge{}, now: time.Unix(1_700_000_000, 0)}
	options := simulator.Options{Sources: map[string]simulator.Source{}, IsCreator: catalog.IsCreator, Seed: 1}
	documents := map[string]string{}
	for _, repo := range slices.Sorted(maps.Keys(repos)) {
		documents["repos/"+repo+".yaml"] = document("GitOpsRepo", repo, "spec: {url: memory-"+repo+"}")
		roots := map[string]string{}
		for _, name := range repos[repo] {
			name, hub, behind := strings.Cut(name, "@")
			if behind {
				documents["clusters/"+name+".yaml"] = document("Cluster", name, "spec: {gitOpsRepo: "+repo+", reconciledBy: "+hub+"}")
				options.Clusters = append(options.Clusters, simulator.Cluster{Name: name, Role: simulator.RoleWorkload, KubeConfig: simulator.KubeConfig{Hub: hub, Namespace: "flux-system"}})
				continue
			}
			documents["clusters/"+name+".yaml"] = document("Cluster", name, "spec: {gitOpsRepo: "+repo+"}")
			options.Clusters = append(options.Clusters, simulator.Cluster{Name: name, Role: simulator.RoleWorkload, Root: simulator.Root{Path: "clusters/" + name, RepoID: repo}})
			roots["clusters/"+name+"/README.md"] = "root"
		}
		e.repos[repo] = newMemory()
		e.repos[repo].put("main", "bootstrap", roots)
		e.forges[repo] = plain.New(e.repos[repo], "main")
		options.Sources[repo] = head{e.repos[repo]}
	}
	e.control.put("main", "declare the fleet", documents)
	e.simulator = simulator.New(options)
	return e
}

// oneSite is a repository "a" with the cluster site-a.
func oneSite() map[string][]string { return map[string][]string{"a": {"site-a"}} }

// twoSites are the repositories "a" and "b" with a cluster each.
func twoSites() map[string][]string {
	return map[string][]string{"a": {"site-a"}, "b": {"site-b"}}
}

// rival is what sets the engines of an estate apart.
type rival struct {
	// owner is acme/prod unless it is said.
	owner string
	// origin is none unless it is said.
	origin string
	// control is the estate's control plane unless it is said.
	control engine.Mirror
	// guard is 100 unless it is said.
	guard int
	// scope has the seeds that resources name; nil where there are none.
	scope []string
	// problem is the name of a Cluster resource that is wrong; empty for none.
	problem string
}

func (e *estate) engine(r rival) *engine.Engine { return e.engineWith(r, func(*engine.Config) {}) }

// engineWith makes an engine with what a test changes about it.
func (e *estate) engineWith(r rival, change func(*engine.Config)) *engine.Engine {
	config := engine.Config{
		Owner: "acme/prod", ControlPlane: controlPlane(e.control), DeletionGuard: 100,
		Open: func(_ context.Context, name string, _ v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			return engine.Repo{Mirror: watchedMirror{e.repos[name], e, name}, Forge: e.forges[name]}, nil
		},
		Channel: e.simulator.Channel(),
		Person:  git.Person{Name: "Furrow", Email: "furrow@example.com"},
		Now: func() time.Time {
			if !e.still {
				e.now = e.now.Add(time.Second)
			}
			return e.now
		},
	}
	if r.owner != "" {
		config.Owner = r.owner
	}
	if r.control != nil {
		config.ControlPlane = controlPlane(r.control)
	}
	if r.origin != "" {
		read := config.ControlPlane
		config.ControlPlane = func(ctx context.Context) (engine.Tree, error) {
			tree, err := read(ctx)
			tree.Origin = r.origin
			return tree, err
		}
	}
	if r.guard != 0 {
		config.DeletionGuard = r.guard
	}
	if r.scope != nil {
		config.ControlPlane = scoped(config.ControlPlane, r)
	}
	change(&config)
	return engine.New(config)
}

// scoped is a control plane in which resources name some seeds.
func scoped(read func(context.Context) (engine.Tree, error), r rival) func(context.Context) (engine.Tree, error) {
	settings := &engine.Settings{Resources: catalog.Resources{Seeds: map[string]v1alpha1.SeedSpec{}}, Scope: map[string]bool{}, Version: strings.Join(r.scope, " ")}
	if r.problem != "" {
		settings.Documents, _ = manifest.Parse("resources", []byte(document("Cluster", r.problem, "spec: {reconciledBy: nowhere}")))
	}
	for _, name := range r.scope {
		settings.Seeds[name], settings.Scope[name] = v1alpha1.SeedSpec{}, true
	}
	return func(ctx context.Context) (engine.Tree, error) {
		tree, err := read(ctx)
		tree.Settings = settings
		return tree, err
	}
}

// watchedMirror shows an estate what an engine does with a repository.
type watchedMirror struct {
	engine.Mirror
	estate *estate
	repo   string
}

func (m watchedMirror) Push(ctx context.Context, updates []git.Update) error {
	if m.estate.onPush != nil {
		if err := m.estate.onPush(m.repo, updates); err != nil {
			return err
		}
	}
	err := m.Mirror.Push(ctx, updates)
	if err == nil && m.estate.onPushed != nil {
		m.estate.onPushed(m.repo, updates)
	}
	return err
}

func (m watchedMirror) Entries(commit git.Hash, paths []string) (map[string]git.Entry, error) {
	m.estate.reads.paths += len(paths)
	return m.Mirror.Entries(commit, paths)
}

func (m watchedMirror) Commit(hash git.Hash) (git.CommitInfo, error) {
	m.estate.reads.commits++
	return m.Mirror.Commit(hash)
}

func (m watchedMirror) Changes(from, to git.Hash) ([]string, error) {
	m.estate.reads.diffs++
	return m.Mirror.Changes(from, to)
}

// plant commits seeds to the estate's control plane.
func (e *estate) plant(texts seeds) { plant(e.control, texts) }

func plant(control *memory, texts seeds) {
	files := map[string]string{}
	for name, text := range texts {
		files["seeds/"+name+".yaml"] = text
	}
	control.put("main", "plant", files)
}

// otherControlPlane has the same fleet as the estate, and seeds of its own.
func (e *estate) otherControlPlane(texts seeds) *memory {
	other := newMemory()
	other.put("main", "declare the fleet", e.control.files())
	plant(other, texts)
	return other
}

// pass lets engines make a pass each, one after the other. What the deletion guard
// holds is confirmed at once, unless the estate is guarded.
func (e *estate) pass(engines ...*engine.Engine) {
	e.t.Helper()
	for _, each := range engines {
		report, err := each.Pass(context.Background())
		if err != nil {
			e.t.Fatal(err)
		}
		e.report = report
		mustGiveReasons(e.t, report)
		if !e.guarded && e.confirm(each) {
			e.pass(each)
		}
	}
}

// rounds makes passes, merges and ticks.
func (e *estate) rounds(n int, engines ...*engine.Engine) {
	e.t.Helper()
	for range n {
		e.pass(engines...)
		e.mergeAll()
		e.tick()
	}
}

// confirm lets a person confirm what an engine's last report says is held, and says
// whether there was any.
func (e *estate) confirm(furrow *engine.Engine) (confirmed bool) {
	e.t.Helper()
	for _, s := range e.report.Seeds {
		if len(s.Unconfirmed) > 0 {
			_, err := furrow.Confirm(context.Background(), s.Name)
			confirmed = confirmed || err == nil // somebody else may have been faster
		}
	}
	return confirmed
}

// converge makes rounds until nothing is left to do, which must be soon.
func (e *estate) converge(engines ...*engine.Engine) {
	e.t.Helper()
	for range 60 {
		idle := true
		for _, each := range engines {
			e.pass(each)
			idle = idle && !e.report.Changed && e.report.Done()
		}
		idle = e.mergeAll() == 0 && idle
		e.tick()
		if idle {
			return
		}
	}
	e.t.Fatalf("it does not come to rest:\n%s", e.describe())
}

func (e *estate) tick() {
	e.t.Helper()
	if err := e.simulator.Tick(context.Background()); err != nil {
		e.t.Fatalf("tick: %v", err)
	}
}

// proposals are the open and the rejected ones of a repository.
func (e *estate) proposals(repo string) []forge.Proposal {
	e.t.Helper()
	refs, _ := e.repos[repo].Fetch(context.Background(), "main")
	list, err := e.forges[repo].List(context.Background(), refs)
	if err != nil {
		e.t.Fatal(err)
	}
	return list
}

func (e *estate) person() git.Person {
	e.now = e.now.Add(time.Second)
	return git.Person{Name: "person", Email: "p@example.com", When: e.now}
}

// mergeAll accepts all proposals that are not rejected, and says how many that were.
func (e *estate) mergeAll() (merged int) {
	e.t.Helper()
	for _, repo := range slices.Sorted(maps.Keys(e.repos)) {
		merged += e.mergeThose(repo, func(p forge.Proposal) bool { return !p.Rejected })
	}
	return merged
}

func (e *estate) mergeThose(repo string, wanted func(forge.Proposal) bool) (merged int) {
	e.t.Helper()
	for _, p := range e.proposals(repo) {
		if !wanted(p) {
			continue
		}
		err := e.forges[repo].Merge(context.Background(), p, e.person())
		if err != nil && !forge.IsConflict(err) && !forge.IsGone(err) {
			e.t.Fatalf("merging %s: %v", p.Branch, err)
		}
		merged++
	}
	return merged
}

// edit changes a file on the branch of a repository's first proposal, as a person.
func (e *estate) edit(repo, file, text string) forge.Proposal {
	e.t.Helper()
	e.repos[repo].put(e.proposals(repo)[0].Branch, "my own change", map[string]string{file: text})
	p := e.proposals(repo)[0]
	if !p.Edited {
		e.t.Fatalf("%s does not count as edited", p.Branch)
	}
	return p
}

// squash puts a proposal on base as a commit that says nothing of Furrow.
func (e *estate) squash(repo string, p forge.Proposal) {
	m := e.repos[repo]
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs["main"] = m.commit(m.commits[p.Head].Tree, []git.Hash{m.refs["main"]}, git.CommitMeta{Author: e.person(), Message: "squashed"})
}

// idlePushes counts the pushes to a repository in some more passes.
func (e *estate) idlePushes(repo string, engines ...*engine.Engine) int {
	e.t.Helper()
	e.still = true
	defer func() { e.still = false }()
	before := e.repos[repo].pushes
	for range 5 {
		e.pass(engines...)
	}
	return e.repos[repo].pushes - before
}

// planBranch is where a repository has a seed's plan; zero when it has none.
func (e *estate) planBranch(repo, seed string) git.Hash {
	return e.repos[repo].refs[layout.PlanBranch("main", seed)]
}

// mustSay asserts what the last report says of a seed, as "State: message".
func (e *estate) mustSay(seed, want string) {
	e.t.Helper()
	s, ok := e.report.Seed(seed)
	if !ok || s.State != want && s.State+": "+string(s.Reason) != want {
		e.t.Errorf("seed %s is not %q:\n%s", seed, want, e.describe())
	}
}

// mustHave asserts how many objects are on the clusters, and that none was harmed.
func (e *estate) mustHave(objects int) {
	e.t.Helper()
	if got := plantedOn(e.simulator); len(got) != objects {
		e.t.Errorf("%d objects are planted, want %d: %v\n%s", len(got), objects, slices.Sorted(maps.Keys(got)), e.describe())
	}
	mustBeUnharmed(e.t, e.simulator)
}

// mustBeForgotten asserts that a seed has left nothing, neither branch nor object.
func (e *estate) mustBeForgotten(seed string) {
	e.t.Helper()
	e.mustHave(0)
	for name, m := range e.repos {
		for ref := range m.refs {
			if strings.Contains(ref, "/"+seed) {
				e.t.Errorf("%s still has branch %s", name, ref)
			}
		}
		for file := range m.files() {
			if strings.Contains(file, "/"+seed+"/") {
				e.t.Errorf("%s still has %s", name, file)
			}
		}
	}
}

// describe is the last report, the clusters and the branches, for failures.
func (e *estate) describe() string {
	var b strings.Builder
	b.WriteString(describe(e.report, e.simulator))
	for _, repo := range slices.Sorted(maps.Keys(e.repos)) {
		for _, ref := range slices.Sorted(maps.Keys(e.repos[repo].refs)) {
			fmt.Fprintf(&b, "  %s: branch %s\n", repo, ref)
		}
	}
	return b.String()
}

// web is a seed of a Namespace and a Deployment in it, on some clusters.
func web(namespace string, version int, on string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, annotations: {furrow.dev/cluster: %[3]q}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s, annotations: {furrow.dev/cluster: %[3]q}}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: 'web:%[2]d'}]}}}
`, namespace, version, on)
}

// configMap is one that waits for other objects where dependsOn names them.
func configMap(namespace, name, dependsOn string) string {
	annotations := ""
	if dependsOn != "" {
		annotations = fmt.Sprintf(", annotations: {furrow.dev/depends-on: %q}", dependsOn)
	}
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s%s}\n", name, namespace, annotations)
}

// definition is the CRD of a cluster-wide kind.
func definition(kind string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.example.com}
spec: {group: example.com, names: {kind: %[1]s, plural: %[2]s}, scope: Cluster, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
`, kind, plural)
}
