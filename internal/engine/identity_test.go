package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/golden"
)

// Two repositories of two teams, both called control-plane.
var (
	originA = catalog.Origin("https://git.example.com/team-a/control-plane.git", "main", "")
	originB = catalog.Origin("https://git.example.com/team-b/control-plane.git", "main", "")
)

// twoTeams are two control planes of one name that share a GitOps repository; alpha is team A's and released.
func twoTeams(t *testing.T, ofB seeds) (e *estate, a, b rival, control *memory) {
	t.Helper()
	e = newEstate(t, map[string][]string{"a": {"east", "west"}})
	e.plant(seeds{"alpha": web("alpha", 1, "east")})
	a = rival{owner: "control-plane/default", origin: originA}
	control = e.otherControlPlane(seeds{"alpha": ""})
	plant(control, ofB)
	b = rival{owner: "control-plane/default", origin: originB, control: control}
	e.converge(e.engine(a))
	e.mustHave(2)
	return e, a, b, control
}

func (e *estate) branches(repo string) git.Refs {
	e.t.Helper()
	refs, err := e.repos[repo].Fetch(e.t.Context(), "main")
	if err != nil {
		e.t.Fatal(err)
	}
	return refs
}

func TestTwoControlPlanesOfOneNameNeverRemoveEachOthersSeeds(t *testing.T) {
	e, ra, rb, _ := twoTeams(t, seeds{"beta": web("beta", 1, "west")})
	plans := e.planBranch("a", "alpha")
	a, b := e.engine(ra), e.engine(rb)
	for range 12 {
		e.pass(a, b)
		for _, p := range e.proposals("a") {
			if p.Seed != "beta" {
				t.Errorf("%s is proposed: %s", p.Branch, p.Title)
			}
		}
		e.mergeAll()
		e.tick()
	}
	e.mustHave(4)
	if at := e.planBranch("a", "alpha"); at != plans {
		t.Error("the plan of alpha has moved")
	}
	e.pass(b)
	if _, reported := e.report.Seed("alpha"); reported {
		t.Error("team B reports what is team A's")
	}
	if n := e.idlePushes("a", a, b); n != 0 {
		t.Errorf("%d pushes in idle passes", n)
	}
}

func TestASeedOfAnotherOriginIsStalledWithBothNamed(t *testing.T) {
	e, _, rb, control := twoTeams(t, seeds{"alpha": web("other", 1, "west")})
	before := e.branches("a")
	b := e.engine(rb)
	e.rounds(3, b)
	e.mustSay("alpha", "Stalled: ForeignOwner")
	s, _ := e.report.Seed("alpha")
	golden.Of(t).Add("both are named", s.Message)
	// Nor is it removed when the seed goes.
	plant(control, seeds{"alpha": "", "gamma": web("gamma", 1, "west")})
	e.rounds(3, b)
	for branch, at := range before {
		if layoutOf(branch) == "plan" && e.branches("a")[branch] != at {
			t.Errorf("%s has moved", branch)
		}
	}
	e.mustHave(4)
}

func short(origin string) string { return strings.TrimPrefix(origin, "sha256:")[:12] }

