package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// planted is a world in which the story's seed is released.
func planted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	if !w.settle(120) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

// state is a tier's, by the last report.
func (w *world) state(tier string) string {
	t := w.tier(tier)
	return string(t.State) + ": " + t.Message
}

// tier is what the last report says of a tier.
func (w *world) tier(tier string) state.Tier {
	w.t.Helper()
	for _, s := range w.report.Seeds {
		for _, t := range s.Tiers {
			name := layout.Tier{Seed: s.Name, Cluster: t.Cluster, Ordinal: t.Ordinal}
			if strings.TrimPrefix(name.String(), s.Name+"/") == tier {
				return t
			}
		}
	}
	w.t.Fatalf("the report has no tier %s:\n%s", tier, w.describe())
	return state.Tier{}
}

// rounds makes passes and ticks without merging anything.
func (w *world) rounds(n int) {
	for range n {
		w.pass()
		w.tick()
	}
}

// TestMishaps is what people do to the repositories, and what they are told.
func TestMishaps(t *testing.T) {
	const webFile = "planted/edge-1/edge/tier-01/deployment.web.yaml"
	tests := map[string]struct {
		mishap func(w *world)
		// seed is what the report says of the seed, tier what it says of edge-1/tier-01.
		seed, tier string
	}{
		"the seed stops parsing": {
			mishap: func(w *world) {
				w.control.put("main", "break", map[string]string{"seeds/edge.yaml": storySeed(2, true) + "\n---\nkind: [\n"})
			},
			seed: "Stalled: seeds/edge.yaml:", tier: "Released",
		},
		"the seed stops parsing for a tab": {
			mishap: func(w *world) { w.control.put("main", "break", map[string]string{"seeds/edge.yaml": "a:\n\tb: c\n"}) },
			seed:   "tab", tier: "Released",
		},
		"a cluster's document breaks": {
			mishap: func(w *world) {
				w.control.put("main", "break", map[string]string{"clusters/site-0.yaml": "kind: Cluster\napiVersion: furrow.dev/v1alpha1\nmetadata: {name: [}\n"})
			},
			seed: "Released", tier: "Released",
		},
		"the Namespace of the Deployment is removed from the seed": {
			mishap: func(w *world) {
				w.control.put("main", "break", map[string]string{"seeds/edge.yaml": strings.Replace(storySeed(1, true), "kind: Namespace\nmetadata: {name: app}", "kind: Namespace\nmetadata: {name: other}", 1)})
			},
			seed: "leaves the seed while", tier: "Released",
		},
		"somebody changes a file of ours on base": {
			mishap: func(w *world) { w.gitops.put("main", "edit", map[string]string{webFile: "kind: Nothing\n"}) },
			seed:   "Held", tier: "Held: planted/edge-1/edge/tier-01 on branch main of gitops holds what Furrow did not put there: planted/edge-1/edge/tier-01/deployment.web.yaml. Remove it from the base branch, make the seed say the same, or run 'furrow retry edge'",
		},
		"somebody adds a file to a directory of ours": {
			mishap: func(w *world) {
				w.gitops.put("main", "add", map[string]string{"planted/edge-1/edge/tier-01/more.yaml": "kind: Nothing\n"})
			},
			seed: "Held", tier: "Held",
		},
		"somebody reverts a merge": {
			mishap: func(w *world) {
				files := map[string]string{"clusters/mgmt/furrow/edge/edge-1/tier-01.yaml": ""}
				for _, f := range []string{"deployment.web.yaml", "toy.bear.yaml"} {
					files["planted/edge-1/edge/tier-01/"+f] = ""
				}
				w.gitops.put("main", "revert", files)
			},
			seed: "Reverted", tier: "Reverted: it was merged, and the base branch no longer has it",
		},
		"base is moved back to before a merge": {
			mishap: func(w *world) {
				w.gitops.mu.Lock()
				defer w.gitops.mu.Unlock()
				w.gitops.refs["main"] = w.gitops.commits[w.gitops.refs["main"]].Parents[0]
			},
			seed: "Proposed", tier: "Proposed",
		},
		"the plan branch is deleted": {
			mishap: func(w *world) { w.deleteBranch(layout.PlanBranch("main", "edge")) },
			seed:   "Released", tier: "Released",
		},
		"the status branch is deleted": {
			mishap: func(w *world) { w.deleteBranch(layout.StatusBranch("main", "acme/test")) },
			seed:   "Released", tier: "Released",
		},
		"the plan branch holds something else": {
			mishap: func(w *world) {
				w.gitops.put(layout.PlanBranch("main", "edge"), "junk", map[string]string{"plan.yaml": "kind: Junk\n"})
			},
			seed: "holds no plan that can be read",
		},
		"a root lists its files itself": {
			mishap: func(w *world) {
				w.gitops.put("main", "list", map[string]string{"clusters/site-0/kustomization.yaml": "resources: []\n"})
				w.control.put("main", "plant more", map[string]string{"seeds/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default, annotations: {furrow.dev/cluster: site-0}}\n"})
			},
			seed: "Released", tier: "Released",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			tc.mishap(w)
			w.rounds(12)
			seed, ok := w.report.Seed("edge")
			if !ok || !strings.Contains(seed.State+": "+seed.Message, tc.seed) {
				t.Errorf("the seed is not %q:\n%s", tc.seed, w.describe())
			}
			if tc.tier != "" && !strings.HasPrefix(w.state("edge-1/tier-01"), tc.tier) {
				t.Errorf("the tier is %q, want %q", w.state("edge-1/tier-01"), tc.tier)
			}
			for _, r := range w.simulator.Rejections() {
				if !strings.Contains(name, "somebody") && !strings.Contains(name, "root") {
					t.Errorf("rejected: %s", r)
				}
			}
		})
	}
}

