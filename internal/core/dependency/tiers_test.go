package dependency

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/golden"
)

func TestTiers(t *testing.T) {
	cases := map[string]struct {
		graph *testGraph
		pins  map[string]int
		want  map[string]int
	}{
		"ordinals are the dense ranks of levels on each cluster": {
			graph: makeGraph().wait("a web@edge", "a crd@edge").wait("a crd@edge", "a creator@mgmt").wait("a creator@mgmt", "a ns@mgmt"),
			want:  map[string]int{"a ns@mgmt": 0, "a creator@mgmt": 1, "a crd@edge": 0, "a web@edge": 1},
		},
		"seeds on one cluster count by themselves": {
			graph: makeGraph().wait("b web@edge", "a crd@edge"),
			want:  map[string]int{"a crd@edge": 0, "b web@edge": 0},
		},
		"a chain over two clusters and back makes two tiers on the first": {
			graph: makeGraph().wait("a last@x", "a middle@y").wait("a middle@y", "a first@x"),
			want:  map[string]int{"a first@x": 0, "a middle@y": 0, "a last@x": 1},
		},
		"a pinned object keeps its tier though it could go lower": {
			graph: makeGraph().wait("a web@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a web@x": 3},
			want:  map[string]int{"a ns@x": 0, "a web@x": 3},
		},
		"a new object joins the tier of its level": {
			graph: makeGraph().wait("a web@x", "a ns@x").wait("a new@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a web@x": 1},
			want:  map[string]int{"a ns@x": 0, "a web@x": 1, "a new@x": 1},
		},
		"a new object joins a later tier rather than making one": {
			graph: makeGraph().wait("a top@x", "a web@x").wait("a web@x", "a creator@y").wait("a new@x", "a ns@y").wait("a creator@y", "a ns@y"),
			pins:  map[string]int{"a ns@y": 0, "a creator@y": 1, "a web@x": 0, "a top@x": 1},
			want:  map[string]int{"a ns@y": 0, "a creator@y": 1, "a web@x": 0, "a top@x": 1, "a new@x": 0},
		},
		"but not where something pinned waits for it": {
			graph: makeGraph().wait("a web@x", "a new@x"),
			pins:  map[string]int{"a web@x": 0},
			want:  map[string]int{"a web@x": 0, "a new@x": 1},
		},
		"a new level gets the next ordinal": {
			graph: makeGraph().wait("a web@x", "a ns@x").wait("a new@x", "a web@x"),
			pins:  map[string]int{"a ns@x": 0, "a web@x": 1},
			want:  map[string]int{"a ns@x": 0, "a web@x": 1, "a new@x": 2},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			g := c.graph.graph()
			pins := map[Vertex]int{}
			for text, ordinal := range c.pins {
				pins[vertex(text)] = ordinal
			}
			tiering, conflict := g.Tiers(pins)
			if conflict != nil {
				t.Fatal(conflict)
			}
			got := map[string]int{}
			for i, v := range g.Vertices {
				got[v.Seed+" "+v.Object.Name+"@"+v.Cluster] = tiering.Ordinal[i]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the ordinals differ (-want +got):\n%s", diff)
			}
			checkTiering(t, g, pins, tiering)
		})
	}
}

