package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
)

// staged gives clusters labels, and returns a seed on them that goes out in waves.
func staged(rollout, value string, clusters ...string) map[string]string {
	files := shops("Tier", value, clusters...)
	for _, cluster := range clusters {
		stage := "main"
		if cluster == "east" {
			stage = "canary"
		}
		files["clusters/"+cluster+".yaml"] = fmt.Sprintf("apiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {stage: %s}}\nspec: {}\n", v1alpha1.APIVersion, cluster, stage)
	}
	files["seeds/shop.yaml"] = strings.Replace(files["seeds/shop.yaml"], "{groupBy: Tier}", rollout, 1)
	return files
}

const canaryFirst = "{waves: [{name: canary, clusterSelector: {matchLabels: {stage: canary}}, soak: 1h}, {name: main}]}"

// newRollout is a world with a seed in waves, whose passes are all decided again from their records.
func newRollout(t *testing.T, rollout string) *world {
	w := newWorld(t, fleet{workload: []string{"east", "north", "west"}, seed: 3})
	w.config = func(c *engine.Config) {
		c.Record = func(r *engine.Record) {
			again, err := r.Decide(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if same, err := r.Same(again); err != nil || !same {
				t.Errorf("a pass is decided otherwise from its record (%v)", err)
			}
		}
	}
	w.restart()
	w.control.put("main", "plant", staged(rollout, "1", "east", "north", "west"))
	return w
}

func (w *world) wave(name, want string) {
	w.t.Helper()
	seed, _ := w.report.Seed("shop")
	if seed.Rollout == nil {
		w.t.Fatalf("the seed has no rollout:\n%s", w.describe())
	}
	for _, wave := range seed.Rollout.Waves {
		if wave.Name == name {
			if got := fmt.Sprintf("%s (%s) %d of %d", wave.State, wave.Reason, wave.Done, wave.Clusters); got != want {
				w.t.Errorf("wave %s is %s, want %s\n%s", name, got, want, w.describe())
			}
			return
		}
	}
	w.t.Errorf("there is no wave %s in %v", name, seed.Rollout.Waves)
}

func TestAWaveOpensOnceTheOneBeforeItHasSoaked(t *testing.T) {
	w := newRollout(t, canaryFirst)
	w.pass()
	w.wantBranches("at first", "tier/shop/east/00")
	w.wave("canary", "Progressing () 0 of 1")
	w.wave("main", "Waiting (WaitingForWave) 0 of 2")
	if !w.mergeUntil("canary", "Soaking") {
		t.Fatalf("the canary does not soak:\n%s", w.describe())
	}
	w.wave("canary", "Soaking (WaveSoaking) 1 of 1")
	w.mustBe("west/tier-00", "Queued (WaveSoaking)")
	if left := w.report.Until.Sub(w.now); left <= 0 || left > time.Hour {
		t.Errorf("the next pass is wanted in %s", left)
	}

	// While it soaks nothing is written, also by an engine that remembers nothing.
	pushes := w.gitops.pushes
	w.pass()
	w.restart()
	w.pass()
	if w.gitops.pushes != pushes {
		t.Errorf("something is pushed while it soaks:\n%s", w.describe())
	}
	w.wantBranches("while it soaks")

	w.now = w.now.Add(time.Hour)
	w.pass()
	w.wantBranches("afterwards", "tier/shop/north/00", "tier/shop/west/00")
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.wave("main", "Complete () 2 of 2")

	// The seed leaves in reverse, and takes its record along.
	w.control.put("main", "remove", map[string]string{"seeds/shop.yaml": ""})
	w.pass()
	w.confirm()
	w.pass()
	w.wantBranches("of the removal", "tier/shop/north/01", "tier/shop/west/01")
	if !w.converge(80) {
		t.Fatalf("not removed:\n%s", w.describe())
	}
	for branch := range w.gitops.refs {
		if strings.Contains(branch, "/rollout/") {
			t.Errorf("branch %s is left", branch)
		}
	}
}

// mergeUntil merges what is open until a wave has a state.
func (w *world) mergeUntil(wave, state string) bool {
	w.t.Helper()
	for range 30 {
		for _, p := range w.open() {
			w.merge(p)
		}
		w.rounds(1)
		seed, _ := w.report.Seed("shop")
		for _, one := range seed.Rollout.Waves {
			if one.Name == wave && string(one.State) == state {
				return true
			}
		}
	}
	return false
}

func TestPeoplePauseSkipAndGoOnAtOnce(t *testing.T) {
	w := newRollout(t, canaryFirst)
	w.pass()
	ask := func(request func(*engine.Requests) (bool, error), want bool) {
		t.Helper()
		q, err := w.person().Requests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changed, err := request(q)
		if err != nil || changed != want {
			t.Fatalf("it changes something: %v, %v, want %v", changed, err, want)
		}
	}
	pause := func(q *engine.Requests) (bool, error) { return q.Pause(t.Context(), "shop", "Ada", "inventory") }
	resume := func(q *engine.Requests) (bool, error) { return q.Resume(t.Context(), "shop") }
	skip := func(wave string) func(*engine.Requests) (bool, error) {
		return func(q *engine.Requests) (bool, error) { return q.Skip(t.Context(), "shop", wave, "Ada", "roll back") }
	}
	ask(pause, true)
	ask(pause, false)
	w.pass()
	w.mustBe("east/tier-00", "Proposed (RolloutPaused) gate=RolloutPaused")
	seed, _ := w.report.Seed("shop")
	if !strings.Contains(seed.Rollout.Paused, "by Ada") || !strings.Contains(seed.Rollout.Paused, "inventory") {
		t.Errorf("it is paused %q", seed.Rollout.Paused)
	}
	ask(resume, true)
	ask(resume, false)
	w.pass()
	w.mustBe("east/tier-00", "Proposed (ProposalOpen)")

	ask(skip("canary"), true)
	w.pass()
	w.wave("canary", "Skipped () 0 of 1")
	w.wantBranches("without the canary", "tier/shop/east/00", "tier/shop/north/00", "tier/shop/west/00")
	q, err := w.person().Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Skip(t.Context(), "shop", "canari", "", ""); manifest.ReasonOf(err) != v1alpha1.ReasonNothingToDo {
		t.Errorf("a wave that there is not is skipped: %v", err)
	}

	// The next plan begins with the canary again. A rollback that cannot wait goes everywhere, and
	// may be asked for before a pass has planned it.
	w.control.put("main", "update", staged(canaryFirst, "2", "east", "north", "west"))
	w.pass()
	w.wantBranches("of an update", "tier/shop/east/00")
	w.control.put("main", "roll back", staged(canaryFirst, "1", "east", "north", "west"))
	ask(skip(""), true)
	w.pass()
	w.wantBranches("of the rollback", "tier/shop/east/00", "tier/shop/north/00", "tier/shop/west/00")
	if seed, _ := w.report.Seed("shop"); !strings.Contains(seed.Rollout.Unpaced, "roll back") {
		t.Errorf("the status says %+v", seed.Rollout)
	}
	w.control.put("main", "again", staged(canaryFirst, "3", "east", "north", "west"))
	w.pass()
	w.wantBranches("of the plan after it", "tier/shop/east/00")
}

// TestAProposalSaysWhoAskedToRetryIt reverts a merge, and lets a person ask for it again: of a seed without waves.
func TestAProposalSaysWhoAskedToRetryIt(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 3})
	w.plant("one", plainSeed("one", 1, ""))
	before := w.gitops.files()
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.gitops.put("main", "revert", removed(w.gitops.files(), before))
	w.rounds(2)
	w.mustBe("site-0/tier-00", "Reverted")
	var err error
	w.report, err = w.engine.PassAfter(t.Context(), func(ctx context.Context, q *engine.Requests) {
		if err := q.Retry(ctx, "one", "Grace", "the gateway is back"); err != nil {
			t.Error(err)
		}
		if _, err := q.Pause(ctx, "one", "Grace", "not yet"); err != nil {
			t.Errorf("a second request in one pass: %v", err)
		}
		if _, err := q.Resume(ctx, "one"); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	open := w.open()
	if len(open) != 1 || !strings.Contains(open[0].Body, "**Proposed again** because `Grace` asked for it on ") || !strings.Contains(open[0].Body, "UTC: `the gateway is back`.") {
		t.Fatalf("the proposals are %+v", open)
	}
	if !w.converge(60) {
		t.Fatalf("not planted again:\n%s", w.describe())
	}

	// The next plan has nothing to do with it.
	w.plant("one", plainSeed("one", 2, ""))
	w.pass()
	if open := w.open(); len(open) != 1 || strings.Contains(open[0].Body, "Proposed again") {
		t.Errorf("the proposals of the next plan are %+v", open)
	}
	for branch := range w.gitops.refs {
		if strings.Contains(branch, "/rollout/") {
			t.Errorf("branch %s is left", branch)
		}
	}
}

// removed has the files that were added, without content.
func removed(is, was map[string]string) map[string]string {
	out := map[string]string{}
	for at := range is {
		if _, had := was[at]; !had {
			out[at] = ""
		}
	}
	return out
}

func TestARecordThatCannotBeReadPausesTheRollout(t *testing.T) {
	w := newRollout(t, canaryFirst)
	w.pass()
	w.gitops.put("furrow/main/rollout/shop", "by hand", map[string]string{"rollout.yaml": "kind: Poem\n"})
	at := w.gitops.refs["furrow/main/rollout/shop"]
	w.pass()
	w.mustBe("east/tier-00", "Proposed (RolloutPaused) gate=RolloutPaused")
	seed, _ := w.report.Seed("shop")
	if diff := cmp.Diff([]v1alpha1.Reason{v1alpha1.ReasonInvalidYAML}, reasonsOf(seed.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if w.gitops.refs["furrow/main/rollout/shop"] != at {
		t.Error("what a person wrote was overwritten")
	}
	delete(w.gitops.refs, "furrow/main/rollout/shop")
	w.pass()
	w.mustBe("east/tier-00", "Proposed (ProposalOpen)")
}

func reasonsOf(problems manifest.Problems) []v1alpha1.Reason {
	var out []v1alpha1.Reason
	for _, p := range problems {
		out = append(out, p.Reason)
	}
	return out
}

func TestAWindowOfAnUnknownTimeZoneStaysClosed(t *testing.T) {
	w := newRollout(t, "{waves: [{name: all, windows: [{timeZone: Europe/Berln}]}]}")
	w.pass()
	w.wantBranches("of no time zone")
	seed, _ := w.report.Seed("shop")
	if seed.State != "Stalled" || seed.Reason != v1alpha1.ReasonInvalidField || !strings.Contains(seed.Message, "waves[0].windows[0].timeZone") {
		t.Errorf("it is %s (%s): %s", seed.State, seed.Reason, seed.Message)
	}
}

// checked is a forge with the checks that a test gives proposals.
type checked struct {
	forge.Forge
	checks *forge.Checks
}

func (c checked) Checks(context.Context, forge.Proposal) (forge.Checks, error) { return *c.checks, nil }

func TestProposalsMergeThemselvesOnceTheirChecksHavePassed(t *testing.T) {
	for _, by := range []string{"Tier", "Level"} {
		t.Run(by, func(t *testing.T) {
			w := newRollout(t, "{groupBy: "+by+", autoMerge: WhenGreen}")
			checks := &forge.Checks{State: forge.ChecksPending, Why: "ci not done"}
			w.onForge = func(f forge.Forge) forge.Forge { return checked{f, checks} }
			w.restart()
			w.rounds(2)
			w.mustBe("east/tier-00", "Proposed (WaitingForChecks)")
			pushes := w.gitops.pushes
			w.pass()
			if w.gitops.pushes != pushes {
				t.Errorf("something is pushed while checks run:\n%s", w.describe())
			}
			checks.State = forge.ChecksFailed
			w.rounds(1)
			w.mustBe("east/tier-00", "Proposed (ChecksFailed)")
			checks.State = forge.ChecksPassed
			w.rounds(20)
			for _, tier := range []string{"east/tier-01", "north/tier-01", "west/tier-01"} {
				w.mustBe(tier, "Released (Healthy)")
			}

			// What leaves is for people to merge.
			w.control.put("main", "remove", map[string]string{"seeds/shop.yaml": ""})
			w.pass()
			w.confirm()
			w.rounds(4)
			if len(w.open()) == 0 {
				t.Fatalf("no removal is open:\n%s", w.describe())
			}
			w.mustBe("west/tier-01", "Proposed (RemovalOpen)")
		})
	}
}