func (w *world) deleteBranch(name string) {
	w.gitops.mu.Lock()
	defer w.gitops.mu.Unlock()
	delete(w.gitops.refs, name)
}

func TestAnEmptiedControlPlaneRemovesNothing(t *testing.T) {
	w := planted(t)
	before := w.planted()
	w.control.put("main", "empty", map[string]string{
		"seeds/edge.yaml": "", "clusters/mgmt.yaml": "", "clusters/site-0.yaml": "", "gitops-repo.yaml": "", "README.md": "empty",
	})
	w.rounds(12)
	if after := w.planted(); len(after) != len(before) || len(w.open()) != 0 {
		t.Errorf("%d objects are left of %d, %d proposals are open", len(after), len(before), len(w.open()))
	}
}

func TestAPassOnAnEmptiedControlPlaneIsReplayed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}})
	replay := &replayer{t: t, r: rand.New(rand.NewPCG(1, 3))}
	w.config = func(c *engine.Config) { c.Record = replay.record }
	w.restart()
	w.control.put("main", "plant web", map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"})
	w.pass()
	w.control.put("main", "empty", map[string]string{"seeds/web.yaml": "", "clusters/mgmt.yaml": "", "clusters/site-0.yaml": "", "gitops-repo.yaml": "", "README.md": "empty"})
	w.pass()
	if replay.passes != 2 {
		t.Errorf("%d passes were decided again, instead of 2", replay.passes)
	}
}

func TestABaseBranchThatIsNotThereIsNamed(t *testing.T) {
	w := newWorld(t, fleet{seed: 1})
	w.deleteBranch("main")
	w.pass()
	if p := w.report.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonBranchNotFound || p[0].Repo != "gitops" {
		t.Errorf("the problems are %v", p)
	}
}

func TestRetryProposesAgain(t *testing.T) {
	w := planted(t)
	w.gitops.put("main", "edit", map[string]string{"planted/edge-1/edge/tier-01/more.yaml": "kind: Nothing\n"})
	w.rounds(3)
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	w.rounds(3)
	if got := w.state("edge-1/tier-01"); !strings.HasPrefix(got, string(release.Proposed)) {
		t.Errorf("the tier is %s", got)
	}
	if !w.settle(60) {
		t.Errorf("it does not come to rest:\n%s", w.describe())
	}
}

// down is a repository whose server does not answer.
type down struct{ engine.Mirror }

func (down) Fetch(context.Context, string) (git.Refs, error) {
	return nil, &forge.Error{Op: "fetch", Repository: "memory", Kind: forge.FailedNetwork, Text: "connection refused"}
}