func TestConflictsPrintTheirCircle(t *testing.T) {
	cases := map[string]struct {
		graph     *testGraph
		pins      map[string]int
		want      v1alpha1.Reason
		wantEdges []string
		wantSeeds []string
	}{
		"a circle of objects, with every edge's why": {
			graph:     makeGraph().wait("b two@x", "a one@x").wait("a one@x", "a three@y").wait("a three@y", "b two@x").wait("c far@x", "a one@x"),
			want:      v1alpha1.ReasonDependencyCycle,
			wantEdges: []string{"core/ConfigMap/one on x → core/ConfigMap/three on y", "core/ConfigMap/three on y → core/ConfigMap/two on x", "core/ConfigMap/two on x → core/ConfigMap/one on x"},
			wantSeeds: []string{"a", "b"},
		},
		"objects that share a tier and now depend on each other": {
			graph:     makeGraph().wait("a one@x", "a two@x"),
			pins:      map[string]int{"a one@x": 0, "a two@x": 0},
			want:      v1alpha1.ReasonTierPinned,
			wantEdges: []string{"core/ConfigMap/one on x → core/ConfigMap/two on x"},
			wantSeeds: []string{"a"},
		},
		"two tiers that now wait for each other": {
			graph:     makeGraph().wait("a one@x", "a two@x").wait("a four@x", "a three@x"),
			pins:      map[string]int{"a one@x": 0, "a three@x": 0, "a two@x": 1, "a four@x": 1},
			want:      v1alpha1.ReasonTierPinned,
			wantEdges: []string{"core/ConfigMap/four on x → core/ConfigMap/three on x", "core/ConfigMap/one on x → core/ConfigMap/two on x"},
			wantSeeds: []string{"a"},
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			pins := map[Vertex]int{}
			for text, ordinal := range c.pins {
				pins[vertex(text)] = ordinal
			}
			_, conflict := c.graph.graph().Tiers(pins)
			if conflict == nil {
				t.Fatal("no conflict")
			}
			texts.Add(sentence, conflict.Problem().Text())
			var edges []string
			for _, e := range conflict.Edges {
				edges = append(edges, conflict.graph.Vertices[e.From].String()+" → "+conflict.graph.Vertices[e.To].String())
			}
			if got := conflict.Problem().Reason; got != c.want {
				t.Errorf("the reason is %s, want %s", got, c.want)
			}
			if diff := cmp.Diff(c.wantEdges, edges); diff != "" {
				t.Errorf("the edges differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantSeeds, conflict.Seeds); diff != "" {
				t.Errorf("the seeds differ (-want +got):\n%s", diff)
			}
		})
	}
}

// randomGraph has some seeds, clusters and objects; without circles every edge
// leads from a later to an earlier vertex of a random order.
func randomGraph(random *rand.Rand, circles bool) *testGraph {
	b := makeGraph()
	n := 1 + random.IntN(24)
	var vertices []Vertex
	for i := range n {
		v := vertex(fmt.Sprintf("s%d o%02d@c%d", random.IntN(3), i, random.IntN(4)))
		vertices = append(vertices, v)
		b.add(v)
	}
	random.Shuffle(n, func(i, j int) { vertices[i], vertices[j] = vertices[j], vertices[i] })
	for range random.IntN(3 * n) {
		i, j := random.IntN(n), random.IntN(n)
		if i == j {
			continue
		}
		if !circles && i < j {
			i, j = j, i
		}
		b.waitFor(vertices[i], vertices[j])
	}
	return b
}

// levels is the plain reference: repeat until nothing changes, false when that never ends.
func levels(g *Graph) ([]int, bool) {
	level := make([]int, len(g.Vertices))
	for round := 0; ; round++ {
		changed := false
		for _, e := range g.Edges {
			if level[e.From] < level[e.To]+1 {
				level[e.From], changed = level[e.To]+1, true
			}
		}
		if !changed {
			return level, true
		}
		if round > len(g.Vertices) {
			return nil, false
		}
	}
}

// contractedHasCircle is the plain reference for pins: the objects of a pinned
// tier are one node; a node that can be taken away has nothing to wait for.
func contractedHasCircle(g *Graph, pins map[Vertex]int) bool {
	node := make([]string, len(g.Vertices))
	for i, v := range g.Vertices {
		node[i] = fmt.Sprintf("vertex %d", i)
		if ordinal, pinned := pins[v]; pinned {
			node[i] = fmt.Sprintf("tier %s/%s/%d", v.Seed, v.Cluster, ordinal)
		}
	}
	waits := map[string]map[string]bool{}
	for i := range g.Vertices {
		waits[node[i]] = map[string]bool{}
	}
	for _, e := range g.Edges {
		waits[node[e.From]][node[e.To]] = true
	}
	for len(waits) > 0 {
		taken := false
		for n, on := range waits {
			if len(on) == 0 {
				delete(waits, n)
				for _, others := range waits {
					delete(others, n)
				}
				taken = true
			}
		}
		if !taken {
			return true
		}
	}
	return false
}

