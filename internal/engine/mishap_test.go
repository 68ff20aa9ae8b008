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
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/golden"
)

// planted is a world in which the story's seed is released.
func planted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	if !w.converge(120) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

// state is a tier by its fields.
func (w *world) state(tier string) string {
	w.t.Helper()
	return fieldsOf(w.tier(tier))
}

// fieldsOf is a tier by its state, its reason and what these are about, without texts, as in
// "Proposed (WaitingForTier) waits=mgmt tier 00 (Failed) gate=WaitingForTier".
func fieldsOf(t state.Tier) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", t.State, t.Reason)
	for _, f := range [][2]string{{"on", t.On}, {"object", t.Object}, {"path", t.Path}} {
		if f[1] != "" {
			b.WriteString(" " + f[0] + "=" + f[1])
		}
	}
	for _, wait := range t.Waits {
		fmt.Fprintf(&b, " waits=%s (%s)", wait.Tier, wait.State)
	}
	for _, file := range t.Foreign {
		b.WriteString(" foreign=" + file)
	}
	if t.Proposal != nil && t.Proposal.GateReason != "" {
		fmt.Fprintf(&b, " gate=%s", t.Proposal.GateReason)
	}
	return b.String()
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

// TestMishaps is what people do to the repositories, and what is reported to them.
func TestMishaps(t *testing.T) {
	const webFile = "planted/edge-1/edge/tier-01/deployment.web.yaml"
	tests := map[string]struct {
		mishap func(w *world)
		// seed is the state of the seed and, where it is Stalled, its problem; tier is what edge-1/tier-01 is.
		seed, tier string
	}{
		"the seed stops parsing": {
			mishap: func(w *world) {
				w.control.put("main", "break", map[string]string{"seeds/edge.yaml": storySeed(2, true) + "\n---\nkind: [\n"})
			},
			seed: "Stalled: seeds/edge.yaml:30: InvalidYAML", tier: "Released",
		},
		"the seed stops parsing for a tab": {
			mishap: func(w *world) { w.control.put("main", "break", map[string]string{"seeds/edge.yaml": "a:\n\tb: c\n"}) },
			seed:   "Stalled: seeds/edge.yaml:2: InvalidYAML", tier: "Released",
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
			seed: `Stalled: seeds/edge.yaml:14: 2 objects: NamespaceAbsent seed=edge cluster=edge-1`, tier: "Released",
		},
		"somebody changes a file of ours on base": {
			mishap: func(w *world) { w.gitops.put("main", "edit", map[string]string{webFile: "kind: Nothing\n"}) },
			seed:   "Held", tier: "Held (ForeignContent) foreign=planted/edge-1/edge/tier-01/deployment.web.yaml",
		},
		"somebody adds a file to a directory of ours": {
			mishap: func(w *world) {
				w.gitops.put("main", "add", map[string]string{"planted/edge-1/edge/tier-01/more.yaml": "kind: Nothing\n"})
			},
			seed: "Held", tier: "Held (ForeignContent) foreign=planted/edge-1/edge/tier-01/more.yaml",
		},
		"somebody reverts a merge": {
			mishap: func(w *world) {
				files := map[string]string{"clusters/mgmt/furrow/edge/edge-1/tier-01.yaml": ""}
				for _, f := range []string{"deployment.web.yaml", "toy.bear.yaml"} {
					files["planted/edge-1/edge/tier-01/"+f] = ""
				}
				w.gitops.put("main", "revert", files)
			},
			seed: "Reverted", tier: "Reverted (Reverted)",
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
			seed: "Released", tier: "Released",
		},
		"a root lists its files itself": {
			mishap: func(w *world) {
				w.gitops.put("main", "list", map[string]string{"clusters/site-0/kustomization.yaml": "resources: []\n"})
				w.control.put("main", "plant more", map[string]string{"seeds/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: default, annotations: {furrow.dev/cluster: site-0}}\n"})
			},
			seed: "Released", tier: "Released",
		},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			tc.mishap(w)
			w.rounds(12)
			seed, ok := w.report.Seed("edge")
			if !ok {
				t.Fatalf("the seed is not reported:\n%s", w.describe())
			}
			is := seed.State
			for _, p := range seed.Problems {
				is += ": " + golden.Fields(p)
			}
			if is != tc.seed {
				t.Errorf("the seed is %q, want %q:\n%s", is, tc.seed, w.describe())
			}
			texts.Add(name, seed.Message)
			if tc.tier != "" {
				w.mustBe("edge-1/tier-01", tc.tier)
				if tier := w.tier("edge-1/tier-01"); tier.State != release.Released {
					texts.Add(name+": tier", tier.Message)
				}
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
	w.mustBe("edge-1/tier-01", "Proposed")
	if !w.converge(60) {
		t.Errorf("it does not come to rest:\n%s", w.describe())
	}
}

// down is a repository whose server does not answer.
type down struct{ engine.Mirror }

func (down) Fetch(context.Context, string) (git.Refs, error) {
	return nil, &forge.Error{Op: "fetch", Repository: "memory", Kind: forge.FailedNetwork, Text: "connection refused"}
}

func TestWhatIsAskedForWhileAServerIsAwayIsNotAMistake(t *testing.T) {
	w := planted(t)
	w.wrap = func(m faultyMirror) engine.Mirror { return down{m} }
	for name, ask := range map[string]func(e *engine.Engine) error{
		"retry":   func(e *engine.Engine) error { return e.Retry(t.Context(), "edge") },
		"confirm": func(e *engine.Engine) error { _, err := e.Confirm(t.Context(), "edge"); return err },
		"abandon": func(e *engine.Engine) error { return e.Abandon(t.Context(), "edge-1") },
	} {
		w.restart()
		if err := ask(w.engine); !git.IsNetwork(err) {
			t.Errorf("%s: got %v, which does not say that it may be tried again", name, err)
		}
	}
}

func TestARejectedProposalStaysRejectedUntilRetry(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(2)
	const why = "not before Monday"
	p := w.open()[0]
	if err := w.forge.Reject(t.Context(), p, git.Person{Name: "p", Email: "p@example.com", When: w.now}, why); err != nil {
		t.Fatal(err)
	}
	w.rounds(5)
	w.mustBe("mgmt/tier-00", "Rejected (Rejected)")
	if got := w.tier("mgmt/tier-00").Message; !strings.Contains(got, why) {
		t.Errorf("the reason that the person gave is not in %q", got)
	}
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	w.pass()
	w.mustBe("mgmt/tier-00", "Proposed")
	if !w.converge(120) {
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
	if !w.converge(120) {
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
	w.mustBe("edge-1/tier-02", "Blocked (WaitingForTier) waits=edge-1 tier 01 (Progressing)")
	w.simulator.Heal("edge-1", mustID(t, id))
	if !w.converge(120) {
		t.Errorf("not healed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardHoldsUntilConfirmed(t *testing.T) {
	w := newGuarded(t, []string{"site-0", "site-1", "site-2"}, "all")
	w.control.put("main", "remove", map[string]string{"seeds/all.yaml": ""})
	w.rounds(5)
	golden.Of(t).Add("held", w.mustHold("all", v1alpha1.ReasonDeletionGuard, "1 object from site-0", "1 object from site-1", "1 object from site-2").Message)
	if _, err := w.engine.Confirm(t.Context(), "all"); err != nil {
		t.Fatal(err)
	}
	if !w.converge(60) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardCountsWhatGoesOneByOne(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	w := newGuarded(t, []string{"site-0"}, names...)
	texts := golden.Of(t)
	mustHold := func(name, when string) {
		t.Helper()
		s, _ := w.report.Seed(name)
		if s == nil || s.State != state.Stalled || s.Reason != v1alpha1.ReasonDeletionGuard {
			t.Fatalf("seed %s is not held:\n%s", name, w.describe())
		}
		texts.Add(name+", "+when, s.Message) // which counts
	}
	for i, name := range names {
		w.control.put("main", "remove", map[string]string{"seeds/" + name + ".yaml": ""})
		w.rounds(3)
		if open := len(w.open()); open != min(i+1, 2) {
			t.Fatalf("%d removals are proposed after %d seeds were removed one by one", open, i+1)
		}
	}
	mustHold("c", "all four are removed")
	mustHold("d", "all four are removed")
	if _, err := w.engine.Confirm(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	w.rounds(3)
	mustHold("d", "the first is confirmed")
	if _, err := w.engine.Confirm(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	w.rounds(3)
	if open := len(w.open()); open != 4 {
		t.Fatalf("%d removals are proposed, want all: two are confirmed, and two are not too many\n%s", open, w.describe())
	}
	if !w.converge(60) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

func TestTheDeletionGuardDoesNotCountWhatWasRejected(t *testing.T) {
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
	if _, err := w.engine.Confirm(t.Context(), "all"); err == nil || golden.Fields(manifest.ProblemOf(err)) != "NothingToDo seed=all" {
		t.Fatalf("%v: %s", err, golden.Fields(manifest.ProblemOf(err)))
	} else {
		golden.Of(t).Add("confirm", err.Error())
	}
	w.rounds(2)
	w.control.put("main", "remove", map[string]string{"seeds/all.yaml": ""})
	w.rounds(2)
	if s, _ := w.report.Seed("all"); s == nil || s.State != state.Stalled {
		t.Errorf("its removal is not held:\n%s", w.describe())
	}
}

// TestConfirmFailsWhileTheControlPlaneCannotBeRead: a deleted seed appears to exist then,
// and must not count as confirmed.
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
	_, err := w.engine.Confirm(t.Context(), "all")
	if !git.IsNetwork(err) {
		t.Fatalf("confirming while the control plane cannot be read: got %v, want an error of the network", err)
	}
	golden.Of(t).Add("confirm", err.Error()) // which names the control plane
	away = nil
	if held, err := w.engine.Confirm(t.Context(), "all"); err != nil || len(held) == 0 {
		t.Errorf("confirming once it can be read: got %q, %v", held, err)
	}
	if !w.converge(60) || len(w.planted()) != 0 {
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
	if !w.converge(60) {
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
			done := w.converge(120)
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

func TestAProposalThatIsBehindIsUpdatedWhereThatIsThePolicy(t *testing.T) {
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
				if upToDate := p.Base == refs["main"]; upToDate != follows || p.Digest != before[i].Digest {
					t.Errorf("%s is on base: %t, want %t; digest %s, was %s", p.Branch, upToDate, follows, p.Digest, before[i].Digest)
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
		"not known":               {func(r *health.Root) { *r = health.Root{Message: "connection refused"} }, "Queued (RootUnknown) on=mgmt path=clusters/mgmt"},
		"missing":                 {func(r *health.Root) { *r = health.Root{Known: true} }, "Held (RootMissing) on=mgmt path=clusters/mgmt"},
		"not fit":                 {func(r *health.Root) { r.Prune = false }, "Held (RootDoesNotPrune) on=mgmt object=flux-system/flux-system path=clusters/mgmt"},
		"it leaves our files out": {func(r *health.Root) { r.Ignore = "/*\n!/clusters\n" }, "Held (RootIgnores) on=mgmt path=planted/mgmt/edge/tier-00/namespace.infra.yaml"},
		"other repo":              {func(r *health.Root) { r.URL, r.Branch = "https://git.example.com/acme/other", "main" }, "Held (RootRepositoryMismatch) on=mgmt object=flux-system/flux-system path=clusters/mgmt"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			disturb := tc.root
			w.onRoot = func(r *health.Root) { disturb(r) }
			w.restart()
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			w.rounds(4)
			if got := w.state("mgmt/tier-00"); got != tc.want || len(w.open()) != 0 {
				t.Errorf("the tier is %q, want %q; %d proposals are open", got, tc.want, len(w.open()))
			}
			texts.Add(name, w.tier("mgmt/tier-00").Message)
			disturb = func(*health.Root) {}
			if !w.converge(60) {
				t.Errorf("the root is fit, and the seed is not planted:\n%s", w.describe())
			}
			w.check()
		})
	}
}

func TestARootThatIsStuckHoldsWhatIsNewAndNoUpdateThatMayFixIt(t *testing.T) {
	w := planted(t)
	w.onRoot = func(r *health.Root) { r.Ready, r.Reason, r.Message = "False", "BuildFailed", "yaml: line 2" }
	w.restart()
	w.control.put("main", "update", map[string]string{"seeds/edge.yaml": storySeed(2, true), "seeds/more.yaml": web("more", 1, "site-0")})
	w.rounds(2)
	w.mustBe("edge-1/tier-01", "Proposed")
	w.mustBe("site-0/tier-00", "Held (RootFailed) on=site-0 object=flux-system/flux-system path=clusters/site-0")
	golden.Of(t).Add("what is new", w.tier("site-0/tier-00").Message)
}

func TestOneBadFileOfOthersUnderARootHoldsWhatComesNew(t *testing.T) {
	tests := map[string]struct{ file, text string }{
		"broken YAML": {"clusters/mgmt/theirs/broken.yaml", "a: [\n"},
		"no object":   {"clusters/mgmt/values.yaml", "replicas: 3\n"},
		"lists files": {"clusters/mgmt/kustomization.yaml", "resources: []\n"},
		"takes our name": {"clusters/mgmt/ours.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
			"metadata: {name: edge.mgmt.00, namespace: flux-system}\n" +
			"spec: {suspend: true, interval: 1m, prune: true, path: ./clusters, sourceRef: {kind: GitRepository, name: flux-system}}\n"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			w.gitops.put("main", "add", map[string]string{tc.file: tc.text})
			w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
			w.rounds(4)
			if got, want := w.state("mgmt/tier-00"), "Held (RootUnbuildable) on=mgmt path="+tc.file; got != want || len(w.open()) != 0 {
				t.Errorf("the tier is %q, want %q; %d proposals are open", got, want, len(w.open()))
			}
			texts.Add(name, w.tier("mgmt/tier-00").Message)
			w.gitops.put("main", "repair", map[string]string{tc.file: ""})
			if !w.converge(60) {
				t.Errorf("it is repaired, and the seed is not planted:\n%s", w.describe())
			}
			w.check()
		})
	}
}

// What others have below a root is bounded, and too much of it holds what is new under that root alone.
func TestTooMuchBelowARootHoldsThatRootAlone(t *testing.T) {
	data := strings.Repeat("x", 900_000)
	w := newWorld(t, fleet{workload: []string{"site-0", "site-1"}, seed: 5})
	files := map[string]string{}
	for i := range 45 {
		files[fmt.Sprintf("clusters/site-0/theirs/c%02d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d, namespace: default}\ndata: {x: %s}\n", i, data)
	}
	w.gitops.put("main", "add 40 MB", files)
	w.control.put("main", "plant", map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\ndata: {a: b}\n"})
	w.rounds(2)
	if got, want := fieldsOf(w.tier("site-0/tier-00")), "Held (TooLargeToRead) on=site-0 path=clusters/site-0"; got != want {
		t.Errorf("the tier is %q, want %q", got, want)
	}
	if got := w.tier("site-1/tier-00").State; got != release.Proposed {
		t.Errorf("the other cluster is %s", got)
	}
	golden.Of(t).Add("too much", w.tier("site-0/tier-00").Message)
}

func TestATierThatFluxWouldReadInPartIsNotProposed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.gitops.put("main", "ignore", map[string]string{".sourceignore": "*.md\nnamespace.*\n"})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	w.rounds(4)
	w.mustBe("mgmt/tier-00", "Held (RootIgnores) on=mgmt path=planted/mgmt/edge/tier-00/namespace.infra.yaml")
	golden.Of(t).Add("the tier", w.tier("mgmt/tier-00").Message)
	w.gitops.put("main", "read more", map[string]string{".sourceignore": "*.md\nnamespace.*\n!/planted/**\n"})
	if !w.converge(60) {
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

// List has no proposals for branches without a pull request.
func (f mute) List(context.Context, git.Refs) ([]forge.Proposal, error) { return nil, nil }

// What credentials may do is not always known before: GitHub does not say it of a fine-grained token.
// What the forge refuses once counts for all proposals, for some minutes.
func TestAForgeThatOpensNothingIsNotStormed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"edge"}})
	asked, changed := 0, 0
	w.onForge = func(f forge.Forge) forge.Forge { return mute{f, &asked, forge.FailedAuth} }
	w.config = func(c *engine.Config) { c.ForgeCalls = 1 }
	w.restart()
	w.control.put("main", "plant", manySeeds(6))
	for range 10 {
		w.pass()
		if w.report.Changed {
			changed++
		}
		for _, seed := range w.report.Seeds {
			if got := seed.Tiers[0]; got.State != "Held" || got.Reason != v1alpha1.ReasonCredentialsRefused || !strings.Contains(got.Message, "it opens nothing") {
				t.Fatalf("%s is %+v", seed.Name, got)
			}
		}
	}
	if changed > 1 || asked != 1 {
		t.Errorf("of 10 passes %d changed something and want the next one at once; it was asked %d times", changed, asked)
	}
	w.now = w.now.Add(5 * time.Minute)
	if w.pass(); asked != 2 {
		t.Errorf("after five minutes it was asked %d times", asked)
	}
}

func TestATierIsHeldByAForgeThatAPersonHasToFix(t *testing.T) {
	texts := golden.Of(t)
	for kind, want := range map[forge.Kind]string{
		forge.FailedAuth: "Held (CredentialsRefused)", forge.FailedTrust: "Held (CertificateUntrusted)", forge.FailedNetwork: "Queued (RepositoryUnavailable)",
	} {
		w, asked := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5}), 0
		w.onForge = func(f forge.Forge) forge.Forge { return mute{f, &asked, kind} }
		w.restart()
		w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
		w.pass()
		if got := w.state("mgmt/tier-00"); got != want {
			t.Errorf("%s: the tier is %q, want %q", kind, got, want)
		}
		texts.Add(string(kind), w.tier("mgmt/tier-00").Message)
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
	w.mustBe("mgmt/tier-00", "Held (ForeignContent) foreign="+theirs+" gate=ForeignContent")
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
	if !w.converge(60) {
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
	if !w.converge(120) || len(w.planted()) != 0 {
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

func (f overtaken) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	if err := f.by("closed"); err != nil {
		return forge.Closed{}, err
	}
	return f.Forge.Closed(ctx, refs, tier, digest)
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

func TestWhatAPersonChangesDuringAPassIsObservedAgain(t *testing.T) {
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

func TestWhatAPersonChangesWhileAnAmendmentIsReadIsObservedAgain(t *testing.T) {
	w := amended(t)
	gone := map[string]bool{}
	wrap := w.onForge
	w.onForge = func(f forge.Forge) forge.Forge { return overtaken{wrap(f), gone} }
	w.restart()
	w.pass()
	gone["closed"] = true
	w.pass()
	if got := w.state(amendedTier); len(gone) > 0 || got != "Released (Healthy) on=mgmt" || w.amendment() == "" {
		t.Errorf("never asked: %v; the amended tier is %q", gone, got)
	}
}
