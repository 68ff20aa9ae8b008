// Package dependency decides what must be ready before what, why, and in which tiers objects are
// declared.
//
// Vertices are objects on clusters, of all seeds at once, because a seed may wait for objects of
// another one. The flow is
//
//	seeds, placements ─▶ Build: rules draw edges into a World ─▶ Graph ─▶ Graph.Tiers ─▶ Tiering, or a cycle
//
// The rules are one list, and each rule is one small file: a function of the World, which has all
// objects, where they are, and the edges drawn so far. Rules run in phases. A rule of a later phase
// may ask whether one object depends on another (World.Reaches), because everything that
// earlier phases draw is there by then.
//
// Levels are the least that all edges allow in the *whole* graph: a hard edge leads to a lower level,
// and a weak one to no higher level. So a graph of tiers made from them has no cycle when the graph of
// objects has none. Tiers made from the edges within one seed and cluster would not do: if two seeds
// wait for one another's objects, or a management cluster waits for what runs on a cluster that it
// creates, such tiers can wait for each other though no objects do.
//
// Everything here is a pure function, and safe for several goroutines. Results do not depend on the
// order of seeds or documents. Vertices and edges are a few small numbers each, and what many of
// them have in common is kept once; Build and Tiers are linear but for sorting.
package dependency

