package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/golden"
)

// dependent is one object of a seed, on a cluster, that may depend on another.
func dependent(name, cluster, dependsOn, value string) string {
	annotations := "furrow.dev/cluster: " + cluster
	if dependsOn != "" {
		annotations += ", furrow.dev/depends-on: " + dependsOn
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, annotations: {%s}}\ndata: {value: %q}\n---\n", name, annotations, value)
}

// nameOf is a tier's name as people have it in commands.
func nameOf(t layout.Tier) string { return t.Seed + "/" + t.Cluster + "/" + t.Number() }

// proposed are the tiers with an open proposal, as seed/cluster/NN, and the fields that say why each must not
// be merged, as the report has it.
func (w *world) proposed() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, p := range w.open() {
		for _, m := range p.Tiers {
			out[nameOf(m.Tier)] = ""
		}
	}
	if w.report == nil {
		return out
	}
	for _, s := range w.report.Seeds {
		for _, t := range s.Tiers {
			at := nameOf(layout.Tier{Seed: s.Name, Cluster: t.Cluster, Ordinal: t.Ordinal})
			if _, open := out[at]; open && t.Proposal != nil && t.Proposal.GateReason != "" {
				_, out[at], _ = strings.Cut(fieldsOf(t), ") ")
			}
		}
	}
	return out
}

// mustTouchTheirTiers asserts of every open proposal that git would change nothing on base
// but the tier's own paths by merging it; or, where a push may have failed or people have
// edited it, that the status says that it must not be merged.
func (w *world) mustTouchTheirTiers() {
	w.t.Helper()
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	shut := w.proposed()
	for _, p := range w.open() {
		if s, _ := w.report.Seed(p.Seed); s == nil || len(s.Tiers) == 0 {
			continue // it cannot be observed
		}
		if p.Digest == "" || isShut(shut, p) && (p.Edited || w.faults.rate != nil) {
			continue
		}
		if p.Edited && p.Stale {
			err := w.forge.Merge(context.Background(), p, git.Person{Name: "person", Email: "p@example.com", When: w.now})
			if !forge.IsConflict(err) {
				w.t.Errorf("%s is stale, so git must refuse to merge it: %v", p.Branch, err)
			}
			continue
		}
		for _, at := range w.broughtBy(refs["main"], p.Head) {
			if !slices.ContainsFunc(p.Tiers, func(m layout.Member) bool { return ofTier(at, m.Tier) }) {
				w.t.Errorf("merging %s would change %s as well:\n%s", p.Branch, at, w.describe())
			}
		}
	}
}

// isShut reports whether the status names a reason why a proposal must not be merged, of those of its tiers.
func isShut(shut map[string]string, p forge.Proposal) bool {
	return slices.ContainsFunc(p.Tiers, func(m layout.Member) bool { return shut[nameOf(m.Tier)] != "" })
}

// ofTier reports whether a path is one of the two that a tier of these worlds lands at.
func ofTier(at string, t layout.Tier) bool {
	file := "/tier-" + t.Number() + ".yaml"
	return at == t.Dir("") || strings.HasPrefix(at, t.Dir("")+"/") ||
		at == "clusters/"+t.Cluster+"/furrow/"+t.Seed+file || strings.HasSuffix(at, "/furrow/"+t.Seed+"/"+t.Cluster+file)
}

