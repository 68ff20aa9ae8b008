package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/simulator"
)

// shelf is a seed of a Namespace and ConfigMaps; each may wait for another one, as in "b=new>a".
func shelf(objects ...string) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: shelf}\n")
	for _, o := range objects {
		o, to, waits := strings.Cut(o, ">")
		name, value, _ := strings.Cut(o, "=")
		annotation := ""
		if waits {
			annotation = ", annotations: {furrow.dev/depends-on: core/ConfigMap/shelf/" + to + "}"
		}
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shelf%s}\ndata: {k: v%s}\n", name, annotation, value)
	}
	return b.String()
}

// shelved is a world in which a, b and c are released in one tier of each cluster.
func shelved(t *testing.T, f fleet) *world {
	t.Helper()
	w := newWorld(t, f)
	w.put(shelf("a", "b", "c"))
	if !w.converge(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	return w
}

func (w *world) put(seed string) {
	w.control.put("main", "change", map[string]string{"seeds/shelf.yaml": seed})
}

// mustStay asserts that objects are on a cluster.
func (w *world) mustStay(cluster string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		if _, there := w.simulator.Object(cluster, mustID(w.t, "core/ConfigMap/shelf/"+name)); !there {
			w.t.Fatalf("%s is not on %s:\n%s\n%s", name, cluster, strings.Join(w.history, "\n"), w.describe())
		}
	}
}

// mergeAll makes passes, merges everything, and ticks, until nothing is left to do; objects must be there
// all the time.
func (w *world) mergeAll(cluster string, names ...string) {
	w.t.Helper()
	for range 60 {
		w.pass()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
		w.mustStay(cluster, names...)
	}
	if !w.converge(60) {
		w.t.Fatalf("not released:\n%s", w.describe())
	}
}

// object is an object on a cluster, as it is there.
func (w *world) object(cluster, name string) string {
	o, there := w.simulator.Object(cluster, mustID(w.t, "core/ConfigMap/shelf/"+name))
	if !there {
		return "absent"
	}
	return fmt.Sprintf("%v %s", o.Map("data")["k"], o.Annotation("kustomize.toolkit.fluxcd.io/prune"))
}

func TestAnObjectMovesToAnotherTier(t *testing.T) {
	for _, first := range []string{"tier-01", "tier-02"} {
		t.Run(first+" goes first", func(t *testing.T) {
			w := shelved(t, fleet{workload: []string{"x"}, seed: 3})
			w.put(shelf("a=new", "b=new>a", "c", "d"))
			seen := []string{w.object("x", "b")}
			for range 60 {
				w.pass()
				open := w.open()
				if i := slices.IndexFunc(open, func(p forge.Proposal) bool { return strings.Contains(p.Branch, "/"+strings.TrimPrefix(first, "tier-")) }); i > 0 {
					open[0], open[i] = open[i], open[0]
				}
				if len(open) > 0 { // one at a time, with time for the cluster in between
					w.merge(open[0])
				}
				w.tick()
				w.tick()
				w.tick()
				w.mustStay("x", "a", "b", "c")
				if now := w.object("x", "b"); seen[len(seen)-1] != now {
					seen = append(seen, now)
				}
			}
			if want := []string{"v ", "v disabled", "vnew "}; !slices.Equal(seen, want) {
				t.Errorf("b was %q on its way, want %q\n%s", seen, want, w.describe())
			}
			if !w.converge(10) || w.object("x", "d") != "v " {
				t.Errorf("not released:\n%s", w.describe())
			}
			w.mustBe("x/tier-02", "Released")
			w.check()
		})
	}
}

// movedFile is the file of the object that moves, in the tier that it leaves.
const movedFile = "planted/x/shelf/tier-01/configmap.b.yaml"

