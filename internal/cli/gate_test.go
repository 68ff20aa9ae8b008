package cli

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/internal/state"
)

// commitTo commits to a branch of the GitOps repository as a person who has a clone does.
func (p *workspace) commitTo(branch string, files map[string]string, removed ...string) {
	p.t.Helper()
	p.git("work", "fetch", "--quiet", "origin", branch)
	p.git("work", "reset", "--quiet", "--hard", "FETCH_HEAD")
	if len(removed) > 0 {
		p.git("work", append([]string{"rm", "--quiet", "-r"}, removed...)...)
	}
	p.write("work", files)
	p.git("work", "add", "--all")
	p.git("work", "commit", "--quiet", "--message=By hand")
	p.git("work", "push", "--quiet", "origin", "HEAD:"+branch)
}

// refused asserts that a command fails, and how.
func (p *workspace) refused(why string, args ...string) string {
	p.t.Helper()
	r := p.furrow(args...)
	if r.code != exitFailed || !strings.Contains(r.stderr, why) {
		p.t.Errorf("furrow %s ends with %d, want %d and %q:\n%s", strings.Join(args, " "), r.code, exitFailed, why, r.all())
	}
	return r.stdout
}

func TestWhatMustNotBeMergedIsMarkedAndRefused(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.plant("Seed web: Released\n")
	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "web:1", "web:2", 1)})
	p.pass()
	p.commitTo("main", nil, "planted/east/web/tier-00", "clusters/east/furrow/web/tier-00.yaml")
	p.pass()

	const gate = "waits for east tier 00 (Reverted): "
	status := p.states()
	mustContain(t, status, "east tier 02  Proposed  do not merge yet: "+gate, "Waiting for you: 1 proposal\n", "furrow pr merge web/west/02")
	mustNotContain(t, status, "furrow pr merge web/east/02")
	mustContain(t, p.must("pr", "list"), "web/east/02  Blocked  Update: 1 changed  ", "web/west/02  Open     Update: 1 changed  ")
	mustContain(t, p.must("pr", "list", "-o", "yaml"), "gate: \"waits for east tier 00 (Reverted): ")
	mustContain(t, p.must("pr", "show", "web/east/02"), "State       Blocked\n", "Gate        do not merge yet: "+gate)
	mustNotContain(t, p.must("pr", "show", "web/west/02"), "Gate")
	mustContain(t, p.must("explain", "Deployment/web/web"), "east tier 02: Proposed: do not merge yet: "+gate)

	p.refused("web/east/02 must not be merged now: "+gate, "pr", "merge", "web/east/02")
	merged := p.refused("web/east/02 must not be merged now: "+gate, "pr", "merge", "--all")
	mustContain(t, merged, "Merged furrow/main/tier/web/west/02 into main of fleet.")
	mustNotContain(t, merged, "web/east/02")
	mustContain(t, p.must("pr", "list"), "web/east/02  Blocked")
	mustContain(t, p.must("pr", "merge", "web/east/02", "--force"), "Merged furrow/main/tier/web/east/02 into main of fleet.\nSkipped its gate: "+gate)
}

func TestRetryOverForeignContentListsTheFilesOfPeople(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.commitTo("main", map[string]string{"planted/east/web/tier-00/mine.yaml": "kind: ConfigMap\n", "planted/east/web/tier-00/namespace.web.yaml": "kind: Namespace\n"})
	p.pass()
	const held = "planted/east/web/tier-00 on branch main of fleet holds what Furrow did not put there: planted/east/web/tier-00/mine.yaml, planted/east/web/tier-00/namespace.web.yaml. "
	status := p.states()
	mustContain(t, status, "east tier 00  Held (do not merge)  "+held, "Waiting for you: 1 proposal\n")
	mustNotContain(t, status, "furrow pr merge web/east/00")
	p.refused("so it cannot be merged as it is. As of the last pass: "+held, "pr", "merge", "web/east/00", "--force")

	const files = `The proposals of seed web overwrite files on the base branch that Furrow did not put there:
  deletes  planted/east/web/tier-00/mine.yaml
  replaces planted/east/web/tier-00/namespace.web.yaml
`
	if listed := p.refused("nothing was changed. Move the files somewhere else; or, if they may go, add --yes", "retry", "web"); listed != files {
		t.Errorf("listed:\n%s\nwant:\n%s", listed, files)
	}
	p.markIs("retry", false)
	mustContain(t, p.must("retry", "web", "--yes"), files+"Requested: the next pass proposes again, of seed web: east tier 00 (Held). ")
	p.pass()
	mustContain(t, p.states(), "east tier 00  Proposed  waits to be merged\n", "Waiting for you: 2 proposals\n")
	mustContain(t, p.must("pr", "show", "web/east/00"), "Plant web on east, tier 00\n", "  planted/east/web/tier-00/mine.yaml is deleted\n", "  ~ core/Namespace/web\n")
	p.plant("Seed web: Released\n")
}

