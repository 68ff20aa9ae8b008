package dependency

import (
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
// A vertex has the level of the longest chain of hard edges below it, or a later one that its seed
// has on its cluster anyway, where that saves a tier.
//
// Invariant: a hard edge between two tiers points to a lower level.
type Tiering struct {
	Level   []int // by vertex
	Ordinal []int // by vertex
	// Graph is the one that was put into tiers: edges that only matter until an object is there are
	// soft in it where its pinned tier cannot wait.
	Graph *Graph
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
		p.Reason, p.Next = v1alpha1.ReasonTierPinned, "Undo the change that added the dependency. An encrypted object can move once it is released with the annotation kustomize.toolkit.fluxcd.io/prune: disabled; on a cluster whose document cannot be used, nothing moves."
	}
	return p
}

// Error prints the circle with every edge's why.
func (c *Conflict) Error() string {
	var b strings.Builder
	if c.Pinned {
		b.WriteString("an object would have to move to another tier, and none of these can:")
	} else {
		b.WriteString("the objects wait for each other in a circle:")
	}
	for _, e := range c.Edges {
		r := c.graph.Reason(e)
		b.WriteString("\n  " + c.graph.Vertex(e.From).String() + " waits for " + c.graph.Vertex(e.To).String() + " (" + r.Rule + ": " + r.Why + ")")
	}
	return b.String()
}

// groupTier identifies a tier by its group: the vertices of one seed on one cluster, which tiers are
// numbered within.
type groupTier struct {
	group   int32
	ordinal int
}

// unpinned is the pin of a vertex that has none.
const unpinned = -1

// tiering works on the graph in which the vertices of a pinned tier are one node, because they can
// only be released together: the tier waits for all that any of them waits for. All other nodes are
// one vertex.
type tiering struct {
	graph *Graph
	// group is the number of each vertex' seed and cluster, and groups is how many there are.
	group  []int32
	groups int
	pins   []int   // by vertex, or unpinned
	node   []int32 // by vertex
	// members are the vertices of all nodes, one node after the other, and at is where each begins.
	members, at []int32
	level       []int   // by node
	order       []int32 // nodes, those that others wait for first
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
	t := newTiering(g)
	t.contract(nil)
	if c := t.sort(); c != nil {
		return Tiering{}, c
	}
	if len(pins) > 0 {
		t.contract(pins)
		for {
			c := t.sort()
			if c == nil {
				break
			}
			if !t.soften(c) {
				c.Pinned = true
				return Tiering{}, c
			}
		}
		t.roundUp()
	}
	t.join()
	return t.number(), nil
}

// soften takes an edge that only matters until its object is there out of a cycle of pinned tiers,
// with all such edges between the same two nodes. It reports whether there is one.
func (t *tiering) soften(c *Conflict) bool {
	soft := func(e Edge) bool {
		return t.graph.Reason(e).Once && t.pins[e.From] != unpinned
	}
	at := slices.IndexFunc(c.Edges, soft)
	if at < 0 {
		return false
	}
	from, to := t.node[c.Edges[at].From], t.node[c.Edges[at].To]
	g := *t.graph
	g.Edges, g.reasons = slices.Clone(g.Edges), slices.Clone(g.reasons)
	shown := map[int32]int32{}
	for i, e := range g.Edges {
		if t.node[e.From] != from || t.node[e.To] != to || !soft(e) {
			continue
		}
		if _, known := shown[e.Reason]; !known {
			shown[e.Reason] = index(len(g.reasons))
			reason := g.reasons[e.Reason]
			reason.Kind = Soft
			g.reasons = append(g.reasons, reason)
		}
		g.Edges[i].Reason = shown[e.Reason]
	}
	g.finish()
	t.graph = &g
	return true
}

// newTiering finds the groups.
func newTiering(g *Graph) *tiering {
	t := &tiering{graph: g, group: make([]int32, len(g.vertices)), pins: make([]int, len(g.vertices)), node: make([]int32, len(g.vertices))}
	number := make([]int32, len(g.clusters)) // of each cluster in the seed, from 1; or in one before
	last, first := int32(-1), 0
	for i, v := range g.vertices {
		if v.seed != last {
			last, first = v.seed, t.groups
		}
		if int(number[v.cluster]) <= first {
			t.groups++
			number[v.cluster] = index(t.groups)
		}
		t.group[i] = number[v.cluster] - 1
	}
	return t
}

