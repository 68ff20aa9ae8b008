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
		"what nothing waits for joins a later tier of its cluster": {
			graph: makeGraph().wait("a notes@mgmt", "a ns@mgmt").wait("a creator@mgmt", "a ns@mgmt").wait("a crd@edge", "a creator@mgmt").wait("a register@mgmt", "a crd@edge"),
			want:  map[string]int{"a ns@mgmt": 0, "a notes@mgmt": 1, "a creator@mgmt": 1, "a crd@edge": 0, "a register@mgmt": 2},
		},
		"and saves a tier where that one was its own": {
			graph: makeGraph().wait("user notes@x", "user ns@x").wait("user last@x", "base two@x").wait("base two@x", "base one@x").wait("base one@x", "base zero@x"),
			want:  map[string]int{"user ns@x": 0, "user notes@x": 1, "user last@x": 1, "base zero@x": 0, "base one@x": 1, "base two@x": 2},
		},
		"also next to a pinned tier": {
			graph: makeGraph().wait("user notes@x", "user ns@x").wait("user last@x", "base two@x").wait("base two@x", "base one@x").wait("base one@x", "base zero@x"),
			pins:  map[string]int{"base zero@x": 0, "base one@x": 1, "base two@x": 2},
			want:  map[string]int{"user ns@x": 0, "user notes@x": 1, "user last@x": 1, "base zero@x": 0, "base one@x": 1, "base two@x": 2},
		},
		"an object shares the tier of what it needs to become ready": {
			graph: makeGraph().needs("a config@x", "a backend@x").wait("a backend@x", "a ns@x").wait("a user@x", "a config@x"),
			want:  map[string]int{"a ns@x": 0, "a backend@x": 1, "a config@x": 1, "a user@x": 2},
		},
		"and comes no earlier, also where nothing waits for it": {
			graph: makeGraph().needs("a web@x", "a secret@x").wait("a secret@x", "a operator@x").wait("a operator@x", "a crd@x"),
			want:  map[string]int{"a crd@x": 0, "a operator@x": 1, "a secret@x": 2, "a web@x": 2},
		},
		"also where another seed has it": {
			graph: makeGraph().needs("b web@x", "a secret@x").wait("a secret@x", "a operator@x").wait("b last@x", "b web@x").wait("b web@x", "b ns@x"),
			want:  map[string]int{"a operator@x": 0, "a secret@x": 1, "b ns@x": 0, "b web@x": 1, "b last@x": 2},
		},
		"objects that need each other share a tier": {
			graph: makeGraph().needs("a one@x", "a two@x").needs("a two@x", "a one@x").wait("a two@x", "a ns@x").wait("a last@x", "a one@x"),
			want:  map[string]int{"a ns@x": 0, "a one@x": 1, "a two@x": 1, "a last@x": 2},
		},
		"what an object needs may be in its pinned tier": {
			graph: makeGraph().needs("a config@x", "a backend@x"),
			pins:  map[string]int{"a backend@x": 0, "a config@x": 0},
			want:  map[string]int{"a backend@x": 0, "a config@x": 0},
		},
		"what needs a planted object costs no tier": {
			graph: makeGraph().needs("a new@x", "a secret@x").wait("a secret@x", "a operator@x").wait("a new@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a operator@x": 0, "a secret@x": 1},
			want:  map[string]int{"a ns@x": 0, "a operator@x": 0, "a secret@x": 1, "a new@x": 1},
		},
		"what is planted does not move because of what it comes to need": {
			graph: makeGraph().needs("a web@x", "a new@x").wait("a new@x", "a operator@x").wait("a operator@x", "a web@x"),
			pins:  map[string]int{"a web@x": 0, "a operator@x": 1},
			want:  map[string]int{"a web@x": 0, "a operator@x": 1, "a new@x": 2},
		},
		"what is planted already need not be created in order": {
			graph: makeGraph().waitOnce("a config@x", "a backend@x").waitOnce("a web@x", "a config@x").wait("a web@x", "a ns@x").wait("a backend@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a config@x": 0, "a backend@x": 1, "a web@x": 1},
			want:  map[string]int{"a ns@x": 0, "a config@x": 0, "a backend@x": 1, "a web@x": 1},
		},
		"but what is new must be": {
			graph: makeGraph().waitOnce("a config@x", "a backend@x").waitOnce("a web@x", "a config@x").wait("a web@x", "a ns@x").wait("a backend@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a backend@x": 1},
			want:  map[string]int{"a ns@x": 0, "a backend@x": 1, "a config@x": 2, "a web@x": 3},
		},
		"a new configuration comes after the planted workload that answers, and nothing planted waits for it": {
			graph: makeGraph().waitOnce("a config@x", "a backend@x").waitOnce("a web@x", "a config@x").wait("a web@x", "a ns@x").wait("a backend@x", "a ns@x"),
			pins:  map[string]int{"a ns@x": 0, "a backend@x": 1, "a web@x": 1},
			want:  map[string]int{"a ns@x": 0, "a backend@x": 1, "a web@x": 1, "a config@x": 2},
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
			for i, v := range verticesOf(g) {
				got[v.Seed+" "+v.Object.Name+"@"+v.Cluster] = tiering.Ordinal[i]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the ordinals differ (-want +got):\n%s", diff)
			}
			checkTiering(t, tiering.Graph, pins, tiering)
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
				edges = append(edges, conflict.graph.Vertex(e.From).String()+" → "+conflict.graph.Vertex(e.To).String())
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
	level := make([]int, int(g.Len()))
	for round := 0; ; round++ {
		changed := false
		for _, e := range g.Edges {
			distance := map[Kind]int{Hard: 1, Weak: 0, Soft: -len(level)}[g.Reason(e).Kind]
			if level[e.From] < level[e.To]+distance {
				level[e.From], changed = level[e.To]+distance, true
			}
		}
		if !changed {
			return level, true
		}
		if round > int(g.Len()) {
			return nil, false
		}
	}
}