func TestWhatIsAskedForWhileAServerIsAwayIsNoMistake(t *testing.T) {
	w := planted(t)
	w.wrap = func(m faultyMirror) engine.Mirror { return down{m} }
	for name, ask := range map[string]func(e *engine.Engine) error{
		"retry":   func(e *engine.Engine) error { return e.Retry(t.Context(), "edge") },
		"confirm": func(e *engine.Engine) error { _, err := e.Confirm(t.Context(), "edge"); return err },
		"abandon": func(e *engine.Engine) error { return e.Abandon(t.Context(), "edge-1") },
	} {
		w.restart()
		if err := ask(w.engine); !git.IsNetwork(err) {
			t.Errorf("%s: got %v, which does not tell that it may be tried again", name, err)
		}
	}
}

func TestARejectedProposalStaysRejectedUntilRetry(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(2)
	p := w.open()[0]
	if err := w.forge.Reject(t.Context(), p, git.Person{Name: "p", Email: "p@example.com", When: w.now}, "not before Monday"); err != nil {
		t.Fatal(err)
	}
	w.rounds(5)
	if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, "Rejected: a person rejected it: not before Monday") {
		t.Errorf("the tier is %s", got)
	}
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, "Proposed") {
		t.Errorf("the tier is %s", got)
	}
	if !w.settle(120) {
		t.Errorf("not planted:\n%s", w.describe())
	}
}

func TestAnEditedProposalIsLeftAlone(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(2)
	branch := w.open()[0].Branch
	w.gitops.put(branch, "my own change", map[string]string{"planted/mgmt/edge/tier-00/namespace.infra.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  labels:\n    mine: \"yes\"\n  name: infra\n"})
	edited := w.gitops.refs[branch]
	w.control.put("main", "change", map[string]string{"seeds/edge.yaml": strings.Replace(storySeed(1, true), "metadata: {name: infra}", "metadata: {name: infra, labels: {new: one}}", 1)})
	w.rounds(5)
	if w.gitops.refs[branch] != edited {
		t.Error("the person's branch was overwritten")
	}
	if got := w.tier("mgmt/tier-00"); got.Reason != v1alpha1.ReasonEditedAndUnmergeable {
		t.Errorf("the tier is %+v", got)
	}
}

