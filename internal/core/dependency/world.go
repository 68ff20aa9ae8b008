package dependency

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// Seed is one seed with its placements, and what is left of its earlier plan.
type Seed struct {
	Name       string
	Spec       interface{ RuleEnabled(string) bool }
	Contents   placement.Contents
	Placements []placement.Placement
	// Compact reports whether objects share a tier where the cluster's reconciler itself applies
	// the one before the other: see stageOf.
	Compact bool
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
	Reason   Reason
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
	// Objects is the number of objects that have the finding in common, where there are several;
	// Object is the first of them.
	Objects int
}

// Result is what the rules found.
type Result struct {
	Graph    *Graph
	Warnings []Finding
	Errors   []Finding
	// Connected are the clusters with something that waits for another cluster, or that another
	// cluster waits for, or installs to; some may be named twice.
	Connected []string
}

// Known returns what rules may know of a cluster besides its name.
func Known(c catalog.Cluster) catalog.Cluster {
	known := catalog.Cluster{Source: v1alpha1.ObjectReference{Namespace: c.Source.Namespace}, Provides: c.Provides, CreatedBy: c.CreatedBy}
	if c.Hub != "" {
		known.Hub = "another cluster" // which one makes no difference
	}
	return known
}

// World is what the rules read, and draw their edges into: all objects where they are, the
// clusters, and the edges so far. An index that only one rule needs belongs to that rule.
//
// Vertices are known by their index. Those of an object, and other lists of vertices, are in order
// of cluster and seed, which Nearest depends on.
type World struct {
	Inventory *catalog.Inventory

	graph    *Graph
	seeds    []*Seed            // by the graph's index of the seed
	clusters []*catalog.Cluster // by the graph's index of the cluster
	content  []*manifest.Object // by vertex; nil where the seed has no content for it
	// placed is the content that has the object, with what placement knows of it.
	placed []*placement.Content
	runs   []kindRun
	// held are the vertices that no rule draws from, leaving those whose objects left their seeds.
	held, leaving []bool
	// ofObject are all vertices in order of object, cluster and seed, and objectAt is where each
	// object begins in it.
	ofObject, objectAt []int32
	// inNamespace are the ranges of the graph's objects by kind and namespace.
	inNamespace map[kindIn]span
	// last is each vertex' newest edge, counted from 1, and before the one that was drawn before an
	// edge at the same vertex: so edges can be followed while more are drawn.
	last, before []int32
	// awaited are the vertices that some other waits for, and connected the clusters with an edge to
	// another one or from it.
	awaited, connected []bool
	reasons            map[Reason]int32
	// others are reasons with the name of the seed that has what is waited for.
	others map[ofSeed]int32
	// around is what surroundings returns.
	around *surroundings
	rule   string
	on     []bool // by seed: whether the rule is switched on
	result *Result
	seen   map[Finding]bool
	// These are made when they are needed first.
	installed  *installations
	defined    map[manifest.GroupKind][]int32
	aggregated map[groupVersion][]int32
}

// kindIn is a kind of objects in a namespace.
type kindIn struct {
	manifest.GroupKind
	namespace string
}

// span is a range of objects.
type span struct{ first, end int32 }

// kindRun is a range of vertices: all that a seed has of a kind.
type kindRun struct {
	kind       manifest.GroupKind
	first, end int32
}

// ofSeed is a reason and the seed that it names in addition.
type ofSeed struct{ reason, seed int32 }

// Build draws the graph of all seeds. The inventory has the implied clusters.
//
// Rules draw from what seeds have now. Objects that leave, or that are held as they are, have no
// content to ask, so they bring the edges of their earlier plan with them (see KeptEdge).
func Build(seeds []Seed, inv *catalog.Inventory) Result {
	w := newWorld(seeds, inv)
	for _, seed := range w.seeds {
		w.keep(seed.Kept)
	}
	rules := Rules()
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(a.Phase, b.Phase) })
	for _, r := range rules {
		w.begin(r)
		r.Draw(w)
	}
	w.graph.finish()
	content := w.content
	w.graph.source = func(v int32) manifest.Source {
		if content[v] == nil {
			return manifest.Source{}
		}
		return content[v].Source
	}
	for i, connected := range w.connected {
		if connected {
			w.result.Connected = append(w.result.Connected, w.graph.clusters[i])
		}
	}
	return *w.result
}

// begin notes whose edges come next.
func (w *World) begin(r Rule) {
	w.rule = r.Name
	for i, seed := range w.seeds {
		w.on[i] = seed.Spec.RuleEnabled(r.Name)
	}
}