func TestMergingAStaleProposalPromisesOnlyWhatComes(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	before := p.git("fleet.git", "rev-parse", "main")
	p.must("pr", "merge", "--all")
	p.pass()
	p.pass()
	p.git("fleet.git", "update-ref", "refs/heads/main", before)

	mustContain(t, p.must("pr", "list"), "web/east/01  Stale", "web/west/01  Stale")
	const stale = "the base branch has changed under the proposal, so it cannot be merged as it is. "
	p.refused(stale+"The next pass of the run that owns seed web updates it", "pr", "merge", "web/east/01", "--force")
	p.refused(stale+"The next pass of the run that owns seed web updates it", "pr", "merge", "web/east/01", "--force", "--dry-run")
	p.commitTo("furrow/main/tier/web/west/01", map[string]string{"planted/west/web/tier-01/configmap.settings.yaml": "kind: ConfigMap\n"})
	p.refused(stale+"A person has edited it, so Furrow leaves it alone: rebase it onto main, or delete its branch", "pr", "merge", "web/west/01")

	p.pass()
	mustContain(t, p.must("pr", "list"), "web/east/00  Open", "web/east/01  Blocked", "web/west/01  Stale")
	p.refused("web/east/01 must not be merged now: waits for east tier 00 (Proposed): ", "pr", "merge", "web/east/01")
	p.refused(stale+"As of the last pass: waits for west tier 00 (Proposed): ", "pr", "merge", "web/west/01")
	p.must("pr", "merge", "web/east/01", "--force")
	if files := p.git("fleet.git", "ls-tree", "-r", "--name-only", "main", "planted"); files != "planted/east/web/tier-01/configmap.settings.yaml" {
		t.Errorf("base has\n%s\nwant nothing but what was merged", files)
	}
}

// shutIn makes the proposal of web on east tier 01 one that must not be merged, and puts
// files of people there.
func (a *api) shutIn(gate string, foreign ...string) {
	a.t.Helper()
	planting := &v1alpha1.Planting{}
	if err := a.Get(a.t.Context(), client.ObjectKey{Namespace: "fleet", Name: "web.east"}, planting); err != nil {
		a.t.Fatal(err)
	}
	tier := &planting.Status.Tiers[1]
	tier.Proposal.Gate, tier.Message, tier.Foreign = gate, "do not merge yet: "+gate, foreign
	if err := a.Status().Update(a.t.Context(), planting); err != nil {
		a.t.Fatal(err)
	}
	seed := a.seed("web")
	for i := range seed.Status.Blockers {
		if b := &seed.Status.Blockers[i]; b.Tier == "east tier 01" {
			b.Gate = gate
		}
	}
	if err := a.Status().Update(a.t.Context(), seed); err != nil {
		a.t.Fatal(err)
	}
}

func TestKubectlDoesNotAskForWhatMustNotBeMerged(t *testing.T) {
	const page = "https://git.example.com/acme/fleet/pulls/17"
	a := newAPI(t)
	for _, command := range []string{"status", "status web"} {
		if r := a.call(strings.Fields(command)...); !strings.Contains(r.stdout, page) {
			t.Fatalf("%s does not ask for the review of %s:\n%s", command, page, r.stdout)
		}
	}
	a.shutIn("waits for east tier 00 (Reverted): the Namespace")
	for _, command := range []string{"status", "status web"} {
		r := a.call(strings.Fields(command)...)
		mustNotContain(t, r.stdout, page)
	}
	mustContain(t, a.call("status", "web").stdout, "east tier 01  Proposed  ", "do not merge yet: waits for east tier 00 (Reverted): the Namespace")
}