// contract makes the nodes: one for all vertices with the same seed, cluster and pin, and one for
// each vertex without a pin.
func (t *tiering) contract(pins map[Vertex]int) {
	for i := range t.pins {
		t.pins[i] = unpinned
	}
	for v, ordinal := range pins {
		if i, ok := t.graph.Find(v); ok {
			t.pins[i] = ordinal
		}
	}
	nodes := index(0)
	pinned := map[groupTier]int32{}
	for i, pin := range t.pins {
		n, seen := int32(0), false
		if pin != unpinned {
			n, seen = pinned[groupTier{t.group[i], pin}]
		}
		if !seen {
			n = nodes
			nodes++
			if pin != unpinned {
				pinned[groupTier{t.group[i], pin}] = n
			}
		}
		t.node[i] = n
	}
	t.members, t.at = inGroups(len(t.node), int(nodes), func(v int) int32 { return t.node[v] })
}

// of returns the vertices of a node.
func (t *tiering) of(n int32) []int32 { return t.members[t.at[n]:t.at[n+1]] }

// nodes is how many there are.
func (t *tiering) nodes() int32 { return index(len(t.at) - 1) }

// groupOf returns the group of a node.
func (t *tiering) groupOf(n int32) int32 { return t.group[t.members[t.at[n]]] }

// pinned reports whether a node is a pinned tier.
func (t *tiering) pinned(n int32) bool { return t.pins[t.members[t.at[n]]] != unpinned }

// distance returns how many levels there are between the ends of an edge at least: none where both
// may share a tier. They can only where neither is pinned, because another tier of the same level may
// be pinned, or in the same pinned tier.
func (t *tiering) distance(e Edge) int {
	from, to := t.node[e.From], t.node[e.To]
	if t.graph.Reason(e).Folds && t.group[e.From] == t.group[e.To] && (from == to || !t.pinned(from) && !t.pinned(to)) {
		return 0
	}
	return 1
}

// waits visits the hard edges that leave a node, but those that fold within it. It stops where visit
// returns false.
func (t *tiering) waits(n int32, visit func(to int32, distance int) bool) {
	for _, v := range t.of(n) {
		for _, e := range t.graph.Waits(v) {
			to, distance := t.node[e.To], t.distance(e)
			if (to != n || distance > 0) && !visit(to, distance) {
				return
			}
		}
	}
}

// step is a node that the search of sort is below, with its next member and edge.
type step struct{ node, member, edge int32 }

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
	state := make([]uint8, t.nodes())
	t.level = make([]int, t.nodes())
	t.order = make([]int32, 0, t.nodes())
	var path []Edge
	var steps []step
	for root := range t.nodes() {
		if state[root] != unseen {
			continue
		}
		steps, state[root] = append(steps[:0], step{node: root}), open
		for len(steps) > 0 {
			at := &steps[len(steps)-1]
			e, more := t.next(at)
			if !more {
				state[at.node] = done
				t.order = append(t.order, at.node)
				steps = steps[:len(steps)-1]
				if len(path) > 0 { // the edge that led here
					t.raise(path[len(path)-1])
					path = path[:len(path)-1]
				}
				continue
			}
			to := t.node[e.To]
			switch {
			case to == at.node && t.distance(e) == 0:
			case state[to] == done:
				t.raise(e)
			case state[to] == open:
				return t.conflict(append(path, e), to)
			default:
				path, steps, state[to] = append(path, e), append(steps, step{node: to}), open
			}
		}
	}
	return nil
}

// next returns the next edge of a step, false after the last one.
func (t *tiering) next(at *step) (Edge, bool) {
	members := t.of(at.node)
	for int(at.member) < len(members) {
		if edges := t.graph.Waits(members[at.member]); int(at.edge) < len(edges) {
			at.edge++
			return edges[at.edge-1], true
		}
		at.member, at.edge = at.member+1, 0
	}
	return Edge{}, false
}

// raise puts the start of an edge above its end.
func (t *tiering) raise(e Edge) {
	from := t.node[e.From]
	t.level[from] = max(t.level[from], t.level[t.node[e.To]]+t.distance(e))
}

// conflict cuts the circle that ends in node to out of the path that led there.
func (t *tiering) conflict(path []Edge, to int32) *Conflict {
	start := slices.IndexFunc(path, func(e Edge) bool { return t.node[e.From] == to })
	edges := slices.Clone(path[start:])
	var vertices []int32
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
	levels := make([][]int, t.groups)
	for n := range t.nodes() {
		if t.pinned(n) {
			levels[t.groupOf(n)] = append(levels[t.groupOf(n)], t.level[n])
		}
	}
	for group := range levels {
		slices.Sort(levels[group])
	}
	for _, n := range t.order {
		if t.pinned(n) {
			continue
		}
		level := 0
		t.waits(n, func(to int32, distance int) bool {
			level = max(level, t.level[to]+distance)
			return true
		})
		choices := levels[t.groupOf(n)]
		if i, _ := slices.BinarySearch(choices, level); i < len(choices) && choices[i] <= latest[n] {
			level = choices[i]
		}
		t.level[n] = level
	}
}

