package dependency

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func anyMoves(Vertex) int { return 0 }

func TestUnpinGivesUpTheFewestPins(t *testing.T) {
	cases := map[string]struct {
		graph *testGraph
		pins  map[string]int
		rank  func(Vertex) int
		// want has each object with its edge of the circle.
		want         map[string]string
		wantConflict bool
	}{
		"nothing where no tiers wait for each other": {
			graph: makeGraph().wait("a web@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a web@x": 1},
			want:  map[string]string{},
		},
		"of two objects of one tier, the one that waits": {
			graph: makeGraph().wait("a one@x", "a two@x"),
			pins:  map[string]int{"a one@x": 0, "a two@x": 0},
			want:  map[string]string{"one": "one → two"},
		},
		"the other one where the one that waits may not move": {
			graph: makeGraph().wait("a one@x", "a two@x"),
			pins:  map[string]int{"a one@x": 0, "a two@x": 0},
			rank: func(v Vertex) int {
				if v.Object.Name == "one" {
					return -1
				}
				return 0
			},
			want: map[string]string{"two": "one → two"},
		},
		"none where neither may move": {
			graph:        makeGraph().wait("a one@x", "a two@x"),
			pins:         map[string]int{"a one@x": 0, "a two@x": 0},
			rank:         func(Vertex) int { return -1 },
			wantConflict: true,
		},
		"one object that many come to wait for, and not the many": {
			graph: makeGraph().wait("a one@x", "a hub@x").wait("a two@x", "a hub@x").wait("a three@x", "a hub@x"),
			pins:  map[string]int{"a one@x": 0, "a two@x": 0, "a three@x": 0, "a hub@x": 0},
			want:  map[string]string{"hub": "one → hub"},
		},
		"rather one of a low rank": {
			graph: makeGraph().wait("a one@x", "a two@x").wait("a four@x", "a three@x"),
			pins:  map[string]int{"a one@x": 0, "a three@x": 0, "a two@x": 1, "a four@x": 1},
			rank: func(v Vertex) int {
				if v.Object.Name == "three" {
					return 0
				}
				return 1
			},
			want: map[string]string{"three": "four → three"},
		},
		"clusters are resolved alike": {
			graph: makeGraph().wait("a one@x", "a two@x").wait("a one@y", "a two@y"),
			pins:  map[string]int{"a one@x": 0, "a two@x": 0, "a one@y": 0, "a two@y": 0},
			want:  map[string]string{"one": "one → two"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			g, pins := c.graph.graph(), map[Vertex]int{}
			for text, ordinal := range c.pins {
				pins[vertex(text)] = ordinal
			}
			if c.rank == nil {
				c.rank = anyMoves
			}
			given, conflict := g.Unpin(pins, c.rank)
			if (conflict != nil) != c.wantConflict {
				t.Fatalf("the conflict is %v", conflict)
			}
			if conflict != nil {
				return
			}
			got := map[string]string{}
			for _, one := range given {
				got[g.Vertex(one.Vertex).Object.Name] = g.Vertex(one.Edge.From).Object.Name + " → " + g.Vertex(one.Edge.To).Object.Name
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the objects differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLawOfUnpin changes graphs that are in tiers, and compares with a search through all choices.
func TestLawOfUnpin(t *testing.T) {
	found := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 5))
		b := randomGraph(random, false)
		g := b.graph()
		tiering, _ := g.Tiers(nil)
		pins, all := map[Vertex]int{}, verticesOf(g)
		for i, v := range all {
			pins[v] = min(tiering.Ordinal[i], 1) // wide tiers have more circles
		}
		given, conflict := g.Unpin(pins, anyMoves)
		if conflict != nil {
			t.Fatalf("graph %d: %v", seed, conflict)
		}
		left := maps.Clone(pins)
		for _, one := range given {
			if one.Edge.From != one.Vertex && one.Edge.To != one.Vertex {
				t.Errorf("graph %d: the edge of %v is another one's", seed, g.Vertex(one.Vertex))
			}
			delete(left, g.Vertex(one.Vertex))
		}
		second, conflict := g.Tiers(left)
		if conflict != nil {
			t.Fatalf("graph %d: %v", seed, conflict)
		}
		checkTiering(t, g, left, second)
		for _, one := range given {
			if v := g.Vertex(one.Vertex); second.Ordinal[one.Vertex] == pins[v] {
				t.Errorf("graph %d: %v gives up its pin and keeps its tier", seed, v)
			}
		}
		if len(given) > 0 {
			found++
		}
		if len(given) > 1 && len(given) < 5 && fewerResolve(g, pins, all, len(given)-1) {
			t.Errorf("graph %d: %d pins are given up, and fewer would do", seed, len(given))
		}
		again, _ := g.Unpin(pins, anyMoves)
		if !slices.Equal(given, again) {
			t.Errorf("graph %d: another choice for the same graph", seed)
		}
		if t.Failed() {
			t.Fatalf("graph %d: %v, pins %v", seed, edges(g), pins)
		}
	}
	if found < 150 {
		t.Errorf("only %d graphs had a circle of tiers", found)
	}
}

// fewerResolve reports whether giving up so many pins of some vertices resolves every circle.
func fewerResolve(g *Graph, pins map[Vertex]int, of []Vertex, n int) bool {
	if !contractedHasCircle(g, pins) {
		return true
	}
	if n == 0 {
		return false
	}
	for i, v := range of {
		less := maps.Clone(pins)
		delete(less, v)
		if fewerResolve(g, less, of[i+1:], n-1) {
			return true
		}
	}
	return false
}
