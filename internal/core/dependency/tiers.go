package dependency

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Tiering holds, for every vertex, its level in the graph and its tier of its seed and cluster.
//
// A level is an order among all tiers of all seeds. An ordinal is only a name: it is part of
// branches and paths, and never changes while the tier exists. Where an update adds a level below
// others, the new tier gets the next free ordinal, so tier 02 may be one that tier 01 waits for.
//
// Invariant: a hard edge between two tiers points to a lower level.
type Tiering struct {
	Level   []int // by vertex: the longest chain of hard edges below its tier
	Ordinal []int // by vertex
}

// Conflict is a cycle that keeps objects from being put into tiers.
type Conflict struct {
	// Seeds that take part, in order.
	Seeds []string
	// Edges of the circle; each starts at the tier in which the one before ends.
	Edges []Edge
	// Pinned reports whether the objects themselves form no circle: only the tiers do
	// that they have in the plan being replaced.
	Pinned bool
	graph  *Graph
}

// Problem returns the circle for people; it concerns all of Seeds.
func (c *Conflict) Problem() manifest.Problem {
	p := manifest.Problem{Reason: v1alpha1.ReasonDependencyCycle, Message: c.Error(), Next: "Remove one of these dependencies, or switch its rule off with spec.disabledRules of the Seed."}
	if c.Pinned {
		p.Reason, p.Next = v1alpha1.ReasonTierPinned, "Undo the change that added the dependency, or remove the object in one step and add it in another."
	}
	return p
}

// Error prints the circle with every edge's why.
func (c *Conflict) Error() string {
	var b strings.Builder
	if c.Pinned {
		b.WriteString("an object would have to move to another tier, which is not possible without deleting it:")
	} else {
		b.WriteString("the objects wait for each other in a circle:")
	}
	for _, e := range c.Edges {
		b.WriteString("\n  " + c.graph.Vertices[e.From].String() + " waits for " + c.graph.Vertices[e.To].String() + " (" + e.Rule + ": " + e.Why + ")")
	}
	return b.String()
}

// seedCluster is what tiers are numbered within.
type seedCluster struct{ seed, cluster string }

// tierKey identifies a tier.
type tierKey struct {
	seedCluster
	ordinal int
}

// tiering works on the graph in which the vertices of a pinned tier are one node, because they can
// only be released together: the tier waits for all that any of them waits for. All other nodes are
// one vertex.
type tiering struct {
	graph  *Graph
	pins   map[Vertex]int
	node   []int   // by vertex
	member [][]int // by node, vertices
	pinned []bool  // by node
	level  []int   // by node
	order  []int   // nodes, those that others wait for first
}

// Tiers puts the vertices into tiers. pins are the ordinals that vertices have in the plans being
// replaced: moving an object between tiers means moving it between two reconciler objects: the first
// may delete it before the second applies it. So a pinned vertex keeps its ordinal;
// others join a tier of their level or, where there is none, a later one that nothing pinned waits
// for, or get a new tier.
//
// There are two kinds of failure, and people fix them differently, so they are found one after the
// other: first cycles of objects, without pins, and then cycles that only pinned tiers make. For
// example, a and b are in tier 0, c is in tier 1 and waits for a; now b comes to wait for c.
func (g *Graph) Tiers(pins map[Vertex]int) (Tiering, *Conflict) {
	if c := newTiering(g, nil).sort(); c != nil {
		return Tiering{}, c
	}
	t := newTiering(g, pins)
	if c := t.sort(); c != nil {
		c.Pinned = true
		return Tiering{}, c
	}
	if len(pins) > 0 {
		t.roundUp()
	}
	return t.number(), nil
}

// newTiering makes the nodes: one for all vertices with the same seed, cluster and pin, and one for
// each vertex without a pin.
func newTiering(g *Graph, pins map[Vertex]int) *tiering {
	t := &tiering{graph: g, pins: pins, node: make([]int, len(g.Vertices))}
	groups := map[tierKey]int{}
	for i, v := range g.Vertices {
		ordinal, pinned := pins[v]
		key := tierKey{seedCluster{v.Seed, v.Cluster}, ordinal}
		n, seen := groups[key]
		if !pinned || !seen {
			n = len(t.member)
			t.member = append(t.member, nil)
			t.pinned = append(t.pinned, pinned)
			if pinned {
				groups[key] = n
			}
		}
		t.node[i] = n
		t.member[n] = append(t.member[n], i)
	}
	return t
}

// edges visits the hard edges that leave a node, those within the node too, until visit returns
// false.
func (t *tiering) edges(n int, visit func(Edge) bool) bool {
	for _, v := range t.member[n] {
		for _, e := range t.graph.waits[v] {
			if !visit(t.graph.Edges[e]) {
				return false
			}
		}
	}
	return true
}

