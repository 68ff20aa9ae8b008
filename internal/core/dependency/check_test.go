package dependency

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTheCheckFindsTiersThatAreWrong breaks the tiers of a few objects.
func TestTheCheckFindsTiersThatAreWrong(t *testing.T) {
	a, b, c := vertex("s a@x"), vertex("s b@x"), vertex("s c@x")
	for sentence, tc := range map[string]struct {
		weak   bool // whether b only needs a to become ready
		levels [3]int
		pinned string
		want   []string
	}{
		"all is in order":                             {levels: [3]int{0, 1, 2}},
		"what is waited for shares the tier":          {levels: [3]int{0, 0, 1}, want: []string{"b a"}},
		"what is waited for comes later":              {levels: [3]int{1, 0, 2}, want: []string{"b a"}},
		"what is needed shares the tier":              {weak: true, levels: [3]int{0, 0, 1}},
		"what is needed comes later":                  {weak: true, levels: [3]int{1, 0, 2}, want: []string{"b a"}},
		"what is needed waits for who needs it":       {weak: true, levels: [3]int{2, 0, 2}, want: []string{"b a"}},
		"who needs it is planted":                     {weak: true, levels: [3]int{1, 0, 2}, pinned: "b"},
		"what is needed is planted":                   {weak: true, levels: [3]int{1, 0, 2}, pinned: "a"},
		"a planted object still waits by a hard edge": {levels: [3]int{1, 0, 2}, pinned: "b", want: []string{"b a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			graph := makeGraph()
			graph.waitFor(b, a)
			graph.waitFor(c, b)
			graph.weak[0] = tc.weak
			g := graph.graph()
			pins := []int{unpinned, unpinned, unpinned}
			if at := strings.Index("abc", tc.pinned); tc.pinned != "" {
				pins[at] = tc.levels[at]
			}
			var got []string
			for _, d := range g.misplaced(&Tiering{Level: tc.levels[:], Ordinal: tc.levels[:], Graph: g}, pins) {
				got = append(got, g.Object(d.Edges[0].From).Name+" "+g.Object(d.Edges[0].To).Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("it finds %q, want %q", got, tc.want)
			}
		})
	}
}

// TestTheCheckPrintsWhatLeadsBack has a tier that waits for the one with what needs it.
func TestTheCheckPrintsWhatLeadsBack(t *testing.T) {
	a, b, c := vertex("s a@x"), vertex("s b@x"), vertex("s c@x")
	graph := makeGraph()
	graph.waitFor(b, a) // weak
	graph.waitFor(c, b)
	graph.weak[0] = true
	g := graph.graph()
	found := g.misplaced(&Tiering{Level: []int{1, 0, 1}, Ordinal: []int{1, 0, 1}, Graph: g}, []int{unpinned, unpinned, unpinned})
	if len(found) != 1 || len(found[0].Edges) != 2 || found[0].Edges[1].To != 1 || !strings.Contains(found[0].Deadlock(), "what it needs waits for it") {
		t.Errorf("got %v", found)
	}
	if found = g.misplaced(&Tiering{Level: []int{2, 0, 1}, Ordinal: []int{2, 0, 1}, Graph: g}, []int{unpinned, unpinned, unpinned}); len(found) != 1 || !strings.Contains(found[0].Deadlock(), "its tier is before that of what it needs") {
		t.Errorf("got %v", found)
	}
}

// TestLawOfTheCheck moves an object of random tiers, and compares with every edge that is broken. Before, the check
// finds nothing.
func TestLawOfTheCheck(t *testing.T) {
	broken := 0
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 12))
		b := randomGraph(random, false)
		for i := range b.waits {
			if b.weak[i] = random.IntN(3) == 0; b.weak[i] && random.IntN(4) == 0 {
				b.waits[i][0], b.waits[i][1] = b.waits[i][1], b.waits[i][0]
			}
		}
		g := b.graph()
		g.roles = randomRoles(random, g)
		pins := map[Vertex]int{}
		for round := range 2 {
			tiering, conflict := g.Tiers(pins)
			if conflict != nil {
				break
			}
			if slices.ContainsFunc(tiering.Deadlocks, func(d *Conflict) bool { return d.Misplaced }) {
				t.Fatalf("graph %d, round %d: the check finds %v", seed, round, tiering.Deadlocks)
			}
			for i, v := range verticesOf(g) {
				if random.IntN(3) > 0 {
					pins[v] = tiering.Ordinal[i]
				}
			}
			if round > 0 {
				continue
			}
			free := make([]int, g.Len())
			for i := range free {
				free[i] = unpinned
			}
			moved := random.IntN(len(free))
			tiering.Level[moved] = random.IntN(4)
			tiering.Ordinal[moved] = 100 + tiering.Level[moved]
			want := slices.ContainsFunc(tiering.Graph.Edges, func(e Edge) bool {
				distance := map[Kind]int{Hard: 1, Weak: 0, Soft: -1000}[tiering.Graph.Reason(e).Kind]
				return tiering.Level[e.From] < tiering.Level[e.To]+distance
			})
			if got := len(g.misplaced(&tiering, free)) > 0; got != want {
				t.Fatalf("graph %d: it finds something: %t, want %t", seed, got, want)
			}
			if want {
				broken++
			}
		}
	}
	if broken < 200 {
		t.Errorf("only %d tiers were broken", broken)
	}
}

// randomRoles makes workloads of some vertices.
func randomRoles(random *rand.Rand, g *Graph) []role {
	roles, awaited := make([]role, g.Len()), make([]bool, g.Len())
	for _, e := range g.Edges {
		awaited[e.To] = true
	}
	for v := range roles {
		switch random.IntN(4) {
		case 0:
			roles[v] = roleOperator
		case 1, 2:
			if roles[v] = roleLast; awaited[v] {
				roles[v] = roleStays
			}
		}
	}
	return roles
}
