package engine_test

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/golden"
)

// plantedWeb is an estate in which the seed "web" is released on some clusters.
func plantedWeb(t testing.TB, repos map[string][]string, on string) (*estate, *engine.Engine) {
	t.Helper()
	e := newEstate(t, repos)
	furrow := e.engine(rival{})
	e.plant(seeds{"web": web("app", 1, on)})
	e.converge(furrow)
	e.mustSay("web", "Released")
	return e, furrow
}

func TestAPlanReachesEveryRepositoryAfterAPushThatFailedOnce(t *testing.T) {
	for _, failing := range []string{"a", "b"} {
		t.Run(failing, func(t *testing.T) {
			e := newEstate(t, twoSites())
			e.plant(seeds{"web": web("app", 1, "site-a,site-b")})
			e.onPush = func(repo string, _ []git.Update) error {
				if repo != failing {
					return nil
				}
				e.onPush = nil
				return manifest.Problem{Reason: v1alpha1.ReasonRepositoryUnavailable, Message: "connection reset"}
			}
			e.converge(e.engine(rival{}))
			if e.onPush != nil {
				t.Fatal("no push failed")
			}
			e.mustHave(4)
			for repo := range e.repos {
				if e.planBranch(repo, "web").IsZero() {
					t.Errorf("%s does not have the plan:\n%s", repo, e.describe())
				}
			}
		})
	}
}

func TestARepositoryThatDropsOutOfAPlanLosesItsPlanBranch(t *testing.T) {
	e, furrow := plantedWeb(t, twoSites(), "site-a,site-b")
	e.plant(seeds{"web": web("app", 1, "site-b")})
	e.converge(furrow)
	e.mustHave(2)

	e.plant(seeds{"web": web("app", 1, "site-b") + strings.Replace(configMap("app", "extra", "apps/Deployment/app/web"), "annotations: {", "annotations: {furrow.dev/cluster: site-b, ", 1)})
	e.converge(furrow)
	e.mustSay("web", "Released")
	e.mustHave(3)
	if at := e.planBranch("a", "web"); !at.IsZero() {
		t.Errorf("a, where the seed has nothing, keeps its plan at %s", at)
	}

	e.plant(seeds{"web": ""})
	e.converge(furrow)
	e.mustBeForgotten("web")
}

func TestARepositoryThatIsNoLongerDeclaredKeepsWhatItHas(t *testing.T) {
	tests := map[string]struct {
		on, want string
	}{
		"it was the only one of the seed": {on: "site-a", want: "Held"},
		"the seed is elsewhere too":       {on: "site-a,site-b", want: "Stalled: UnknownRepository"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, furrow := plantedWeb(t, twoSites(), tc.on)
			files, plan, objects := e.repos["a"].files(), e.planBranch("a", "web"), len(plantedOn(e.simulator))
			e.control.put("main", "move", map[string]string{"repos/a.yaml": "", "clusters/site-a.yaml": document("Cluster", "site-a", "spec: {gitOpsRepo: b}")})
			e.rounds(6, furrow)
			e.mustSay("web", tc.want)
			e.mustHave(objects)
			if diff := cmp.Diff(files, e.repos["a"].files()); diff != "" || e.planBranch("a", "web") != plan {
				t.Errorf("the repository was changed:\n%s", diff)
			}
		})
	}
}

func TestTwoDocumentsOfOneRepositoryAreRefused(t *testing.T) {
	e := newEstate(t, oneSite())
	e.repos["z"], e.forges["z"] = e.repos["a"], e.forges["a"]
	e.control.put("main", "declare it twice", map[string]string{
		"repos/z.yaml":         document("GitOpsRepo", "z", "spec: {url: memory-a}"),
		"clusters/site-z.yaml": document("Cluster", "site-z", "spec: {gitOpsRepo: z}"),
	})
	e.plant(seeds{"web": web("app", 1, "site-a,site-z")})
	furrow := e.engine(rival{})
	e.rounds(10, furrow)
	want := manifest.Problems{
		{Reason: v1alpha1.ReasonBrokenDocument, Source: manifest.Source{File: "clusters/site-z.yaml", Line: 4}, Object: `Cluster "site-z"`, Field: "spec.gitOpsRepo", Cluster: "site-z"},
		{Reason: v1alpha1.ReasonDuplicateDocument, Source: manifest.Source{File: "repos/z.yaml", Line: 4}, Object: `GitOpsRepo "z"`, Field: "spec.url"},
	}
	if diff := cmp.Diff(want, e.report.Problems, cmpopts.IgnoreFields(manifest.Problem{}, "Message", "Next")); diff != "" {
		t.Errorf("the problems differ (-want +got):\n%s", diff)
	}
	e.mustSay("web", "Released")
	e.mustHave(2) // on site-a alone
	if n := e.idlePushes("a", furrow); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}
}

