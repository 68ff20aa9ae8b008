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
// A vertex has the least level that the edges below it allow, or a later one that its seed has on its
// cluster anyway, where that saves a tier, or where it may need what is there (see rule last).
//
// Invariant: a hard edge between two tiers points to a lower level, and a weak one to no higher level.
type Tiering struct {
	Level   []int // by vertex
	Ordinal []int // by vertex
	// Graph is the one that was put into tiers: edges that only matter until an object is there are
	// soft in it where its pinned tier cannot wait, and so are weak edges of deadlocks.
	Graph *Graph
	// Deadlocks are circles with a weak edge that was given up: an object has to be there before what it
	// needs to become ready.
	Deadlocks []*Conflict
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
	// Misplaced reports whether the check of the final tiers found it. Then nothing may lead back to the first
	// object.
	Misplaced bool
	graph     *Graph
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
	intro := "the objects wait for each other in a circle:"
	if c.Pinned {
		intro = "an object would have to move to another tier, and none of these can:"
	}
	return intro + "\n  " + strings.Join(c.chain(false), "\n  ")
}

// First names the object that the circle begins with.
func (c *Conflict) First() string { return c.name(c.Edges[0].From, c.onOneCluster()) }

// Deadlock says that the first object never becomes ready, and prints the circle. One on a single cluster is the
// same text for all clusters that have it.
func (c *Conflict) Deadlock() string {
	why := "it never becomes ready, because what it needs waits for it: "
	if c.Misplaced && len(c.Edges) == 1 {
		why = "its tier is before that of what it needs: "
	}
	return why + strings.Join(c.chain(c.onOneCluster()), "; ") + ". Remove one of these dependencies; if one is none, switch its rule off with spec.disabledRules of the Seed."
}

// onOneCluster reports whether all objects of the circle are on the same cluster.
func (c *Conflict) onOneCluster() bool {
	first := c.graph.Cluster(c.Edges[0].From)
	return !slices.ContainsFunc(c.Edges, func(e Edge) bool { return c.graph.Cluster(e.From) != first || c.graph.Cluster(e.To) != first })
}

func (c *Conflict) name(v int32, withoutCluster bool) string {
	if withoutCluster {
		return c.graph.Object(v).String()
	}
	return c.graph.Vertex(v).String()
}

// chain says of each edge what waits for what, and why.
func (c *Conflict) chain(withoutCluster bool) []string {
	out := make([]string, len(c.Edges))
	for i, e := range c.Edges {
		r := c.graph.Reason(e)
		from, to := c.name(e.From, withoutCluster), c.name(e.To, withoutCluster)
		what := from + " waits for " + to
		if r.Kind == Weak {
			what = from + " needs " + to + " to become ready"
		}
		out[i] = what + " (" + r.Rule + ": " + r.Why + ")"
	}
	return out
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
	// hardOnly reports whether weak edges do not count, as where pins are given up.
	hardOnly bool
	level    []int // by node
	// order are the nodes, those that others wait for first. Nodes that need each other by weak edges are
	// one unit: they have one level. unitAt is where each unit begins, with the end, and unit is that of
	// each node.
	order, unitAt, unit []int32
	deadlocks           []*Conflict
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
	if c := t.findDeadlocks(pins); c != nil {
		return Tiering{}, c
	}
	if len(pins) > 0 {
		t.contract(pins)
		t.freePlanted()
		if c := t.sortAll(); c != nil {
			c.Pinned = true
			return Tiering{}, c
		}
		t.roundUp()
	}
	t.join()
	t.postpone()
	out := t.number()
	out.Deadlocks = append(out.Deadlocks, g.misplaced(&out, t.pins)...)
	return out, nil
}

// freePlanted lets nothing planted wait for what another seed has only now, where the order matters until the
// object is there: so no seed holds up another one that is planted. Nor does a new installer: that an object is
// planted shows that its kind is there.
func (t *tiering) freePlanted() {
	t.show(func(e Edge) bool {
		r, g := t.graph.Reason(e), t.graph
		foreign := g.vertices[e.From].seed != g.vertices[e.To].seed
		return t.pins[e.From] != unpinned && t.pins[e.To] == unpinned && (foreign || r.Rule == ruleUnknown) && r.once() && r.OrderOnly()
	})
}