// checkTiering checks what holds with and without pins: every object is in a
// tier, pinned ones in theirs, a tier has one level, edges point to lower levels.
func checkTiering(t *testing.T, g *Graph, pins map[Vertex]int, tiering Tiering) {
	t.Helper()
	if len(tiering.Level) != len(g.Vertices) || len(tiering.Ordinal) != len(g.Vertices) {
		t.Fatalf("%d vertices have %d levels and %d ordinals", len(g.Vertices), len(tiering.Level), len(tiering.Ordinal))
	}
	levelOf := map[tierKey]int{}
	for i, v := range g.Vertices {
		key := tierKey{seedCluster{v.Seed, v.Cluster}, tiering.Ordinal[i]}
		if level, seen := levelOf[key]; seen && level != tiering.Level[i] {
			t.Errorf("tier %v has the levels %d and %d", key, level, tiering.Level[i])
		}
		levelOf[key] = tiering.Level[i]
		if ordinal, pinned := pins[v]; pinned && ordinal != tiering.Ordinal[i] {
			t.Errorf("%v is pinned to tier %d and is in %d", v, ordinal, tiering.Ordinal[i])
		}
	}
	for _, e := range g.Edges {
		if tiering.Level[e.From] <= tiering.Level[e.To] {
			t.Errorf("%v (level %d) waits for %v (level %d)", g.Vertices[e.From], tiering.Level[e.From], g.Vertices[e.To], tiering.Level[e.To])
		}
	}
	all := map[Vertex]int{}
	for i, v := range g.Vertices {
		all[v] = tiering.Ordinal[i]
	}
	if contractedHasCircle(g, all) {
		t.Error("the tiers wait for each other in a circle")
	}
}

func TestLawOfTiersWithoutPins(t *testing.T) {
	for seed := range uint64(3000) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 1)), false).graph()
		tiering, conflict := g.Tiers(nil)
		if conflict != nil {
			t.Fatalf("graph %d: %v", seed, conflict)
		}
		checkTiering(t, g, nil, tiering)
		want, _ := levels(g)
		if diff := cmp.Diff(want, tiering.Level); diff != "" {
			t.Fatalf("graph %d: the levels are not the longest chains (-want +got):\n%s", seed, diff)
		}
		occurring := map[seedCluster][]int{}
		for i, v := range g.Vertices {
			key := seedCluster{v.Seed, v.Cluster}
			occurring[key] = append(occurring[key], want[i])
		}
		for key := range occurring {
			slices.Sort(occurring[key])
			occurring[key] = slices.Compact(occurring[key])
		}
		for i, v := range g.Vertices {
			rank, _ := slices.BinarySearch(occurring[seedCluster{v.Seed, v.Cluster}], want[i])
			if rank != tiering.Ordinal[i] {
				t.Fatalf("graph %d: %v of level %d has ordinal %d, and rank %d", seed, v, want[i], tiering.Ordinal[i], rank)
			}
		}
		if t.Failed() {
			t.Fatalf("graph %d: %v", seed, edges(g))
		}
	}
}

// TestLawOfTiersWithPins puts a graph into tiers, changes it, and does so again
// with the first tiers as pins.
func TestLawOfTiersWithPins(t *testing.T) {
	conflicts := 0
	for seed := range uint64(6000) {
		random := rand.New(rand.NewPCG(seed, 2))
		first := randomGraph(random, false)
		g := first.graph()
		tiering, _ := g.Tiers(nil)
		pins := map[Vertex]int{}
		for i, v := range g.Vertices {
			if random.IntN(5) > 0 {
				pins[v] = tiering.Ordinal[i]
			}
		}
		for v, ordinal := range gaps(random, pins) {
			pins[v] = ordinal
		}
		first.waits = slices.DeleteFunc(first.waits, func([2]Vertex) bool { return random.IntN(8) == 0 })
		for range random.IntN(4) {
			v := vertex(fmt.Sprintf("s%d new%d@c%d", random.IntN(3), random.IntN(9), random.IntN(4)))
			some, other := g.Vertices[random.IntN(len(g.Vertices))], g.Vertices[random.IntN(len(g.Vertices))]
			switch random.IntN(6) {
			case 0:
				first.waitFor(other, v)
			case 1, 2:
				if some != other {
					first.waitFor(some, other)
				}
			default:
				first.waitFor(v, other)
			}
		}
		g = first.graph()
		_, acyclic := levels(g)
		second, conflict := g.Tiers(pins)
		switch {
		case conflict != nil && conflict.Pinned:
			conflicts++
			if !acyclic || !contractedHasCircle(g, pins) {
				t.Fatalf("graph %d: there is no cycle of pinned tiers: %v", seed, conflict)
			}
			checkCircle(t, conflict, pins)
		case conflict != nil:
			if acyclic {
				t.Fatalf("graph %d: there is no cycle of objects: %v", seed, conflict)
			}
			checkCircle(t, conflict, nil)
		case contractedHasCircle(g, pins):
			t.Fatalf("graph %d: a circle is not seen", seed)
		default:
			checkTiering(t, g, pins, second)
		}
		if t.Failed() {
			t.Fatalf("graph %d: %v, pins %v", seed, edges(g), pins)
		}
	}
	if conflicts < 50 {
		t.Errorf("only %d graphs had a conflict of pins: the test has lost its point", conflicts)
	}
}

