package engine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
)

// mapsOf returns a seed of ConfigMaps in the Namespace shelf; what follows a + in a name is an annotation.
func mapsOf(value string, names ...string) string {
	var docs []string
	for _, name := range names {
		name, annotation, _ := strings.Cut(name, "+")
		if annotation != "" {
			annotation = ", annotations: {" + annotation + "}"
		}
		docs = append(docs, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "+name+", namespace: shelf"+annotation+"}\ndata: {k: "+value+"}\n")
	}
	return strings.Join(docs, "---\n")
}

// TestAnObjectIsHandedOver: an object that goes to another seed is on its cluster all the time, and in the end it
// has what the new seed says and no annotation.
func TestAnObjectIsHandedOver(t *testing.T) {
	const from = "furrow.dev/handed-over-from: old"
	var many []string
	for i := range 60 {
		many = append(many, fmt.Sprintf("many-%d", i))
	}
	many = append(many, "moves")
	tests := map[string]struct {
		old, new string   // what the seeds have in the end; empty for one that is gone
		was      string   // what the first seed has at first, if not a and moves
		first    []string // seeds/old.yaml and seeds/new.yaml of an earlier commit
		after    string
	}{
		"from one seed to another":            {old: mapsOf("one", "a"), new: mapsOf("two", "b", "moves"), after: "two "},
		"by a seed that is renamed":           {new: mapsOf("two", "a", "moves"), after: "two "},
		"by a seed that keeps nothing else":   {new: mapsOf("one", "moves"), after: "one "},
		"when the new seed asks for it first": {first: []string{mapsOf("one", "a", "moves"), mapsOf("two", "b", "moves+"+from)}, old: mapsOf("one", "a"), new: mapsOf("two", "b", "moves+"+from), after: "two "},
		"where it is alone in its tier":       {was: mapsOf("one", "a", "moves+furrow.dev/depends-on: core/ConfigMap/shelf/a"), old: mapsOf("one", "a"), new: mapsOf("two", "b", "moves"), after: "two "},
		"with its Namespace":                  {was: shelf("a", "moves"), old: mapsOf("one", "a"), new: shelf("moves"), after: "v "},
		"from many":                           {was: mapsOf("one", many...), new: mapsOf("two", many...), after: "two "},
		"when its removal has begun":          {first: []string{mapsOf("one", "a"), mapsOf("two", "b")}, old: mapsOf("one", "a"), new: mapsOf("two", "b", "moves"), after: "two "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(4) {
				r := rand.New(rand.NewPCG(uint64(seed), 1))
				w := newWorld(t, fleet{workload: []string{"x"}, seed: 3 + seed})
				if !strings.Contains(tc.was, "Namespace") {
					w.plant("space", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shelf}\n")
				}
				w.plant("old", cmp.Or(tc.was, mapsOf("one", "a", "moves")))
				w.plant("new", mapsOf("two", "b"))
				if tc.old == "" {
					w.plant("new", "")
				}
				if !w.converge(60) {
					t.Fatalf("not planted:\n%s", w.describe())
				}
				if tc.first != nil {
					w.control.put("main", "first", map[string]string{"seeds/old.yaml": tc.first[0], "seeds/new.yaml": tc.first[1]})
					w.pass()
				}
				w.control.put("main", "hand over", map[string]string{"seeds/old.yaml": tc.old, "seeds/new.yaml": tc.new})
				seen := []string{w.object("x", "moves")}
				for range 60 {
					if r.IntN(4) == 0 {
						w.restart()
					}
					w.pass()
					if open := w.mergeable(); len(open) > 0 {
						w.merge(open[r.IntN(len(open))])
					}
					for range r.IntN(4) {
						w.tick()
					}
					w.mustStay("x", "moves")
					if now := w.object("x", "moves"); seen[len(seen)-1] != now {
						seen = append(seen, now)
					}
				}
				if !strings.HasSuffix(strings.Join(seen[:len(seen)-1], ","), " disabled") || seen[len(seen)-1] != tc.after {
					t.Errorf("it was %q on its way, want one disabled on it and %q at its end\n%s", seen, tc.after, w.describe())
				}
				for _, s := range w.report.Seeds {
					if s.State != string(release.Released) {
						t.Errorf("seed %s is %s:\n%s", s.Name, s.State, w.describe())
					}
				}
				if _, there := w.simulator.Object("x", mustID(t, "core/ConfigMap/shelf/a")); tc.was == "" && there != strings.Contains(tc.old+tc.new, "name: a,") {
					t.Errorf("a is there: %v", there)
				}
				w.check()
			}
		})
	}
}