func TestTwoOwnersOnOneRepositoryLeaveEachOtherAlone(t *testing.T) {
	e := newEstate(t, oneSite())
	e.plant(seeds{"web": web("app", 1, "site-a")})
	control := e.otherControlPlane(seeds{"web": "", "two": web("two", 1, "site-a")})
	prod, staging := e.engine(rival{}), e.engine(rival{owner: "acme/staging", control: control, guard: 20})
	e.converge(prod, staging)
	e.mustHave(4)
	if n := e.idlePushes("a", prod, staging); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}

	// A warning, here of a namespace that nobody provides, does not hold the seed.
	plant(control, seeds{"three": strings.TrimPrefix(configMap("nobody", "x", ""), "---\n")})
	e.pass(staging)
	e.mustSay("three", "Proposed")
	e.mustSay("two", "Released")
	if _, reported := e.report.Seed("web"); reported {
		t.Errorf("staging reports what is prod's:\n%s", e.describe())
	}

	plant(control, seeds{"two": "", "three": ""})
	staging = e.engine(rival{owner: "acme/staging", control: control})
	e.converge(prod, staging)
	e.mustHave(2)
	if e.planBranch("a", "web").IsZero() || !e.planBranch("a", "two").IsZero() {
		t.Errorf("not the plan of two was removed, and that alone:\n%s", e.describe())
	}
}

// TestTwoEnginesOfOneOwnerShareATree has resources in two namespaces that name seeds of the same tree.
func TestTwoEnginesOfOneOwnerShareATree(t *testing.T) {
	e := newEstate(t, oneSite())
	e.plant(seeds{"one": web("one", 1, "site-a"), "two": web("two", 1, "site-a"), "nobodys": web("nobodys", 1, "site-a")})
	one, two := e.engine(rival{scope: []string{"one"}}), e.engine(rival{scope: []string{"two"}})
	e.converge(one, two)
	e.mustHave(4)
	if _, reported := e.report.Seed("one"); reported {
		t.Errorf("the engine of two reports one:\n%s", e.describe())
	}
	if n := e.idlePushes("a", one, two, one); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}
	e.mustReport("one", "two")

	// One of a third has no plan, and its resources are not read as a whole.
	e.plant(seeds{"three": "apiVersion: v1\nkind: Namespace\nmetadata: {name: app, annotations: {furrow.dev/cluster: nowhere}}\n"})
	three := e.engine(rival{scope: []string{"three"}, problem: "wrong"})
	e.rounds(3, one, two, three)
	if n := e.idlePushes("a", one, three, two, three); n != 0 {
		t.Errorf("%d pushes in idle passes beside an engine that reports a problem", n)
	}
	e.mustReport("one", "two", "three")

	e.plant(seeds{"two": ""})
	e.converge(two)
	e.rounds(2, one)
	e.mustReport("one", "three")
}

