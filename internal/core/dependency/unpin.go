package dependency

import (
	"cmp"
	"maps"
	"slices"
)

// GivenUp is a pin that has to be given up: an edge contradicts it.
type GivenUp struct {
	// Vertex whose pin it is.
	Vertex int32
	// Edge starts or ends at the vertex, and is part of a circle of tiers.
	Edge Edge
}

// Unpin chooses the pins to give up where tiers would wait for each other in a circle though no
// objects do. It chooses the fewest that break all such circles. If several choices have the same size,
// it takes the objects with the lower rank, and those that wait before those that are waited
// for. An object with a negative rank keeps its pin. The conflict is a circle that only such
// objects could resolve. Weak edges move nothing.
//
// A circle of tiers lies within one strongly connected component of them, so each component is
// solved alone. Giving up a pin resolves a circle only where the circle enters a tier at one object
// and leaves it at another: it must be the pin of one of these two. What has to be hit is found
// circle by circle. Finding the fewest is a search whose cost grows exponentially with their number;
// beyond maxCircles it ends, and what a greedy choice found is taken: enough, without one that is
// not needed, but maybe not the fewest.
func (g *Graph) Unpin(pins map[Vertex]int, rank func(Vertex) int) ([]GivenUp, *Conflict) {
	t := newTiering(g)
	t.hardOnly = true
	t.contract(pins)
	var out []GivenUp
	for _, nodes := range t.components() {
		u := &unpinning{tiering: t, rank: rank, within: map[int32]bool{}}
		for _, n := range nodes {
			u.within[n] = true
			u.vertices = append(u.vertices, t.of(n)...)
		}
		slices.Sort(u.vertices)
		chosen, conflict := u.solve()
		if conflict != nil {
			return nil, conflict
		}
		out = append(out, chosen...)
	}
	slices.SortFunc(out, func(a, b GivenUp) int { return cmp.Compare(a.Vertex, b.Vertex) })
	return out, nil
}

// maxCircles bounds the search for the fewest pins of one component.
const maxCircles = 2000

// unpinning is the choice of pins within one component.
type unpinning struct {
	*tiering
	rank     func(Vertex) int
	within   map[int32]bool // nodes
	vertices []int32        // sorted
	// free are the vertices whose pins are given up.
	free    map[int32]GivenUp
	circles int
}

// solve makes the greedy choice, and then searches for a smaller one.
func (u *unpinning) solve() ([]GivenUp, *Conflict) {
	u.free = map[int32]GivenUp{}
	for circle := u.circle(); circle != nil; circle = u.circle() {
		choices := u.choices(circle)
		if len(choices) == 0 {
			c := u.conflict(circle)
			c.Pinned = true
			return nil, c
		}
		u.free[choices[0].Vertex] = choices[0]
	}
	u.dropNeedless()
	best := maps.Clone(u.free)
	for most := 1; most < len(best); most++ {
		clear(u.free)
		if u.search(most) {
			best = u.free
			break
		}
	}
	return slices.Collect(maps.Values(best)), nil
}

// dropNeedless pins again what others made needless, those first that are moved least willingly.
func (u *unpinning) dropNeedless() {
	all := slices.SortedFunc(maps.Values(u.free), func(a, b GivenUp) int { return -u.compare(a, b) })
	for _, one := range all {
		delete(u.free, one.Vertex)
		if u.circle() != nil {
			u.free[one.Vertex] = one
		}
	}
}

// search gives up at most some more pins, and reports whether that is enough. It fails when it
// takes too long.
func (u *unpinning) search(most int) bool {
	if u.circles++; u.circles > maxCircles {
		return false
	}
	circle := u.circle()
	if circle == nil || most == 0 {
		return circle == nil
	}
	for _, choice := range u.choices(circle) {
		u.free[choice.Vertex] = choice
		if u.search(most - 1) {
			return true
		}
		delete(u.free, choice.Vertex)
	}
	return false
}

