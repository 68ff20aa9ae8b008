package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/golden"
)

// mustHold asserts that a seed waits for a person to confirm what is removed, and that nothing of it
// is proposed.
func (w *world) mustHold(seed string, reason v1alpha1.Reason, unconfirmed ...string) *state.Seed {
	w.t.Helper()
	s, ok := w.report.Seed(seed)
	if !ok || s.State != state.Stalled || s.Reason != reason {
		w.t.Fatalf("seed %s is not held for %s:\n%s", seed, reason, w.describe())
	}
	if diff := cmp.Diff(unconfirmed, s.Unconfirmed); diff != "" {
		w.t.Errorf("what waits to be confirmed differs (-want +got):\n%s", diff)
	}
	for _, p := range w.open() {
		if p.Seed == seed {
			w.t.Errorf("%s is proposed", p.Title)
		}
	}
	return s
}

// mustConfirm confirms what is held of a seed, as a person.
func (w *world) mustConfirm(seed string) []string {
	w.t.Helper()
	confirmed, err := w.person().Confirm(w.t.Context(), seed)
	if err != nil {
		w.t.Fatal(err)
	}
	return confirmed
}

func (w *world) plant(name, text string) {
	w.control.put("main", "change "+name, map[string]string{"seeds/" + name + ".yaml": text})
}

// unconfirmedRounds merges everything, and confirms nothing.
func (w *world) unconfirmedRounds(n int) {
	for range n {
		w.pass()
		for _, p := range w.mergeable() {
			w.merge(p)
		}
		w.tick()
	}
}

func TestARemovalOfWhatHoldsOthersWaitsForConfirm(t *testing.T) {
	tests := map[string]struct {
		text string
		held []string
	}{
		"a Namespace":                {"apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n", []string{"Namespace app on site-0"}},
		"a CustomResourceDefinition": {definition("Toy"), []string{"CustomResourceDefinition toys.example.com on site-0"}},
		"a PersistentVolumeClaim": {
			"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {}\n", []string{"PersistentVolumeClaim default/data on site-0"},
		},
		"a creator": {
			"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: default}\nspec: {}\n", []string{"Cluster default/edge-1 on mgmt"},
		},
		"none of them": {plainSeed("c", 1, ""), nil},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
			w.plant("one", tc.text)
			if !w.converge(60) {
				t.Fatalf("not planted:\n%s", w.describe())
			}
			before := w.gitops.files()
			w.plant("one", "")
			if tc.held != nil {
				w.unconfirmedRounds(6)
				where := tc.held[0][strings.LastIndex(tc.held[0], " ")+1:]
				tc.held = []string{"1 object from " + where, "including " + tc.held[0]}
				texts.Add(name, w.mustHold("one", v1alpha1.ReasonDeletionGuard, tc.held...).Message)
				if diff := cmp.Diff(before, w.gitops.files()); diff != "" {
					t.Errorf("something left (-before +now):\n%s", diff)
				}
				if diff := cmp.Diff(tc.held, w.mustConfirm("one")); diff != "" {
					t.Errorf("what was confirmed differs (-want +got):\n%s", diff)
				}
			}
			w.unconfirmedRounds(30)
			if _, there := w.report.Seed("one"); there || len(w.planted()) != 0 {
				t.Errorf("not removed:\n%s", w.describe())
			}
			w.check()
		})
	}
}

func TestARemovalOfWhatWasNeverMergedNeedsNoConfirm(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.plant("one", "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n")
	w.rounds(3)
	w.plant("one", "")
	w.rounds(5)
	if _, there := w.report.Seed("one"); there || len(w.open()) != 0 {
		t.Errorf("it is not forgotten:\n%s", w.describe())
	}
}

