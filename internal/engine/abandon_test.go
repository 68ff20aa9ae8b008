package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/golden"
)

// remove takes the story's seed out of the control plane, and confirms that.
func (w *world) remove() {
	w.control.put("main", "remove", map[string]string{"seeds/edge.yaml": ""})
	w.pass()
	w.confirm()
}

// mergingRounds makes passes, merges everything, and ticks.
func (w *world) mergingRounds(n int) {
	for range n {
		w.pass()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
	}
}

// abandon gives a cluster up, as a person does.
func (w *world) abandon(cluster string) {
	w.t.Helper()
	if err := w.engine.Abandon(w.t.Context(), cluster); err != nil {
		w.t.Fatal(err)
	}
}

// mustBe asserts what a tier is, by as much of its fields as is given: "State", "State (Reason)" and so on.
func (w *world) mustBe(tier, want string) {
	w.t.Helper()
	if got := w.state(tier); got != want && !strings.HasPrefix(got, want+" ") {
		w.t.Errorf("%s is %s, want %q\n%s", tier, got, want, w.describe())
	}
}

// marks are the branches that say which clusters were given up.
func marks(m *memory) []string {
	var out []string
	for _, ref := range slices.Sorted(maps.Keys(m.refs)) {
		if strings.Contains(ref, "/abandon/") {
			out = append(out, ref)
		}
	}
	return out
}

func (w *world) mustBeRemoved() {
	w.t.Helper()
	if !w.converge(60) || len(w.planted()) != 0 {
		w.t.Fatalf("not removed: %v\n%s", w.planted(), w.describe())
	}
	w.pass()
	for branch := range w.gitops.refs {
		if !strings.HasPrefix(branch, "furrow/main/status/") && branch != "main" {
			w.t.Errorf("branch %s is left", branch)
		}
	}
	w.check()
}

func TestADeadClusterOfAHubBlocksTheRemovalUntilItIsAbandoned(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("edge-1", true)
	w.remove()
	w.mergingRounds(20)
	w.mustBe("edge-1/tier-01", "Progressing (Pruning)")
	w.mustBe("mgmt/tier-00", "Blocked")

	w.abandon("edge-1")
	w.pass()
	open := w.open()
	if len(open) != 1 || open[0].Title != "Orphan edge on edge-1, tier 01" {
		t.Fatalf("open are %v\n%s", open, w.describe())
	}
	w.mustBe("edge-1/tier-01", "Proposed")
	w.mustBe("mgmt/tier-00", "Blocked")
	w.mustBeRemoved()
}

func TestWhatIsOnADeadClusterOfAHubIsOrphanedBeforeItsTiersGo(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("edge-1", true)
	w.abandon("edge-1")
	if diff := cmp.Diff([]string{layout.AbandonBranch("main", "acme/test", "edge-1")}, marks(w.gitops)); diff != "" {
		t.Fatalf("the marks (-want +got):\n%s", diff)
	}
	w.remove()
	const file = "clusters/mgmt/furrow/edge/edge-1/tier-01.yaml"
	var titles []string
	texts := golden.Of(t)
	for range 60 {
		w.pass()
		for _, p := range w.open() {
			titles = append(titles, p.Title)
			message, _, _ := strings.Cut(p.Body, "\n\n")
			texts.Add(p.Title, message)
			orphans := w.tier(strings.TrimPrefix(p.Tiers[0].Tier.String(), "edge/")).Reason == v1alpha1.ReasonOrphanOpen
			if orphans != strings.HasPrefix(p.Title, "Orphan ") {
				t.Errorf("%s is proposed, of a tier that is %s", p.Title, w.describe())
			}
			if p.Title == "Remove edge on edge-1, tier 01" && !strings.Contains(w.gitops.files()[file], "deletionPolicy: Orphan") {
				t.Errorf("the removal is proposed over\n%s", w.gitops.files()[file])
			}
			if p.Title == "Remove edge on mgmt, tier 01 (destroys data)" {
				if _, there := w.simulator.Object("edge-1", mustID(t, "apps/Deployment/app/web")); !there {
					t.Error("the Deployment on the abandoned cluster was deleted rather than orphaned")
				}
			}
			w.merge(p)
		}
		w.tick()
	}
	want := []string{
		"Orphan edge on edge-1, tier 01", "Remove edge on edge-1, tier 01",
		"Orphan edge on edge-1, tier 00", "Remove edge on edge-1, tier 00",
		"Remove edge on mgmt, tier 01 (destroys data)", "Remove edge on mgmt, tier 00 (destroys data)",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Errorf("what was proposed (-want +got):\n%s\n%s", diff, w.describe())
	}
	w.mustBeRemoved()
}