// choices are the pins that a circle depends on and that may be given up, best first.
func (u *unpinning) choices(circle []Edge) []GivenUp {
	var out []GivenUp
	for i, enters := range circle {
		leaves := circle[(i+1)%len(circle)]
		if enters.To == leaves.From {
			continue
		}
		for _, one := range []GivenUp{{leaves.From, leaves}, {enters.To, enters}} {
			if u.rank(u.graph.Vertex(one.Vertex)) >= 0 {
				out = append(out, one)
			}
		}
	}
	slices.SortStableFunc(out, u.compare)
	return out
}

// compare orders by rank, those that wait before those that are waited for, and then by vertex.
func (u *unpinning) compare(a, b GivenUp) int {
	waits := func(one GivenUp) int {
		if one.Edge.From == one.Vertex {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(u.rank(u.graph.Vertex(a.Vertex)), u.rank(u.graph.Vertex(b.Vertex))),
		cmp.Compare(waits(a), waits(b)), cmp.Compare(a.Vertex, b.Vertex))
}

// nodeOf returns the node of a vertex: one that is free is a node by itself, with a negative number.
func (u *unpinning) nodeOf(v int32) int32 {
	if _, free := u.free[v]; free {
		return -1 - v
	}
	return u.node[v]
}

// membersOf returns the vertices of a node.
func (u *unpinning) membersOf(n int32) []int32 {
	if n < 0 {
		return []int32{-1 - n}
	}
	return slices.DeleteFunc(slices.Clone(u.of(n)), func(v int32) bool { return u.nodeOf(v) != n })
}

// circle finds a circle of tiers with what is free, as its edges; nil where there is none.
func (u *unpinning) circle() []Edge {
	const (
		open = 1
		done = 2
	)
	state := map[int32]int{}
	var path []Edge
	var visit func(n int32) []Edge
	visit = func(n int32) []Edge {
		state[n] = open
		for _, v := range u.membersOf(n) {
			for _, e := range u.edges(v) {
				to := u.nodeOf(e.To)
				if !u.within[u.node[e.To]] || to == n && u.distance(e) == 0 {
					continue
				}
				path = append(path, e)
				switch state[to] {
				case open:
					start := slices.IndexFunc(path, func(e Edge) bool { return u.nodeOf(e.From) == to })
					return slices.Clone(path[start:])
				case done:
				default:
					if found := visit(to); found != nil {
						return found
					}
				}
				path = path[:len(path)-1]
			}
		}
		state[n] = done
		return nil
	}
	for _, v := range u.vertices {
		if n := u.nodeOf(v); state[n] == 0 {
			if found := visit(n); found != nil {
				return found
			}
		}
	}
	return nil
}

// components returns the nodes that lie on circles, by strongly connected component, in order of
// their first vertices. It is Tarjan's algorithm: a node is the root of a component when no node
// below it leads back to an earlier one that is still on the stack.
func (t *tiering) components() [][]int32 {
	var out [][]int32
	n := t.nodes()
	number, low, onStack := make([]int32, n), make([]int32, n), make([]bool, n)
	var stack []int32
	next := int32(1)
	var visit func(n int32)
	visit = func(n int32) {
		number[n], low[n] = next, next
		next++
		stack, onStack[n] = append(stack, n), true
		circular := false // an edge within the node
		t.waits(n, func(to int32, _ int) {
			circular = circular || to == n
			if number[to] == 0 {
				visit(to)
				low[n] = min(low[n], low[to])
			} else if onStack[to] {
				low[n] = min(low[n], number[to])
			}
		})
		if low[n] != number[n] {
			return
		}
		at := slices.Index(stack, n)
		component := slices.Clone(stack[at:])
		stack = stack[:at]
		for _, of := range component {
			onStack[of] = false
		}
		if len(component) > 1 || circular {
			out = append(out, component)
		}
	}
	for n := range t.nodes() {
		if number[n] == 0 {
			visit(n)
		}
	}
	slices.SortFunc(out, func(a, b []int32) int { return cmp.Compare(t.first(a), t.first(b)) })
	return out
}

// first returns the first vertex of some nodes.
func (t *tiering) first(nodes []int32) int32 {
	first := t.of(nodes[0])[0]
	for _, n := range nodes {
		first = min(first, t.of(n)[0])
	}
	return first
}