func TestAnUpdateThatDropsACustomResourceDefinitionHoldsOnlyItsTier(t *testing.T) {
	w := planted(t)
	w.plant("edge", storySeed(2, false))
	w.unconfirmedRounds(30)
	const crd = "CustomResourceDefinition toys.example.com on edge-1"
	w.mustBe("edge-1/tier-00", "Held (DeletionGuard)")
	if s, _ := w.report.Seed("edge"); s.State != string(release.Held) || !cmp.Equal(s.Unconfirmed, []string{crd}) {
		t.Errorf("seed edge is %s, unconfirmed are %q", s.State, s.Unconfirmed)
	}
	if _, there := w.simulator.Object("edge-1", mustID(t, "example.com/Toy/app/bear")); there {
		t.Error("the Toy, which needs no confirmation, is still there")
	}
	if !strings.Contains(w.gitops.files()["planted/edge-1/edge/tier-01/deployment.web.yaml"], "web:2") {
		t.Error("the update waits, too")
	}
	if diff := cmp.Diff([]string{crd}, w.mustConfirm("edge")); diff != "" {
		t.Errorf("what was confirmed differs (-want +got):\n%s", diff)
	}
	w.unconfirmedRounds(20)
	if _, there := w.simulator.Object("edge-1", mustID(t, "apiextensions.k8s.io/CustomResourceDefinition/toys.example.com")); there || w.report.Seeds[0].State != string(release.Released) {
		t.Errorf("it did not go once it was confirmed:\n%s", w.describe())
	}
	for branch := range w.gitops.refs {
		if strings.Contains(branch, "/confirm") {
			t.Errorf("%s is left", branch)
		}
	}
	w.check()
}

func TestWhatLeavesAClusterThatIsTakenAwayWaitsForConfirm(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0", "site-1"}, seed: 5})
	w.plant("one", "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n"+configMap("app", "c", ""))
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.control.put("main", "take it away", map[string]string{"clusters/site-1.yaml": ""})
	w.unconfirmedRounds(12)
	w.mustHold("one", v1alpha1.ReasonDeletionGuard, "2 of its objects from site-1")
	if _, there := w.simulator.Object("site-1", mustID(t, "core/Namespace/app")); !there {
		t.Error("the Namespace is gone")
	}
	w.mustConfirm("one")
	if !w.converge(30) || len(w.planted()) != 2 {
		t.Errorf("it did not leave site-1:\n%s", w.describe())
	}
}

// TestWhatWasConfirmedToLeaveASeedDoesNotConfirmItsRemoval: a person confirms that one
// object goes, and then the seed's file is deleted.
func TestWhatWasConfirmedToLeaveASeedDoesNotConfirmItsRemoval(t *testing.T) {
	w := planted(t)
	w.plant("edge", storySeed(2, false))
	w.unconfirmedRounds(30)
	w.mustConfirm("edge")
	w.pass()
	w.plant("edge", "")
	w.unconfirmedRounds(5)
	golden.Of(t).Add("its removal", w.mustHold("edge", v1alpha1.ReasonDeletionGuard, "2 objects from edge-1", "2 objects from mgmt",
		"including Namespace app on edge-1, Namespace infra on mgmt, CustomResourceDefinition toys.example.com on edge-1 and Cluster infra/edge-1 on mgmt").Message)
	if !w.converge(120) || len(w.planted()) != 0 {
		t.Errorf("not removed:\n%s", w.describe())
	}
}

func TestAConfirmedRemovalIsHeldAgainWithoutItsMarker(t *testing.T) {
	w := planted(t)
	w.remove()
	w.pass()
	refs := w.gitops.refs
	if w.asked(refs, layout.ConfirmBranch("main", "edge")) != refs[layout.PlanBranch("main", "edge")] {
		t.Fatalf("the marker does not go along with the plan: %v", refs)
	}
	w.deleteBranch(layout.ConfirmBranch("main", "edge"))
	w.unconfirmedRounds(30)
	w.mustBe("mgmt/tier-01", "Held (DeletionGuard)")
	w.mustConfirm("edge")
	w.mustBeRemoved()
}