// publishedStatus is what the status branch of a repository has.
func (e *estate) publishedStatus(repo string) engine.Report {
	t := e.t
	t.Helper()
	refs, err := e.repos[repo].Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	tree, err := e.repos[repo].FS(t.Context(), refs[layout.StatusBranch("main", "acme/prod")])
	if err != nil {
		t.Fatal(err)
	}
	data, err := fs.ReadFile(tree, state.File)
	if err != nil {
		t.Fatal(err)
	}
	var status engine.Report
	if err := yaml.Unmarshal(data, &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// mustReport fails where the status branch is not of these seeds.
func (e *estate) mustReport(names ...string) {
	t := e.t
	t.Helper()
	status := e.publishedStatus("a")
	var got []string
	for _, s := range status.Seeds {
		got = append(got, s.Name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("the status (-want +got):\n%s", diff)
	}
}

func TestAnotherOwnersNameForTheRepositoryStallsNothing(t *testing.T) {
	e := newEstate(t, map[string][]string{"a": {"site-a", "site-z"}})
	e.repos["fleet"], e.forges["fleet"] = e.repos["a"], e.forges["a"]
	e.plant(seeds{"web": web("app", 1, "site-a")})
	control := newMemory()
	control.put("main", "declare the fleet", map[string]string{
		"repo.yaml":    document("GitOpsRepo", "fleet", "spec: {url: memory-a}"),
		"cluster.yaml": document("Cluster", "site-z", "spec: {}"),
	})
	plant(control, seeds{"two": web("two", 1, "site-z")})
	e.pass(e.engine(rival{}), e.engine(rival{owner: "acme/staging", control: control}))
	e.mustSay("two", "Proposed")
	if len(e.report.Seeds) != 1 || len(e.report.Problems) != 0 {
		t.Errorf("staging reports more than its seed:\n%s", e.describe())
	}
}

func TestTheDeletionGuardCountsOnlyItsOwnersPlantings(t *testing.T) {
	const all = "site-1,site-2,site-3,site-4"
	for _, others := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d seeds of another owner", others), func(t *testing.T) {
			e := newEstate(t, map[string][]string{"a": strings.Split(all, ",")})
			control := e.otherControlPlane(nil)
			for i := range others {
				name := fmt.Sprintf("other-%d", i)
				plant(control, seeds{name: plainSeed(name, 1, all)})
			}
			e.guarded = true
			e.plant(seeds{"web": plainSeed("web", 1, all)})
			prod := e.engine(rival{guard: 50})
			e.converge(prod, e.engine(rival{owner: "acme/staging", control: control}))

			e.plant(seeds{"web": ""})
			e.pass(prod)
			e.mustSay("web", "Stalled: DeletionGuard")
			e.rounds(3, prod)
			e.mustHave(4 * (1 + others))
		})
	}
}

func TestAnEngineThatCannotReadTheControlPlaneNeverReplacesANewerPlan(t *testing.T) {
	e := newEstate(t, oneSite())
	e.plant(seeds{"web": web("app", 1, "site-a")})
	blinded := &faults{}
	blind, sighted := e.engine(rival{control: faultyMirror{e.control, blinded}}), e.engine(rival{})
	e.converge(blind)

	blinded.rate = func() mode { return failsBefore }
	e.plant(seeds{"web": web("app", 2, "site-a")})
	e.pass(sighted)
	newer := e.planBranch("a", "web")
	for range 5 {
		e.pass(blind)
		if at := e.planBranch("a", "web"); at != newer {
			t.Fatalf("the blind engine moved the plan from %s to %s", newer, at)
		}
		if open := e.proposals("a"); len(open) != 1 {
			t.Fatalf("%d proposals are open after the blind engine's pass, want 1", len(open))
		}
		e.pass(sighted)
	}
	e.pass(blind)
	e.mustSay("web", "Stalled: PlanNotVerified")
	if len(e.report.Problems) != 1 || e.report.Problems[0].Reason != v1alpha1.ReasonRepositoryUnavailable || e.report.Problems[0].Repo != "" {
		t.Errorf("the blind engine's problems are %q", e.report.Problems)
	}
	blinded.rate = nil
	e.rounds(10, blind)
	e.mustSay("web", "Released")
	if o, ok := e.simulator.Object("site-a", mustID(t, "apps/Deployment/app/web")); !ok || !strings.Contains(fmt.Sprint(o.Body), "web:2") {
		t.Errorf("the newer plan was not released:\n%s", e.describe())
	}
}

func TestTwoEnginesOfOneOwnerPushNothingWhenIdle(t *testing.T) {
	e := newEstate(t, oneSite())
	e.plant(seeds{"web": web("app", 1, "site-a")})
	one, two := e.engine(rival{}), e.engine(rival{})
	e.converge(one, two)
	e.mustHave(2)
	if n := e.idlePushes("a", one, two); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}
}