func TestAnUpdateThatBreaksATierKeepsTheNextOneBack(t *testing.T) {
	w := planted(t)
	id := "apps/Deployment/app/web"
	seed := storySeed(1, true) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, namespace: app, annotations: {furrow.dev/depends-on: " + id + "}}\n"
	w.control.put("main", "more", map[string]string{"seeds/edge.yaml": seed})
	if !w.settle(120) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.simulator.Break("edge-1", mustID(t, id), "image cannot be pulled")
	w.control.put("main", "break", map[string]string{"seeds/edge.yaml": strings.NewReplacer("web:1", "web:2", "{name: after,", "{name: after, labels: {v: two},").Replace(seed)})
	for range 60 {
		w.pass()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
	}
	if got := w.state("edge-1/tier-02"); !strings.HasPrefix(got, "Blocked") {
		t.Errorf("the next tier is %s\n%s", got, w.describe())
	}
	w.simulator.Heal("edge-1", mustID(t, id))
	if !w.settle(120) {
		t.Errorf("not healed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardHoldsUntilConfirmed(t *testing.T) {
	w := newGuarded(t, []string{"site-0", "site-1", "site-2"}, "all")
	w.control.put("main", "remove", map[string]string{"seeds/all.yaml": ""})
	w.rounds(5)
	if s, _ := w.report.Seed("all"); s == nil || s.State != state.Stalled || !strings.Contains(s.Message, "blocked by the deletion guard: 3 of 3 plantings would be removed at once (more than 20 %). Run 'furrow confirm all'") {
		t.Fatalf("not held:\n%s", w.describe())
	}
	if len(w.open()) != 0 {
		t.Fatal("removals were proposed")
	}
	if _, err := w.engine.Confirm(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	if !w.settle(60) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardCountsWhatGoesOneByOne(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	w := newGuarded(t, []string{"site-0"}, names...)
	mustHold := func(name, counts string) {
		t.Helper()
		if s, _ := w.report.Seed(name); s == nil || s.State != state.Stalled || !strings.Contains(s.Message, counts+" plantings would be removed at once") {
			t.Fatalf("seed %s is not held:\n%s", name, w.describe())
		}
	}
	for i, name := range names {
		w.control.put("main", "remove", map[string]string{"seeds/" + name + ".yaml": ""})
		w.rounds(3)
		if open := len(w.open()); open != min(i+1, 2) {
			t.Fatalf("%d removals are proposed after %d seeds were removed one by one", open, i+1)
		}
	}
	mustHold("c", "4 of 4")
	mustHold("d", "4 of 4")
	if _, err := w.engine.Confirm(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.rounds(3)
	mustHold("d", "3 of 4")
	if _, err := w.engine.Confirm(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	w.rounds(3)
	if open := len(w.open()); open != 4 {
		t.Fatalf("%d removals are proposed, want all: two are confirmed, and two are not too many\n%s", open, w.describe())
	}
	if !w.settle(60) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardDoesNotCountWhatWasTurnedDown(t *testing.T) {
	w := newGuarded(t, []string{"site-0"}, "a", "b", "c")
	for _, name := range []string{"a", "b"} {
		w.control.put("main", "remove", map[string]string{"seeds/" + name + ".yaml": ""})
		w.rounds(2)
	}
	for _, p := range w.open() {
		if err := w.forge.Reject(t.Context(), p, git.Person{Name: "Ann", Email: "ann@example.com", When: w.now}, "it stays"); err != nil {
			t.Fatal(err)
		}
	}
	w.rounds(2)
	w.control.put("main", "remove", map[string]string{"seeds/c.yaml": ""})
	w.rounds(2)
	if s, _ := w.report.Seed("c"); s == nil || s.State != string(release.Proposed) {
		t.Errorf("the removal of c is not proposed:\n%s", w.describe())
	}
}

func TestThereIsNothingToConfirmWhereNothingWaits(t *testing.T) {
	w := newGuarded(t, []string{"site-0", "site-1", "site-2"}, "all")
	if _, err := w.engine.Confirm(t.Context(), "all"); err == nil || !strings.Contains(err.Error(), `there is nothing to confirm for seed "all"`) {
		t.Fatal(err)
	}
	w.rounds(2)
	w.control.put("main", "remove", map[string]string{"seeds/all.yaml": ""})
	w.rounds(2)
	if s, _ := w.report.Seed("all"); s == nil || s.State != state.Stalled {
		t.Errorf("its removal is not held:\n%s", w.describe())
	}
}

// TestConfirmFailsWhileTheControlPlaneCannotBeRead: a seed that is gone looks as if it were
// still there then, and what a person confirms must not be taken for done.
func TestConfirmFailsWhileTheControlPlaneCannotBeRead(t *testing.T) {
	w := newGuarded(t, []string{"site-0", "site-1", "site-2"}, "all")
	var away error
	w.config = func(c *engine.Config) {
		read := c.ControlPlane
		c.ControlPlane = func(ctx context.Context) (engine.Tree, error) {
			if away != nil {
				return engine.Tree{}, away
			}
			return read(ctx)
		}
	}
	w.restart()
	w.control.put("main", "remove", map[string]string{"seeds/all.yaml": ""})
	w.rounds(2)
	if s, _ := w.report.Seed("all"); s == nil || len(s.Unconfirmed) == 0 {
		t.Fatalf("its removal is not held:\n%s", w.describe())
	}
	away = &forge.Error{Op: "fetch", Repository: "memory", Kind: forge.FailedNetwork, Text: "connection refused"}
	if _, err := w.engine.Confirm(t.Context(), "all"); !git.IsNetwork(err) || !strings.Contains(err.Error(), "the control-plane repository cannot be read") {
		t.Errorf("confirming while the control plane cannot be read: got %v, want an error of the network that names it", err)
	}
	away = nil
	if held, err := w.engine.Confirm(t.Context(), "all"); err != nil || len(held) == 0 {
		t.Errorf("confirming once it can be read: got %q, %v", held, err)
	}
	if !w.settle(60) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

// newGuarded is a world in which seeds of one object each are planted on all sites, and
// the deletion guard lets a fifth of them go.
func newGuarded(t *testing.T, sites []string, names ...string) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: sites, seed: 5})
	w.guard = 20
	w.restart()
	for _, name := range names {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\n", name)
		w.control.put("main", "plant", map[string]string{"seeds/" + name + ".yaml": text})
	}
	if !w.settle(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

// TestPlanterHelloWorld plants Planter's own example unchanged.
func TestPlanterHelloWorld(t *testing.T) {
	for _, file := range []string{"seed.yaml", "after-network-plugin.yaml", "planted.yaml"} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "cases", "planter", "hello-world", file))
			if err != nil {
				t.Skipf("SKIPPED: no example of Planter: %v", err)
			}
			w := newWorld(t, fleet{seed: 5})
			w.control.put("main", "plant", map[string]string{"seeds/hello-world.yaml": string(data)})
			done := w.settle(120)
			if file == "seed.yaml" {
				// Without its plugin the example lacks the CRD of Network, and a strict
				// cluster says so.
				if done || len(w.simulator.Rejections()) == 0 {
					t.Error("Network was accepted without its CRD")
				}
				return
			}
			if !done {
				t.Fatalf("not planted:\n%s", w.describe())
			}
			w.check()
			if got := len(w.planted()); got != 15 {
				t.Errorf("%d objects are planted, want 15", got)
			}
		})
	}
}

func TestAProposalThatIsBehindIsBroughtUpToDateWhereThatIsThePolicy(t *testing.T) {
	for policy, follows := range map[string]bool{"WhenStale": false, "WhenBehind": true} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			w.control.put("main", "plant", map[string]string{
				"seeds/edge.yaml":  storySeed(1, true),
				"gitops-repo.yaml": document("GitOpsRepo", "gitops", "spec: {url: memory, update: "+policy+"}"),
			})
			w.rounds(3)
			if len(w.open()) == 0 {
				t.Fatalf("nothing is proposed:\n%s", w.describe())
			}
			before := w.open()
			w.gitops.put("main", "work elsewhere", map[string]string{"notes.md": "1\n"})
			w.rounds(3)
			refs, _ := w.gitops.Fetch(t.Context(), "main")
			for i, p := range w.open() {
				if upToDate := p.Base == refs["main"]; upToDate != follows || p.Wants != before[i].Wants {
					t.Errorf("%s is on base: %t, want %t; Wants %s, were %s", p.Branch, upToDate, follows, p.Wants, before[i].Wants)
				}
			}
		})
	}
}