// TestARenameIsHeld moves a seed's file to another name where its objects cannot be handed over: they are neither
// deleted nor created again.
func TestARenameIsHeld(t *testing.T) {
	text := plainSeed("x", 1, "") + "---\n" + plainSeed("z", 1, "")
	tests := map[string]struct {
		rename func(w *world)
		// want is what the seed with the new name waits for; nothing if it waits for the old one.
		want manifest.Problem
	}{
		"with a mistake": {
			func(w *world) {
				w.control.put("main", "git mv", map[string]string{"seeds/old.yaml": "", "seeds/new.yaml": text + "---\napiVersion: v1\nkind: ConfigMap\n"})
			},
			manifest.Problem{Reason: v1alpha1.ReasonMissingField, Source: manifest.Source{File: "seeds/new.yaml", Line: 11}, Object: "ConfigMap", Field: "metadata.name"},
		},
		"in two commits, and a pass in between": {
			func(w *world) {
				w.plant("old", "")
				w.rounds(2)
				if len(w.open()) == 0 {
					w.t.Fatalf("nothing is removed before the new name is there:\n%s", w.describe())
				}
				w.plant("new", text)
			},
			manifest.Problem{},
		},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		for _, undo := range []bool{true, false} {
			t.Run(name+", undone: "+map[bool]string{true: "yes", false: "no"}[undo], func(t *testing.T) {
				w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
				w.plant("old", text)
				if !w.converge(60) {
					t.Fatalf("not planted:\n%s", w.describe())
				}
				before := w.gitops.files()
				tc.rename(w)
				w.pass() // what was proposed before is withdrawn
				w.unconfirmedRounds(6)
				unconfirmed := "2 objects from site-0"
				if name == "in two commits, and a pass in between" {
					unconfirmed = "what is left of the seed"
				}
				texts.Add(name+": old", w.mustHold("old", v1alpha1.ReasonSeedRenamed, unconfirmed).Message)
				s, _ := w.report.Seed("new")
				if s == nil || tc.want.Reason == "" && s.Reason != v1alpha1.ReasonHandedOver {
					t.Fatalf("the new name does not wait for the old one:\n%s", w.describe())
				}
				if tc.want.Reason != "" {
					if got := golden.Fields(w.mustHold("new", tc.want.Reason).Problems[0]); got != golden.Fields(tc.want) {
						t.Errorf("the new name waits for %s, want %s", got, golden.Fields(tc.want))
					}
				}
				texts.Add(name+": new", s.Message)
				if diff := cmp.Diff(before, w.gitops.files()); diff != "" {
					t.Errorf("something left (-before +now):\n%s", diff)
				}
				if undo {
					w.control.put("main", "git mv back", map[string]string{"seeds/old.yaml": text, "seeds/new.yaml": ""})
				} else {
					w.plant("new", text)
					if tc.want.Reason == "" {
						w.mustConfirm("old")
					}
				}
				w.unconfirmedRounds(30)
				seed := map[bool]string{true: "old", false: "new"}[undo]
				if s, _ := w.report.Seed(seed); len(w.report.Seeds) != 1 || s == nil || s.State != string(release.Released) || len(w.planted()) != 2 {
					t.Errorf("it is not planted as %s:\n%s", seed, w.describe())
				}
				if undo {
					w.check()
				}
			})
		}
	}
}

// TestEssentialNamespacesAreNeverDeleted removes a seed that declares Namespaces which a
// cluster, or its reconciler, cannot do without.
func TestEssentialNamespacesAreNeverDeleted(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	names := []string{"default", "kube-system", "kube-public", "kube-node-lease", "flux-system"}
	var docs []string
	for _, name := range append(names, "app") {
		docs = append(docs, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+name+"}\n")
	}
	w.plant("all", strings.Join(docs, "---\n"))
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	w.plant("all", "")
	w.pass()
	w.confirm()
	w.unconfirmedRounds(20)
	for _, name := range names {
		if _, there := w.simulator.Object("site-0", mustID(t, "core/Namespace/"+name)); !there {
			t.Errorf("Namespace %s was deleted", name)
		}
	}
	if _, there := w.simulator.Object("site-0", mustID(t, "core/Namespace/app")); there {
		t.Error("Namespace app was not deleted")
	}
}

// TestAProposalThatIsNoLongerConfirmedIsWithdrawn: one that a person has edited stays
// open, and its gate fails.
func TestAProposalThatIsNoLongerConfirmedIsWithdrawn(t *testing.T) {
	for _, edited := range []bool{false, true} {
		w := planted(t)
		w.remove()
		w.rounds(2)
		open := w.open()
		if len(open) == 0 {
			t.Fatalf("nothing is proposed:\n%s", w.describe())
		}
		for range 20 { // until the tier of the creator is proposed
			if open = w.open(); len(open) == 1 && open[0].Tiers[0].Tier.Cluster == "mgmt" {
				break
			}
			for _, p := range open {
				w.merge(p)
			}
			w.rounds(1)
		}
		if edited {
			w.gitops.put(open[0].Branch, "my change", map[string]string{"note": "x"})
		}
		w.deleteBranch(layout.ConfirmBranch("main", "edge"))
		w.rounds(2)
		if got := len(w.open()); got != map[bool]int{false: 0, true: 1}[edited] {
			t.Errorf("edited %v: %d proposals are open", edited, got)
		}
	}
}