// TestARenamedSeedHandsAllOver: everything of a seed stays where it is when the seed gets another name, on each cluster
// and with its Namespace, and nobody has to confirm that.
func TestARenamedSeedHandsAllOver(t *testing.T) {
	all := shelf("a", "b>a", "c")
	for name, renamed := range map[string]string{"as it was": all, "with a change": strings.ReplaceAll(all, "k: v", "k: new")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"east", "west", "north"}, seed: 4})
			w.plant("old", all)
			if !w.converge(60) {
				t.Fatalf("not planted:\n%s", w.describe())
			}
			w.control.put("main", "git mv", map[string]string{"seeds/old.yaml": "", "seeds/new.yaml": renamed})
			for range 40 {
				w.unconfirmedRounds(1)
				for _, cluster := range []string{"east", "west", "north"} {
					w.mustStay(cluster, "a", "b", "c")
				}
			}
			if s, _ := w.report.Seed("new"); len(w.report.Seeds) != 1 || s == nil || s.State != string(release.Released) {
				t.Errorf("it is not planted as new:\n%s", w.describe())
			}
			if want := map[bool]string{true: "new ", false: "v "}[name != "as it was"]; w.object("west", "b") != want {
				t.Errorf("it is %q in the end, want %q", w.object("west", "b"), want)
			}
			w.check()
		})
	}
}

// twoSeeds is a world in which the seed old has a and moves, and new has b.
func twoSeeds(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"x"}, seed: 4})
	w.plant("space", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shelf}\n")
	w.plant("old", mapsOf("one", "a", "moves"))
	w.plant("new", mapsOf("two", "b"))
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

// TestAHandoverIsWithdrawn: until the object has left its seed, nothing has happened but an annotation.
func TestAHandoverIsWithdrawn(t *testing.T) {
	tests := map[string]struct {
		old, new string
		want     string
	}{
		"and the first seed has it again": {mapsOf("one", "a", "moves"), mapsOf("two", "b"), "one "},
		"and no seed has it":              {mapsOf("one", "a"), mapsOf("two", "b"), "absent"},
		"and the new seed is gone":        {mapsOf("one", "a"), "", "absent"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := twoSeeds(t)
			w.control.put("main", "hand over", map[string]string{"seeds/old.yaml": mapsOf("one", "a"), "seeds/new.yaml": mapsOf("two", "b", "moves")})
			for range 60 {
				w.pass()
				if w.object("x", "moves") == "one disabled" {
					break
				}
				for _, p := range w.mergeable() {
					w.merge(p)
				}
				w.tick()
			}
			if got := w.object("x", "moves"); got != "one disabled" {
				t.Fatalf("it is %q before it leaves:\n%s", got, w.describe())
			}
			w.control.put("main", "withdraw", map[string]string{"seeds/old.yaml": tc.old, "seeds/new.yaml": tc.new})
			if !w.converge(60) {
				t.Errorf("not released:\n%s", w.describe())
			}
			if got := w.object("x", "moves"); got != tc.want {
				t.Errorf("it is %q in the end, want %q:\n%s", got, tc.want, w.describe())
			}
			w.check()
		})
	}
}