// A proposal that must not be merged is not offered to anybody, whatever the state of its tier.
func TestStatusOffersNoProposalThatMustNotBeMerged(t *testing.T) {
	const page = "https://git.example.com/acme/fleet/pulls/17"
	for _, of := range release.States {
		for _, gate := range []string{"", "waits for west tier 00 (Reverted): the Namespace"} {
			st := reportOfWeb(of, "")
			st.Seeds[0].Tiers[0].Proposal = &state.Proposal{Title: "Plant web", URL: page, Gate: gate}
			text := shown(st, 0)
			if offered := strings.Contains(text, "Plant web: "+page); offered != (of == release.Proposed && gate == "") {
				t.Errorf("%s with gate %q:\n%s", of, gate, text)
			}
			if decides := strings.Contains(text, "Waiting for your decision:\n  web east tier 00 is "+string(of)); decides != st.Seeds[0].Tiers[0].NeedsDecision() {
				t.Errorf("%s with gate %q:\n%s", of, gate, text)
			}
		}
	}
}

func TestKubectlRetryListsTheFilesOfPeople(t *testing.T) {
	a := newAPI(t)
	a.shutIn("held", "planted/east/web/tier-01/mine.yaml")
	r := a.call("retry", "web", "--wait=false")
	if r.code != exitFailed || a.seed("web").Annotations[v1alpha1.AnnotationRetry] != "" {
		t.Errorf("it ends with %d, and the annotation is %q", r.code, a.seed("web").Annotations[v1alpha1.AnnotationRetry])
	}
	mustContain(t, r.stdout, "The proposals delete or replace files on the base branch that Furrow did not put there:\n  planted/east/web/tier-01/mine.yaml\n")
	mustContain(t, r.stderr, "nothing was changed. ", "--yes")
	if r := a.call("retry", "web", "--wait=false", "--yes"); r.code != exitOK || a.seed("web").Annotations[v1alpha1.AnnotationRetry] == "" {
		t.Errorf("with --yes it ends with %d and asks nothing:\n%s", r.code, r.all())
	}
}

func TestTheLogSaysWhenAGateCloses(t *testing.T) {
	var log strings.Builder
	seen := newTransitions(&log, func() time.Time { return noon })
	report := reportOfWeb(release.Proposed, "waits to be merged")
	tier := &report.Seeds[0].Tiers[0]
	tier.Proposal = &state.Proposal{Repo: "fleet", Branch: "b"}
	seen.add(standalone.Result{Report: &engine.Report{State: *report}})
	for range 2 {
		tier.Proposal.Gate, tier.Message = "waits for east tier 01", "do not merge yet: waits for east tier 01"
		seen.add(standalone.Result{Report: &engine.Report{State: *report}})
	}
	mustContain(t, log.String(), "Proposed     waits to be merged (web/east/00)\n")
	if n := strings.Count(log.String(), "Proposed     do not merge yet: waits for east tier 01\n"); n != 1 {
		t.Errorf("it says %d times that the gate is shut:\n%s", n, log.String())
	}
}

func TestAnEditedProposalOnPlainGitIsNotMergedUnaware(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	mustContain(t, p.must("pr", "show", "web/east/00"), "Furrow leaves your change alone, but once it is merged the tier is held")
	p.commitTo("furrow/main/tier/web/east/00", map[string]string{"planted/east/web/tier-00/mine.yaml": "kind: ConfigMap\n"})
	const why = "a person has edited it, and on plain Git the tier is Held once that is merged. Make the change in the seed and delete its branch: git push origin --delete furrow/main/tier/web/east/00"
	refused := func() {
		p.refused("web/east/00 must not be merged now: "+why+". The next pass then proposes it anew; --force merges it all the same", "pr", "merge", "web/east/00")
	}
	refused()
	p.pass()
	refused()
	mustContain(t, p.states(), "east tier 00  Proposed  is not to be merged as it is: "+why)
	mustContain(t, p.must("pr", "list"), "web/east/00  Edited")
	mustContain(t, p.must("pr", "show", "web/east/00"), why)
	p.must("pr", "merge", "web/east/00", "--force")
	p.pass()
	mustContain(t, p.must("status"), "east tier 00  Held")
}