// Objects visits vertices and what each has on its cluster.
type Objects = iter.Seq2[int32, *manifest.Object]

// Sources visits the vertices that the present rule draws from, in order: those that have content,
// are not held, and whose seed has the rule switched on.
func (w *World) Sources(yield func(int32, *manifest.Object) bool) {
	w.those(w.draws, 0, w.graph.Len())(yield)
}

// SourcesOf visits those of Sources that are of some kinds.
func (w *World) SourcesOf(kinds ...manifest.GroupKind) Objects { return w.ofKinds(w.draws, kinds) }

// ByKind visits Sources kind by kind, and each kind once for every seed that has it.
func (w *World) ByKind(yield func(manifest.GroupKind, Objects) bool) {
	for _, run := range w.runs {
		if !yield(run.kind, w.those(w.draws, run.first, run.end)) {
			return
		}
	}
}

// Vertices visits all vertices that have content, whatever is switched off.
func (w *World) Vertices(yield func(int32, *manifest.Object) bool) {
	w.those(w.hasContent, 0, w.graph.Len())(yield)
}

// VerticesOf visits those of Vertices that are of some kinds.
func (w *World) VerticesOf(kinds ...manifest.GroupKind) Objects {
	return w.ofKinds(w.hasContent, kinds)
}

// draws reports whether a vertex is one of Sources.
func (w *World) draws(v int32) bool {
	return w.content[v] != nil && !w.held[v] && w.on[w.graph.vertices[v].seed]
}

// annotated reports whether a vertex has annotations; most have none.
func (w *World) annotated(v int32) bool { return w.placed[v] != nil && w.placed[v].Annotated }

func (w *World) hasContent(v int32) bool { return w.content[v] != nil }

// those visits such vertices of a range.
func (w *World) those(such func(int32) bool, first, end int32) Objects {
	return func(yield func(int32, *manifest.Object) bool) {
		for v := first; v < end; v++ {
			if such(v) && !yield(v, w.content[v]) {
				return
			}
		}
	}
}

// ofKinds visits such vertices of some kinds.
func (w *World) ofKinds(such func(int32) bool, kinds []manifest.GroupKind) Objects {
	return func(yield func(int32, *manifest.Object) bool) {
		for _, run := range w.runs {
			if !slices.Contains(kinds, run.kind) {
				continue
			}
			for v, o := range w.those(such, run.first, run.end) {
				if !yield(v, o) {
					return
				}
			}
		}
	}
}

// Vertex returns the names of a vertex.
func (w *World) Vertex(v int32) Vertex { return w.graph.Vertex(v) }

// ID returns the object of a vertex.
func (w *World) ID(v int32) manifest.ID { return w.graph.Object(v) }

// Object returns what a vertex has on its cluster, nil where the seed has no content for it.
func (w *World) Object(v int32) *manifest.Object { return w.content[v] }

// Cluster returns what is Known of the cluster of a vertex, and its name. If the inventory does not
// have the cluster, that is the name alone.
func (w *World) Cluster(v int32) *catalog.Cluster { return w.clusters[w.graph.vertices[v].cluster] }

// Find returns the vertex of some names.
func (w *World) Find(v Vertex) (int32, bool) { return w.graph.Find(v) }

// Everywhere lists all vertices of an object.
func (w *World) Everywhere(id manifest.ID) []int32 {
	in := w.inNamespace[kindIn{id.GroupKind(), id.Namespace}]
	at, ok := slices.BinarySearchFunc(w.graph.objects[in.first:in.end], id.Name, func(o manifest.ID, name string) int { return strings.Compare(o.Name, name) })
	if !ok {
		return nil
	}
	object := in.first + index(at)
	return w.ofObject[w.objectAt[object]:w.objectAt[object+1]]
}

// Beside returns the vertex of an object on the cluster of v.
func (w *World) Beside(v int32, id manifest.ID) (int32, bool) {
	return w.Nearest(v, w.Everywhere(id))
}

// Nearest picks one of the vertices on the cluster of v. It prefers objects that stay in their seeds, then the own
// seed, then the first seed by name. Any choice is right, but it has to be the same in each pass: another choice is
// another plan.
func (w *World) Nearest(v int32, among []int32) (int32, bool) {
	here := w.On(v, among)
	if len(here) == 0 {
		return 0, false
	}
	seed := w.graph.vertices[v].seed
	for _, leaving := range []bool{false, true} {
		first := int32(-1)
		for _, c := range here {
			switch {
			case w.leaving[c] != leaving:
			case w.graph.vertices[c].seed == seed:
				return c, true
			case first < 0:
				first = c
			}
		}
		if first >= 0 {
			return first, true
		}
	}
	return 0, false
}