func TestATierWaitsForARootThatIsFit(t *testing.T) {
	tests := map[string]struct {
		root func(*health.Root)
		want string
	}{
		"not known":               {func(r *health.Root) { *r = health.Root{Message: "connection refused"} }, "Queued: whether a root on cluster mgmt syncs the directory clusters/mgmt is not known yet: connection refused"},
		"missing":                 {func(r *health.Root) { *r = health.Root{Known: true} }, "Held: no Flux Kustomization on cluster mgmt syncs the directory clusters/mgmt. Set the root up"},
		"not fit":                 {func(r *health.Root) { r.Prune = false }, "Held: the root flux-system/flux-system on cluster mgmt has spec.prune: false"},
		"it leaves our files out": {func(r *health.Root) { r.Ignore = "/*\n!/clusters\n" }, "Held: spec.ignore of the GitRepository flux-system/flux-system on cluster mgmt keeps Flux from reading planted/mgmt/edge/tier-00/namespace.infra.yaml"},
		"other repo":              {func(r *health.Root) { r.URL, r.Branch = "https://git.example.com/acme/other", "main" }, "Held: the GitRepository flux-system/flux-system on cluster mgmt reads https://git.example.com/acme/other, and proposals go to memory"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			disturb := tc.root
			w.onRoot = func(r *health.Root) { disturb(r) }
			w.restart()
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			w.rounds(4)
			if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, tc.want) || len(w.open()) != 0 {
				t.Errorf("the tier is %q, want %q; %d proposals are open", got, tc.want, len(w.open()))
			}
			disturb = func(*health.Root) {}
			if !w.settle(60) {
				t.Errorf("the root is fit, and the seed is not planted:\n%s", w.describe())
			}
			w.check()
		})
	}
}

func TestARootThatIsStuckHoldsWhatIsNewAndNoUpdateThatMayMendIt(t *testing.T) {
	w := planted(t)
	w.onRoot = func(r *health.Root) { r.Ready, r.Reason, r.Message = "False", "BuildFailed", "yaml: line 2" }
	w.restart()
	w.control.put("main", "update", map[string]string{"seeds/edge.yaml": storySeed(2, true), "seeds/more.yaml": web("more", 1, "site-0")})
	w.rounds(2)
	if got := w.state("edge-1/tier-01"); !strings.HasPrefix(got, "Proposed: ") {
		t.Errorf("the update is %q", got)
	}
	if got := w.state("site-0/tier-00"); !strings.HasPrefix(got, "Held: the root flux-system/flux-system on cluster site-0 takes up no change: BuildFailed: yaml: line 2") {
		t.Errorf("what is new is %q", got)
	}
}