// broughtBy are the files that git would change on base by merging a commit: those that
// differ between it and the newest commit that both have in their history.
func (w *world) broughtBy(base, head git.Hash) []string {
	w.t.Helper()
	shared := w.gitops.reach(base)
	var from git.Hash
	for c, err := range w.gitops.Log(head, git.Hash{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if shared[c.Hash] {
			from = c.Hash
			break
		}
	}
	before, after, have := w.gitops.filesAt(from), w.gitops.filesAt(head), w.gitops.filesAt(base)
	var out []string
	for _, files := range []map[string]string{before, after} {
		for at := range files {
			if before[at] != after[at] && have[at] != after[at] {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestGateIsTransitiveAcrossSeeds: a tier is not proposed, and not merged, before what it
// waits for through unchanged tiers of other seeds on other clusters.
func TestGateIsTransitiveAcrossSeeds(t *testing.T) {
	commit := func(w *world, issuer, shop string) {
		w.control.put("main", "change", map[string]string{
			"seeds/certs.yaml": dependent("operator", "east", "", issuer) + dependent("issuer", "east", "core/ConfigMap/default/operator", "1"),
			"seeds/shop.yaml":  dependent("web", "west", "core/ConfigMap/default/issuer", "1") + dependent("page", "west", "core/ConfigMap/default/web", shop),
		})
	}
	w := newWorld(t, fleet{workload: []string{"east", "west"}, seed: 3})
	w.unamended = true
	commit(w, "1", "1")
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	commit(w, "2", "2")
	w.rounds(3)
	if got := fmt.Sprint(w.proposed()); got != "map[certs/east/00:]" {
		t.Errorf("proposed: %s, want that of the tier which all others wait for", got)
	}
	for _, s := range w.report.Seeds {
		for _, tier := range s.Tiers {
			if s.Name == "shop" && tier.Ordinal == 1 && (fieldsOf(tier) != "Blocked (WaitingForTier) waits=certs on east tier 00 (Proposed)") {
				t.Errorf("shop on west tier 01 is %s", fieldsOf(tier))
			}
		}
	}
	if !w.converge(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}

	// An open proposal's gate is shut by the same.
	commit(w, "2", "3")
	w.rounds(3)
	commit(w, "3", "3")
	w.rounds(1)
	got := w.proposed()
	if want := "waits=certs on east tier 00 (Proposed) gate=WaitingForTier"; got["shop/west/01"] != want || got["certs/east/00"] != "" {
		t.Errorf("proposed: %v, want the gate of shop/west/01 shut by certs/east/00", got)
	}
	if !w.converge(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}
	w.check()
}

// chain is a seed of three ConfigMaps on the cluster east, each waiting for the one before.
func chain(name, value string) string {
	of := func(i int) string { return fmt.Sprintf("%s-%d", name, i) }
	text := dependent(of(0), "east", "", value)
	for i := range 2 {
		text += dependent(of(i+1), "east", "core/ConfigMap/default/"+of(i), value)
	}
	return text
}

// find is the open proposal of a tier.
func (w *world) find(name string) forge.Proposal {
	w.t.Helper()
	for _, p := range w.open() {
		if nameOf(p.Tiers[0].Tier) == name {
			return p
		}
	}
	w.t.Fatalf("there is no open proposal of %s:\n%s", name, w.describe())
	return forge.Proposal{}
}

// forcePushed is a world in which base was moved back by force, over the merges of two seeds
// and the revert of a third one, while proposals are open that were made on top of them.
func forcePushed(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"east"}, seed: 3})
	w.control.put("main", "plant", map[string]string{"seeds/one.yaml": chain("one", "1"), "seeds/two.yaml": chain("two", "1"), "seeds/gone.yaml": chain("gone", "1")})
	merge := func(names ...string) {
		t.Helper()
		for _, name := range names {
			w.merge(w.find(name))
		}
		w.rounds(6)
	}
	w.rounds(1)
	merge("gone/east/00")
	before := w.gitops.refs["main"]
	merge("one/east/00", "two/east/00")
	w.gitops.put("main", "revert", map[string]string{"planted/east/gone/tier-00/configmap.gone-0.yaml": "", "clusters/east/furrow/gone/tier-00.yaml": ""})
	merge("one/east/01")
	for _, name := range []string{"one/east/02", "two/east/01", "gone/east/01"} {
		w.find(name)
	}
	w.gitops.refs["main"] = before
	return w
}

// TestForcePushedBaseUpdatesStaleProposals: what was made on top of commits that
// people took off base by force is grafted anew at once, whatever its gate says, so
// merging it brings nothing of them back.
func TestForcePushedBaseUpdatesStaleProposals(t *testing.T) {
	w := forcePushed(t)
	stale := w.find("one/east/02")
	if brings := w.broughtBy(w.gitops.refs["main"], stale.Head); len(brings) <= 2 {
		t.Fatalf("merging the proposal brings back nothing: %v", brings)
	}
	if err := w.forge.Merge(t.Context(), stale, git.Person{Name: "person", Email: "p@example.com", When: w.now}); !forge.IsConflict(err) {
		t.Errorf("a proposal that is not updated yet: got %v, want ErrConflict", err)
	}
	w.pass()
	w.mustTouchTheirTiers()
	for name, want := range map[string]string{
		"one/east/02": "waits=east tier 01 (Blocked) gate=WaitingForTier", "two/east/01": "waits=east tier 00 (Proposed) gate=WaitingForTier",
		"gone/east/01": "waits=east tier 00 (Merged) gate=WaitingForTier",
	} {
		shut := w.proposed()[name]
		if p := w.find(name); p.Stale || p.Base != w.gitops.refs["main"] || shut != want {
			t.Errorf("%s: stale %t, on %s, and must not be merged because it %q; want %q", name, p.Stale, p.Base, shut, want)
		}
	}
	w.merge(w.find("one/east/02")) // as somebody does who ignores the gate
	for at := range w.gitops.files() {
		if !strings.HasSuffix(at, "README.md") && !ofTier(at, layout.Tier{Seed: "one", Cluster: "east", Ordinal: 2}) && !strings.Contains(at, "/gone/tier-00") {
			t.Errorf("base has %s again", at)
		}
	}
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
}

// TestForcePushedBaseShutsEditedProposals: what a person has edited is theirs, so it is not
// grafted anew; its gate fails until they have done so.
func TestForcePushedBaseShutsEditedProposals(t *testing.T) {
	w := forcePushed(t)
	p := w.find("two/east/01")
	w.gitops.put(p.Branch, "Change what was proposed", map[string]string{"planted/east/two/tier-01/configmap.two-1.yaml": "kind: ConfigMap\n"})
	at := w.gitops.refs[p.Branch]
	w.rounds(2)
	const want = "waits=east tier 00 (Proposed) gate=WaitingForTier"
	if shut := w.proposed()["two/east/01"]; shut != want || w.gitops.refs[p.Branch] != at {
		t.Errorf("it must not be merged because %q, want %q; its branch is at %s, want %s", shut, want, w.gitops.refs[p.Branch], at)
	}
}

// TestForcePushedBaseShutsWhatPeopleMergedIntoProposals: a person merged base into the
// proposal's branch before it was moved back. Nothing conflicts, and merging the proposal
// would bring back what was removed.
func TestForcePushedBaseShutsWhatPeopleMergedIntoProposals(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east"}, seed: 3})
	w.control.put("main", "plant", map[string]string{"seeds/one.yaml": chain("one", "1"), "seeds/two.yaml": chain("two", "1")})
	w.pass()
	before := w.gitops.refs["main"]
	w.merge(w.find("two/east/00"))
	p := w.find("one/east/00")
	w.gitops.mergeInto(p.Branch, "main")
	w.gitops.refs["main"] = before
	w.pass()
	w.mustBe("east/tier-00", "Proposed (ProposalTooWide) gate=ProposalTooWide")
	tier := w.tier("east/tier-00")
	texts := golden.Of(t)
	texts.Add("the tier", tier.Message)
	texts.Add("the gate", tier.Proposal.Gate)
}

// TestForeignContentShutsTheGate: a proposal that foreign content holds must not be merged.
func TestForeignContentShutsTheGate(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east"}, seed: 3})
	shown := map[string]string{}
	w.onForge = func(f forge.Forge) forge.Forge { return gateRecorder{f, shown} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/one.yaml": chain("one", "1")})
	w.pass()
	w.gitops.put("main", "meddle", map[string]string{"planted/east/one/tier-00/mine.yaml": "kind: ConfigMap\n"})
	w.pass()
	branch := layout.TierBranch("main", layout.Tier{Seed: "one", Cluster: "east"})
	w.mustBe("east/tier-00", "Held (ForeignContent) foreign=planted/east/one/tier-00/mine.yaml gate=ForeignContent")
	texts := golden.Of(t)
	if tier := w.tier("east/tier-00"); shown[branch] != tier.Message || tier.Proposal.Gate != tier.Message {
		t.Errorf("the forge says %q, and the status %q of the gate and %q of the tier", shown[branch], tier.Proposal.Gate, tier.Message)
	}
	texts.Add("the gate", shown[branch])
	files, err := w.engine.Overwritten(t.Context(), "one")
	if want := []string{"planted/east/one/tier-00/mine.yaml"}; err != nil || !slices.Equal(files.Deletes, want) || len(files.Replaces) > 0 {
		t.Errorf("retrying overwrites %+v, %v, want that it deletes %v", files, err, want)
	}
	if err := w.engine.Retry(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	w.pass()
	p := w.find("one/east/00")
	if !strings.HasPrefix(p.Title, "Plant one on east") {
		t.Errorf("the proposal is %q", p.Title)
	}
	texts.Add("the proposal", sectionWith(p.Body, "planted/east/one/tier-00/mine.yaml")) // which says what it deletes
	if shut := w.proposed()["one/east/00"]; shut != "" || shown[branch] != "" {
		t.Errorf("it was asked for, and must not be merged because %q, %q", shut, shown[branch])
	}
}

// sectionWith is the section of a proposal's text that has some words.
func sectionWith(text, words string) string {
	for section := range strings.SplitSeq(text, "\n## ") {
		if strings.Contains(section, words) {
			return strings.TrimSpace(section)
		}
	}
	return ""
}

// gateRecorder is a forge that notes what it is to show of gates, by branch.
type gateRecorder struct {
	forge.Forge
	shown map[string]string
}

func (f gateRecorder) Gate(ctx context.Context, p forge.Proposal, g forge.Gate) error {
	f.shown[p.Branch] = g.Shut
	return f.Forge.Gate(ctx, p, g)
}

func (f gateRecorder) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	p, err := f.Forge.Propose(ctx, r)
	if err == nil {
		f.shown[r.Branch] = r.Shut
	}
	return p, err
}

// warnedForge is a forge that warns of something, and notes its gates.
type warnedForge struct {
	forge.Forge
	gates *[]forge.Gate
}

func (f warnedForge) Gate(ctx context.Context, p forge.Proposal, g forge.Gate) error {
	*f.gates = append(*f.gates, g)
	return f.Forge.Gate(ctx, p, g)
}

func (f warnedForge) Warnings() manifest.Problems {
	return manifest.Problems{{Reason: v1alpha1.ReasonProposalIncomplete, Field: "spec.proposals.milestone", Message: "proposals lack the milestone", Next: "Open it"}}
}

// TestWhatProposalsLackIsAWarning: it names the repository, and nothing is held.
func TestWhatProposalsLackIsAWarning(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east"}, seed: 3})
	var gates []forge.Gate
	w.onForge = func(f forge.Forge) forge.Forge { return warnedForge{f, &gates} }
	w.restart()
	w.control.put("main", "plant", map[string]string{"seeds/one.yaml": chain("one", "1")})
	w.pass()
	w.mustBe("east/tier-00", "Proposed")
	repo := w.report.Repositories[0].Name
	want := manifest.Problems{{
		Reason: v1alpha1.ReasonProposalIncomplete, Repo: repo, Object: fmt.Sprintf("GitOpsRepo %q", repo), Field: "spec.proposals.milestone",
		Message: "proposals lack the milestone", Next: "Open it",
	}}
	if diff := cmp.Diff(want, w.report.Warnings); diff != "" || len(w.report.Problems) > 0 {
		t.Errorf("problems %v; warnings (-want +got):\n%s", w.report.Problems, diff)
	}
	if diff := cmp.Diff(want, w.report.Repos[repo].Warnings); diff != "" {
		t.Errorf("of the repository (-want +got):\n%s", diff)
	}
}

// TestAGateSaysWhetherTheProposalIsUpdatedAfterIt: a forge need not show then how it is before that.
func TestAGateSaysWhetherTheProposalIsUpdatedAfterIt(t *testing.T) {
	w := forcePushed(t)
	var gates []forge.Gate
	w.onForge = func(f forge.Forge) forge.Forge { return warnedForge{f, &gates} }
	w.restart()
	for pass, want := range []bool{true, false} {
		gates = nil
		w.pass()
		if got := slices.ContainsFunc(gates, func(g forge.Gate) bool { return g.Updating }); got != want || len(gates) == 0 {
			t.Errorf("pass %d: the gates are %+v", pass, gates)
		}
	}
}

// TestAStaleProposalOfASeedThatCannotBeReadHasAShutGate: nobody grafts it anew.
func TestAStaleProposalOfASeedThatCannotBeReadHasAShutGate(t *testing.T) {
	w := forcePushed(t)
	shown := map[string]string{}
	w.onForge = func(f forge.Forge) forge.Forge { return gateRecorder{f, shown} }
	w.restart()
	w.gitops.put(layout.PlanBranch("main", "two"), "break", map[string]string{"plan.yaml": "kind: Nothing\nversion: \"9.0\"\n"})
	w.pass()
	branch := layout.TierBranch("main", layout.Tier{Seed: "two", Cluster: "east", Ordinal: 1})
	if shown[branch] == "" {
		t.Error("it may be merged")
	}
	golden.Of(t).Add("the gate", shown[branch])
}

// TestAShutGateIsReportedBeforeItsProposalIsGraftedAnew: a reader who finds the new commit also finds
// that it must not be merged.
func TestAShutGateIsReportedBeforeItsProposalIsGraftedAnew(t *testing.T) {
	w := forcePushed(t)
	status := layout.StatusBranch("main", "acme/test")
	grafted := false
	w.wrap = func(m faultyMirror) engine.Mirror {
		return watched{m, func(updates []git.Update) {
			for _, u := range updates {
				if u.Ref == layout.TierBranch("main", layout.Tier{Seed: "one", Cluster: "east", Ordinal: 2}) {
					grafted = true
					w.mustPublish(status, "one", "waits=east tier 01 (Blocked) gate=WaitingForTier")
				}
			}
		}}
	}
	w.restart()
	w.pass()
	w.find("one/east/02")
	if !grafted {
		t.Errorf("the proposal was not grafted anew:\n%s", w.describe())
	}
}

// watched is a mirror that reports every push before it happens.
type watched struct {
	engine.Mirror
	pushes func([]git.Update)
}

func (m watched) Push(ctx context.Context, updates []git.Update) error {
	m.pushes(updates)
	return m.Mirror.Push(ctx, updates)
}

// mustPublish asserts that the status branch says of a tier 02 of a seed that it must not be merged, and why.
func (w *world) mustPublish(branch, seed, want string) {
	w.t.Helper()
	published, err := state.Decode([]byte(w.file(branch, state.File)))
	if err != nil {
		w.t.Fatal(err)
	}
	s, ok := published.Seed(seed)
	if !ok || len(s.Tiers) != 3 || !strings.HasSuffix(fieldsOf(s.Tiers[2]), want) {
		w.t.Errorf("the status does not have %q:\n%s", want, w.file(branch, state.File))
	}
}