// TestTheLoserOfARaceObservesAgain lets another engine make a whole pass before
// every push of the first.
func TestTheLoserOfARaceObservesAgain(t *testing.T) {
	e := newEstate(t, twoSites())
	slow, fast := e.engine(rival{}), e.engine(rival{})
	var race func(string, []git.Update) error
	race = func(string, []git.Update) error {
		e.onPush = nil
		e.pass(fast)
		e.onPush = race
		return nil
	}
	e.onPush = race
	for _, text := range []string{web("app", 1, "site-a,site-b"), web("app", 2, "site-b")} {
		e.plant(seeds{"web": text})
		e.converge(slow)
		e.mustSay("web", "Released")
	}
	e.mustHave(2)
	e.plant(seeds{"web": ""})
	e.converge(slow)
	e.mustBeForgotten("web")
}

func TestARemovalStopsWhileTheSeedIsBackButDoesNotParse(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.plant(seeds{"web": ""})
	e.pass(furrow)
	if open := e.proposals("a"); len(open) != 1 {
		t.Fatalf("%d proposals are open, want the removal", len(open))
	}
	e.plant(seeds{"web": web("app", 1, "site-a") + "---\nkind: Broken\n"})
	e.rounds(10, furrow)
	e.mustSay("web", "Stalled: MissingField")
	e.mustHave(2)

	e.plant(seeds{"web": web("app", 1, "site-a")})
	e.converge(furrow)
	e.mustSay("web", "Released")
	e.mustHave(2)
}

func TestARenamedClusterWithTheSamePathIsRefused(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{})
	everywhere := strings.ReplaceAll(web("app", 1, ""), `, annotations: {furrow.dev/cluster: ""}`, "")
	e.plant(seeds{"web": everywhere})
	e.converge(furrow)
	files := e.repos["a"].files()
	e.control.put("main", "rename", map[string]string{"clusters/site-a.yaml": document("Cluster", "site-new", "spec: {gitOpsRepo: a, path: clusters/site-a}")})
	e.rounds(12, furrow)
	e.mustSay("web", "Stalled: PathConflict")
	e.mustHave(2)
	if diff := cmp.Diff(files, e.repos["a"].files()); diff != "" {
		t.Errorf("base was changed:\n%s", diff)
	}
}

func TestACustomResourceDefinitionStaysUnderObjectsOfASeedThatCannotBePlanned(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{})
	e.plant(seeds{"kinds": definition("Toy") + definition("Doll"), "toys": "apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: bear}\n"})
	e.converge(furrow)
	e.plant(seeds{
		"kinds": definition("Doll"),
		"toys":  configMap("default", "chicken", "core/ConfigMap/default/egg") + configMap("default", "egg", "core/ConfigMap/default/chicken"),
	})
	e.rounds(20, furrow)
	e.mustSay("toys", "Stalled: DependencyCycle")
	e.mustSay("kinds", "Stalled: DependencyLeaving")
	e.mustHave(3)
}

func TestAProposalThatWasEditedAndRejectedIsNeverOverwritten(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{})
	e.plant(seeds{"web": web("app", 1, "site-a")})
	e.pass(furrow)
	p := e.edit("a", "notes/mine.txt", "hours of work")
	if err := e.forges["a"].Reject(t.Context(), p, e.person(), "no"); err != nil {
		t.Fatal(err)
	}
	p = e.proposals("a")[0]
	for _, text := range []string{strings.Replace(web("app", 2, "site-a"), "{name: app,", "{name: app, labels: {a: b},", 1), ""} {
		e.plant(seeds{"web": text})
		e.rounds(3, furrow)
		if at := e.repos["a"].refs[p.Branch]; at != p.Head || e.repos["a"].filesAt(at)["notes/mine.txt"] == "" {
			t.Errorf("the branch was moved from %s to %s:\n%s", p.Head, at, e.describe())
		}
	}
}