func TestOneBadFileOfOthersUnderARootHoldsWhatComesNew(t *testing.T) {
	tests := map[string]struct{ file, text, want string }{
		"broken YAML": {"clusters/mgmt/theirs/broken.yaml", "a: [\n", "theirs/broken.yaml:"},
		"no object":   {"clusters/mgmt/values.yaml", "replicas: 3\n", "clusters/mgmt/values.yaml:1"},
		"lists files": {"clusters/mgmt/kustomization.yaml", "resources: []\n", "clusters/mgmt/kustomization.yaml"},
		"takes our name": {"clusters/mgmt/ours.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
			"metadata: {name: edge.mgmt.00, namespace: flux-system}\n" +
			"spec: {suspend: true, interval: 1m, prune: true, path: ./clusters, sourceRef: {kind: GitRepository, name: flux-system}}\n", "clusters/mgmt/ours.yaml:1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			w.gitops.put("main", "add", map[string]string{tc.file: tc.text})
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			w.rounds(4)
			if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, "Held: branch main of gitops: clusters/mgmt/") || !strings.Contains(got, tc.want) || len(w.open()) != 0 {
				t.Errorf("the tier is %q, want %q named; %d proposals are open", got, tc.want, len(w.open()))
			}
			w.gitops.put("main", "repair", map[string]string{tc.file: ""})
			if !w.settle(60) {
				t.Errorf("it is repaired, and the seed is not planted:\n%s", w.describe())
			}
			w.check()
		})
	}
}

func TestATierOfWhichFluxWouldNotReadAllIsNotProposed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.gitops.put("main", "ignore", map[string]string{".sourceignore": "*.md\nnamespace.*\n"})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(4)
	if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, "Held: .sourceignore on branch main of gitops keeps Flux from reading planted/mgmt/edge/tier-00/namespace.infra.yaml.") {
		t.Errorf("the tier is %q", got)
	}
	w.gitops.put("main", "read more", map[string]string{".sourceignore": "*.md\nnamespace.*\n!/planted/**\n"})
	if !w.settle(60) {
		t.Errorf("Flux reads all files of the tiers, and the seed is not planted:\n%s", w.describe())
	}
	w.check()
}

func TestAFileThatFluxDoesNotReadIsNotHeldAgainstTheRoot(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.onRoot = func(r *health.Root) { r.Ready, r.Ignore = "True", "values.yaml\n" }
	w.restart()
	w.gitops.put("main", "add values", map[string]string{"clusters/mgmt/values.yaml": "replicas: 3\n"})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(4)
	w.mustBe("mgmt/tier-00", "Proposed")
}

// mute is a forge that opens no proposals, as where the token lacks a scope or pull
// requests are switched off.
type mute struct {
	forge.Forge
	asked *int
	kind  forge.Kind
}

func (f mute) Propose(context.Context, forge.Request) (forge.Proposal, error) {
	*f.asked++
	return forge.Proposal{}, &forge.Error{Op: "open a pull request", Repository: "memory", Kind: f.kind, Text: "it opens nothing"}
}

// List has no proposal of a branch of which no pull request was opened.
func (f mute) List(context.Context, git.Refs) ([]forge.Proposal, error) { return nil, nil }

func TestAForgeThatOpensNothingIsNotStormed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	asked, changed := 0, 0
	w.onForge = func(f forge.Forge) forge.Forge { return mute{f, &asked, forge.FailedAuth} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	for range 10 {
		w.pass()
		if w.report.Changed {
			changed++
		}
	}
	if changed > 1 || asked != 10 {
		t.Errorf("of 10 passes %d changed something and want the next one at once; it was asked %d times", changed, asked)
	}
}