func TestMishapsOfMoves(t *testing.T) {
	moving := shelf("a=new", "b=new>a", "c", "d")
	tests := map[string]struct {
		mishap func(t *testing.T, w *world)
		// stays are there all the time; after is what b is in the end.
		stays []string
		after string
	}{
		"the engine crashes all the time": {
			mishap: func(_ *testing.T, w *world) {
				for range 40 {
					w.restart()
					w.pass()
					if open := w.open(); len(open) > 0 {
						w.merge(open[0])
					}
					w.tick()
					w.mustStay("x", "a", "b", "c")
				}
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the first release is rejected, and the dependency undone": {
			mishap: func(_ *testing.T, w *world) {
				w.pass()
				w.reject("tier/shelf/x/01")
				w.rounds(5)
				w.mustBe("x/tier-01", "Rejected")
				w.put(shelf("a=new", "b=new", "c"))
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the second release is rejected where it adds the object, and retried": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.reject("tier/shelf/x/02")
				w.mergingRounds(10)
				w.mustStay("x", "a", "b", "c")
				w.mustBe("x/tier-02", "Rejected")
				w.retry()
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the removal from the first tier is reverted, with the annotation": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				before := w.file("main", movedFile)
				w.mergingRounds(2)
				w.gitops.put("main", "revert", map[string]string{movedFile: before})
				w.mergingRounds(5)
				w.mustStay("x", "a", "b", "c")
				w.retry()
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the object comes back without the annotation": {
			mishap: func(t *testing.T, w *world) {
				bare := w.file("main", movedFile)
				w.untilOpen("tier/shelf/x/02")
				protected := w.file("main", movedFile)
				w.gitops.put("main", "remove the annotation", map[string]string{movedFile: bare})
				w.mergingRounds(10)
				w.mustStay("x", "a", "b", "c")
				w.mustBe("x/tier-01", "Held (MoveUnprotected)")
				w.gitops.put("main", "put it back", map[string]string{movedFile: protected})
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"a person takes the annotation out of the first proposal": {
			mishap: func(t *testing.T, w *world) {
				w.pass()
				bare := strings.Replace(w.file("main", movedFile), "k: v", "k: mine", 1)
				w.gitops.put(w.find("shelf/x/01").Branch, "remove the annotation", map[string]string{movedFile: bare})
				w.mergingRounds(10)
				w.mustStay("x", "a", "b", "c")
				if len(w.open()) > 0 || w.file("main", movedFile) != bare {
					t.Errorf("it goes on without the annotation:\n%s", w.describe())
				}
				w.retry()
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"a person renames the file of the object, without the annotation": {
			mishap: func(_ *testing.T, w *world) {
				const renamed = "planted/x/shelf/tier-01/other.yaml"
				bare := w.file("main", movedFile)
				w.untilOpen("tier/shelf/x/02")
				w.gitops.put("main", "rename it", map[string]string{movedFile: "", renamed: bare})
				w.mergingRounds(5)
				w.retry()
				w.mergingRounds(10)
				w.mustStay("x", "a", "b", "c")
				w.mustBe("x/tier-01", "Held (MoveUnprotected)")
				w.gitops.put("main", "annotate it", map[string]string{renamed: strings.Replace(bare, "metadata:\n", "metadata:\n  annotations:\n    "+plan.Protection+": disabled\n", 1)})
				w.mergingRounds(5)
				w.retry()
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the seed is suspended for a while": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.put(moving + "---\n" + document("Seed", "shelf", "spec: {suspend: true}"))
				w.mergingRounds(10)
				w.mustStay("x", "a", "b", "c")
				w.put(moving)
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"an earlier update is not released yet": {
			mishap: func(_ *testing.T, w *world) {
				w.put(shelf("a", "b", "c", "d>a"))
				w.mergeAll("x", "a", "b", "c")
				w.put(shelf("a=two", "b", "c", "d=two>a"))
				w.pass()
				w.put(shelf("a=two", "b=new>c", "c", "d=two>a"))
				for range 30 {
					w.pass()
					if open := w.open(); len(open) > 0 {
						w.merge(open[0])
					}
					w.tick()
					if w.object("x", "d") == "vtwo " && w.object("x", "a") != "vtwo " {
						w.t.Fatalf("d goes before a:\n%s", w.describe())
					}
				}
			},
			stays: []string{"a", "b", "c", "d"}, after: "vnew ",
		},
		"an update comes while the object is in both tiers": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.mergeOnly("tier/shelf/x/02")
				w.rounds(4)
				w.put(shelf("a=last", "b=last>a", "c", "d"))
				w.rounds(4)
				if got := w.object("x", "b"); got != "v disabled" {
					w.t.Errorf("b is %q", got)
				}
			},
			stays: []string{"a", "b", "c"}, after: "vlast ",
		},
		"a tier is not healthy while objects move": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.simulator.Break("x", mustID(w.t, "core/ConfigMap/shelf/a"), "broken")
				w.mergingRounds(30)
				w.simulator.Heal("x", mustID(w.t, "core/ConfigMap/shelf/a"))
			},
			stays: []string{"a", "b", "c"}, after: "vnew ",
		},
		"the object leaves the seed while it is protected": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.put(shelf("a", "c"))
			},
			stays: []string{"a", "c"}, after: "absent",
		},
		"the object leaves the seed while it moves": {
			mishap: func(_ *testing.T, w *world) {
				w.untilOpen("tier/shelf/x/02")
				w.mergeOnly("tier/shelf/x/01")
				w.rounds(4)
				w.put(shelf("a", "c"))
			},
			stays: []string{"a", "c"}, after: "absent",
		},
	}
	for sentence, c := range tests {
		t.Run(sentence, func(t *testing.T) {
			w := shelved(t, fleet{workload: []string{"x"}, seed: 3})
			w.put(moving)
			c.mishap(t, w)
			w.mergeAll("x", c.stays...)
			mustBeUnharmed(t, w.simulator)
			if got := w.object("x", "b"); got != c.after {
				t.Errorf("b is %q, want %q\n%s", got, c.after, w.describe())
			}
		})
	}
}

func TestAnObjectMovesInAGroup(t *testing.T) {
	for _, by := range []string{"Level", "Cluster", "Seed"} {
		t.Run(by, func(t *testing.T) {
			w := newWorld(t, fleet{workload: []string{"x", "z"}, seed: 3})
			settings := "---\n" + document("Seed", "shelf", "spec: {rollout: {groupBy: "+by+"}}")
			w.put(shelf("a", "b", "c") + settings)
			if !w.converge(60) {
				t.Fatalf("not planted:\n%s", w.describe())
			}
			w.put(shelf("a=new", "b=new>a", "c", "d") + settings)
			w.mergeAll("x", "a", "b", "c")
			for _, cluster := range []string{"x", "z"} {
				if got := w.object(cluster, "b"); got != "vnew " {
					t.Errorf("b on %s is %q\n%s", cluster, got, w.describe())
				}
			}
			mustBeUnharmed(t, w.simulator)
		})
	}
}

// What another seed has waits for the third release of the move, which brings what it waits for.
func TestWhatWaitsForATierWithMovesWaitsForAllOfThem(t *testing.T) {
	desk := func(value string) map[string]string {
		return map[string]string{"seeds/desk.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: desk, namespace: shelf, annotations: {furrow.dev/depends-on: core/ConfigMap/shelf/a}}\ndata: {k: v" + value + "}\n"}
	}
	w := shelved(t, fleet{workload: []string{"x"}, seed: 3})
	w.control.put("main", "add", desk(""))
	w.mergeAll("x", "a", "b", "c")
	w.control.put("main", "change", desk("new"))
	w.put(shelf("a=new", "b=new>a", "c"))
	waited := false
	for range 60 {
		w.pass()
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
		w.mustStay("x", "a", "b", "c", "desk")
		seed, _ := w.report.Seed("desk")
		for _, tier := range seed.Tiers {
			waited = waited || tier.Reason == v1alpha1.ReasonWaitingForMove
		}
		if w.object("x", "desk") == "vnew " && w.object("x", "a") != "vnew " {
			t.Fatalf("desk goes first:\n%s", w.describe())
		}
	}
	if !waited || w.object("x", "desk") != "vnew " || w.object("x", "b") != "vnew " {
		t.Errorf("it waited: %t\n%s", waited, w.describe())
	}
	mustBeUnharmed(t, w.simulator)
}

func TestASeedIsRemovedWhileAnObjectMoves(t *testing.T) {
	tests := map[string]func(w *world){
		"before anything is merged":     func(w *world) { w.pass() },
		"while the object is protected": func(w *world) { w.untilOpen("tier/shelf/x/02") },
		"while it is in no tier": func(w *world) {
			w.untilOpen("tier/shelf/x/02")
			w.mergeOnly("tier/shelf/x/01")
			w.rounds(4)
		},
		"while it is in both tiers": func(w *world) {
			w.untilOpen("tier/shelf/x/02")
			w.mergeOnly("tier/shelf/x/02")
			w.rounds(4)
		},
	}
	for sentence, until := range tests {
		t.Run(sentence, func(t *testing.T) {
			w := shelved(t, fleet{workload: []string{"x"}, seed: 3})
			w.put(shelf("a=new", "b=new>a", "c"))
			until(w)
			w.control.put("main", "remove", map[string]string{"seeds/shelf.yaml": ""})
			w.mustBeRemoved()
		})
	}
}

// randomShelf is a seed whose objects wait for each other at random, never in a circle.
func randomShelf(r *rand.Rand, names []string) string {
	var objects []string
	order := r.Perm(len(names))
	for i, at := range order {
		o := names[at] + fmt.Sprintf("=%d", r.IntN(3))
		if i > 0 && r.IntN(2) == 0 {
			o += ">" + names[order[r.IntN(i)]]
		}
		objects = append(objects, o)
	}
	slices.Sort(objects)
	by := []string{"Tier", "Level", "Cluster", "Seed"}[r.IntN(4)]
	return shelf(objects...) + "---\n" + document("Seed", "shelf", "spec: {rollout: {groupBy: "+by+"}}")
}

// editOne takes the annotations of objects out of an open proposal of one tier, as a person may.
func (w *world) editOne(r *rand.Rand) {
	open := slices.DeleteFunc(w.open(), func(p forge.Proposal) bool { return len(p.Tiers) > 1 })
	if len(open) == 0 {
		return
	}
	branch := open[r.IntN(len(open))].Branch
	w.gitops.mu.Lock()
	edited := map[string]string{}
	for at, hash := range w.gitops.trees[w.gitops.commits[w.gitops.refs[branch]].Tree] {
		text := string(w.gitops.blobs[hash])
		if bare := strings.Replace(text, plan.Protection+": disabled", "example.com/edited: \"true\"", 1); bare != text && strings.HasPrefix(at, "planted/") {
			edited[at] = bare
		}
	}
	w.gitops.mu.Unlock()
	if len(edited) > 0 {
		w.say("%s loses annotations", branch)
		w.gitops.put(branch, "Remove annotations", edited)
	}
}

// annotate puts annotations back that editOne took away, where tiers are held for that.
func (w *world) annotate() {
	seed, _ := w.report.Seed("shelf")
	for _, t := range seed.Tiers {
		if t.Reason == v1alpha1.ReasonMoveUnprotected {
			text := strings.Replace(w.file("main", t.Path), "example.com/edited: \"true\"", plan.Protection+": disabled", 1)
			w.gitops.put("main", "Put the annotation back", map[string]string{t.Path: text})
		}
	}
}

// TestLawOfMoves changes dependencies at random while people merge, reject, edit and retry in any order,
// objects become unhealthy, documents break, and clusters work at their own pace: no object is ever lost.
func TestLawOfMoves(t *testing.T) {
	worlds, protected := 12, 0
	if testing.Short() {
		worlds = 4
	}
	for seed := range worlds {
		seed := *start + int64(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 9))
			w := shelved(t, fleet{workload: []string{"x", "z"}, seed: seed, chaos: simulator.Chaos{}})
			names := []string{"a", "b", "c"}
			unhealthy := map[string]bool{}
			for range 60 {
				switch r.IntN(16) {
				case 0, 1:
					w.put(randomShelf(r, names))
				case 2, 3:
					w.retry()
				case 4, 5:
					if open := w.open(); len(open) > 0 {
						w.reject(open[r.IntN(len(open))].Branch)
					}
				case 6, 7:
					w.restart()
				case 8:
					w.editOne(r)
				case 9:
					name := names[r.IntN(len(names))]
					if unhealthy[name] = !unhealthy[name]; unhealthy[name] {
						w.simulator.Break("x", mustID(t, "core/ConfigMap/shelf/"+name), "broken")
					} else {
						w.simulator.Heal("x", mustID(t, "core/ConfigMap/shelf/"+name))
					}
				case 10:
					w.breakOrFix("z")
				default:
					if open := w.mergeable(); len(open) > 0 {
						w.merge(open[r.IntN(len(open))])
					}
				}
				w.pass()
				for range r.IntN(4) {
					w.tick()
				}
				w.mustStay("x", names...)
				w.mustStay("z", names...)
				for _, name := range names {
					if strings.HasSuffix(w.object("x", name), "disabled") {
						protected++
					}
				}
			}
			for _, name := range names {
				w.simulator.Heal("x", mustID(t, "core/ConfigMap/shelf/"+name))
			}
			if w.broken["z"] {
				w.breakOrFix("z")
			}
			for range 5 {
				for _, p := range w.open() {
					if p.Edited {
						w.deleteBranch(p.Branch)
					}
				}
				w.annotate()
				w.retry()
				w.mergingRounds(10)
			}
			w.mergeAll("x", names...)
			mustBeUnharmed(t, w.simulator)
			for _, cluster := range []string{"x", "z"} {
				for _, name := range names {
					if got := w.object(cluster, name); strings.HasSuffix(got, "disabled") {
						t.Errorf("%s on %s has the annotation in the end: %s", name, cluster, got)
					}
				}
			}
		})
	}
	if protected < 10*worlds {
		t.Errorf("objects were on the move %d times only: the test has lost its point", protected)
	}
}