func TestASeedIsNotForgottenBeforeAProposalThatAPersonEdited(t *testing.T) {
	setUp := func(t *testing.T) (*estate, *engine.Engine, forge.Proposal) {
		e := newEstate(t, oneSite())
		furrow := e.engine(rival{})
		e.plant(seeds{"web": web("app", 1, "site-a")})
		e.pass(furrow)
		p := e.edit("a", "planted/site-a/web/tier-00/namespace.app.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: app, labels: {x: y}}\n")
		e.plant(seeds{"web": ""})
		for range 6 {
			e.pass(furrow)
		}
		e.mustSay("web", "Stalled: EditedByPerson")
		if e.repos["a"].refs[p.Branch] != p.Head || e.planBranch("a", "web").IsZero() {
			t.Errorf("a branch was lost:\n%s", e.describe())
		}
		if e.report.Changed {
			t.Error("a pass that pushed nothing says that it changed something, so the next one comes at once")
		}
		return e, furrow, p
	}
	t.Run("the person deletes the branch", func(t *testing.T) {
		e, furrow, p := setUp(t)
		delete(e.repos["a"].refs, p.Branch)
		e.converge(furrow)
		e.mustBeForgotten("web")
	})
	t.Run("the person merges it", func(t *testing.T) {
		e, furrow, _ := setUp(t)
		e.rounds(3, furrow)
		e.mustSay("web", "Held")
		if err := furrow.Retry(t.Context(), "web"); err != nil {
			t.Fatal(err)
		}
		e.converge(furrow)
		e.mustBeForgotten("web")
	})
}

func TestAMergeWhileASeedIsForgottenIsReverted(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{})
	e.plant(seeds{"web": web("app", 1, "site-a")})
	e.pass(furrow)
	proposed := e.proposals("a")[0]
	e.plant(seeds{"web": ""})
	e.onPush = func(repo string, _ []git.Update) error {
		e.onPush = nil
		e.repos[repo].refs["main"] = proposed.Head // merged as a fast-forward
		return nil
	}
	for range 6 {
		e.pass(furrow)
		e.tick()
	}
	e.mustSay("web", "Proposed")
	e.mustHave(1)
	e.converge(furrow)
	e.mustBeForgotten("web")
}

func TestGarbageOnAPlanBranchHoldsTheSeedAndPanicsNothing(t *testing.T) {
	const ours = "apiVersion: furrow.dev/v1alpha1\nkind: Plan\nseed: web\nowner: acme/prod\n"
	const invalid = "Stalled: InvalidPlan"
	const newer = "Stalled: UnsupportedVersion"
	tier := func(path, reconciler, id string) string {
		return fmt.Sprintf("{cluster: site-a, ordinal: 7, reconciler: Flux, repo: a, entries: [{path: %s, mode: tree, hash: %q}, {path: %s, mode: file, hash: %q}], object: {cluster: site-a, namespace: x, name: y}}", path, id, reconciler, id)
	}
	tests := map[string]struct {
		plan string
		// planted and removed are what is said of the seed while it is in the control
		// plane, and while it is not; empty when it is not reported.
		planted, removed string
	}{
		"it is not a document":           {"foo", invalid, invalid},
		"the file is missing":            {"", invalid, invalid},
		"it is another kind":             {"apiVersion: furrow.dev/v1alpha1\nkind: Status\n", invalid, invalid},
		"it is of a newer Furrow":        {"apiVersion: furrow.dev/v1beta1\nkind: Plan\nseed: web\n", invalid, invalid},
		"it is of a newer major version": {"version: \"2.0\"\n" + ours, newer, newer},
		"it is of another seed":          {strings.Replace(ours, "web", "other", 1), invalid, invalid},
		"it has no tiers":                {ours, "Proposed", ""},
		"a tier is null":                 {ours + "tiers: [null]\n", "Proposed", ""},
		"a tier is there twice": {ours + "tiers: [" + tier("planted/site-a/web/tier-07", "clusters/site-a/furrow/web/tier-07.yaml", "") + ", " +
			tier("planted/site-a/web/tier-07", "clusters/site-a/furrow/web/tier-07.yaml", "") + "]\n", invalid, invalid},
		"an object id is none":                   {ours + "tiers: [" + tier("planted/site-a/web/tier-07", "clusters/site-a/furrow/web/tier-07.yaml", "zz") + "]\n", invalid, invalid},
		"a path is not Furrow's":                 {ours + "tiers: [" + tier("clusters", "clusters/site-a/furrow/web/tier-07.yaml", emptyTree.String()) + "]\n", invalid, invalid},
		"a path is another seed's":               {ours + "tiers: [" + tier("planted/site-a/fine/tier-00", "clusters/site-a/furrow/web/tier-07.yaml", emptyTree.String()) + "]\n", invalid, invalid},
		"a reconciler file leaves the directory": {ours + "tiers: [" + tier("planted/site-a/web/tier-07", "clusters/furrow/web/../../x.yaml", emptyTree.String()) + "]\n", invalid, invalid},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		for there, want := range map[bool]string{true: tc.planted, false: tc.removed} {
			t.Run(fmt.Sprintf("%s, planted %v", name, there), func(t *testing.T) {
				e := newEstate(t, oneSite())
				furrow := e.engine(rival{})
				e.plant(seeds{"fine": web("fine", 1, "site-a")})
				if there {
					e.plant(seeds{"web": web("app", 1, "site-a")})
				}
				e.repos["a"].put(layout.PlanBranch("main", "web"), "garbage", map[string]string{"plan.yaml": tc.plan, "README.md": "here"})
				e.pass(furrow, furrow)
				if n := e.idlePushes("a", furrow); n != 0 {
					t.Errorf("%d pushes in idle passes", n)
				}
				if s, reported := e.report.Seed("web"); want == "" && reported {
					t.Errorf("the seed is %s: %s", s.State, s.Message)
				} else if want != "" {
					e.mustSay("web", want)
					texts.Add(name, strings.Replace(s.Message, e.planBranch("a", "web").String(), "<commit>", 1))
				}
				e.rounds(10, furrow)
				e.mustSay("fine", "Released")
				if e.repos["a"].files()["clusters/site-a/README.md"] == "" {
					t.Error("a file that is not Furrow's was removed")
				}
				mustBeUnharmed(t, e.simulator)
			})
		}
	}
}

