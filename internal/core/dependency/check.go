package dependency

import "slices"

// misplaced checks the tiers that all steps together made, by nothing but the edges as the rules drew them: what an
// object waits for is in an earlier tier, and what it needs to become ready in none that is later. It returns a
// conflict for each tier and one that is wrong for it. There is none unless a step is wrong.
//
// Edges of circles that are reported do not count, nor does what only matters until an object is there where that
// is planted. It is linear.
func (g *Graph) misplaced(t *Tiering, pins []int) []*Conflict {
	reported := map[[2]int32]bool{}
	for _, d := range t.Deadlocks {
		reported[[2]int32{d.Edges[0].From, d.Edges[0].To}] = true
	}
	planted := func(v int32) bool { return pins[v] != unpinned }
	var out []*Conflict
	seen := map[[2]tierOf]bool{}
	for _, e := range g.Edges {
		r := g.Reason(e)
		if r.Kind == Soft || t.allows(g, e) ||
			r.once() && planted(e.From) || r.Kind == Weak && (planted(e.To) || reported[[2]int32{e.From, e.To}]) {
			continue
		}
		between := [2]tierOf{t.tierOf(g, e.From), t.tierOf(g, e.To)}
		if seen[between] {
			continue
		}
		seen[between] = true
		edges := append([]Edge{e}, g.wayBack(t, e)...)
		c := &Conflict{Edges: edges, Misplaced: true, graph: g}
		for _, e := range edges {
			c.Seeds = append(c.Seeds, g.seedsOf([]int32{e.From, e.To})...)
		}
		slices.Sort(c.Seeds)
		c.Seeds = slices.Compact(c.Seeds)
		out = append(out, c)
	}
	return out
}

// allows reports whether tiers are as an edge asks.
func (t *Tiering) allows(g *Graph, e Edge) bool {
	from, to := t.Level[e.From], t.Level[e.To]
	if from == to {
		return g.Reason(e).Kind == Weak || g.staged(e) && t.Ordinal[e.From] == t.Ordinal[e.To]
	}
	return from > to
}

// tierOf is a tier of any seed and cluster.
type tierOf struct {
	seed, cluster int32
	ordinal       int
}

func (t *Tiering) tierOf(g *Graph, v int32) tierOf {
	return tierOf{g.vertices[v].seed, g.vertices[v].cluster, t.Ordinal[v]}
}

// wayBack returns the shortest way from the tier in which an edge ends to the one in which it starts; none if
// nothing leads back.
func (g *Graph) wayBack(t *Tiering, e Edge) []Edge {
	members := map[tierOf][]int32{}
	for v := range g.Len() {
		members[t.tierOf(g, v)] = append(members[t.tierOf(g, v)], v)
	}
	start, goal := t.tierOf(g, e.To), t.tierOf(g, e.From)
	came, queue := map[tierOf]Edge{start: e}, []tierOf{start}
	for len(queue) > 0 && queue[0] != goal {
		for _, v := range members[queue[0]] {
			for _, next := range g.Waits(v) {
				to := t.tierOf(g, next.To)
				if _, known := came[to]; !known {
					came[to], queue = next, append(queue, to)
				}
			}
		}
		queue = queue[1:]
	}
	if len(queue) == 0 || start == goal {
		return nil
	}
	var way []Edge
	for at := goal; at != start; at = t.tierOf(g, came[at].From) {
		way = append(way, came[at])
	}
	slices.Reverse(way)
	return way
}