func TestARemovalIsNotProposedBeforeTheHubHasTheOrphaning(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("edge-1", true)
	w.abandon("edge-1")
	w.remove()
	w.pass()
	w.merge(w.open()[0])
	if err := w.simulator.Suspend("mgmt", "flux-system", "flux-system", true); err != nil {
		t.Fatal(err)
	}
	w.rounds(5)
	w.mustBe("edge-1/tier-01", "Merged (OrphanPending)")
	if open := w.open(); len(open) != 0 {
		t.Errorf("open are %v", open)
	}
	if err := w.simulator.Suspend("mgmt", "flux-system", "flux-system", false); err != nil {
		t.Fatal(err)
	}
	w.rounds(5)
	w.mustBe("edge-1/tier-01", "Proposed (RemovalOpen)")
	w.simulator.Silence("mgmt", true)
	w.rounds(3)
	w.mustBe("edge-1/tier-01", "Proposed (RemovalOpen)")
	w.simulator.Silence("mgmt", false)
	w.mustBeRemoved()
}

func TestAnOpenRemovalIsUpdatedWhenItsClusterIsAbandoned(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("edge-1", true)
	w.remove()
	w.rounds(2)
	before := w.open()
	w.abandon("edge-1")
	w.rounds(2)
	after := w.open()
	if len(before) != 1 || len(after) != 1 || before[0].Branch != after[0].Branch || after[0].Title != "Orphan edge on edge-1, tier 01" {
		t.Fatalf("open were %v, and are %v", before, after)
	}
	w.mustBe("edge-1/tier-01", "Proposed (OrphanOpen)")

	if err := w.engine.UndoAbandon(t.Context(), "edge-1"); err != nil {
		t.Fatal(err)
	}
	w.simulator.Silence("edge-1", false)
	w.rounds(2)
	if open := w.open(); len(open) != 1 || open[0].Title != "Remove edge on edge-1, tier 01" || len(marks(w.gitops)) != 0 {
		t.Fatalf("open are %v, marks %v", open, marks(w.gitops))
	}
	w.merge(w.open()[0])
	w.rounds(5)
	if _, there := w.simulator.Object("edge-1", mustID(t, "apps/Deployment/app/web")); there {
		t.Error("the cluster is back, and the Deployment was orphaned")
	}
	w.mustBeRemoved()
}

func TestAnOrphaningThatAPersonRejectsIsAskedForAgain(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("edge-1", true)
	w.abandon("edge-1")
	w.remove()
	w.pass()
	if err := w.forge.Reject(t.Context(), w.open()[0], git.Person{Name: "p", Email: "p@example.com", When: w.now}, "wait"); err != nil {
		t.Fatal(err)
	}
	w.rounds(4)
	w.mustBe("edge-1/tier-01", "Rejected")
	if err := w.engine.Retry(t.Context(), "edge"); err != nil {
		t.Fatal(err)
	}
	w.mustBeRemoved()
}

func TestADeadManagementClusterIsAbandonedWithItsCreator(t *testing.T) {
	w := planted(t)
	w.simulator.Silence("mgmt", true)
	w.remove()
	w.mergingRounds(10)
	w.mustBe("edge-1/tier-01", "Progressing (ClusterSilent)")
	w.abandon("mgmt")
	for range 40 {
		w.mergingRounds(1)
		if _, there := w.report.Seed("edge"); !there {
			break
		}
	}
	if _, there := w.report.Seed("edge"); there || len(marks(w.gitops)) != 0 {
		t.Errorf("not removed; marks %v\n%s", marks(w.gitops), w.describe())
	}
}