// latest returns the highest level that each node may have without moving a pinned one: below
// all those that wait for it. It goes through the nodes backwards, so those
// have their bounds. A node that no pinned one waits for, directly or not, has no bound.
func (t *tiering) latest() []int {
	latest := make([]int, t.nodes())
	for n := range latest {
		latest[n] = math.MaxInt
	}
	for _, n := range slices.Backward(t.order) {
		bound := latest[n]
		if t.pinned(n) {
			bound = t.level[n]
		}
		if bound == math.MaxInt {
			continue
		}
		t.waits(n, func(to int32, distance int) bool {
			latest[to] = min(latest[to], bound-distance)
			return true
		})
	}
	return latest
}

// join saves tiers: the vertices of a group on one level move to the next level that the group
// has, if all of them can, so the group has one tier less. In a graph of several groups levels
// have gaps: what nothing waits for does not need a tier of its own below a gap.
//
// It goes from the highest level down, so those that wait for a node have their final levels when
// its turn comes, and bound is the highest level below all of them. A node that moves up takes
// nothing from others: those that it waits for may only be later, too.
func (t *tiering) join() {
	bound := make([]int, t.nodes())
	for n := range bound {
		bound[n] = math.MaxInt
	}
	byLevel := t.byLevel()
	following := make([]int, t.groups) // the lowest level that a group has so far, 0 for none
	for end := len(byLevel); end > 0; {
		start := end
		for start > 0 && t.level[byLevel[start-1]] == t.level[byLevel[end-1]] && t.groupOf(byLevel[start-1]) == t.groupOf(byLevel[end-1]) {
			start--
		}
		nodes := byLevel[start:end]
		group, level := t.groupOf(nodes[0]), t.level[nodes[0]]
		if next := following[group]; next > 0 && !slices.ContainsFunc(nodes, func(n int32) bool { return t.pinned(n) || bound[n] < next }) {
			level = next
		}
		following[group] = level
		for _, n := range nodes {
			t.level[n] = level
			t.waits(n, func(to int32, distance int) bool {
				bound[to] = min(bound[to], level-distance)
				return true
			})
		}
		end = start
	}
}

// byLevel returns the nodes in order of level and group.
func (t *tiering) byLevel() []int32 {
	if t.nodes() == 0 {
		return nil
	}
	byGroup, _ := inGroups(len(t.level), t.groups, func(n int) int32 { return t.groupOf(index(n)) })
	nodes, _ := inGroups(len(t.level), slices.Max(t.level)+1, func(i int) int32 { return index(t.level[byGroup[i]]) })
	for i, at := range nodes {
		nodes[i] = byGroup[at]
	}
	return nodes
}

// number gives every vertex its ordinal: pinned ones keep theirs, vertices that are new on a level
// with a pinned tier join that one, and other levels get the next free ordinals in order. Without
// pins these are dense ranks. Where two pinned tiers have the same level, new vertices join the
// lower one.
func (t *tiering) number() Tiering {
	type groupLevel struct {
		group int32
		level int
	}
	out := Tiering{Level: make([]int, len(t.node)), Ordinal: slices.Clone(t.pins), Graph: t.graph}
	known := map[groupLevel]int{} // ordinals
	next := make([]int, t.groups)
	for i, group := range t.group {
		out.Level[i] = t.level[t.node[i]]
		if ordinal := t.pins[i]; ordinal != unpinned {
			key := groupLevel{group, out.Level[i]}
			if had, ok := known[key]; !ok || ordinal < had {
				known[key] = ordinal
			}
			next[group] = max(next[group], ordinal+1)
		}
	}
	last, ordinal := groupLevel{group: -1}, 0
	for _, n := range t.byLevel() {
		if t.pinned(n) {
			continue
		}
		if key := (groupLevel{t.groupOf(n), t.level[n]}); key != last {
			had, ok := known[key]
			if last, ordinal = key, had; !ok {
				ordinal = next[key.group]
				next[key.group]++
			}
		}
		for _, i := range t.of(n) {
			out.Ordinal[i] = ordinal
		}
	}
	return out
}