// tierName identifies a tier.
type tierName struct {
	seed, cluster string
	ordinal       int
}

// seedCluster is what tiers are numbered within.
type seedCluster struct{ seed, cluster string }

// contractedHasCircle is the plain reference for pins: the objects of a pinned
// tier are one node; a node that can be taken away has nothing to wait for.
func contractedHasCircle(g *Graph, pins map[Vertex]int) bool {
	node := make([]string, int(g.Len()))
	for i, v := range verticesOf(g) {
		node[i] = fmt.Sprintf("vertex %d", i)
		if ordinal, pinned := pins[v]; pinned {
			node[i] = fmt.Sprintf("tier %s/%s/%d", v.Seed, v.Cluster, ordinal)
		}
	}
	waits := map[string]map[string]bool{}
	for i := range verticesOf(g) {
		waits[node[i]] = map[string]bool{}
	}
	for _, e := range g.Edges {
		if g.Reason(e).Kind == Hard {
			waits[node[e.From]][node[e.To]] = true
		}
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
	if len(tiering.Level) != int(g.Len()) || len(tiering.Ordinal) != int(g.Len()) {
		t.Fatalf("%d vertices have %d levels and %d ordinals", int(g.Len()), len(tiering.Level), len(tiering.Ordinal))
	}
	levelOf := map[tierName]int{}
	for i, v := range verticesOf(g) {
		key := tierName{v.Seed, v.Cluster, tiering.Ordinal[i]}
		if level, seen := levelOf[key]; seen && level != tiering.Level[i] {
			t.Errorf("tier %v has the levels %d and %d", key, level, tiering.Level[i])
		}
		levelOf[key] = tiering.Level[i]
		if ordinal, pinned := pins[v]; pinned && ordinal != tiering.Ordinal[i] {
			t.Errorf("%v is pinned to tier %d and is in %d", v, ordinal, tiering.Ordinal[i])
		}
	}
	for _, e := range g.Edges {
		if kind := g.Reason(e).Kind; kind == Hard && tiering.Level[e.From] <= tiering.Level[e.To] || kind == Weak && tiering.Level[e.From] < tiering.Level[e.To] {
			t.Errorf("%v (level %d) waits for %v (level %d)", g.Vertex(e.From), tiering.Level[e.From], g.Vertex(e.To), tiering.Level[e.To])
		}
	}
	all := map[Vertex]int{}
	for i, v := range verticesOf(g) {
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
		longest, _ := levels(g)
		occurring := map[seedCluster][]int{}
		for i, v := range verticesOf(g) {
			key := seedCluster{v.Seed, v.Cluster}
			occurring[key] = append(occurring[key], tiering.Level[i])
			if tiering.Level[i] < longest[i] {
				t.Fatalf("graph %d: %v has level %d, and the longest chain below it is %d", seed, v, tiering.Level[i], longest[i])
			}
		}
		for key := range occurring {
			slices.Sort(occurring[key])
			occurring[key] = slices.Compact(occurring[key])
			if len(occurring) == 1 && !slices.Equal(longest, tiering.Level) {
				t.Fatalf("graph %d: the levels of one seed on one cluster are not the longest chains", seed)
			}
			checkNeeded(t, g, tiering, key, occurring[key])
		}
		for i, v := range verticesOf(g) {
			rank, _ := slices.BinarySearch(occurring[seedCluster{v.Seed, v.Cluster}], tiering.Level[i])
			if rank != tiering.Ordinal[i] {
				t.Fatalf("graph %d: %v of level %d has ordinal %d, and rank %d", seed, v, tiering.Level[i], tiering.Ordinal[i], rank)
			}
		}
		if got, most := tiersOf(g, tiering.Level), tiersOf(g, longest); got > most {
			t.Fatalf("graph %d: %d tiers, and %d by the longest chains", seed, got, most)
		}
		if t.Failed() {
			t.Fatalf("graph %d: %v", seed, edges(g))
		}
	}
}

// checkNeeded checks that no tier of a seed on a cluster could join the next one: some object in it
// must be there before another one that comes no later than the next tier.
func checkNeeded(t *testing.T, g *Graph, tiering Tiering, key seedCluster, occurring []int) {
	t.Helper()
	for n, level := range occurring[:len(occurring)-1] {
		needed := slices.ContainsFunc(g.Edges, func(e Edge) bool {
			to := g.Vertex(e.To)
			return seedCluster{to.Seed, to.Cluster} == key && tiering.Level[e.To] == level && tiering.Level[e.From] <= occurring[n+1]
		})
		if !needed {
			t.Errorf("the tier of %v at level %d could join the one at level %d", key, level, occurring[n+1])
		}
	}
}

// tiersOf counts the tiers that levels make.
func tiersOf(g *Graph, level []int) int {
	tiers := map[tierName]bool{}
	for i, v := range verticesOf(g) {
		tiers[tierName{v.Seed, v.Cluster, level[i]}] = true
	}
	return len(tiers)
}

// TestTiersAreFewest compares with all possible levels of the objects. One seed on
// one cluster never has a tier too many. With several, it may be that a tier could only be saved by
// making others later that need not be; that is rare, and left alone.
func TestTiersAreFewest(t *testing.T) {
	const graphs = 600
	saved, worse := 0, 0
	for seed := range uint64(graphs) {
		g := smallGraph(rand.New(rand.NewPCG(seed, 9))).graph()
		tiering, conflict := g.Tiers(nil)
		if conflict != nil {
			t.Fatal(conflict)
		}
		longest, _ := levels(g)
		got, least := tiersOf(g, tiering.Level), fewest(g, longest)
		if got < tiersOf(g, longest) {
			saved++
		}
		if got > least {
			worse++
		}
	}
	if worse > graphs/50 || saved < graphs/10 {
		t.Errorf("of %d graphs, %d have more tiers than necessary, and %d fewer than by the longest chains", graphs, worse, saved)
	}
}

// TestLawOfWeakEdges puts random graphs with some weak edges into tiers, and does so again with some of
// the vertices pinned.
func TestLawOfWeakEdges(t *testing.T) {
	shared, deadlocks := 0, 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 10))
		b := randomGraph(random, false)
		for i := range b.waits {
			if b.weak[i] = random.IntN(3) == 0; b.weak[i] && random.IntN(4) == 0 {
				b.waits[i][0], b.waits[i][1] = b.waits[i][1], b.waits[i][0]
			}
		}
		g := b.graph()
		tiering, conflict := g.Tiers(nil)
		if conflict != nil {
			t.Fatalf("graph %d: %v", seed, conflict)
		}
		checkTiering(t, tiering.Graph, nil, tiering)
		if _, possible := levels(g); possible != (len(tiering.Deadlocks) == 0) {
			t.Errorf("all can become ready: %t, and %d deadlocks", possible, len(tiering.Deadlocks))
		}
		for _, d := range tiering.Deadlocks {
			deadlocks++
			checkCircle(t, d, nil)
			if d.graph.Reason(d.Edges[0]).Kind != Weak {
				t.Errorf("a deadlock begins with what is not given up: %v", d)
			}
		}
		least, _ := levels(tiering.Graph)
		for i, v := range verticesOf(g) {
			if tiering.Level[i] < least[i] {
				t.Errorf("%v has level %d, and the least is %d", v, tiering.Level[i], least[i])
			}
		}
		pins := map[Vertex]int{}
		for i, v := range verticesOf(g) {
			if random.IntN(3) > 0 {
				pins[v] = tiering.Ordinal[i]
			}
		}
		for _, e := range tiering.Graph.Edges {
			if tiering.Graph.Reason(e).Kind == Weak && tiering.Level[e.From] == tiering.Level[e.To] {
				shared++
			}
		}
		first := len(tiering.Deadlocks)
		if tiering, conflict = g.Tiers(pins); conflict == nil {
			checkTiering(t, tiering.Graph, pins, tiering)
			if got := len(tiering.Deadlocks); got < first {
				t.Errorf("the first plan had %d deadlocks, and the next one has %d", first, got)
			}
		}
		checkOnce(t, b, pins)
		if t.Failed() {
			t.Fatalf("graph %d: %v", seed, edges(g))
		}
	}
	if shared < 1000 || deadlocks < 100 {
		t.Errorf("only %d weak edges are within a level, and %d deadlocks", shared, deadlocks)
	}
}