// On returns those of the vertices that are on the cluster of v.
func (w *World) On(v int32, among []int32) []int32 {
	cluster := w.graph.vertices[v].cluster
	before := func(c int32, cluster int32) int { return cmp.Compare(w.graph.vertices[c].cluster, cluster) }
	first, found := slices.BinarySearchFunc(among, cluster, before)
	if !found {
		return nil
	}
	end := first + 1
	for end < len(among) && w.graph.vertices[among[end]].cluster == cluster {
		end++
	}
	return among[first:end]
}

// Sort puts vertices in order of cluster and seed, as On and Nearest need them.
func (w *World) Sort(vertices []int32) {
	slices.SortFunc(vertices, func(a, b int32) int {
		x, y := w.graph.vertices[a], w.graph.vertices[b]
		return cmp.Or(cmp.Compare(x.cluster, y.cluster), cmp.Compare(x.seed, y.seed), cmp.Compare(x.object, y.object))
	})
}

// Wait draws a hard edge of the present rule, for a reason in which Kind and Rule are left out. The
// why names the seed that has what is waited for, where that is another one.
//
// An edge to an object that leaves its seed would be a contradiction: the object is removed while
// the one that needs it stays. It is refused, except where both leave.
func (w *World) Wait(from, to int32, reason Reason) {
	if w.leaving[to] && !w.leaving[from] {
		w.Fail(from, Finding{Reason: v1alpha1.ReasonDependencyLeaving, Message: fmt.Sprintf("it needs %s, which leaves its seed (%s)", w.Vertex(to), reason.Why), Next: "Put that back, or remove both."})
		return
	}
	reason.Kind = Hard
	w.draw(from, to, reason)
}

// Follow draws a weak edge, like Wait. To an object that leaves its seed there is none: who stays is
// ready already.
func (w *World) Follow(from, to int32, reason Reason) {
	if w.leaving[to] && !w.leaving[from] {
		return
	}
	reason.Kind = Weak
	w.draw(from, to, reason)
}

// Show draws a soft edge, like Wait.
func (w *World) Show(from, to int32, reason Reason) {
	reason.Kind = Soft
	w.draw(from, to, reason)
}

func (w *World) draw(from, to int32, reason Reason) {
	if from == to {
		return
	}
	reason.Rule = w.rule
	number := w.intern(reason)
	if seed := w.graph.vertices[to].seed; seed != w.graph.vertices[from].seed {
		key := ofSeed{number, seed}
		other, ok := w.others[key]
		if !ok {
			reason.Why += " (of seed " + w.graph.seeds[seed] + ")"
			other = w.intern(reason)
			w.others[key] = other
		}
		number = other
	}
	w.add(from, to, number)
}

// add adds an edge so that Reaches finds it.
func (w *World) add(from, to, reason int32) {
	g := w.graph
	g.Edges = append(g.Edges, Edge{from, to, reason})
	w.before = append(w.before, w.last[from])
	w.last[from] = index(len(g.Edges))
	if a, b := g.vertices[from].cluster, g.vertices[to].cluster; a != b {
		w.connected[a], w.connected[b] = true, true
	}
	if g.reasons[reason].Kind != Soft {
		w.awaited[to] = true
	}
}

// intern returns the index of a reason. Rules draw many edges for one reason after the other.
func (w *World) intern(reason Reason) int32 {
	if last := len(w.graph.reasons) - 1; last >= 0 && w.graph.reasons[last] == reason {
		return index(last)
	}
	number, ok := w.reasons[reason]
	if !ok {
		number = index(len(w.graph.reasons))
		w.reasons[reason] = number
		w.graph.reasons = append(w.graph.reasons, reason)
	}
	return number
}

// keep draws the edges of objects that leave or are held, where both ends are still there. An edge
// to something that is gone orders nothing any longer.
func (w *World) keep(kept []KeptEdge) {
	for _, k := range kept {
		from, ok := w.Find(k.From)
		to, there := w.Find(k.To)
		if ok && there && from != to {
			w.add(from, to, w.intern(k.Reason))
		}
	}
}

// Reaches reports whether a vertex depends on another one by the hard and weak edges drawn so far,
// directly or not.
func (w *World) Reaches(from, to int32) bool { return w.Needs(from)[to] }