import (
	"cmp"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Vertex is one object of a seed on one cluster. Two seeds with an equal Namespace on one cluster
// are two vertices: each of them has its own tiers.
type Vertex struct {
	Seed    string
	Object  manifest.ID
	Cluster string
}

// Compare orders by seed, object and cluster.
func (v Vertex) Compare(other Vertex) int {
	return cmp.Or(cmp.Compare(v.Seed, other.Seed), v.Object.Compare(other.Object), cmp.Compare(v.Cluster, other.Cluster))
}

// String names the vertex for people.
func (v Vertex) String() string { return v.Object.String() + " on " + v.Cluster }

// Kind determines whether an edge makes tiers.
type Kind string

const (
	// Hard edges make tiers: the one cannot be declared before the other is ready.
	Hard Kind = "Hard"
	// Weak edges order declarations: the one is not declared before the other, but may be together with
	// it. It needs the other to become ready.
	Weak Kind = "Weak"
	// Soft edges are only shown.
	Soft Kind = "Soft"
)

// ranks order the kinds of the edges of a vertex.
var ranks = map[Kind]int{Hard: 0, Weak: 1, Soft: 2}

// Edge is a dependency: From waits for To. Both are vertices of the graph, by their index.
type Edge struct {
	From, To int32
	// Reason is an index, too: see Graph.Reason.
	Reason int32
}

// Reason is all that is said of an edge. Edges share it, because many objects wait for one, and each
// does so on many clusters.
type Reason struct {
	Kind Kind
	Rule string
	// Field is the path of the field that the dependency comes from, of either object; empty where
	// no field says it.
	Field string
	// Why quotes what in the manifest makes the object wait.
	Why string
	// Ready is a CEL expression that must be true of the object that is waited for; empty where it
	// is enough that the object is healthy.
	Ready string
	// Beside is an object of the core group that a controller makes once the one that is waited for
	// is there, and that must exist as well; the zero ID where there is none.
	Beside manifest.ID
}

// OrderOnly reports whether the object may stay when what it waits for leaves.
func (r Reason) OrderOnly() bool {
	return r.Rule == TierOrder || r.Kind == Weak && r.Rule != backend.Name || ruleNamed(r.Rule).OrderOnly
}

// once reports whether the order matters only until the object that waits is there. Where it is planted,
// in a tier that cannot wait, the edge is only shown.
func (r Reason) once() bool { return r.Kind == Weak || ruleNamed(r.Rule).Once }

// packed is a Vertex by the indices of its names. As each list of names is in order, vertices
// compare as their names do.
type packed struct{ seed, object, cluster int32 }

func (v packed) compare(other packed) int {
	return cmp.Or(cmp.Compare(v.seed, other.seed), cmp.Compare(v.object, other.object), cmp.Compare(v.cluster, other.cluster))
}

// Graph is the dependencies of all seeds. It does not change after Build.
//
// Invariants: vertices are in order of seed, object and cluster. Edges are in order of From, then hard
// ones before weak and soft ones, then of To and rule, and no two have all of these in common. So the
// edges of a vertex, and those of a seed, are one range.
type Graph struct {
	Edges []Edge

	// seeds, objects and clusters are names, each in order.
	seeds    []string
	objects  []manifest.ID
	clusters []string
	vertices []packed
	reasons  []Reason
	// first has the first edge of each vertex, and the number of edges at the end; weak is the first one
	// that is not hard, and soft the first soft one, or the end.
	first, weak, soft []int32
	// roles are those of the vertices, and nil where no workload may be last.
	roles []role
	// source is where the document of a vertex is; nil where there are no documents.
	source func(int32) manifest.Source
	// compact are the seeds whose tiers Flux applies in stages: see stageOf.
	compact []bool
}

// Len returns the number of vertices.
func (g *Graph) Len() int32 { return int32(len(g.vertices)) } //nolint:gosec // far below the limit

// Vertex returns a vertex by its index.
func (g *Graph) Vertex(i int32) Vertex {
	v := g.vertices[i]
	return Vertex{g.seeds[v.seed], g.objects[v.object], g.clusters[v.cluster]}
}

// Object returns the object of a vertex.
func (g *Graph) Object(i int32) manifest.ID { return g.objects[g.vertices[i].object] }

// Cluster returns the cluster of a vertex.
func (g *Graph) Cluster(i int32) string { return g.clusters[g.vertices[i].cluster] }

// Reason returns what is said of an edge. It must not be changed.
func (g *Graph) Reason(e Edge) *Reason { return &g.reasons[e.Reason] }

// Find returns the vertex' index.
func (g *Graph) Find(v Vertex) (int32, bool) {
	seed, ok := slices.BinarySearch(g.seeds, v.Seed)
	object, known := slices.BinarySearchFunc(g.objects, v.Object, manifest.ID.Compare)
	cluster, there := slices.BinarySearch(g.clusters, v.Cluster)
	if !ok || !known || !there {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(g.vertices, packed{index(seed), index(object), index(cluster)}, packed.compare)
	return index(i), found
}

// index is the number of a vertex, an edge or a name.
func index(i int) int32 { return int32(i) } //nolint:gosec // far below the limit

// Of returns the range of a seed's vertices: from first to before end.
func (g *Graph) Of(seed string) (first, end int32) {
	number, ok := slices.BinarySearch(g.seeds, seed)
	if !ok {
		return 0, 0
	}
	before := func(v packed, seed int32) int { return cmp.Compare(v.seed, seed) }
	from, _ := slices.BinarySearchFunc(g.vertices, index(number), before)
	to, _ := slices.BinarySearchFunc(g.vertices, index(number+1), before)
	return index(from), index(to)
}

// EdgesOf lists all edges that start at the vertices of a seed, soft ones included. The slice is
// part of Edges: it must not be changed.
func (g *Graph) EdgesOf(seed string) []Edge {
	first, end := g.Of(seed)
	return g.Edges[g.first[first]:g.first[end]]
}

// Waits lists the hard and the weak edges that start at a vertex. The slice must not be changed.
func (g *Graph) Waits(i int32) []Edge { return g.Edges[g.first[i]:g.soft[i]] }

// From lists all edges that start at a vertex, soft ones included. The slice must not be changed.
func (g *Graph) From(i int32) []Edge { return g.Edges[g.first[i]:g.first[i+1]] }

// hard lists the hard edges that start at a vertex.
func (g *Graph) hard(i int32) []Edge { return g.Edges[g.first[i]:g.weak[i]] }

// finish sorts the edges, drops duplicates, and indexes them. Of edges with the same ends, kind and
// rule, the one with the first why stays: an object may name another one in several fields.
func (g *Graph) finish() {
	order, at := inGroups(len(g.Edges), len(g.vertices), func(e int) int32 { return g.Edges[e].From })
	out := make([]Edge, 0, len(g.Edges))
	g.first, g.weak, g.soft = make([]int32, len(g.vertices)+1), make([]int32, len(g.vertices)), make([]int32, len(g.vertices))
	for v := range g.vertices {
		first := len(out)
		for _, e := range order[at[v]:at[v+1]] {
			out = append(out, g.Edges[e])
		}
		if edges := out[first:]; len(edges) > 1 {
			slices.SortFunc(edges, g.compareEdges)
			out = out[:first+len(slices.CompactFunc(edges, g.sameEdge))]
		}
		weak := first
		for weak < len(out) && g.Reason(out[weak]).Kind == Hard {
			weak++
		}
		soft := weak
		for soft < len(out) && g.Reason(out[soft]).Kind == Weak {
			soft++
		}
		g.first[v], g.weak[v], g.soft[v] = index(first), index(weak), index(soft)
	}
	g.first[len(g.vertices)] = index(len(out))
	g.Edges = out
}

// inGroups returns the numbers below n in order of their group, and of themselves within it, and
// where each group begins, with n at the end. It counts, so it is linear.
func inGroups(n, groups int, of func(int) int32) (order, at []int32) {
	at = make([]int32, groups+1)
	for i := range n {
		at[of(i)+1]++
	}
	for group := range groups {
		at[group+1] += at[group]
	}
	order = make([]int32, n)
	next := slices.Clone(at)
	for i := range n {
		group := of(i)
		order[next[group]] = index(i)
		next[group]++
	}
	return order, at
}

// compareEdges orders the edges of one vertex.
func (g *Graph) compareEdges(a, b Edge) int {
	if a.Reason == b.Reason {
		return cmp.Compare(a.To, b.To)
	}
	x, y := g.Reason(a), g.Reason(b)
	return cmp.Or(cmp.Compare(ranks[x.Kind], ranks[y.Kind]), cmp.Compare(a.To, b.To), cmp.Compare(x.Rule, y.Rule), cmp.Compare(x.Why, y.Why), cmp.Compare(x.Field, y.Field))
}

// guesses are the rules of weak edges. The first ones guess the most.
var guesses = []string{ruleReferences, ControllerRule, ruleRoutes, ruleStorage, rulePatches, ruleBundle, ruleMounts}

// compareMeaning orders edges by how much of a guess they are, and then by where their objects are in their files. So
// names of seeds and objects decide nothing, but between documents at one line of two files.
func (g *Graph) compareMeaning(a, b Edge) int {
	guess := func(e Edge) int {
		if at := slices.Index(guesses, g.Reason(e).Rule); at >= 0 {
			return at
		}
		return len(guesses)
	}
	if by := cmp.Compare(guess(a), guess(b)); by != 0 {
		return by
	}
	var by int
	if g.source != nil {
		by = cmp.Or(cmp.Compare(g.source(a.From).Line, g.source(b.From).Line), cmp.Compare(g.source(a.To).Line, g.source(b.To).Line))
	}
	return cmp.Or(by, cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Reason, b.Reason))
}

func (g *Graph) sameEdge(a, b Edge) bool {
	x, y := g.Reason(a), g.Reason(b)
	return a.To == b.To && x.Kind == y.Kind && x.Rule == y.Rule
}

// seedsOf returns the names of the seeds of some vertices, in order.
func (g *Graph) seedsOf(vertices []int32) []string {
	var names []string
	for _, v := range vertices {
		names = append(names, g.seeds[g.vertices[v].seed])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
