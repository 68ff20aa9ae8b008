// Package dependency decides what must be ready before what, why, and in which tiers objects are
// declared.
//
// Vertices are objects on clusters, of all seeds at once, because a seed may wait for objects of
// another one. The flow is
//
//	seeds, placements ─▶ Build: rules draw edges ─▶ Graph ─▶ Graph.Tiers ─▶ Tiering, or a cycle
//
// The rules are one list, and each rule is one small file. A rule is asked about one object on one
// cluster at a time, draws edges to what that waits for, and reports what it could not find. It
// reads the indexes of the graphBuilder and not what other rules drew.
//
// Levels are longest chains of hard edges in the whole graph, so a graph of tiers made from
// them has no cycle when the graph of objects has none: every edge points to a lower level. Tiers
// made from the edges within one seed and cluster would not do: if two seeds wait for one another's
// objects, or a management cluster waits for what runs on a cluster that it creates, such tiers can
// wait for each other though no objects do.
//
// Everything here is a pure function, and safe for several goroutines. Results do not depend on the
// order of seeds or documents. Building takes time in proportion to the vertices times the rules,
// and to the edges; Tiers is linear but for sorting.
package dependency

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"

	"github.com/furrow-dev/furrow/api/v1alpha1"
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
	// Soft edges are only shown.
	Soft Kind = "Soft"
)

// Edge is a dependency: From waits for To. Both are indices into Graph.Vertices.
type Edge struct {
	From, To int
	Kind     Kind
	Rule     string
	Why      string
	// Ready is a CEL expression that is true of To once From may be declared; empty
	// where it is enough that To is healthy.
	Ready string
	// OrderOnly reports whether From may stay when To leaves.
	OrderOnly bool
}

// Graph is the dependencies of all seeds. It does not change after Build.
//
// Invariants: Vertices are in order and edges point into them. Edges are in order of From, To and
// Rule, and no two have all three in common, so the edges of a vertex, and those of a seed, are one
// range.
type Graph struct {
	Vertices []Vertex
	Edges    []Edge
	index    map[Vertex]int
	waits    [][]int // by vertex, indices into Edges
}

// Find returns the vertex' index.
func (g *Graph) Find(v Vertex) (int, bool) {
	i, ok := g.index[v]
	return i, ok
}

// Of returns the range of a seed's vertices: from first to before end. No name is between a seed's
// and the same with a NUL added.
func (g *Graph) Of(seed string) (first, end int) {
	before := func(v Vertex, seed string) int { return cmp.Compare(v.Seed, seed) }
	first, _ = slices.BinarySearchFunc(g.Vertices, seed, before)
	end, _ = slices.BinarySearchFunc(g.Vertices, seed+"\x00", before)
	return first, end
}

// EdgesOf lists all edges that start at the vertices of a seed, soft ones included. The slice is
// part of Edges: it must not be changed.
func (g *Graph) EdgesOf(seed string) []Edge {
	first, end := g.Of(seed)
	from := func(e Edge, vertex int) int { return cmp.Compare(e.From, vertex) }
	start, _ := slices.BinarySearchFunc(g.Edges, first, from)
	stop, _ := slices.BinarySearchFunc(g.Edges, end, from)
	return g.Edges[start:stop]
}

// Waits lists the hard edges that start at vertex i, as indices into Edges. The slice must not be
// changed.
func (g *Graph) Waits(i int) []int { return g.waits[i] }

// Seed is one seed with its placements, and what is left of its earlier plan.
type Seed struct {
	Name       string
	Spec       interface{ RuleEnabled(string) bool }
	Contents   placement.Contents
	Placements []placement.Placement
	// Leaving are objects that the seed no longer has but that are still
	// planted. Held are objects that are planted and stay as they are, whatever the
	// seed has now. Kept is what both waited for.
	Leaving []Vertex
	Held    []Vertex
	Kept    []KeptEdge
}

// KeptEdge is an edge of an earlier plan whose objects may have left their seeds. Nothing draws it
// anew: the object that a rule would ask is gone, or its seed is broken. It keeps the order in
// which leaving objects are removed, which is the reverse of that in which they came.
type KeptEdge struct {
	From, To Vertex
	Rule     string
	Why      string
	Ready    string
	// OrderOnly is that of Edge.
	OrderOnly bool
}

// Finding is something that a rule found and could not resolve. It is comparable, so one that
// many clusters have in common by all fields is reported once.
type Finding struct {
	Reason v1alpha1.Reason
	// Field is the annotation that it is about, and Cluster where something is missing.
	Field, Cluster string
	Seed           string
	Object         manifest.ID
	Message        string
	// Next says what to do about it, as a sentence.
	Next string
	// Missing reports whether an object of another seed might resolve it.
	Missing bool
}