func TestATierIsHeldByAForgeThatAPersonHasToMend(t *testing.T) {
	for kind, want := range map[forge.Kind]string{
		forge.FailedAuth: "Held: proposing ", forge.FailedTrust: "Held: proposing ", forge.FailedNetwork: "Queued: proposing ",
	} {
		w, asked := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5}), 0
		w.onForge = func(f forge.Forge) forge.Forge { return mute{f, &asked, kind} }
		w.restart()
		w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
		w.pass()
		if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, want) || !strings.Contains(got, "it opens nothing") {
			t.Errorf("%s: the tier is %q, want %q", kind, got, want)
		}
		stalled := slices.ContainsFunc(w.report.Seeds, func(s state.Seed) bool { return s.State == state.Stalled })
		if stalled != (kind == forge.FailedTrust) || len(w.report.Problems) > 0 != (kind != forge.FailedAuth) {
			t.Errorf("%s: the seed is stalled: %t; the problems are %q", kind, stalled, w.report.Problems)
		}
	}
}

func TestForeignContentBesideAnOpenProposalIsNotProposedAway(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(2)
	const theirs = "planted/mgmt/edge/tier-00/theirs.yaml"
	w.gitops.put("main", "a person's", map[string]string{theirs: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default}\n"})
	w.rounds(3)
	if got := w.state("mgmt/tier-00"); !strings.HasPrefix(got, "Held: planted/mgmt/edge/tier-00") {
		t.Errorf("the tier is %q", got)
	}
	for _, p := range w.open() {
		w.merge(p)
	}
	w.file("main", theirs)
}

// tired is a forge whose server asks to wait.
type tired struct {
	forge.Forge
	wait  *time.Duration
	asked *int
}

func (f tired) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	*f.asked++
	if *f.wait > 0 {
		return nil, &forge.Error{Op: "list open pull requests", Repository: "memory", Kind: forge.FailedNetwork, Text: "the server asks to wait", Wait: *f.wait}
	}
	return f.Forge.List(ctx, refs)
}

func TestAServerThatAsksToWaitIsLeftAlone(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	wait, asked := 2*time.Minute, 0
	w.onForge = func(f forge.Forge) forge.Forge { return tired{f, &wait, &asked} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	for range 10 {
		w.pass()
		if len(w.report.Problems) != 1 || w.report.Problems[0].Reason != v1alpha1.ReasonRepositoryUnavailable {
			t.Fatalf("the problems are %q", w.report.Problems)
		}
	}
	if asked != 1 {
		t.Errorf("it was asked %d times in two minutes", asked)
	}
	wait = 0
	w.now = w.now.Add(2 * time.Minute)
	if !w.settle(60) {
		t.Errorf("the server answers, and the seed is not planted:\n%s", w.describe())
	}
}

// TestARemovalDoesNotWaitForAClusterThatIsNotThere removes a seed before its
// cluster came, which would have had a reconciler of its own: nobody can be asked there.
func TestARemovalDoesNotWaitForAClusterThatIsNotThere(t *testing.T) {
	w := newWorld(t, fleet{seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true) + "---\n" + document("Cluster", "edge-1", "spec: {reconciledBy: edge-1}")})
	w.rounds(8)
	open := w.open()
	if len(open) != 1 {
		t.Fatalf("%d proposals are open:\n%s", len(open), w.describe())
	}
	w.merge(open[0])
	w.rounds(8)
	w.control.put("main", "remove", map[string]string{"seeds/edge.yaml": ""})
	if !w.settle(120) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

// Flux writes the revision that it applied in several forms; only what names a commit of
// the repository can be compared.
func TestFormsOfRevisions(t *testing.T) {
	w := planted(t)
	refs, err := w.gitops.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	head := refs["main"].String()
	tests := map[string]struct{ revision, want string }{
		"of a branch":                    {"main@sha1:" + head, "Released"},
		"of a reference":                 {"refs/heads/main@sha1:" + head, "Released"},
		"of a tag":                       {"v1.2.3@sha1:" + head, "Released"},
		"in the old form":                {"main/" + head, "Merged (RevisionUnknown)"},
		"without a branch":               {"sha1:" + head, "Merged (RevisionUnknown)"},
		"plain":                          {head, "Merged (RevisionUnknown)"},
		"cut":                            {"main@sha1:" + head[:7], "Merged (RevisionUnknown)"},
		"of another length":              {"main@sha256:" + head + head[:24], "Merged (RevisionUnknown)"},
		"a branch alone":                 {"main", "Merged (RevisionUnknown)"},
		"none":                           {"", "Merged (RevisionUnknown)"},
		"of a commit that nobody has":    {"main@sha1:" + strings.Repeat("a", 40), "Merged (RevisionUnknown)"},
		"of a commit from before it was": {"main@sha1:" + w.first().String(), "Merged (RevisionBehind)"},
	}
	for sentence, tc := range tests {
		t.Run(sentence, func(t *testing.T) {
			w.t = t
			w.onReconciler = func(r *health.Reconciler) { r.Revision, r.AttemptedRevision = tc.revision, tc.revision }
			w.restart()
			w.rounds(1)
			w.mustBe("edge-1/tier-01", tc.want)
		})
	}
}

// first is the oldest commit of the base branch of the GitOps repository.
func (w *world) first() (first git.Hash) {
	w.t.Helper()
	refs, err := w.gitops.Fetch(w.t.Context(), "main")
	if err != nil {
		w.t.Fatal(err)
	}
	for commit, err := range w.gitops.Log(refs["main"], git.Hash{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		first = commit.Hash
	}
	return first
}

// Flux leaves what it applied when a suspended Kustomization is deleted.
func TestASuspendedTierIsNotRemovedBeforeItIsResumed(t *testing.T) {
	w := planted(t)
	suspend := func(suspended bool) {
		t.Helper()
		if err := w.simulator.Suspend("mgmt", "infra", "edge.edge-1.01", suspended); err != nil {
			t.Fatal(err)
		}
	}
	suspend(true)
	w.remove()
	w.mergingRounds(8)
	w.mustBe("edge-1/tier-01", "Held (ReconcilerSuspended)")
	w.mustBe("edge-1/tier-00", "Blocked")

	suspend(false)
	w.rounds(3)
	w.mustBe("edge-1/tier-01", "Proposed (RemovalOpen)")
	suspend(true)
	w.rounds(3)
	w.mustBe("edge-1/tier-01", "Proposed (ReconcilerSuspended)")

	suspend(false)
	w.rounds(3)
	w.mustBeRemoved()
}

// overtaken is a forge at which a person is faster once, with each question in gone.
type overtaken struct {
	forge.Forge
	gone map[string]bool
}

func (f overtaken) by(question string) error {
	if !f.gone[question] {
		return nil
	}
	delete(f.gone, question)
	return forge.ErrGone
}

func (f overtaken) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	if err := f.by("list"); err != nil {
		return nil, err
	}
	return f.Forge.List(ctx, refs)
}

func (f overtaken) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, wants string) (forge.Closed, error) {
	if err := f.by("closed"); err != nil {
		return forge.Closed{}, err
	}
	return f.Forge.Closed(ctx, refs, tier, wants)
}