// TestTiersOfOneClusterAreFewest compares with all possible levels of small graphs of one seed on one
// cluster, with hard and weak edges.
func TestTiersOfOneClusterAreFewest(t *testing.T) {
	for seed := range uint64(1500) {
		random := rand.New(rand.NewPCG(seed, 11))
		b := makeGraph()
		n := 2 + random.IntN(7)
		for i := range n {
			b.add(vertex(fmt.Sprintf("a o%d@x", i)))
		}
		for range random.IntN(2 * n) {
			i, j := random.IntN(n), random.IntN(n)
			if b.weak[len(b.waits)] = random.IntN(2) == 0; i != j {
				b.waitFor(b.vertices[i], b.vertices[j])
			}
		}
		g := b.graph()
		tiering, conflict := g.Tiers(nil)
		if conflict != nil {
			continue
		}
		least, ok := levels(tiering.Graph)
		if !ok {
			t.Fatalf("graph %d: what is left has no levels", seed)
		}
		if got, fewest := tiersOf(g, tiering.Level), fewest(tiering.Graph, least); got != fewest {
			t.Fatalf("graph %d has %d tiers, and %d are enough: %v", seed, got, fewest, edges(g))
		}
	}
}

// checkOnce checks that pinned tiers never hold each other where all edges only matter until an
// object is there, and that only edges of pinned objects are then shown.
func checkOnce(t *testing.T, b *testGraph, pins map[Vertex]int) {
	t.Helper()
	for i := range b.waits {
		b.once[i] = !b.weak[i]
	}
	tiering, conflict := b.graph().Tiers(pins)
	if conflict != nil {
		t.Errorf("planted objects hold each other: %v", conflict)
		return
	}
	checkTiering(t, tiering.Graph, pins, tiering)
	for _, e := range tiering.Graph.Edges {
		from, to := tiering.Graph.Vertex(e.From), tiering.Graph.Vertex(e.To)
		_, pinned := pins[from]
		if r := tiering.Graph.Reason(e); r.Kind == Soft && r.Rule == webhook.Name && !pinned {
			t.Errorf("%v is not planted, and that it waits for %v is only shown", from, to)
		}
	}
}