// sort finds the order and the level of every node, or a cycle, by one search in depth.
//
// A node is open while the search is below it, and path has the edges that lead from the first open
// node to the last. So an edge to an open node closes a cycle, which is the end of path. An edge
// within a node of several vertices does so, too: objects of one pinned tier that have come to wait
// for each other. When a node is done, all that it waits for is done and has its final level, so
// one visit of each edge is enough: the search is linear, and order has each node after those that
// it waits for.
func (t *tiering) sort() *Conflict {
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(t.member))
	t.level = make([]int, len(t.member))
	var path []Edge
	var conflict *Conflict
	var visit func(n int) bool
	visit = func(n int) bool {
		state[n] = open
		ok := t.edges(n, func(e Edge) bool {
			to := t.node[e.To]
			path = append(path, e)
			if state[to] == open {
				conflict = t.conflict(path, to)
				return false
			}
			if state[to] == unseen && !visit(to) {
				return false
			}
			path = path[:len(path)-1]
			t.level[n] = max(t.level[n], t.level[to]+1)
			return true
		})
		state[n] = done
		t.order = append(t.order, n)
		return ok
	}
	for n := range t.member {
		if state[n] == unseen && !visit(n) {
			return conflict
		}
	}
	return nil
}

// conflict cuts the circle that ends in node to out of the path that led there.
func (t *tiering) conflict(path []Edge, to int) *Conflict {
	start := slices.IndexFunc(path, func(e Edge) bool { return t.node[e.From] == to })
	edges := slices.Clone(path[start:])
	var vertices []int
	for _, e := range edges {
		vertices = append(vertices, e.From, e.To)
	}
	return &Conflict{Seeds: t.graph.seedsOf(vertices), Edges: edges, graph: t.graph}
}

// roundUp lets vertices that are new join a later pinned tier of their cluster, so an update
// does not grow tiers without need; never so late that a pinned tier would have to move.
//
// It goes through the nodes in order, so what a node waits for has its final level when the node's
// turn comes. The node gets the first level of a pinned tier, of its seed and cluster, that is
// neither below what it waits for nor above latest; otherwise the lowest possible level. Either is
// at most latest, so the invariant of Tiering holds for the pinned nodes, whose levels stay as sort
// found them.
func (t *tiering) roundUp() {
	latest := t.latest()
	levels := map[seedCluster][]int{}
	for n, vertices := range t.member {
		if t.pinned[n] {
			v := t.graph.Vertices[vertices[0]]
			key := seedCluster{v.Seed, v.Cluster}
			levels[key] = append(levels[key], t.level[n])
		}
	}
	for key := range levels {
		slices.Sort(levels[key])
	}
	for _, n := range t.order {
		if t.pinned[n] {
			continue
		}
		level := 0
		t.edges(n, func(e Edge) bool {
			level = max(level, t.level[t.node[e.To]]+1)
			return true
		})
		v := t.graph.Vertices[t.member[n][0]]
		choices := levels[seedCluster{v.Seed, v.Cluster}]
		if i, _ := slices.BinarySearch(choices, level); i < len(choices) && choices[i] <= latest[n] {
			level = choices[i]
		}
		t.level[n] = level
	}
}

// latest returns the highest level that each node may have without moving a pinned one: one less
// than the lowest bound of those that wait for it. It goes through the nodes backwards, so those
// have their bounds. A node that no pinned one waits for, directly or not, has no bound.
func (t *tiering) latest() []int {
	latest := make([]int, len(t.member))
	for n := range latest {
		latest[n] = math.MaxInt
	}
	for _, n := range slices.Backward(t.order) {
		bound := latest[n]
		if t.pinned[n] {
			bound = t.level[n]
		}
		if bound == math.MaxInt {
			continue
		}
		t.edges(n, func(e Edge) bool {
			to := t.node[e.To]
			latest[to] = min(latest[to], bound-1)
			return true
		})
	}
	return latest
}

// number gives every vertex its ordinal: pinned ones keep theirs, vertices that are new on a level
// with a pinned tier join that one, and other levels get the next free ordinals in order. Without
// pins these are dense ranks. Where two pinned tiers have the same level, new vertices join the
// lower one.
func (t *tiering) number() Tiering {
	out := Tiering{Level: make([]int, len(t.node)), Ordinal: make([]int, len(t.node))}
	known := map[seedCluster]map[int]int{} // level → ordinal
	next := map[seedCluster]int{}
	for i, v := range t.graph.Vertices {
		key := seedCluster{v.Seed, v.Cluster}
		out.Level[i] = t.level[t.node[i]]
		if known[key] == nil {
			known[key] = map[int]int{}
		}
		if ordinal, pinned := t.pins[v]; pinned {
			if had, ok := known[key][out.Level[i]]; !ok || ordinal < had {
				known[key][out.Level[i]] = ordinal
			}
			next[key] = max(next[key], ordinal+1)
		}
	}
	byLevel := make([]int, len(t.node))
	for i := range byLevel {
		byLevel[i] = i
	}
	slices.SortStableFunc(byLevel, func(a, b int) int { return cmp.Compare(out.Level[a], out.Level[b]) })
	for _, i := range byLevel {
		v := t.graph.Vertices[i]
		key := seedCluster{v.Seed, v.Cluster}
		ordinal, pinned := t.pins[v]
		if !pinned {
			var ok bool
			if ordinal, ok = known[key][out.Level[i]]; !ok {
				ordinal = next[key]
				known[key][out.Level[i]] = ordinal
				next[key]++
			}
		}
		out.Ordinal[i] = ordinal
	}
	return out
}