// sortAll sorts, and gives up an edge of each circle, until there is none. It returns a circle without an
// edge that could be given up.
func (t *tiering) sortAll() *Conflict {
	for {
		circles := t.sort()
		if len(circles) == 0 {
			return nil
		}
		if c := t.soften(circles); c != nil {
			return c
		}
	}
}

// findDeadlocks gives up weak edges of circles of objects, whatever tiers they are in, and returns a circle of
// hard edges if there is one. What matters only until a planted object is there does not count. So an update
// finds the deadlocks that the first plan had. Without pins, everything is sorted then.
func (t *tiering) findDeadlocks(pins map[Vertex]int) *Conflict {
	if len(pins) == 0 {
		t.contract(nil)
		return t.sortAll()
	}
	t.contract(pins)
	planted := make([]bool, len(t.pins))
	for v, pin := range t.pins {
		planted[v] = pin != unpinned
	}
	whole := t.graph
	t.show(func(e Edge) bool {
		return planted[e.From] && t.graph.Reason(e).Kind == Hard && t.graph.Reason(e).once()
	})
	t.contract(nil)
	if c := t.sortAll(); c != nil {
		return c
	}
	if t.graph = whole; len(t.deadlocks) > 0 {
		given := map[[2]int32]bool{}
		for _, d := range t.deadlocks {
			given[[2]int32{d.Edges[0].From, d.Edges[0].To}] = true
		}
		t.show(func(e Edge) bool { return t.graph.Reason(e).Kind == Weak && given[[2]int32{e.From, e.To}] })
	}
	return nil
}

// soften gives up one edge of each circle: the edge is only shown from then on. It returns a circle that has
// none to give up.
//
// First comes a weak edge from or to a planted object: that object is ready already. Then comes an edge that
// only matters until a planted object is there. Last comes any other weak edge, and the circle is a deadlock. Of
// several, the one that is most of a guess is given up.
func (t *tiering) soften(circles []*Conflict) *Conflict {
	weak := func(e Edge) bool { return t.graph.Reason(e).Kind == Weak }
	choices := []func(Edge) bool{
		func(e Edge) bool { return weak(e) && (t.pins[e.From] != unpinned || t.pins[e.To] != unpinned) },
		func(e Edge) bool { return t.graph.Reason(e).once() && t.pins[e.From] != unpinned },
		weak,
	}
	type between struct{ from, to int32 }
	given := map[between]func(Edge) bool{}
	for _, c := range circles {
		at, choice := -1, 0
		for ; at < 0 && choice < len(choices); choice++ {
			for i, e := range c.Edges {
				if choices[choice](e) && (at < 0 || t.graph.compareMeaning(e, c.Edges[at]) < 0) {
					at = i
				}
			}
		}
		if at < 0 {
			return c
		}
		e := c.Edges[at]
		if choice == len(choices) {
			c.Edges = slices.Concat(c.Edges[at:], c.Edges[:at])
			t.deadlocks = append(t.deadlocks, c)
		}
		given[between{t.node[e.From], t.node[e.To]}] = choices[choice-1]
	}
	t.show(func(e Edge) bool {
		gives := given[between{t.node[e.From], t.node[e.To]}]
		return gives != nil && gives(e)
	})
	return nil
}