// Result is what the rules found.
type Result struct {
	Graph    *Graph
	Warnings []Finding
	Errors   []Finding
}

// Rule is one dependency rule. Name, Doc and Why are for documentation and display; the whys of its
// edges quote what in the manifest makes the one object wait for the other.
type Rule struct {
	Name string
	// Doc says in one sentence which object waits for which.
	Doc string
	// Why says in one sentence what would go wrong without the rule.
	Why string
	// OrderOnly reports whether an object may stay when what it waited for leaves.
	OrderOnly bool
	draw      func(*graphBuilder, source)
}

// Rules returns all the rules there are, in the order in which they are asked. The order decides
// nothing but that of warnings: an edge that two rules draw is there twice, with both whys. The
// next rule is one more line.
func Rules() []Rule {
	return []Rule{
		namespace,
		crd,
		cluster,
		declared,
	}
}

// source is the vertex that a rule is asked about.
type source struct {
	vertex int
	object *manifest.Object
}

// graphBuilder is what the rules read: the graph as far as its vertices go, and indexes of it that make
// each rule a look-up. rule and result change while Build runs; everything else is made once.
type graphBuilder struct {
	inventory *catalog.Inventory
	graph     *Graph
	// owners lists the vertices of an object on a cluster, in order of seed.
	owners map[objectOnCluster][]int
	// defines lists the vertices of CRDs that define a kind on a cluster.
	defines map[kindOnCluster][]int
	// everywhere lists all vertices of an object.
	everywhere map[manifest.ID][]int
	// leaving are the vertices whose objects left their seeds.
	leaving map[int]bool
	// held are the vertices that no rule draws from.
	held   map[int]bool
	rule   Rule
	result *Result
	seen   map[Finding]bool
}

// objectOnCluster is a key of owners: which seeds have an object on a cluster.
type objectOnCluster struct {
	object  manifest.ID
	cluster string
}

// kindOnCluster is a key of defines: which vertices define a kind on a cluster.
type kindOnCluster struct {
	kind    manifest.GroupKind
	cluster string
}

// Build draws the graph of all seeds. The inventory has the implied clusters.
//
// Rules draw from what seeds have now. Objects that leave, or that are held as they are, have no
// content to ask, so they bring the edges of their earlier plan with them (see KeptEdge).
func Build(seeds []Seed, inv *catalog.Inventory) Result {
	s := newGraphBuilder(seeds, inv)
	bySeed := make(map[string]*Seed, len(seeds))
	for i := range seeds {
		bySeed[seeds[i].Name] = &seeds[i]
	}
	for _, r := range Rules() {
		s.rule = r
		for i, v := range s.graph.Vertices {
			seed := bySeed[v.Seed]
			content := seed.Contents.On(v.Object, v.Cluster)
			if content != nil && !s.held[i] && seed.Spec.RuleEnabled(r.Name) {
				r.draw(s, source{i, content.Object})
			}
		}
	}
	for _, seed := range seeds {
		s.keep(seed.Kept)
	}
	s.graph.finish()
	return *s.result
}

// newGraphBuilder collects the vertices and indexes them. The lists of the indexes are in the order of
// vertices, which nearest depends on: candidates come by name of seed.
func newGraphBuilder(seeds []Seed, inv *catalog.Inventory) *graphBuilder {
	g := &Graph{index: map[Vertex]int{}}
	s := &graphBuilder{
		inventory: inv, graph: g, owners: map[objectOnCluster][]int{}, defines: map[kindOnCluster][]int{},
		everywhere: map[manifest.ID][]int{}, leaving: map[int]bool{}, held: map[int]bool{}, seen: map[Finding]bool{}, result: &Result{Graph: g},
	}
	for _, seed := range seeds {
		for _, p := range seed.Placements {
			for _, c := range p.Clusters {
				g.Vertices = append(g.Vertices, Vertex{seed.Name, p.Object, c})
			}
		}
		g.Vertices = append(append(g.Vertices, seed.Leaving...), seed.Held...)
	}
	slices.SortFunc(g.Vertices, Vertex.Compare)
	g.Vertices = slices.Compact(g.Vertices)
	kinds := definedKinds(seeds)
	for i, v := range g.Vertices {
		g.index[v] = i
		s.owners[objectOnCluster{v.Object, v.Cluster}] = append(s.owners[objectOnCluster{v.Object, v.Cluster}], i)
		s.everywhere[v.Object] = append(s.everywhere[v.Object], i)
		if kind, ok := kinds[v.Seed][v.Object]; ok {
			s.defines[kindOnCluster{kind, v.Cluster}] = append(s.defines[kindOnCluster{kind, v.Cluster}], i)
		}
	}
	for _, seed := range seeds {
		for _, v := range seed.Leaving {
			s.leaving[g.index[v]] = true
		}
		for _, v := range seed.Held {
			s.held[g.index[v]] = true
		}
	}
	return s
}