func TestACreatorOnAManagementClusterThatAnswersIsWaitedForAlthoughItWasAbandoned(t *testing.T) {
	w := planted(t)
	w.abandon("mgmt")
	w.remove()
	w.mustBeRemoved() // with every object, which no cluster that was given up would have lost
}

// TestAbandoningMayBeDisturbed kills the engine, or fails its calls, at every step
// from the moment in which a cluster is abandoned while its removal hangs.
func TestAbandoningMayBeDisturbed(t *testing.T) {
	run := func(t *testing.T, f *faults) *world {
		w := planted(t)
		w.simulator.Silence("edge-1", true)
		w.abandon("edge-1")
		w.remove()
		w.faults = f
		w.restart()
		if !w.converge(80) || len(w.planted()) != 0 {
			t.Errorf("not removed: %v\n%s", w.planted(), w.describe())
		}
		w.converge(3)
		w.check()
		return w
	}
	undisturbed := &faults{}
	want := outcome(run(t, undisturbed))
	step := 1
	if testing.Short() {
		step = 9 * slower
	}
	for name, m := range map[string]mode{"killed before": crashesBefore, "killed after": crashesAfter, "fails before": failsBefore, "fails after": failsAfter} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; at <= undisturbed.calls; at += step {
				if got := outcome(run(t, &faults{at: at, mode: m})); t.Failed() || !cmp.Equal(want, got) {
					t.Fatalf("disturbed at call %d:\n%s", at, cmp.Diff(want, got))
				}
			}
		})
	}
}

// behindHub is a hub with a cluster behind it in one repository, and a cluster in another.
func behindHub() map[string][]string {
	return map[string][]string{"a": {"hub", "far@hub"}, "b": {"site-b"}}
}

func TestAPlanThatOrphansReachesEveryRepositoryAfterAPushThatFailedOnce(t *testing.T) {
	for _, failing := range []string{"a", "b"} {
		t.Run(failing, func(t *testing.T) {
			e, furrow := plantedWeb(t, behindHub(), "far,site-b")
			e.simulator.Silence("far", true)
			e.plant(seeds{"web": ""})
			e.rounds(6, furrow)
			e.mustShow("web", "far tier 01: Progressing (Pruning)")
			if err := furrow.Abandon(t.Context(), "far"); err != nil {
				t.Fatal(err)
			}
			e.onPush = func(repo string, _ []git.Update) error {
				if repo != failing {
					return nil
				}
				e.onPush = nil
				return manifest.Problem{Reason: v1alpha1.ReasonRepositoryUnavailable, Message: "connection reset"}
			}
			for range 4 {
				e.pass(furrow)
			}
			if e.onPush != nil {
				t.Fatal("no push failed")
			}
			e.mustRecordOrphans("web", 2)
			e.converge(furrow)
			e.mustBeOrphanedOn("far", "web", 2)
		})
	}
}

// mustRecordOrphans asserts that every repository has the same plan, in which some
// tiers orphan, and that the plan's tree has what lands of them.
func (e *estate) mustRecordOrphans(seed string, want int) {
	e.t.Helper()
	first := ""
	for _, repo := range slices.Sorted(maps.Keys(e.repos)) {
		m, at := e.repos[repo], e.planBranch(repo, seed)
		text := m.filesAt(at)["plan.yaml"]
		if first == "" {
			first = text
		}
		if diff := cmp.Diff(first, text); diff != "" {
			e.t.Errorf("%s has another plan:\n%s", repo, diff)
		}
		p, err := plan.Decode(treeOf(m.filesAt(at)))
		if err != nil {
			e.t.Fatal(err)
		}
		n := 0
		for _, t := range p.Tiers {
			if t.Orphan == nil {
				continue
			}
			n++
			have, _ := m.Entries(at, t.Paths())
			for _, entry := range t.Orphan.Entries {
				if t.Repo == repo && have[entry.Path].Hash != orEmptyTree(entry.Hash) {
					e.t.Errorf("the plan's tree in %s does not have what lands of %s: %v", repo, t.String(), have)
				}
			}
		}
		if n != want {
			e.t.Errorf("%d tiers orphan, want %d", n, want)
		}
	}
}

