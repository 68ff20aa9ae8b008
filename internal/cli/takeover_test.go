package cli

import (
	"strings"
	"testing"
)

func TestAStaleCloneReplacesNoNewerPlan(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	first := p.git("control-plane", "rev-parse", "HEAD")
	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "web:1", "web:2", 1)})
	second := p.git("control-plane", "rev-parse", "HEAD")
	p.pass()
	plan := func() string { return p.git("fleet.git", "rev-parse", "furrow/main/plan/web") }
	made := plan()

	p.git(".", "clone", "--quiet", "control-plane", "stale")
	p.git("stale", "reset", "--quiet", "--hard", first)
	stale := func(args ...string) result {
		return call(t.Context(), "", append(args, "run", "--once", "--simulate", "--control-plane", p.at("stale"), "--cache", p.at("other-cache"))...)
	}
	r := stale()
	if r.code != exitFailed || plan() != made {
		t.Errorf("a clone that is behind ends with %d, and the plan is at %s, was at %s:\n%s", r.code, plan(), made, r.all())
	}
	mustContain(t, r.all(), first, second, "--take-over")
	mustContain(t, p.must("status"), "Written by furrow run on ", second, "did nothing (ControlPlane", first)

	if r := call(t.Context(), "", "run", "--take-over", "--once", "--simulate", "--control-plane", p.at("stale"), "--cache", p.at("other-cache")); r.code != exitOK || plan() == made {
		t.Errorf("with --take-over it ends with %d, and the plan is still %v:\n%s", r.code, plan() == made, r.all())
	}
	made = plan()
	p.pass()
	if plan() == made {
		t.Error("the control plane itself does not go on")
	}
}

func TestNobodyWaitsForARunThatHasEnded(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.git(".", "clone", "--quiet", "control-plane", "ahead")
	p.git("ahead", "commit", "--quiet", "--allow-empty", "--message", "Not pushed yet")
	r := call(t.Context(), "", "run", "--once", "--simulate", "--control-plane", p.at("ahead"), "--cache", p.at("other-cache"))
	if r.code != exitOK {
		t.Fatalf("a clone that is ahead ends with %d:\n%s", r.code, r.all())
	}
	mustContain(t, p.git("fleet.git", "for-each-ref", "--format=%(contents)", "refs/heads/furrow/main/status"), "Furrow-Clone: true", "Furrow-Ended: true")
	p.pass()
}

func TestAControlPlaneThatIsMovedBackIsFollowedAndShown(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	first := p.git("control-plane", "rev-parse", "HEAD")
	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "web:1", "web:2", 1)})
	p.pass()
	p.git("control-plane", "revert", "--no-edit", "HEAD")
	p.pass()
	mustNotContain(t, p.must("status", "-o", "json"), "was moved")

	last := p.git("control-plane", "rev-parse", "HEAD")
	p.git("control-plane", "reset", "--quiet", "--hard", first)
	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "web:1", "web:3", 1)})
	p.pass()
	mustContain(t, p.must("status", "-o", "json"), "the branch of the control plane was moved", last)
}

func TestRetryOfOneTierAndOfAll(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	for _, tier := range []string{"web/east/00", "web/west/00"} {
		p.must("pr", "reject", tier)
	}
	p.pass()
	mustContain(t, p.furrow("retry", "web", "--tier", "east").all(), "write <cluster>/<number>")
	mustContain(t, p.furrow("retry", "web", "--tier", "north/00").all(), `has no north tier 00`)
	mustContain(t, p.furrow("retry", "web", "--all").all(), "--all is for all seeds")
	mustContain(t, p.must("retry", "web", "--tier", "east/00"), "of seed web: east tier 00")
	p.pass()
	mustContain(t, p.must("pr", "list"), "Rejected")
	mustContain(t, p.must("retry", "--all"), "of seed web: west tier 00 (Rejected)")
	p.pass()
	mustNotContain(t, p.must("pr", "list"), "Rejected")
	mustContain(t, p.must("retry", "--all"), "Nothing to retry")
}
