package cli

import (
	"os"
	"testing"
)

func TestStatusIsThatOfTheControlPlaneInACloneOfAnyName(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "control-plane.yaml": document("ControlPlane", "acme-platform", "spec: {}")})
	p.pass()
	p.must("pr", "reject", "web/east/00")
	p.pass()
	p.git(".", "clone", "--quiet", "control-plane", "my own clone")
	p.git(".", "clone", "--quiet", "--bare", "my own clone", "elsewhere.git")
	for _, clone := range []string{"my own clone", "elsewhere.git"} {
		r := call(t.Context(), "", "status", "--control-plane", p.at(clone), "--cache", p.at("other-cache"))
		mustContain(t, r.all(), "Seed web: Rejected")
		r = call(t.Context(), "", "retry", "web", "--control-plane", p.at(clone), "--cache", p.at("other-cache"))
		mustContain(t, r.all(), "proposes again, of seed web: east tier 00 (Rejected).")
	}
	if refs := p.git("fleet.git", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/furrow/main/status"); refs != "furrow/main/status/acme-platform/default" {
		t.Errorf("branches of statuses: %s", refs)
	}
}

func TestPlansAreAdoptedAfterTheRepositoryMoved(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.plant("Seed web: Released")
	plan := p.git("fleet.git", "rev-parse", "furrow/main/plan/web")

	p.git("control-plane", "remote", "add", "origin", "https://git.example.com/acme/platform.git")
	r := p.furrow("run", "--once", "--simulate")
	if r.code != exitProblems {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.all(), "Stalled", "its plan belongs to control plane", "'furrow adopt'")
	mustContain(t, p.must("adopt"), "SEED", "web", "control-plane/default", "has the seed")
	if got := p.git("fleet.git", "rev-parse", "furrow/main/plan/web"); got != plan {
		t.Error("the plan was moved by reading it")
	}
	mustContain(t, p.must("adopt", "--from", "control-plane/default"), "Adopted the plan of seed web in fleet")
	mustContain(t, p.must("adopt"), "No other control plane has a plan")
	p.plant("Seed web: Released")

	// Another name is another owner, until its plans are adopted too.
	p.commit(map[string]string{"control-plane.yaml": document("ControlPlane", "acme", "spec: {}")})
	mustContain(t, p.furrow("run", "--once", "--simulate").all(), "Stalled")
	p.must("adopt", "web")
	p.plant("Seed web: Released")
	if refs := p.git("fleet.git", "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/furrow/main/status"); refs != "furrow/main/status/acme/default" {
		t.Errorf("branches of statuses: %s", refs)
	}
	if err := os.RemoveAll(p.cache); err != nil {
		t.Fatal(err)
	}
	mustContain(t, p.must("status"), "Seed web: Released")
}

func TestStatusSaysThatItIsOutOfDateWhileItsHomeIsAway(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	mustContain(t, p.must("status"), "Seed web: Proposed")
	config, err := os.ReadFile(p.at("fleet.git/config"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("fleet.git", map[string]string{"config": "no configuration ["})
	mustContain(t, p.must("status"), `GitOpsRepo "fleet", which has the status, cannot be read: `, "What follows was reported at 20", "Seed web: Proposed")
	if err := os.RemoveAll(p.cache); err != nil {
		t.Fatal(err)
	}
	r := p.furrow("status")
	if r.code != exitFailed {
		t.Errorf("without anything seen before it ends with %d", r.code)
	}
	mustContain(t, r.stderr, `GitOpsRepo "fleet", which has the status: `)
	p.write("fleet.git", map[string]string{"config": string(config)})
	mustNotContain(t, p.must("status"), "cannot be read")
}