// Needs returns all that some vertices depend on by the hard and weak edges drawn so far, directly or
// not, and the vertices themselves.
func (w *World) Needs(vertices ...int32) map[int32]bool {
	return w.closure(vertices, func(int32) []int32 { return nil })
}

// closure returns vertices and all that the hard and weak edges drawn so far, and more, lead to.
func (w *World) closure(vertices []int32, more func(int32) []int32) map[int32]bool {
	needs := make(map[int32]bool, len(vertices))
	stack := slices.Clone(vertices)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if needs[v] {
			continue
		}
		needs[v] = true
		stack = append(stack, more(v)...)
		for e := w.last[v]; e != 0; e = w.before[e-1] {
			if edge := w.graph.Edges[e-1]; w.graph.Reason(edge).Kind != Soft {
				stack = append(stack, edge.To)
			}
		}
	}
	return needs
}

// Warn notes a finding about a vertex once; several edges may lead to the same one.
func (w *World) Warn(v int32, f Finding) {
	if f = w.of(v, f); !w.seen[f] {
		w.seen[f] = true
		w.result.Warnings = append(w.result.Warnings, f)
	}
}

// Fail is Warn for errors.
func (w *World) Fail(v int32, f Finding) {
	if f = w.of(v, f); !w.seen[f] {
		w.seen[f] = true
		w.result.Errors = append(w.result.Errors, f)
	}
}

func (w *World) of(v int32, f Finding) Finding {
	f.Seed, f.Object = w.graph.seeds[w.graph.vertices[v].seed], w.ID(v)
	return f
}

// newWorld collects the vertices and indexes them.
func newWorld(seeds []Seed, inv *catalog.Inventory) *World {
	g := &Graph{}
	w := &World{Inventory: inv, graph: g, reasons: map[Reason]int32{}, others: map[ofSeed]int32{}, seen: map[Finding]bool{}, result: &Result{Graph: g}}
	for i := range seeds {
		w.seeds = append(w.seeds, &seeds[i])
	}
	slices.SortFunc(w.seeds, func(a, b *Seed) int { return cmp.Compare(a.Name, b.Name) })
	w.on = make([]bool, len(w.seeds))
	w.addNames()
	w.addVertices()
	w.indexObjects()
	return w
}

// addNames collects the names of all vertices, in order.
func (w *World) addNames() {
	g := w.graph
	clusters := map[string]bool{}
	most := 0
	for _, seed := range w.seeds {
		most += len(seed.Placements) + len(seed.Leaving) + len(seed.Held)
	}
	g.objects = make([]manifest.ID, 0, most)
	for _, seed := range w.seeds {
		g.seeds = append(g.seeds, seed.Name)
		var last []string
		for _, p := range seed.Placements {
			g.objects = append(g.objects, p.Object)
			if isSame(p.Clusters, last) {
				continue
			}
			for _, c := range p.Clusters {
				clusters[c] = true
			}
			last = p.Clusters
		}
		for _, vertices := range [][]Vertex{seed.Leaving, seed.Held} {
			for _, v := range vertices {
				g.objects = append(g.objects, v.Object)
				clusters[v.Cluster] = true
			}
		}
	}
	if !slices.IsSortedFunc(g.objects, manifest.ID.Compare) {
		slices.SortFunc(g.objects, manifest.ID.Compare)
	}
	g.objects = slices.Compact(g.objects)
	for name := range clusters {
		g.clusters = append(g.clusters, name)
	}
	slices.Sort(g.clusters)
	for _, name := range g.clusters {
		c := Known(w.Inventory.Clusters[name])
		c.Name = name
		w.clusters = append(w.clusters, &c)
	}
}

// isSame reports whether two lists are one: objects that go to the same clusters share it.
func isSame(a, b []string) bool {
	return len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]
}