// gaps moves the ordinals of one seed and cluster apart, as after tiers that went.
func gaps(random *rand.Rand, pins map[Vertex]int) map[Vertex]int {
	out := map[Vertex]int{}
	if random.IntN(3) > 0 {
		return out
	}
	for v, ordinal := range pins {
		if v.Cluster == "c0" {
			out[v] = 2*ordinal + 1
		}
	}
	return out
}

// checkCircle checks that each edge starts where the one before ended: at the
// object, or at its pinned tier.
func checkCircle(t *testing.T, c *Conflict, pins map[Vertex]int) {
	t.Helper()
	g := c.graph
	same := func(a, b int) bool {
		x, y := g.Vertices[a], g.Vertices[b]
		ordinalX, pinnedX := pins[x]
		ordinalY, pinnedY := pins[y]
		return a == b || pinnedX && pinnedY && ordinalX == ordinalY && x.Seed == y.Seed && x.Cluster == y.Cluster
	}
	if len(c.Edges) == 0 {
		t.Error("a circle without edges")
	}
	seeds := map[string]bool{}
	for i, e := range c.Edges {
		next := c.Edges[(i+1)%len(c.Edges)]
		if !same(e.To, next.From) {
			t.Errorf("edge %d ends at %v, and the next starts at %v", i, g.Vertices[e.To], g.Vertices[next.From])
		}
		if !slices.Contains(g.Edges, e) {
			t.Errorf("edge %d is not of the graph", i)
		}
		seeds[g.Vertices[e.From].Seed], seeds[g.Vertices[e.To].Seed] = true, true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(seeds)), c.Seeds); diff != "" {
		t.Errorf("the seeds of the circle differ (-want +got):\n%s", diff)
	}
	if got := strings.Count(c.Error(), "\n"); got != len(c.Edges) {
		t.Errorf("the message prints %d of %d edges", got, len(c.Edges))
	}
}

func TestLawOfCircles(t *testing.T) {
	found := 0
	for seed := range uint64(3000) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 3)), true).graph()
		_, acyclic := levels(g)
		_, conflict := g.Tiers(nil)
		if acyclic != (conflict == nil) {
			t.Fatalf("graph %d: acyclic %t, conflict %v", seed, acyclic, conflict)
		}
		if conflict == nil {
			continue
		}
		found++
		if conflict.Pinned {
			t.Fatalf("graph %d: nothing is pinned", seed)
		}
		checkCircle(t, conflict, nil)
		if t.Failed() {
			t.Fatalf("graph %d: %v", seed, edges(g))
		}
	}
	if found < 500 {
		t.Errorf("only %d graphs had a circle", found)
	}
}

func TestTheVerticesAndEdgesOfASeed(t *testing.T) {
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 4)), true).graph()
		for _, name := range []string{"s0", "s1", "s2", "s", "s3"} {
			first, end := g.Of(name)
			for i, v := range g.Vertices {
				if inside := i >= first && i < end; inside != (v.Seed == name) {
					t.Fatalf("graph %d: vertex %d of seed %s is in %d to %d of %s: %t", seed, i, v.Seed, first, end, name, inside)
				}
			}
			want := slices.DeleteFunc(slices.Clone(g.Edges), func(e Edge) bool { return g.Vertices[e.From].Seed != name })
			if got := g.EdgesOf(name); !slices.Equal(want, got) {
				t.Fatalf("graph %d: the edges of %s are %v, want %v", seed, name, got, want)
			}
		}
	}
}