// smallGraph is a random graph without circles, of two seeds on two clusters.
func smallGraph(random *rand.Rand) *testGraph {
	b := makeGraph()
	var vertices []Vertex
	for i := range 3 + random.IntN(5) {
		v := vertex(fmt.Sprintf("s%d o%d@c%d", random.IntN(2), i, random.IntN(2)))
		vertices = append(vertices, v)
		b.add(v)
	}
	for range random.IntN(2 * len(vertices)) {
		i, j := random.IntN(len(vertices)), random.IntN(len(vertices))
		if i != j {
			b.waitFor(vertices[max(i, j)], vertices[min(i, j)])
		}
	}
	return b
}

// fewest returns the least number of tiers of all possible levels that are no longer than the
// longest chain, by trying them all.
func fewest(g *Graph, longest []int) int {
	order := make([]int, len(longest))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return longest[a] - longest[b] })
	vertices, level := verticesOf(g), make([]int, len(longest))
	used, best := map[tierName]int{}, len(longest)
	var try func(k int)
	try = func(k int) {
		if len(used) > best {
			return
		}
		if k == len(order) {
			if !slices.ContainsFunc(g.Edges, func(e Edge) bool { return g.Reason(e).Kind == Weak && level[e.From] < level[e.To] }) {
				best = len(used)
			}
			return
		}
		v := order[k]
		low := 0
		for _, e := range g.hard(int32(v)) {
			low = max(low, level[e.To]+1)
		}
		for level[v] = low; level[v] <= slices.Max(longest); level[v]++ {
			key := tierName{vertices[v].Seed, vertices[v].Cluster, level[v]}
			used[key]++
			try(k + 1)
			if used[key]--; used[key] == 0 {
				delete(used, key)
			}
		}
	}
	try(0)
	return best
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
		for i, v := range verticesOf(g) {
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
			some, other := g.Vertex(int32(random.IntN(int(g.Len())))), g.Vertex(int32(random.IntN(int(g.Len()))))
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
	same := func(a, b int32) bool {
		x, y := g.Vertex(a), g.Vertex(b)
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
			t.Errorf("edge %d ends at %v, and the next starts at %v", i, g.Vertex(e.To), g.Vertex(next.From))
		}
		if !slices.Contains(g.Edges, e) {
			t.Errorf("edge %d is not of the graph", i)
		}
		seeds[g.Vertex(e.From).Seed], seeds[g.Vertex(e.To).Seed] = true, true
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
			for i, v := range verticesOf(g) {
				if inside := index(i) >= first && index(i) < end; inside != (v.Seed == name) {
					t.Fatalf("graph %d: vertex %d of seed %s is in %d to %d of %s: %t", seed, i, v.Seed, first, end, name, inside)
				}
			}
			want := slices.DeleteFunc(slices.Clone(g.Edges), func(e Edge) bool { return g.Vertex(e.From).Seed != name })
			if got := g.EdgesOf(name); !slices.Equal(want, got) {
				t.Fatalf("graph %d: the edges of %s are %v, want %v", seed, name, got, want)
			}
		}
	}
}