func TestWithoutItsPlanBranchARemovedSeedLeavesItsObjects(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	delete(e.repos["a"].refs, layout.PlanBranch("main", "web"))
	e.plant(seeds{"web": ""})
	e.rounds(10, furrow)
	e.mustHave(2)
	if len(e.report.Seeds) != 0 {
		t.Errorf("it is still reported:\n%s", e.describe())
	}
}

func TestASeedForWhichThereIsNoClusterSaysSoAndPushesNoPlan(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{guard: 20})
	nowhere := "apiVersion: v1\nkind: Namespace\nmetadata: {name: app, annotations: {furrow.dev/cluster-selector: no=such}}\n"
	e.plant(seeds{"web": nowhere})
	e.rounds(3, furrow)
	e.mustSay("web", "Stalled: NoClusterMatches")
	if at := e.planBranch("a", "web"); !at.IsZero() {
		t.Errorf("a plan without tiers was pushed: %s", at)
	}
	e.plant(seeds{"web": ""})
	e.converge(furrow)
	e.mustBeForgotten("web")
}

// sharedNamespace is a seed of what web brings, too.
const sharedNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: app, annotations: {furrow.dev/cluster: site-a}}\n"

func TestASeedWhoseObjectsAreAllAnothersNeedsNoPlan(t *testing.T) {
	e := newEstate(t, oneSite())
	furrow := e.engine(rival{guard: 20})
	e.plant(seeds{"one": sharedNamespace, "two": sharedNamespace})
	e.converge(furrow)
	e.mustSay("two", "Released")
	e.mustHave(1)
	if at := e.planBranch("a", "two"); !at.IsZero() {
		t.Errorf("a plan without tiers was pushed: %s", at)
	}
	if n := e.idlePushes("a", furrow); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}
	e.plant(seeds{"two": ""})
	e.converge(furrow)
	e.mustHave(1)
}

func TestASharedNamespaceOutlivesTheSeedThatBroughtIt(t *testing.T) {
	for _, first := range []string{"owner", "web"} {
		t.Run("merging "+first+" first", func(t *testing.T) {
			e := newEstate(t, oneSite())
			furrow := e.engine(rival{})
			e.plant(seeds{"owner": sharedNamespace, "web": web("app", 1, "site-a")})
			e.converge(furrow)
			e.plant(seeds{"owner": ""})
			for range 8 {
				e.pass(furrow)
				e.mergeThose("a", func(p forge.Proposal) bool { return p.Seed == first })
				e.tick()
				e.mustHave(2)
			}
			e.converge(furrow)
			e.mustHave(2)
			e.plant(seeds{"web": ""})
			e.converge(furrow)
			e.mustBeForgotten("web")
		})
	}
}