// show makes edges soft.
func (t *tiering) show(such func(Edge) bool) {
	if !slices.ContainsFunc(t.graph.Edges, func(e Edge) bool { return t.graph.Reason(e).Kind != Soft && such(e) }) {
		return
	}
	g := *t.graph
	g.Edges, g.reasons = slices.Clone(g.Edges), slices.Clone(g.reasons)
	shown := map[int32]int32{}
	for i, e := range g.Edges {
		if g.reasons[e.Reason].Kind == Soft || !such(e) {
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

// distance returns how many levels there are between the ends of an edge at least: none of a weak edge,
// and none where a reconciler applies the one after the other in one tier. For that neither may be in a
// pinned tier, because another tier of the same level may be pinned, unless both are in the same one.
func (t *tiering) distance(e Edge) int {
	if t.graph.Reason(e).Kind == Weak {
		return 0
	}
	from, to := t.node[e.From], t.node[e.To]
	if t.graph.staged(e) && (from == to || !t.pinned(from) && !t.pinned(to)) {
		return 0
	}
	return 1
}

// edges lists the edges of a vertex that count.
func (t *tiering) edges(v int32) []Edge {
	if t.hardOnly {
		return t.graph.hard(v)
	}
	return t.graph.Waits(v)
}

// waits visits the edges that leave a node, but those within it by which nothing waits.
func (t *tiering) waits(n int32, visit func(to int32, distance int)) {
	for _, v := range t.of(n) {
		for _, e := range t.edges(v) {
			if to, distance := t.node[e.To], t.distance(e); to != n || distance > 0 {
				visit(to, distance)
			}
		}
	}
}

// unitOf returns the nodes of a unit.
func (t *tiering) unitOf(u int) []int32 { return t.order[t.unitAt[u]:t.unitAt[u+1]] }

// units is how many there are.
func (t *tiering) units() int { return len(t.unitAt) - 1 }

// step is a node that the search of sort is below, with its next member and edge, and the edge that led
// there.
type step struct {
	node, member, edge int32
	via                Edge
}

// sort finds the units, in order, and the level of every node. It returns a circle of each unit that no
// levels can have: one with an edge to a lower level.
//
// It is Tarjan's search for strongly connected components. Nodes are open from when the search comes to
// them until their component is complete; low is the first open node that a node leads to, by when the
// search came there. When the search leaves a node that leads to no earlier one, the component is what was
// opened since. All that it waits for has its final level then, so one visit of each edge is enough, and
// one more for components of several nodes.
func (t *tiering) sort() (circles []*Conflict) {
	n := t.nodes()
	came, low := make([]int32, n), make([]int32, n)
	t.level, t.unit = make([]int, n), make([]int32, n)
	t.order, t.unitAt = make([]int32, 0, n), append(make([]int32, 0, n+1), 0)
	const none = -1
	for i := range t.unit {
		t.unit[i] = none
	}
	var open []int32
	var steps []step
	next := int32(0)
	enter := func(node int32, via Edge) {
		next++
		came[node], low[node] = next, next
		open, steps = append(open, node), append(steps, step{node: node, via: via})
	}
	for root := range n {
		if came[root] != 0 {
			continue
		}
		enter(root, Edge{})
		for len(steps) > 0 {
			at := &steps[len(steps)-1]
			e, more := t.next(at)
			if !more {
				node, via := at.node, at.via
				steps = steps[:len(steps)-1]
				if low[node] == came[node] {
					start := len(open) - 1
					for open[start] != node {
						start--
					}
					if c := t.close(open[start:]); c != nil {
						circles = append(circles, c)
					}
					open = open[:start]
				}
				if len(steps) > 0 {
					from := steps[len(steps)-1].node
					low[from] = min(low[from], low[node])
					t.raise(via)
				}
				continue
			}
			to := t.node[e.To]
			switch {
			case to == at.node:
				if t.distance(e) > 0 {
					circles = append(circles, t.conflict([]Edge{e}))
				}
			case came[to] == 0:
				enter(to, e)
			case t.unit[to] == none:
				low[at.node] = min(low[at.node], came[to])
			default:
				t.raise(e)
			}
		}
	}
	return circles
}

// next returns the next edge of a step, false after the last one.
func (t *tiering) next(at *step) (Edge, bool) {
	members := t.of(at.node)
	for int(at.member) < len(members) {
		if edges := t.edges(members[at.member]); int(at.edge) < len(edges) {
			at.edge++
			return edges[at.edge-1], true
		}
		at.member, at.edge = at.member+1, 0
	}
	return Edge{}, false
}

// raise puts the start of an edge no lower than its end allows.
func (t *tiering) raise(e Edge) {
	from := t.node[e.From]
	t.level[from] = max(t.level[from], t.level[t.node[e.To]]+t.distance(e))
}

// close makes a unit of nodes that lead to one another, and returns a circle through an edge between them
// that leads to a lower level, if there is one.
func (t *tiering) close(nodes []int32) (circle *Conflict) {
	level := 0
	for _, n := range nodes {
		t.unit[n] = index(t.units())
		level = max(level, t.level[n])
	}
	if len(nodes) > 1 {
		nodes = slices.Clone(nodes)
		slices.Sort(nodes)
		for _, n := range nodes {
			t.level[n] = level
		}
		circle = t.circleIn(nodes)
	}
	t.order = append(t.order, nodes...)
	t.unitAt = append(t.unitAt, index(len(t.order)))
	return circle
}

// circleIn returns a circle of a unit that begins with an edge to a lower level, nil where there is none.
func (t *tiering) circleIn(nodes []int32) *Conflict {
	var first []Edge
	for _, n := range nodes {
		for _, v := range t.of(n) {
			for _, e := range t.edges(v) {
				if t.unit[t.node[e.To]] == t.unit[n] && t.distance(e) > 0 {
					first = append(first, e)
				}
			}
		}
	}
	if len(first) == 0 {
		return nil
	}
	e := slices.MinFunc(first, t.graph.compareMeaning)
	return t.conflict(t.path(e, t.node[e.From]))
}

// path returns the shortest circle that begins with an edge between two nodes of a unit; start is the node
// that the edge leaves.
func (t *tiering) path(first Edge, start int32) []Edge {
	came := map[int32]Edge{t.node[first.To]: first}
	queue := []int32{t.node[first.To]}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		var edges []Edge
		for _, v := range t.of(n) {
			edges = append(edges, t.edges(v)...)
		}
		slices.SortFunc(edges, t.graph.compareMeaning)
		for _, e := range edges {
			to := t.node[e.To]
			if _, known := came[to]; known || t.unit[to] != t.unit[n] {
				continue
			}
			came[to], queue = e, append(queue, to)
		}
	}
	circle := []Edge{}
	for at := start; ; at = t.node[circle[len(circle)-1].From] {
		circle = append(circle, came[at])
		if came[at] == first {
			break
		}
	}
	slices.Reverse(circle)
	return circle
}

// conflict returns a circle with its seeds.
func (t *tiering) conflict(edges []Edge) *Conflict {
	var vertices []int32
	for _, e := range edges {
		vertices = append(vertices, e.From, e.To)
	}
	return &Conflict{Seeds: t.graph.seedsOf(vertices), Edges: edges, graph: t.graph}
}

// roundUp lets vertices that are new join a later pinned tier of their cluster, so an update
// does not grow tiers without need; never so late that a pinned tier would have to move.
//
// It goes through the units in order, so what a unit waits for has its final level when the unit's
// turn comes. The unit gets the first level of a pinned tier, of its seed and cluster, that is
// neither below what it waits for nor above latest; otherwise the lowest possible level. Either is
// at most latest, so the invariant of Tiering holds for the pinned nodes, whose levels stay as sort
// found them. A unit of several seeds or clusters joins none.
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
	for u := range t.units() {
		nodes := t.unitOf(u)
		if slices.ContainsFunc(nodes, t.pinned) {
			continue
		}
		level, group := 0, t.groupOf(nodes[0])
		for _, n := range nodes {
			t.waits(n, func(to int32, distance int) {
				if t.unit[to] != index(u) {
					level = max(level, t.level[to]+distance)
				}
			})
		}
		if !slices.ContainsFunc(nodes, func(n int32) bool { return t.groupOf(n) != group }) {
			choices := levels[group]
			if i, _ := slices.BinarySearch(choices, level); i < len(choices) && choices[i] <= latest[u] {
				level = choices[i]
			}
		}
		for _, n := range nodes {
			t.level[n] = level
		}
	}
}

// latest returns the highest level that each unit may have without moving a pinned node: no later than
// all that wait for it allow. It goes through the units backwards, so those have their bounds. A unit
// that no pinned node waits for, directly or not, has no bound.
func (t *tiering) latest() []int {
	latest := make([]int, t.units())
	for u := range latest {
		latest[u] = math.MaxInt
	}
	for u := range slices.Backward(latest) {
		for _, n := range t.unitOf(u) {
			if t.pinned(n) {
				latest[u] = t.level[n]
			}
		}
		if latest[u] == math.MaxInt {
			continue
		}
		for _, n := range t.unitOf(u) {
			t.waits(n, func(to int32, distance int) {
				if below := t.unit[to]; below != index(u) {
					latest[below] = min(latest[below], latest[u]-distance)
				}
			})
		}
	}
	return latest
}

// join saves tiers: the vertices of a group on one level move to the next level that the group
// has, if all of them can, so the group has one tier less. In a graph of several groups levels
// have gaps: what nothing waits for does not need a tier of its own below a gap.
//
// It goes from the highest level down, so those that wait for a node have their final levels when
// its turn comes, and bound is the highest level that all of them allow. What needs a node of its own
// level by a weak edge may have its turn later; it counts with the level that it has. A node that moves
// up takes nothing from others: those that it waits for may only be later, too.
func (t *tiering) join() {
	bound := make([]int, t.nodes())
	for n := range bound {
		bound[n] = math.MaxInt
	}
	for n := range t.nodes() {
		t.waits(n, func(to int32, _ int) {
			if t.level[to] == t.level[n] && t.groupOf(n) < t.groupOf(to) {
				bound[to] = t.level[n]
			}
		})
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
			t.waits(n, func(to int32, distance int) { bound[to] = min(bound[to], level-distance) })
		}
		end = start
	}
}