// TestNothingIsDeletedWhileAHandoverFails: whatever goes wrong on the way, the object stays until a person confirms
// that it goes.
func TestNothingIsDeletedWhileAHandoverFails(t *testing.T) {
	broken := mapsOf("two", "b", "moves") + "---\napiVersion: v1\nkind: ConfigMap\n"
	tests := map[string]struct {
		old, new string
		mishap   func(w *world)
	}{
		"the new seed breaks before the annotation is merged":   {mapsOf("one", "a"), mapsOf("two", "b", "moves"), func(w *world) { w.pass(); w.plant("new", broken) }},
		"the new seed breaks once the annotation is live":       {mapsOf("one", "a"), mapsOf("two", "b", "moves"), func(w *world) { w.unconfirmedRounds(2); w.plant("new", broken) }},
		"the new seed cannot be read any more":                  {mapsOf("one", "a"), mapsOf("two", "b", "moves"), func(w *world) { w.unconfirmedRounds(2); w.plant("new", "{") }},
		"the new name breaks before the annotation is merged":   {"", mapsOf("two", "b", "a", "moves"), func(w *world) { w.pass(); w.pass(); w.plant("new", broken) }},
		"the new name breaks once the annotation is live":       {"", mapsOf("two", "b", "a", "moves"), func(w *world) { w.unconfirmedRounds(2); w.plant("new", broken) }},
		"somebody reverts the annotation before it leaves":      {mapsOf("one", "a"), mapsOf("two", "b", "moves"), func(w *world) { w.unannotate("planted/x/old/tier-00/configmap.moves.yaml") }},
		"somebody reverts the annotation of a seed that leaves": {"", mapsOf("two", "b", "a", "moves"), func(w *world) { w.unannotate("planted/x/old/tier-00/configmap.moves.yaml") }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := twoSeeds(t)
			w.control.put("main", "hand over", map[string]string{"seeds/old.yaml": tc.old, "seeds/new.yaml": tc.new})
			tc.mishap(w)
			for range 30 {
				w.unconfirmedRounds(1)
				w.mustStay("x", "moves")
			}
			w.plant("new", tc.new)
			for range 30 {
				w.unconfirmedRounds(1)
				w.mustStay("x", "moves")
			}
		})
	}
}

// unannotate takes the annotation of an object off the base branch once its removal from there is proposed.
func (w *world) unannotate(file string) {
	w.t.Helper()
	for range 40 {
		w.pass()
		had, _ := w.fileIn("main", file)
		leaves := slices.ContainsFunc(w.open(), func(p forge.Proposal) bool {
			_, there := w.fileIn(p.Branch, file)
			return !there && p.Seed == "old"
		})
		if leaves && strings.Contains(had, "prune: disabled") {
			text := strings.Replace(had, "  annotations:\n    kustomize.toolkit.fluxcd.io/prune: disabled\n", "", 1)
			w.gitops.put("main", "Revert", map[string]string{file: text})
			w.tick()
			w.tick()
			return
		}
		for _, p := range w.mergeable() {
			w.merge(p)
		}
		w.tick()
	}
	w.t.Fatalf("its removal is not proposed:\n%s", w.describe())
}

// TestAHandoverIsShown: both seeds say what happens, and neither is Stalled.
func TestAHandoverIsShown(t *testing.T) {
	w := twoSeeds(t)
	w.control.put("main", "hand over", map[string]string{"seeds/old.yaml": mapsOf("one", "a"), "seeds/new.yaml": mapsOf("two", "b", "moves")})
	w.pass()
	w.pass()
	s, _ := w.report.Seed("new")
	if s.State != string(release.Blocked) || s.Reason != v1alpha1.ReasonHandedOver || len(s.Warnings) != 1 || s.Warnings[0].Reason != v1alpha1.ReasonHandedOver {
		t.Errorf("the new seed does not say it:\n%s", w.describe())
	}
	if s, _ := w.report.Seed("old"); s.State != string(release.Proposed) || !strings.Contains(s.Tiers[0].Message, `goes to seed "new", release 1 of 3`) {
		t.Errorf("the first seed does not say it:\n%s", w.describe())
	}
	open := w.open()
	if len(open) != 1 || !strings.Contains(open[0].Title, "old") {
		t.Fatalf("%d proposals:\n%s", len(open), w.describe())
	}
	if body := open[0].Body; !strings.Contains(body, `goes to seed "new", release 1 of 3`) {
		t.Errorf("the proposal does not say it:\n%s", body)
	}
}
