package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/golden"
)

// shops is a seed of a ConfigMap on each of some clusters, and one more that waits for it.
func shops(by, value string, clusters ...string) map[string]string {
	text := ""
	for _, cluster := range clusters {
		text += dependent("first-"+cluster, cluster, "", value) + dependent("then-"+cluster, cluster, "core/ConfigMap/default/first-"+cluster, value)
	}
	return map[string]string{"seeds/shop.yaml": text + document("Seed", "shop", "spec: {rollout: {groupBy: "+by+"}}")}
}

// branches are those of proposals.
func (w *world) branches() []string {
	var out []string
	for branch := range w.gitops.refs {
		if strings.Contains(branch, "/tier/") || strings.Contains(branch, "/group/") {
			out = append(out, strings.TrimPrefix(branch, "furrow/main/"))
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) wantBranches(when string, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.branches()); diff != "" {
		w.t.Errorf("%s the branches differ (-want +got):\n%s\n%s", when, diff, w.describe())
	}
}

func TestTiersAreProposedAnewWhenTheGroupingChanges(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east", "west"}, seed: 3})
	w.control.put("main", "plant", shops("Tier", "1", "east", "west"))
	w.pass()
	w.wantBranches("one by one", "tier/shop/east/00", "tier/shop/west/00")
	for _, step := range []struct {
		by   string
		want []string
	}{
		{"Level", []string{"group/shop/level-00"}}, {"Cluster", []string{"group/shop/cluster-east", "group/shop/cluster-west"}},
		{"Seed", []string{"group/shop/seed"}}, {"Tier", []string{"tier/shop/east/00", "tier/shop/west/00"}},
	} {
		w.control.put("main", "group by "+step.by, shops(step.by, "1", "east", "west"))
		w.pass()
		w.wantBranches("by "+step.by, step.want...)
		pushes := w.gitops.pushes
		w.pass()
		if w.gitops.pushes != pushes {
			t.Errorf("by %s: something is pushed again:\n%s", step.by, w.describe())
		}
	}
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.check()
}

func TestWhatAPersonEditedIsLeftAloneWithAllItsTiers(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east", "north", "west"}, seed: 3})
	merges := map[string][]forge.Landing{}
	w.onForge = func(f forge.Forge) forge.Forge { return remembering{f, merges} }
	w.restart()
	w.control.put("main", "plant", shops("Level", "1", "east", "west"))
	w.pass()
	p := w.open()[0]
	const file = "planted/east/shop/tier-00/configmap.first-east.yaml"
	w.gitops.put(p.Branch, "Change what was proposed", map[string]string{file: strings.Replace(w.file(p.Branch, file), `"1"`, `"mine"`, 1)})
	edited := w.gitops.refs[p.Branch]

	// Another cluster gets something of that level: it waits, although it is free.
	w.control.put("main", "more", shops("Level", "1", "east", "north", "west"))
	w.pass()
	w.wantBranches("edited,", "group/shop/level-00")
	w.mustBe("north/tier-00", "Queued (WaitingForProposal)")
	golden.Of(t).Add("what waits for it", w.tier("north/tier-00").Message)
	if w.gitops.refs[p.Branch] != edited {
		t.Error("what a person edited was overwritten")
	}

	w.merge(w.open()[0])
	for _, m := range p.Tiers {
		merges[m.Digest] = []forge.Landing{{Merge: w.gitops.refs["main"], URL: "https://forge.example.com/pulls/1"}}
	}
	w.rounds(4)
	w.mustBe("east/tier-00", "Released (Healthy)")
	seed, _ := w.report.Seed("shop")
	amended := map[string]bool{}
	for _, tier := range seed.Tiers {
		amended[fmt.Sprint(tier.Cluster, tier.Ordinal)] = tier.Amended != ""
	}
	maps.DeleteFunc(amended, func(_ string, is bool) bool { return !is })
	if diff := cmp.Diff(map[string]bool{"east0": true}, amended); diff != "" {
		t.Errorf("amended (-want +got):\n%s", diff)
	}
	w.wantBranches("merged,", "group/shop/level-00", "group/shop/level-01")
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
}

func TestARejectedProposalOfSeveralTiersHoldsThoseOnly(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east", "north", "west"}, seed: 3})
	w.control.put("main", "plant", shops("Level", "1", "east", "west"))
	w.pass()
	if err := w.forge.Reject(t.Context(), w.open()[0], git.Person{Name: "person", Email: "p@example.com", When: w.now}, "not now"); err != nil {
		t.Fatal(err)
	}
	w.control.put("main", "more", shops("Level", "1", "east", "north", "west"))
	w.rounds(2)
	w.wantBranches("rejected,", "group/shop/level-00", "group/shop/level-00.2")
	for tier, want := range map[string]string{"east/tier-00": "Rejected", "west/tier-00": "Rejected", "north/tier-00": "Proposed"} {
		w.mustBe(tier, want)
	}
	// The plan changes them all: they join the one that is open, and the rejected branch goes.
	w.control.put("main", "change", shops("Level", "2", "east", "north", "west"))
	w.rounds(2)
	w.wantBranches("changed,", "group/shop/level-00.2")
	if n := len(w.open()); n != 1 || len(w.open()[0].Tiers) != 3 {
		t.Errorf("%d proposals are open, the first with %v", n, w.open()[0].Tiers)
	}
	// Rejected as a whole, they come back when somebody asks for it.
	if err := w.forge.Reject(t.Context(), w.open()[0], git.Person{Name: "person", Email: "p@example.com", When: w.now}, "no"); err != nil {
		t.Fatal(err)
	}
	w.pass()
	if tiers, err := w.person().RetryRejected(t.Context(), "shop"); err != nil || len(tiers) != 3 {
		t.Fatalf("retried %v, %v", tiers, err)
	}
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.check()
}