// definedKinds returns, by seed, the CRDs and the kind that each defines. Where variants of a seed
// have a CRD differently, the last one counts.
func definedKinds(seeds []Seed) map[string]map[manifest.ID]manifest.GroupKind {
	kinds := make(map[string]map[manifest.ID]manifest.GroupKind, len(seeds))
	for _, seed := range seeds {
		kinds[seed.Name] = map[manifest.ID]manifest.GroupKind{}
		for _, id := range seed.Contents.IDs() {
			for _, content := range seed.Contents.Of(id) {
				if kind, _, ok := manifest.DefinedScope(*content.Object); ok {
					kinds[seed.Name][id] = kind
				}
			}
		}
	}
	return kinds
}

// wait draws a hard edge to an object that must be healthy first.
func (s *graphBuilder) wait(from source, to int, why string) { s.waitUntil(from, to, "", why) }

// waitUntil draws a hard edge. A non-empty ready is what must be true of its end besides being
// healthy.
//
// An edge to an object that leaves its seed would be a contradiction: the object is removed while
// the one that needs it stays. It is refused, except where both leave.
func (s *graphBuilder) waitUntil(from source, to int, ready, why string) {
	if v := s.graph.Vertices[from.vertex]; s.leaving[to] && !s.leaving[from.vertex] {
		s.fail(Finding{Reason: v1alpha1.ReasonDependencyLeaving, Seed: v.Seed, Object: v.Object, Message: fmt.Sprintf("it needs %s, which leaves its seed (%s)", s.graph.Vertices[to], why), Next: "Put that back, or remove both."})
		return
	}
	if from.vertex != to {
		s.graph.Edges = append(s.graph.Edges, Edge{From: from.vertex, To: to, Kind: Hard, Rule: s.rule.Name, Why: why, Ready: ready, OrderOnly: s.rule.OrderOnly})
	}
}

// keep draws the edges of objects that leave or are held, where both ends are still there. An edge
// to something that is gone orders nothing any longer.
func (s *graphBuilder) keep(kept []KeptEdge) {
	for _, k := range kept {
		from, ok := s.graph.Find(k.From)
		to, there := s.graph.Find(k.To)
		if ok && there && from != to {
			s.graph.Edges = append(s.graph.Edges, Edge{From: from, To: to, Kind: Hard, Rule: k.Rule, Why: k.Why, Ready: k.Ready, OrderOnly: k.OrderOnly})
		}
	}
}

// nearest picks, among vertices that would all do, one of the own seed, else of the first seed by
// name. Any choice is right, but it has to be the same in each pass: another choice is another
// plan.
func (s *graphBuilder) nearest(seed string, candidates []int) (int, bool) {
	if len(candidates) == 0 {
		return 0, false
	}
	for _, c := range candidates {
		if s.graph.Vertices[c].Seed == seed {
			return c, true
		}
	}
	return candidates[0], true
}

// brought names, for a why, the seed that has vertex i; empty for the own one.
func (s *graphBuilder) brought(seed string, i int) string {
	if other := s.graph.Vertices[i].Seed; other != seed {
		return " (of seed " + other + ")"
	}
	return ""
}

// warn notes a finding once; several edges may lead to the same one.
func (s *graphBuilder) warn(f Finding) {
	if !s.seen[f] {
		s.seen[f] = true
		s.result.Warnings = append(s.result.Warnings, f)
	}
}

// fail is warn for errors.
func (s *graphBuilder) fail(f Finding) {
	if !s.seen[f] {
		s.seen[f] = true
		s.result.Errors = append(s.result.Errors, f)
	}
}

// finish sorts the edges, drops duplicates, and indexes the hard ones. Of edges with the same ends
// and rule, the one with the first why stays: an object may name another one in several fields.
func (g *Graph) finish() {
	slices.SortFunc(g.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Why, b.Why))
	})
	g.Edges = slices.CompactFunc(g.Edges, func(a, b Edge) bool { return a.From == b.From && a.To == b.To && a.Rule == b.Rule })
	g.waits = make([][]int, len(g.Vertices))
	for i, e := range g.Edges {
		if e.Kind == Hard {
			g.waits[e.From] = append(g.waits[e.From], i)
		}
	}
}

// seedsOf returns the names of the seeds of some vertices, in order.
func (g *Graph) seedsOf(vertices []int) []string {
	names := map[string]bool{}
	for _, v := range vertices {
		names[g.Vertices[v].Seed] = true
	}
	return slices.Sorted(maps.Keys(names))
}