// mustBeOrphanedOn asserts that a seed has left the repositories, and nothing but
// its objects on an abandoned cluster.
func (e *estate) mustBeOrphanedOn(cluster, seed string, objects int) {
	e.t.Helper()
	e.pass(e.engine(rival{}))
	e.mustHave(objects)
	for at := range plantedOn(e.simulator) {
		if !strings.HasSuffix(at, " on "+cluster) {
			e.t.Errorf("%s is left", at)
		}
	}
	for name, m := range e.repos {
		for ref := range m.refs {
			if strings.Contains(ref, "/"+seed) || strings.Contains(ref, "/abandon/") {
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

func TestAClusterBehindAHubLeavesAndIsAbandoned(t *testing.T) {
	for _, hanging := range []bool{true, false} {
		t.Run(fmt.Sprintf("its deletion hangs: %v", hanging), func(t *testing.T) {
			e, furrow := plantedWeb(t, behindHub(), "far,site-b")
			e.simulator.Silence("far", true)
			if !hanging {
				if err := furrow.Abandon(t.Context(), "far"); err != nil {
					t.Fatal(err)
				}
			}
			e.control.put("main", "drop far", map[string]string{"clusters/far.yaml": "", "seeds/web.yaml": web("app", 1, "site-b")})
			if hanging {
				e.rounds(15, furrow)
				e.mustShow("web", "far tier 00: Blocked")
				if err := furrow.Abandon(t.Context(), "far"); err != nil {
					t.Fatal(err)
				}
			}
			e.converge(furrow)
			e.mustShow("web", "far tier 00: Gone (Gone)")
			e.mustShow("web", "site-b tier 01: Released")
			e.mustHave(4)
			if n := e.idlePushes("a", furrow); n != 0 {
				t.Errorf("%d pushes in idle passes", n)
			}
			e.plant(seeds{"web": ""})
			e.converge(furrow)
			e.mustBeOrphanedOn("far", "web", 2)
		})
	}
}

func TestAHubThatIsAbandonedTooIsNotWaitedFor(t *testing.T) {
	e, furrow := plantedWeb(t, behindHub(), "far,site-b")
	e.simulator.Silence("far", true)
	e.simulator.Silence("hub", true)
	e.plant(seeds{"web": ""})
	for _, cluster := range []string{"far", "hub"} {
		e.rounds(4, furrow)
		e.mustShow("web", "far tier 01: ")
		if err := furrow.Abandon(t.Context(), cluster); err != nil {
			t.Fatal(err)
		}
	}
	e.converge(furrow)
	e.pass(furrow)
	if !e.planBranch("a", "web").IsZero() {
		t.Errorf("not removed:\n%s", e.describe())
	}
}

func TestWhatAPersonMadeOfAnOrphaningCounts(t *testing.T) {
	const file = "clusters/mgmt/furrow/edge/edge-1/tier-01.yaml"
	tests := map[string]struct{ from, to, want string }{
		"it orphans still":    {"interval: 10m", "interval: 7m", "Proposed (RemovalOpen)"},
		"it would not orphan": {"deletionPolicy: Orphan", "deletionPolicy: Delete", "Merged (OrphanPending)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			merges := map[string][]forge.Landing{}
			w.onForge = func(f forge.Forge) forge.Forge { return remembering{f, merges} }
			w.restart()
			w.simulator.Silence("edge-1", true)
			w.abandon("edge-1")
			w.remove()
			w.pass()
			p := w.open()[0]
			w.gitops.put(p.Branch, "my own change", map[string]string{file: strings.Replace(w.file(p.Branch, file), tc.from, tc.to, 1)})
			p = w.open()[0]
			w.merge(p)
			merges[p.Digest] = []forge.Landing{{Merge: w.gitops.refs["main"]}}
			w.rounds(6)
			w.mustBe("edge-1/tier-01", tc.want)
		})
	}
}

func TestASilentClusterBlocksARemovalUntilItIsAbandoned(t *testing.T) {
	e, furrow := plantedWeb(t, twoSites(), "site-a,site-b")
	e.simulator.Silence("site-a", true)
	e.plant(seeds{"web": ""})
	e.rounds(15, furrow)
	e.mustShow("web", "site-a tier 01: Progressing (ClusterSilent)")
	e.mustShow("web", "site-a tier 00: Blocked")

	if err := furrow.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	if len(marks(e.repos["a"])) != 1 || len(marks(e.repos["b"])) != 0 {
		t.Errorf("the marks are %v and %v", marks(e.repos["a"]), marks(e.repos["b"]))
	}
	e.pass(furrow)
	e.mustShow("web", "site-a tier 01: Gone (GivenUp)")
	e.converge(furrow)
	e.pass(furrow)
	e.mustBeForgotten("web")
	if left := marks(e.repos["a"]); len(left) != 0 {
		t.Errorf("marks are left: %v", left)
	}
}

func TestAnAbandonedClusterThatAnswersCountsAsItIs(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.simulator.Silence("site-a", true)
	if err := e.simulator.Suspend("site-a", "flux-system", "flux-system", true); err != nil {
		t.Fatal(err)
	}
	e.plant(seeds{"web": ""})
	e.rounds(3, furrow)
	if err := furrow.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	e.pass(furrow)
	e.mustShow("web", "site-a tier 01: Gone (GivenUp)")
	e.mustShow("web", "site-a tier 00: Proposed")
	e.simulator.Silence("site-a", false)
	e.pass(furrow)
	e.mustShow("web", "site-a tier 01: Progressing (StillPresent)")
	if s, _ := e.report.Seed("web"); len(s.Tiers[0].Waits) != 1 {
		t.Errorf("the gate of tier 00 is open:\n%s", e.describe())
	}
	if err := e.simulator.Suspend("site-a", "flux-system", "flux-system", false); err != nil {
		t.Fatal(err)
	}
	e.converge(furrow)
	e.pass(furrow)
	e.mustBeForgotten("web")
}

func TestUndoneAnAbandonedClusterBlocksAgain(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.simulator.Silence("site-a", true)
	e.plant(seeds{"web": ""})
	e.pass(furrow)
	if err := furrow.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	if err := furrow.UndoAbandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	e.rounds(10, furrow)
	e.mustShow("web", "site-a tier 01: Progressing (ClusterSilent)")
	e.mustShow("web", "site-a tier 00: Blocked")
	err := furrow.UndoAbandon(t.Context(), "site-a")
	if got := golden.Fields(manifest.ProblemOf(err)); got != "NothingToDo cluster=site-a" {
		t.Errorf("undone twice: %s: %v", got, err)
	}
	golden.Of(t).Add("undone twice", err.Error())
}

func TestAClusterThatLeavesAndIsAbandonedKeepsNothingElseFromLeaving(t *testing.T) {
	e, furrow := plantedWeb(t, map[string][]string{"a": {"site-a", "site-b"}}, "site-a,site-b")
	e.simulator.Silence("site-a", true)
	e.control.put("main", "drop site-a", map[string]string{"clusters/site-a.yaml": "", "seeds/web.yaml": web("app", 1, "site-b")})
	e.rounds(15, furrow)
	e.mustShow("web", "site-a tier 01: Progressing (ClusterSilent)")
	e.mustShow("web", "site-a tier 00: Blocked")
	if err := furrow.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	e.converge(furrow)
	e.mustShow("web", "site-a tier 00: Gone (GivenUp)")
	e.mustShow("web", "site-b tier 01: Released")
	if len(marks(e.repos["a"])) != 1 {
		t.Error("the mark is gone while the plan has tiers on the cluster")
	}
	if n := e.idlePushes("a", furrow); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}

	e.plant(seeds{"web": web("app", 2, "site-b")})
	e.converge(furrow)
	e.pass(furrow)
	if left := marks(e.repos["a"]); len(left) != 0 {
		t.Errorf("no plan has tiers on the cluster, and marks are left: %v\n%s", left, e.describe())
	}
}

func TestAbandoningChangesNothingAboutWhatIsToStay(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.simulator.Silence("site-a", true)
	if err := furrow.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	e.rounds(4, furrow)
	e.mustShow("web", "site-a tier 00: Merged (ClusterAbandoned)")
	e.simulator.Silence("site-a", false)
	e.converge(furrow)
	e.mustSay("web", "Released")
	e.mustHave(2)
}

func TestTwoOwnersAbandonEachForItself(t *testing.T) {
	e := newEstate(t, oneSite())
	control := e.otherControlPlane(seeds{"two": web("two", 1, "site-a")})
	e.plant(seeds{"web": web("app", 1, "site-a")})
	prod, staging := e.engine(rival{}), e.engine(rival{owner: "acme/staging", control: control})
	e.converge(prod, staging)
	e.simulator.Silence("site-a", true)
	e.plant(seeds{"web": ""})
	plant(control, seeds{"two": ""})
	if err := prod.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		e.rounds(3, prod, staging)
		e.mustShow("two", "site-a tier 00: Blocked")
	}
	if e.mustBeOnlyStaging(); len(marks(e.repos["a"])) != 0 {
		t.Errorf("marks are left: %v", marks(e.repos["a"]))
	}

	if err := staging.Abandon(t.Context(), "site-a"); err != nil {
		t.Fatal(err)
	}
	e.pass(prod, prod)
	if len(marks(e.repos["a"])) != 1 {
		t.Error("prod, which has nothing on the cluster, dropped the mark of staging")
	}
	if err := prod.UndoAbandon(t.Context(), "site-a"); err == nil {
		t.Error("prod undid what staging asked for")
	}
	e.converge(staging)
	e.pass(staging)
	e.mustBeForgotten("two")
	if len(marks(e.repos["a"])) != 0 {
		t.Errorf("marks are left: %v", marks(e.repos["a"]))
	}
}

func (e *estate) mustBeOnlyStaging() {
	e.t.Helper()
	if !e.planBranch("a", "web").IsZero() || e.planBranch("a", "two").IsZero() {
		e.t.Errorf("not the plan of web was removed, and that alone:\n%s", e.describe())
	}
}

func TestAClusterThatNoPlanNamesIsNotAbandoned(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	texts := golden.Of(t)
	for who, each := range map[string]*engine.Engine{"acme/prod": furrow, "acme/staging": e.engine(rival{owner: "acme/staging"})} {
		cluster := "site-a"
		if each == furrow {
			cluster = "site-z"
		}
		err := each.Abandon(t.Context(), cluster)
		if got := golden.Fields(manifest.ProblemOf(err)); got != "UnknownCluster cluster="+cluster {
			t.Errorf("%s: %s: %v", who, got, err)
		}
		texts.Add(who, err.Error())
	}
	if left := marks(e.repos["a"]); len(left) != 0 {
		t.Errorf("there are marks: %v", left)
	}
}

// mustShow asserts what the last report says of a tier, as "cluster tier NN: State (Reason)".
func (e *estate) mustShow(seed, want string) {
	e.t.Helper()
	name, _, _ := strings.Cut(want, ":")
	s, ok := e.report.Seed(seed)
	if !ok {
		e.t.Errorf("seed %s is not reported:\n%s", seed, e.describe())
		return
	}
	for _, t := range s.Tiers {
		tier := layout.Tier{Ordinal: t.Ordinal}
		if t.Cluster+" tier "+tier.Number() != name {
			continue
		}
		if got := fmt.Sprintf("%s: %s (%s)", name, t.State, t.Reason); !strings.HasPrefix(got, want) {
			e.t.Errorf("the report says %q, want %q\n%s", got, want, e.describe())
		}
		return
	}
	e.t.Errorf("the report has no %s:\n%s", name, e.describe())
}
