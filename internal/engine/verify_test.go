package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// changeReconciler lets somebody give the first tier of a plan another account, with all hashes.
func (w *world) changeReconciler(branch string) {
	w.t.Helper()
	at := w.gitops.refs[branch]
	files := w.gitops.filesAt(at)
	const file = "clusters/mgmt/furrow/edge/tier-00.yaml"
	was := files[file]
	is := strings.Replace(was, "spec:\n", "spec:\n  serviceAccountName: admin\n", 1)
	if was == "" || was == is {
		w.t.Fatalf("%s is %q", file, was)
	}
	old, next := githash.Blob([]byte(was)).String(), githash.Blob([]byte(is)).String()
	w.gitops.put(branch, "Plan seed edge", map[string]string{file: is, layout.PlanFile: strings.ReplaceAll(files[layout.PlanFile], old, next)})
}

// warns reports whether a seed has the warning of a plan that is not used, with who pushed it.
func (w *world) warns(commit string) bool {
	return slices.ContainsFunc(w.report.Seeds[0].Warnings, func(p manifest.Problem) bool {
		return p.Reason == v1alpha1.ReasonPlanNotVerified && strings.Contains(p.Message, commit) && strings.Contains(p.Message, "person")
	})
}

func TestAChangedPlanBranchIsNotBelieved(t *testing.T) {
	branch := layout.PlanBranch("main", "edge")
	cases := map[string]func(w *world){
		"a reconciler object has another account": func(w *world) { w.changeReconciler(branch) },
		"it holds no plan": func(w *world) {
			w.gitops.put(branch, "Plan seed edge", map[string]string{layout.PlanFile: "garbage"})
		},
	}
	for name, change := range cases {
		for _, restarted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restarted], func(t *testing.T) {
				w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
				w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
				w.rounds(2)
				change(w)
				forged := w.gitops.refs[branch].String()
				if restarted {
					w.restart()
				}
				w.rounds(1)
				if !w.warns(forged) {
					t.Errorf("no warning names commit %s and its author: %v", forged, w.report.Seeds[0].Warnings)
				}
				if !w.converge(120) {
					t.Errorf("not planted:\n%s", w.describe())
				}
				for at, text := range w.gitops.files() {
					if strings.Contains(text, "serviceAccountName: admin") {
						t.Errorf("%s is on base:\n%s", at, text)
					}
				}
			})
		}
	}
}

// TestWhatAPersonHasChangedStaysPlanted: a plan that is not used is replaced by what base has, also where no plan ever
// had it like that.
func TestWhatAPersonHasChangedStaysPlanted(t *testing.T) {
	w := shelved(t, fleet{workload: []string{"x"}, seed: 5})
	w.gitops.put("main", "Change b", map[string]string{movedFile: strings.Replace(w.gitops.files()[movedFile], "k: v", "k: mine", 1)})
	branch := layout.PlanBranch("main", "shelf")
	files := w.gitops.filesAt(w.gitops.refs[branch])
	w.gitops.put(branch, "Plan seed shelf", map[string]string{layout.PlanFile: strings.ReplaceAll(files[layout.PlanFile], "shelf.x.01", "shelf.x.07")})
	w.put(shelf("a", "b=new>a", "c"))
	w.restart()
	w.pass()
	w.retry() // the tier is held for what the person has changed
	w.mergeAll("x", "a", "b", "c")
	if got := w.object("x", "b"); got != "vnew " {
		t.Errorf("b is %q", got)
	}
}

// TestWhatAPersonHasMadeUnreadableStaysPlanted: nobody knows what to annotate, so the seed waits for a correction.
func TestWhatAPersonHasMadeUnreadableStaysPlanted(t *testing.T) {
	w := shelved(t, fleet{workload: []string{"x"}, seed: 5})
	was := w.gitops.files()[movedFile]
	w.gitops.put("main", "Change b", map[string]string{movedFile: was + "---\nkind: ["})
	branch := layout.PlanBranch("main", "shelf")
	files := w.gitops.filesAt(w.gitops.refs[branch])
	w.gitops.put(branch, "Plan seed shelf", map[string]string{layout.PlanFile: strings.ReplaceAll(files[layout.PlanFile], "shelf.x.01", "shelf.x.07")})
	w.put(shelf("a", "b=new>a", "c"))
	w.restart()
	for range 10 {
		w.pass()
		w.retry()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
		w.mustStay("x", "a", "b", "c")
	}
	if says := w.report.Seeds[0].Message; !strings.Contains(says, movedFile) {
		t.Errorf("it does not name the file: %s", says)
	}
	w.gitops.put("main", "Change b back", map[string]string{movedFile: was})
	w.mergeAll("x", "a", "b", "c")
	if got := w.object("x", "b"); got != "vnew " {
		t.Errorf("b is %q", got)
	}
}

// TestNobodyIsAccusedOfAPlanForABrokenCluster: what is planned there, and is not merged, cannot be made again.
func TestNobodyIsAccusedOfAPlanForABrokenCluster(t *testing.T) {
	w := shelved(t, fleet{workload: []string{"x", "z"}, seed: 5})
	w.put(shelf("a", "b>a", "c"))
	for i := 0; !strings.HasSuffix(w.object("z", "b"), "disabled"); i++ {
		if i == 30 {
			t.Fatalf("b is not annotated:\n%s", w.describe())
		}
		w.pass()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
	}
	w.put(shelf("a", "b", "c")) // b stays after all
	w.pass()
	w.breakOrFix("z")
	w.put(shelf("a", "b", "c=new"))
	w.pass()
	w.restart()
	w.pass()
	if warnings := fmt.Sprint(w.report.Seeds[0].Warnings); !strings.Contains(warnings, "cannot be verified while the document of cluster z cannot be used (clusters/z.yaml:5 ") || strings.Contains(warnings, "is not a plan that this control plane makes") {
		t.Errorf("warnings: %s", warnings)
	}
	w.breakOrFix("z")
	w.mergeAll("x", "a", "b", "c")
}

func TestNothingIsPlannedAnewAfterARestart(t *testing.T) {
	w := planted(t)
	before := maps.Clone(w.gitops.refs)
	w.restart()
	w.rounds(2)
	branch := layout.PlanBranch("main", "edge")
	if w.gitops.refs[branch] != before[branch] || w.warns("") {
		t.Errorf("the plan has changed, or is warned of: %v", w.report.Seeds[0].Warnings)
	}
}

func TestVerifyFindsWhatCameFromNoPlan(t *testing.T) {
	w := planted(t)
	if found, err := w.engine.Audit(t.Context()); err != nil || len(found) > 0 {
		t.Fatalf("before anybody changes anything it finds %v, %v", found, err)
	}
	w.gitops.put("main", "Help", map[string]string{"planted/mgmt/edge/tier-00/evil.yaml": "a", "clusters/mgmt/furrow/edge/tier-99.yaml": "b", "clusters/mgmt/own.yaml": "c"})
	found, err := w.engine.Audit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, strings.Join([]string{f.Path, f.Author, f.Subject, f.Commit}, " "))
	}
	head := w.gitops.refs["main"].String()
	want := []string{"clusters/mgmt/furrow/edge/tier-99.yaml person Help " + head, "planted/mgmt/edge/tier-00/evil.yaml person Help " + head}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it finds (-want +got):\n%s", diff)
	}
}