// postpone puts what nothing waits for, and may need anything, on the last level that its group has. It stays no
// later than a workload which may need it in turn: one that something waits for, or an operator of its
// namespace; and in no tier that waits for seeds for which its own does not.
func (t *tiering) postpone() {
	if t.graph.roles == nil {
		return
	}
	type place struct {
		group     int32
		namespace string
	}
	top := make([]int, t.groups)
	users := map[place][]int{} // levels of those that may need others; of the whole group where the namespace is "*"
	for n := range t.nodes() {
		group, level := t.groupOf(n), t.level[n]
		top[group] = max(top[group], level)
		if t.pinned(n) {
			continue
		}
		switch at := (place{group, "*"}); t.graph.roles[t.of(n)[0]] {
		case roleOperator:
			at.namespace = t.graph.Object(t.of(n)[0]).Namespace
			users[at] = append(users[at], level)
		case roleStays:
			users[at] = append(users[at], level)
		}
	}
	type later struct {
		node  int32
		until int
	}
	var last []later
	for n := range t.nodes() {
		v := t.of(n)[0]
		if t.pinned(n) || t.graph.roles[v] != roleLast {
			continue
		}
		until := top[t.groupOf(n)]
		for _, at := range []place{{t.groupOf(n), "*"}, {t.groupOf(n), t.graph.Object(v).Namespace}} {
			for _, level := range users[at] {
				if level >= t.level[n] {
					until = min(until, level)
				}
			}
		}
		if until > t.level[n] {
			last = append(last, later{n, until})
		}
	}
	if len(last) == 0 {
		return
	}
	awaited := t.awaitedSeeds()
	for _, l := range last {
		of := awaited[t.groupOf(l.node)]
		own, latest := of[t.level[l.node]], t.level[l.node]
		for level, seeds := range of {
			if level > latest && level <= l.until && !slices.ContainsFunc(seeds, func(s int32) bool { return !slices.Contains(own, s) }) {
				latest = level
			}
		}
		t.level[l.node] = latest
	}
}

// awaitedSeeds returns, by group and level, the other seeds that a tier waits for, directly or not. What is planted
// is there, and is not waited for.
func (t *tiering) awaitedSeeds() []map[int][]int32 {
	all := make([]map[int][]int32, t.groups)
	for _, n := range t.byLevel() {
		group, level := t.groupOf(n), t.level[n]
		if all[group] == nil {
			all[group] = map[int][]int32{}
		}
		seeds := all[group][level]
		own := t.graph.vertices[t.of(n)[0]].seed
		add := func(s int32) {
			if s != own && !slices.Contains(seeds, s) {
				seeds = append(seeds[:len(seeds):len(seeds)], s)
			}
		}
		t.waits(n, func(to int32, _ int) {
			if t.level[to] >= level || t.pinned(to) {
				return
			}
			add(t.graph.vertices[t.of(to)[0]].seed)
			for _, s := range all[t.groupOf(to)][t.level[to]] {
				add(s)
			}
		})
		all[group][level] = seeds
	}
	return all
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
	out := Tiering{Level: make([]int, len(t.node)), Ordinal: slices.Clone(t.pins), Graph: t.graph, Deadlocks: t.deadlocks}
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