// untilOpen makes passes and merges everything until a branch is proposed.
func (w *world) untilOpen(branch string) {
	w.t.Helper()
	for range 30 {
		w.pass()
		if slices.ContainsFunc(w.open(), func(p forge.Proposal) bool { return strings.HasSuffix(p.Branch, branch) }) {
			return
		}
		for _, p := range w.open() {
			w.merge(p)
		}
		w.tick()
	}
	w.t.Fatalf("%s is not proposed:\n%s", branch, w.describe())
}

// mergeOnly merges one open proposal.
func (w *world) mergeOnly(branch string) {
	w.t.Helper()
	open := w.open()
	i := slices.IndexFunc(open, func(p forge.Proposal) bool { return strings.HasSuffix(p.Branch, branch) })
	if i < 0 {
		w.t.Fatalf("%s is not open:\n%s", branch, w.describe())
	}
	w.merge(open[i])
}

func (w *world) reject(branch string) {
	w.t.Helper()
	for _, p := range w.open() {
		if strings.HasSuffix(p.Branch, branch) {
			w.say("rejected %s", p.Branch)
			if err := w.forge.Reject(w.t.Context(), p, git.Person{Name: "p", Email: "p@example.com", When: w.now}, "no"); err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatalf("%s is not open:\n%s", branch, w.describe())
}

// retry has everything proposed again that was rejected or reverted.
func (w *world) retry() {
	w.say("retry: %v", w.engine.Retry(w.t.Context(), "shelf"))
}
