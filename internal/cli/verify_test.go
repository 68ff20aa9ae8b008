package cli

import (
	"strings"
	"testing"
)

func TestWhoChangedAPlanBranchIsShown(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.commitTo("furrow/main/plan/web", map[string]string{"plan.yaml": "kind: Nothing\n"})
	forged := p.git("fleet.git", "rev-parse", "furrow/main/plan/web")
	author := p.git("fleet.git", "log", "-1", "--format=%an", forged)
	const what = " on branch furrow/main/plan/web of fleet is not a plan that this control plane makes"
	mustContain(t, p.pass(), "commit "+forged+" by "+author+what)
	mustContain(t, p.must("status"), "commit "+forged+" by "+author+what)
}

func TestVerifyListsWhatCameFromNoPlan(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.plant("Seed web: Released")
	mustContain(t, p.must("verify"), "Everything at Furrow's paths came from a plan")
	p.commitTo("main", map[string]string{"planted/east/web/tier-00/a.yaml": "a: 1\n", "planted/east/web/tier-00/b.yaml": "b: 1\n"})
	head := p.git("fleet.git", "rev-parse", "main")
	r := p.furrow("verify")
	if r.code != exitProblems {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.stdout, "2 files in planted/east/web/tier-00/", head[:shownDigits])
	if all := p.furrow("verify", "--files").stdout; strings.Count(all, head[:shownDigits]) != 2 {
		t.Errorf("it lists:\n%s", all)
	}
}