// addVertices collects the vertices in order, each with its content.
func (w *World) addVertices() {
	g := w.graph
	most := 0
	for _, seed := range w.seeds {
		most += len(seed.Leaving) + len(seed.Held)
		for _, p := range seed.Placements {
			most += len(p.Clusters)
		}
	}
	g.vertices = make([]packed, 0, most)
	for i, seed := range w.seeds {
		var last []string
		var clusters []int32
		next := 0 // most placements are of the object after that of the one before
		for _, p := range seed.Placements {
			if next == len(g.objects) || g.objects[next] != p.Object {
				next, _ = slices.BinarySearchFunc(g.objects, p.Object, manifest.ID.Compare)
			}
			if !isSame(p.Clusters, last) {
				last, clusters = p.Clusters, clusters[:0]
				for _, c := range p.Clusters {
					clusters = append(clusters, w.clusterOf(c))
				}
			}
			for _, c := range clusters {
				g.vertices = append(g.vertices, packed{index(i), index(next), c})
			}
			next++
		}
		for _, vertices := range [][]Vertex{seed.Leaving, seed.Held} {
			for _, v := range vertices {
				object, _ := slices.BinarySearchFunc(g.objects, v.Object, manifest.ID.Compare)
				g.vertices = append(g.vertices, packed{index(i), index(object), w.clusterOf(v.Cluster)})
			}
		}
	}
	if !slices.IsSortedFunc(g.vertices, packed.compare) {
		slices.SortFunc(g.vertices, packed.compare)
	}
	g.vertices = slices.Compact(g.vertices)
	g.Edges, w.before = make([]Edge, 0, len(g.vertices)), make([]int32, 0, len(g.vertices)) // most wait for one or two others
	w.last, w.awaited, w.connected = make([]int32, len(g.vertices)), make([]bool, len(g.vertices)), make([]bool, len(g.clusters))
	w.held, w.leaving = make([]bool, len(g.vertices)), make([]bool, len(g.vertices))
	for _, seed := range w.seeds {
		g.compact = append(g.compact, seed.Compact)
		w.mark(w.leaving, seed.Leaving)
		w.mark(w.held, seed.Held)
	}
	w.addContent()
	w.addRuns()
}

// clusterOf returns the graph's index of a cluster.
func (w *World) clusterOf(name string) int32 {
	i, _ := slices.BinarySearch(w.graph.clusters, name)
	return index(i)
}

// addContent finds what each vertex has.
func (w *World) addContent() {
	g := w.graph
	w.content, w.placed = make([]*manifest.Object, len(g.vertices)), make([]*placement.Content, len(g.vertices))
	seed := int32(-1)
	var contentOn func(manifest.ID, string) *placement.Content
	for i, v := range g.vertices {
		if v.seed != seed {
			seed, contentOn = v.seed, w.seeds[v.seed].Contents.InOrder()
		}
		if content := contentOn(g.objects[v.object], g.clusters[v.cluster]); content != nil {
			w.content[i], w.placed[i] = content.Object, content
		}
	}
}

// addRuns groups the vertices by seed and kind, in whose order they are.
func (w *World) addRuns() {
	g := w.graph
	for i, v := range g.vertices {
		kind := g.objects[v.object].GroupKind()
		if last := len(w.runs) - 1; last < 0 || w.runs[last].kind != kind || g.vertices[w.runs[last].first].seed != v.seed {
			w.runs = append(w.runs, kindRun{kind: kind, first: index(i)})
		}
		w.runs[len(w.runs)-1].end = index(i + 1)
	}
}

func (w *World) mark(such []bool, vertices []Vertex) {
	for _, v := range vertices {
		if i, ok := w.Find(v); ok {
			such[i] = true
		}
	}
}

// indexObjects makes ofObject and inNamespace. Vertices come in order of seed, so those of an object are in order of
// cluster already unless several seeds have it.
func (w *World) indexObjects() {
	g := w.graph
	w.ofObject, w.objectAt = inGroups(len(g.vertices), len(g.objects), func(v int) int32 { return g.vertices[v].object })
	for i := range g.objects {
		if of := w.ofObject[w.objectAt[i]:w.objectAt[i+1]]; len(of) > 1 && g.vertices[of[0]].seed != g.vertices[of[len(of)-1]].seed {
			w.Sort(of)
		}
	}
	w.inNamespace = map[kindIn]span{}
	for i := 0; i < len(g.objects); {
		key, first := kindIn{g.objects[i].GroupKind(), g.objects[i].Namespace}, i
		for i < len(g.objects) && g.objects[i].Namespace == key.namespace && g.objects[i].GroupKind() == key.GroupKind {
			i++
		}
		w.inNamespace[key] = span{index(first), index(i)}
	}
}

// namespaceOf returns where the object of a vertex is.
func (w *World) namespaceOf(v int32) namespaceOn {
	return namespaceOn{w.graph.vertices[v].cluster, w.ID(v).Namespace}
}

// targets visits what edges of some kinds lead to directly.
func (w *World) targets(v int32, kinds ...Kind) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for e := w.last[v]; e != 0; e = w.before[e-1] {
			if edge := w.graph.Edges[e-1]; slices.Contains(kinds, w.graph.Reason(edge).Kind) && !yield(edge.To) {
				return
			}
		}
	}
}