func layoutOf(branch string) string {
	parts := strings.Split(branch, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

func TestTheStatusOfAnotherOriginIsNotWrittenOver(t *testing.T) {
	e, ra, rb, _ := twoTeams(t, seeds{"beta": web("beta", 1, "west")})
	a, b := e.engine(ra), e.engine(rb)
	branch := layout.StatusBranch("main", "control-plane/default")
	before := e.branches("a")[branch]
	e.pass(b)
	if at := e.branches("a")[branch]; before.IsZero() || at != before {
		t.Errorf("the status has moved from %s to %s", before, at)
	}
	if len(e.report.Problems) != 1 || e.report.Problems[0].Reason != v1alpha1.ReasonForeignOwner || e.report.Problems[0].Path != branch {
		t.Fatalf("problems: %q", e.report.Problems)
	}
	golden.Of(t).Add("both are named", e.report.Problems[0].Error())
	e.pass(a)
	if len(e.report.Problems) != 0 {
		t.Errorf("problems of the first: %q", e.report.Problems)
	}
}

func TestTheStatusOfANewerMajorVersionIsNotWrittenOver(t *testing.T) {
	e, ra, _, _ := twoTeams(t, seeds{})
	branch := layout.StatusBranch("main", "control-plane/default")
	text := e.repos["a"].filesAt(e.branches("a")[branch])["status.yaml"]
	newer := strings.Replace(text, "version: \"1.0\"", "version: \"2.0\"", 1)
	if newer == text {
		t.Fatalf("the status has no version:\n%s", text)
	}
	e.repos["a"].put(branch, "a newer Furrow reports", map[string]string{"status.yaml": newer})
	before := e.branches("a")[branch]
	e.pass(e.engine(ra))
	if at := e.branches("a")[branch]; at != before {
		t.Error("the status was written over")
	}
	if p := e.report.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonUnsupportedVersion || p[0].Path != branch || p[0].Next == "" {
		t.Errorf("the problems are %v", p)
	}
}

func TestAnAbandonedClusterIsSoForItsOwnControlPlaneAlone(t *testing.T) {
	e, ra, rb, _ := twoTeams(t, seeds{"beta": web("beta", 1, "west,east")})
	a, b := e.engine(ra), e.engine(rb)
	e.rounds(10, b)
	if err := a.Abandon(t.Context(), "east"); err != nil {
		t.Fatal(err)
	}
	branch := layout.AbandonBranch("main", "control-plane/default/"+short(originA), "east")
	e.pass(b)
	if e.branches("a")[branch].IsZero() {
		t.Errorf("the mark is gone, or elsewhere: %v", e.branches("a"))
	}
	if err := b.UndoAbandon(t.Context(), "east"); err == nil {
		t.Error("team B withdraws what team A asked for")
	}
}

func TestNobodyAsksAboutAPlanOfAnotherOrigin(t *testing.T) {
	e, _, rb, _ := twoTeams(t, seeds{"alpha": web("other", 1, "west")})
	b := e.engine(rb)
	_, confirmed := b.Confirm(t.Context(), "alpha")
	for what, err := range map[string]error{"retry": b.Retry(t.Context(), "alpha"), "confirm": confirmed, "abandon": b.Abandon(t.Context(), "east")} {
		if err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
	for branch := range e.branches("a") {
		if kind := layoutOf(branch); kind == "retry" || kind == "confirm" || kind == "abandon" {
			t.Errorf("there is a mark: %s", branch)
		}
	}
}

func TestAdoptTakesOverThePlansOfARepositoryThatMoved(t *testing.T) {
	e, ra, _, _ := twoTeams(t, seeds{})
	before := e.engine(ra)
	if err := before.Abandon(t.Context(), "east"); err != nil {
		t.Fatal(err)
	}
	moved := e.engine(rival{owner: "control-plane/default", origin: originB})
	e.pass(moved)
	e.mustSay("alpha", "Stalled")
	foreign, _, err := moved.Foreign(t.Context())
	if err != nil || len(foreign) != 1 || !foreign[0].Held || foreign[0].Of.Origin != originA {
		t.Fatalf("%+v, %v", foreign, err)
	}
	adopted, _, err := moved.Adopt(t.Context(), engine.AdoptSelection{Owner: "control-plane/default"})
	if err != nil || len(adopted) != 1 {
		t.Fatalf("%+v, %v", adopted, err)
	}
	if e.branches("a")[layout.AbandonBranch("main", "control-plane/default/"+short(originB), "east")].IsZero() {
		t.Error("the cluster is not abandoned any more")
	}
	e.converge(moved)
	e.mustSay("alpha", "Released")
	e.mustHave(2)
	if len(e.proposals("a")) != 0 {
		t.Error("something is proposed again")
	}
	e.pass(before)
	e.mustSay("alpha", "Stalled")
	e.mustHave(2)
	if foreign, _, err := moved.Foreign(t.Context()); err != nil || len(foreign) != 0 {
		t.Errorf("still of others: %+v, %v", foreign, err)
	}
}

// rewritePlan changes the text of a plan on its branch.
func (e *estate) rewritePlan(repo, seed, from, to string) {
	e.t.Helper()
	text := e.repos[repo].filesAt(e.planBranch(repo, seed))["plan.yaml"]
	changed := strings.Replace(text, from, to, 1)
	if changed == text {
		e.t.Fatalf("the plan of %s has no %s", seed, from)
	}
	e.repos[repo].put(layout.PlanBranch("main", seed), "change the plan", map[string]string{"plan.yaml": changed})
}

func TestAdoptRefusesAPlanOfANewerMinorVersion(t *testing.T) {
	e, _, _, _ := twoTeams(t, seeds{})
	e.rewritePlan("a", "alpha", `version: "1.0"`, "version: \"1.9\"\nweather: sunny")
	before := e.planBranch("a", "alpha")
	_, problems, err := e.engine(rival{owner: "control-plane/default", origin: originB}).Adopt(t.Context(), engine.AdoptSelection{Seeds: []string{"alpha"}})
	if err != nil || len(problems) != 1 || golden.Fields(problems[0]) != `GitOpsRepo "a": UnsupportedVersion seed=alpha repo=a path=plan.yaml` {
		t.Fatalf("%v, %v", problems, err)
	}
	golden.Of(t).Add("the message", problems[0].Error())
	if e.planBranch("a", "alpha") != before {
		t.Error("the plan was written again")
	}
}

func TestAPreviewSaysThatAPlanCannotBeRead(t *testing.T) {
	e, ra, _, _ := twoTeams(t, seeds{})
	e.rewritePlan("a", "alpha", `version: "1.0"`, `version: "2.0"`)
	previews, _, err := e.engine(ra).Previews(t.Context(), "alpha")
	if err != nil || len(previews) != 1 || !previews[0].Unreadable || previews[0].Message == "" {
		t.Errorf("%+v, %v", previews, err)
	}
}

func TestAdoptReportsAPlanThatCannotBeReadAndAdoptsTheRest(t *testing.T) {
	e, ra, _, _ := twoTeams(t, seeds{})
	e.plant(seeds{"beta": web("beta", 1, "west"), "gamma": web("gamma", 1, "east")})
	e.converge(e.engine(ra))
	e.rewritePlan("a", "alpha", `version: "1.0"`, `version: "2.0"`)
	status := layout.StatusBranch("main", "control-plane/default")
	before := e.branches("a")
	moved := e.engine(rival{owner: "control-plane/default", origin: originB})
	foreign, problems, err := moved.Foreign(t.Context())
	if err != nil || len(foreign) != 2 || len(problems) != 1 {
		t.Fatalf("%+v, %v, %v", foreign, problems, err)
	}
	for _, which := range []engine.AdoptSelection{{Seeds: []string{"gamma"}}, {Owner: "control-plane/default"}, {Seeds: []string{"alpha"}}} {
		_, problems, err = moved.Adopt(t.Context(), which)
		if err != nil || len(problems) != 1 || golden.Fields(problems[0]) != `GitOpsRepo "a": UnsupportedVersion seed=alpha repo=a path=plan.yaml` {
			t.Errorf("%+v: %v, %v", which, problems, err)
		}
	}
	after := e.branches("a")
	for _, seed := range []string{"alpha", "beta", "gamma"} {
		branch := layout.PlanBranch("main", seed)
		if adopted := before[branch] != after[branch]; adopted != (seed != "alpha") {
			t.Errorf("the plan of %s: adopted is %t", seed, adopted)
		}
	}
	if before[status] != after[status] {
		t.Error("the status has changed, and the plan that cannot be read may be of the same control plane")
	}
}

func TestAdoptChoosesOneControlPlane(t *testing.T) {
	e, _, rb, _ := twoTeams(t, seeds{"beta": web("beta", 1, "west")})
	e.rounds(6, e.engine(rb))
	third := e.engine(rival{owner: "acme/prod", origin: catalog.Origin("https://git.example.com/c/c", "main", "")})
	tests := map[string]struct {
		which engine.AdoptSelection
		want  string // what is wrong; empty where nothing is
	}{
		"a seed that nobody has":          {engine.AdoptSelection{Seeds: []string{"gamma"}}, "UnknownSeed seed=gamma"},
		"an owner of two origins":         {engine.AdoptSelection{Owner: "control-plane/default"}, "InvalidArgument"},
		"an owner that is not there":      {engine.AdoptSelection{Owner: "nobody/default"}, "NothingToDo"},
		"one of the two by its origin":    {engine.AdoptSelection{Owner: "control-plane/default", Origin: short(originB)[:6]}, ""},
		"the other one by its seed":       {engine.AdoptSelection{Seeds: []string{"alpha"}}, ""},
		"seeds of several control planes": {engine.AdoptSelection{Seeds: []string{"alpha", "beta"}}, "InvalidArgument"},
	}
	texts := golden.Of(t)
	for _, name := range []string{"a seed that nobody has", "seeds of several control planes", "an owner of two origins", "an owner that is not there", "one of the two by its origin", "the other one by its seed"} {
		_, _, err := third.Adopt(t.Context(), tests[name].which)
		got := ""
		if err != nil {
			got = golden.Fields(manifest.ProblemOf(err))
			texts.Add(name, err.Error())
		}
		if got != tests[name].want {
			t.Errorf("%s: %s: %v", name, got, err)
		}
	}
	foreign, _, err := third.Foreign(t.Context())
	if err != nil || len(foreign) != 0 {
		t.Errorf("%+v, %v", foreign, err)
	}
}

func TestTheSameSeedOfTwoControlPlanesInRepositoriesOfTheirOwnIsLeftAlone(t *testing.T) {
	e := newEstate(t, twoSites())
	control := e.otherControlPlane(seeds{"web": web("other", 1, "site-b")})
	declared := e.control.files()
	control.put("main", "one repository alone", map[string]string{"repos/a.yaml": "", "clusters/site-a.yaml": ""})
	e.control.put("main", "one repository alone", map[string]string{"repos/b.yaml": "", "clusters/site-b.yaml": ""})
	e.plant(seeds{"web": web("app", 1, "site-a")})
	a, b := e.engine(rival{origin: originA}), e.engine(rival{owner: "acme/other", origin: originB, control: control})
	e.converge(a, b)
	e.mustHave(4)
	planOfB := e.planBranch("b", "web")

	// Now A wants to go where B is.
	e.control.put("main", "both", map[string]string{"repos/b.yaml": declared["repos/b.yaml"], "clusters/site-b.yaml": declared["clusters/site-b.yaml"]})
	e.plant(seeds{"web": web("app", 1, "site-a,site-b")})
	e.rounds(3, a)
	e.mustSay("web", "Stalled")
	if at := e.planBranch("b", "web"); at != planOfB {
		t.Error("the other one's plan was written over")
	}
	// And away again.
	e.plant(seeds{"web": ""})
	e.converge(a, b)
	e.mustHave(2)
	if at := e.planBranch("b", "web"); at != planOfB {
		t.Error("the other one's plan was removed")
	}
}

func TestTheControlPlaneDocumentCountsInEveryPass(t *testing.T) {
	e := newEstate(t, oneSite())
	e.control.put("main", "name it", map[string]string{"control-plane.yaml": document("ControlPlane", "platform", "spec: {deletionGuard: 100}")})
	e.plant(seeds{"one": web("one", 1, "site-a"), "two": web("two", 1, "site-a"), "three": web("three", 1, "site-a")})
	furrow := e.engine(rival{guard: 1})
	e.converge(furrow)
	if diff := cmp.Diff("platform/prod", e.report.Owner); diff != "" {
		t.Error(diff)
	}
	// The guard of the document comes before that of the flag.
	e.plant(seeds{"one": "", "two": "", "three": ""})
	e.converge(furrow)
	e.mustHave(0)

	// While the document cannot be read, nothing is done under another name.
	e.control.put("main", "break it", map[string]string{"control-plane.yaml": document("ControlPlane", "platform", "spec: {guard: 1}"), "seeds/new.yaml": web("new", 1, "site-a")})
	again := e.engine(rival{})
	_, err := again.Pass(t.Context())
	if got := golden.Fields(manifest.ProblemOf(err)); got != `control-plane.yaml:4: ControlPlane "platform": InvalidField field=spec.guard` {
		t.Errorf("a pass without an owner: %s: %v", got, err)
	}
}

// TestRandomHistoriesOfTwoControlPlanesOfOneName lets two control planes of one name plant and remove seeds, some
// with the same name, in any order. Neither ever moves a branch of the other.
func TestRandomHistoriesOfTwoControlPlanesOfOneName(t *testing.T) { eachHistory(t, twoRandomTeams) }

func twoRandomTeams(t *testing.T, seed int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	e := newEstate(t, map[string][]string{"a": {"east", "west"}, "b": {"north"}})
	// Each has a seed of its own too, since the other one may have the first plan of all the rest.
	other := e.otherControlPlane(seeds{"own-1": web("own-1", 1, "west")})
	e.plant(seeds{"own-0": web("own-0", 1, "east")})
	controls := []*memory{e.control, other}
	rivals := []rival{{origin: originA}, {origin: originB, control: other}}
	engines := []*engine.Engine{e.engine(rivals[0]), e.engine(rivals[1])}
	acting := 0
	// of says whose branch it is; every branch of plans and statuses is known by what it holds.
	of := map[string]int{}
	counted := func(u git.Update) bool {
		return slices.Contains([]string{"plan", "status", "abandon"}, layoutOf(u.Ref))
	}
	e.onPush = func(repo string, updates []git.Update) error {
		for _, u := range updates {
			key := repo + " " + u.Ref
			if owner, known := of[key]; counted(u) && known && owner != acting && !u.Old.IsZero() {
				t.Errorf("control plane %d moves %s, which is that of %d", acting, key, owner)
			}
		}
		return nil
	}
	pushes := [2]int{}
	e.onPushed = func(repo string, updates []git.Update) {
		for _, u := range updates {
			if !counted(u) {
				continue
			}
			pushes[acting]++
			if key := repo + " " + u.Ref; u.New.IsZero() {
				delete(of, key)
			} else {
				of[key] = acting
			}
		}
	}
	clusters := []string{"east", "west", "north", "east,north", "east,west,north"}
	for step := range 60 {
		acting = r.IntN(2)
		switch r.IntN(8) {
		case 0, 1:
			name := []string{"alpha", "beta", "shared"}[r.IntN(3)]
			plant(controls[acting], seeds{name: web(fmt.Sprint(name, acting), step, clusters[r.IntN(len(clusters))])})
		case 2:
			plant(controls[acting], seeds{[]string{"alpha", "beta", "shared"}[r.IntN(3)]: ""})
		case 3:
			engines[acting] = e.engine(rivals[acting])
		case 4:
			_ = engines[acting].Abandon(t.Context(), "east") // there may be nothing to abandon
		default:
			e.rounds(1, engines[acting])
		}
	}
	for i, n := range pushes {
		if n == 0 {
			t.Errorf("control plane %d has pushed nothing", i)
		}
	}
}