func (f overtaken) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	if err := f.by("propose"); err != nil {
		return forge.Proposal{}, err
	}
	return f.Forge.Propose(ctx, r)
}

func TestWhatAPersonDecidesBeforeItIsProposedIsSeenInTheNextPass(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	gone := map[string]bool{"propose": true}
	w.onForge = func(f forge.Forge) forge.Forge { return overtaken{f, gone} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.pass()
	if got := w.state("mgmt/tier-00"); len(gone) > 0 || !w.report.Raced || strings.HasPrefix(got, "Held") {
		t.Errorf("never asked: %v, raced: %t, and the tier is %q", gone, w.report.Raced, got)
	}
}

func TestWhatAPersonChangesWhileAPassLooksIsLookedAtAgain(t *testing.T) {
	for _, question := range []string{"list", "closed"} {
		t.Run(question, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			gone := map[string]bool{question: true}
			w.onForge = func(f forge.Forge) forge.Forge { return overtaken{f, gone} }
			w.restart()
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			w.pass()
			if len(gone) > 0 || len(w.report.Problems) > 0 || w.report.Raced || len(w.open()) == 0 {
				t.Errorf("never asked: %v, raced: %t\n%s", gone, w.report.Raced, w.describe())
			}
		})
	}
}

func TestWhatAPersonChangesWhileAnAmendmentIsLookedForIsLookedAtAgain(t *testing.T) {
	w := amended(t)
	gone := map[string]bool{}
	wrap := w.onForge
	w.onForge = func(f forge.Forge) forge.Forge { return overtaken{wrap(f), gone} }
	w.restart()
	w.pass()
	gone["closed"] = true
	w.pass()
	if got := w.state(amendedTier); len(gone) > 0 || got != "Released: healthy" || w.amendment() == "" {
		t.Errorf("never asked: %v; the amended tier is %q", gone, got)
	}
}