func TestABaseThatWasForcePushedComesToRest(t *testing.T) {
	tests := map[string]func(m *memory, first git.Hash){
		"to an older commit": func(m *memory, first git.Hash) { m.refs["main"] = first },
		"to an unrelated history": func(m *memory, _ git.Hash) {
			delete(m.refs, "main")
			m.put("main", "anew", map[string]string{"clusters/site-a/README.md": "new"})
		},
	}
	for name, force := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, oneSite())
			furrow, first := e.engine(rival{}), e.repos["a"].refs["main"]
			e.plant(seeds{"web": web("app", 1, "site-a")})
			e.converge(furrow)
			want := slices.Sorted(maps.Keys(e.repos["a"].files()))

			force(e.repos["a"], first)
			e.converge(furrow)
			e.mustSay("web", "Released")
			e.mustHave(2)
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(e.repos["a"].files()))); diff != "" {
				t.Errorf("base does not have the seed again:\n%s", diff)
			}
		})
	}
}

func TestARollbackAfterASquashDoesNotCountAsRevert(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.plant(seeds{"web": web("app", 2, "site-a")})
	for range 12 {
		e.pass(furrow)
		for _, p := range e.proposals("a") {
			e.squash("a", p)
		}
		e.tick()
	}
	e.mustSay("web", "Released")

	e.plant(seeds{"web": web("app", 1, "site-a")})
	e.converge(furrow)
	e.mustSay("web", "Released")
}

// TestASquashedRemovalCountsAsARevert is a limit of plain Git: a removal that
// was squashed without Furrow's trailers cannot be distinguished from a revert.
func TestASquashedRemovalCountsAsARevert(t *testing.T) {
	e, furrow := plantedWeb(t, oneSite(), "site-a")
	e.plant(seeds{"web": ""})
	for range 12 {
		e.pass(furrow)
		for _, p := range e.proposals("a") {
			e.squash("a", p)
		}
		e.tick()
	}
	e.mustBeForgotten("web")

	e.plant(seeds{"web": web("app", 1, "site-a")})
	e.rounds(10, furrow)
	e.mustSay("web", "Reverted")
	e.mustHave(0)

	if err := furrow.Retry(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	e.converge(furrow)
	e.mustSay("web", "Released")
	e.mustHave(2)
}

// BenchmarkPassBehind is a pass over 80 tiers whose reconcilers are some commits
// behind base. The paths that it reads must not grow with that.
func BenchmarkPassBehind(b *testing.B) {
	const clusters = 40
	var names []string
	for i := range clusters {
		names = append(names, fmt.Sprintf("site-%02d", i))
	}
	e, furrow := plantedWeb(b, map[string][]string{"a": names}, strings.Join(names, ","))
	if s, _ := e.report.Seed("web"); len(s.Tiers) != 2*clusters {
		b.Fatalf("%d tiers, want %d", len(s.Tiers), 2*clusters)
	}
	behind, paths := 0, map[int]float64{}
	for _, lag := range []int{20, 200} {
		for ; behind < lag; behind++ {
			e.repos["a"].put("main", "noise", map[string]string{"noise.txt": fmt.Sprint(behind)})
		}
		b.Run(fmt.Sprintf("%d-commits", lag), func(b *testing.B) {
			e.pass(furrow) // what changed between commits is read once
			e.reads = reads{}
			passes := 0
			for b.Loop() {
				e.pass(furrow)
				passes++
			}
			e.mustSay("web", "Released")
			paths[lag] = float64(e.reads.paths) / float64(passes)
			b.ReportMetric(paths[lag], "paths/pass")
			b.ReportMetric(float64(e.reads.commits)/float64(passes), "commits/pass")
			b.ReportMetric(float64(e.reads.diffs)/float64(passes), "diffs/pass")
		})
	}
	if len(paths) == 2 && paths[200] > paths[20] {
		b.Errorf("a pass reads %.0f paths when 200 commits behind, and %.0f when 20 behind", paths[200], paths[20])
	}
}
