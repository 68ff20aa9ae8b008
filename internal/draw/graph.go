// Package draw makes pictures of plans: of the tiers, what waits for what, and the objects.
//
//	plan.Plan ─▶ New ─▶ Graph ─▶ DOT, Mermaid, JSON by its fields
//	                          └▶ picture: boxes on a grid, routes of lines ─▶ SVG
//
// A Graph has a lane for each cluster, or for clusters that are equal, and a column for each level.
// Everything here is a pure function; the same plan gives the same bytes.
//
// Names come from seeds, which anybody may write. Each format escapes them, and no format has a
// construct that acts: no link, script, HTML or directive comes from a name.
package draw

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

const (
	// minEqual is how many equal clusters are one lane.
	minEqual = 3
	// maxLanes is how many lanes a graph has. More are joined.
	maxLanes = 12
	// fewObjects is how many objects a graph has at most to have what waits for what among them.
	fewObjects = 60
	// maxNamed is how many objects a tier has at most for all to be named, and maxAllNamed how many
	// all such tiers have.
	maxNamed    = 64
	maxAllNamed = 1200
)

// Graph is a plan as a picture has it. Indexes of lanes and tiers are positions in their lists.
type Graph struct {
	Seed  string `json:"seed"`
	Lanes []Lane `json:"lanes"`
	Tiers []Tier `json:"tiers"`
	Edges []Edge `json:"edges"`
	// Waits are what objects wait for; none where objects are many.
	Waits []Wait `json:"waits,omitempty"`
	// few reports whether objects are few.
	few bool
}

// Lane is a cluster, or several.
type Lane struct {
	Name     string   `json:"name"`
	Clusters []string `json:"clusters,omitempty"`
	// Wave is the wave of the rollout in which the clusters are; empty if they are in none.
	Wave string `json:"wave,omitempty"`
	// Joined reports whether the clusters are joined although they differ.
	Joined bool `json:"joined,omitempty"`
	// OtherSeeds reports whether the lane has the tiers of other seeds.
	OtherSeeds bool `json:"otherSeeds,omitempty"`
}

// label names the lane, with its wave.
func (l Lane) label() string {
	if l.Wave == "" {
		return l.Name
	}
	return l.Name + ", wave " + l.Wave
}

// Tier is a tier on one cluster of its lane; where lanes are joined, all tiers of their clusters on
// one level.
type Tier struct {
	Name  string `json:"name"`
	Lane  int    `json:"lane"`
	Level int    `json:"level"`
	// State is the state of the tier, or how many clusters of the lane have it in which; empty where
	// that was not asked for or is not known.
	State string `json:"state,omitempty"`
	// Objects are ids. They have the text "<cluster>" where the clusters of a lane have the names of
	// theirs.
	Objects []string `json:"objects,omitempty"`
	Kinds   []Kind   `json:"kinds,omitempty"`
	ids     []manifest.ID
	// grouped reports whether its objects are named by kind, several in a line.
	grouped bool
}

// label names the tier, with its state.
func (t *Tier) label() string {
	if t.State == "" {
		return t.Name
	}
	return t.Name + ", " + t.State
}

// Kind is how many objects there are of one kind.
type Kind struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Edge says that tier To waits for tier From, and why.
type Edge struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	Why  string `json:"why,omitempty"`
}

// Wait says that object To waits for object From, by which rule and why.
type Wait struct {
	From Object `json:"from"`
	To   Object `json:"to"`
	Rule string `json:"rule"`
	Why  string `json:"why,omitempty"`
	// Weak reports whether both may share a tier.
	Weak bool `json:"weak,omitempty"`
}

// Object is an object by its tier and its index there.
type Object struct {
	Tier  int `json:"tier"`
	Index int `json:"index"`
}

// Names is how clusters are named.
type Names struct {
	// Without returns a text without the name of a cluster, as it is for each of several.
	Without func(cluster, text string) string
	// Runs names some of all clusters.
	Runs func(some, all []string) string
	// Wave returns the wave in which a cluster is; empty if it is in none.
	Wave func(cluster string) string
	// State returns the state of a tier; empty if it is not known. It may be nil.
	State func(cluster string, ordinal int) string
}

// builder makes a Graph.
type builder struct {
	plan  *plan.Plan
	names Names
	graph *Graph
	all   []string
	// lanes are those of clusters. sample is the cluster whose tiers a lane has.
	lanes  map[string]int
	sample []string
	tiers  map[tierOf]int
	edges  map[[2]int]bool
}

// tierOf identifies a tier of a plan.
type tierOf struct {
	seed, cluster string
	ordinal       int
}

// New returns the graph of a plan.
func New(p *plan.Plan, names Names) *Graph {
	b := &builder{plan: p, names: names, graph: &Graph{Seed: p.Seed, Lanes: []Lane{}, Tiers: []Tier{}, Edges: []Edge{}}, lanes: map[string]int{}, tiers: map[tierOf]int{}, edges: map[[2]int]bool{}}
	b.addLanes()
	b.addTiers()
	b.addStates()
	b.addEdges()
	objects := 0
	for i := range b.graph.Tiers {
		t := &b.graph.Tiers[i]
		t.Kinds = b.kinds(t.ids)
		objects += len(t.ids)
	}
	b.graph.group()
	if b.graph.few = objects <= fewObjects && !slices.ContainsFunc(b.graph.Lanes, func(l Lane) bool { return l.Joined }); b.graph.few {
		b.addWaits()
	}
	return b.graph
}

// group chooses the tiers whose objects are named by kind: none has too many, nor have all together.
func (g *Graph) group() {
	var some []*Tier
	objects := 0
	for i := range g.Tiers {
		if t := &g.Tiers[i]; !t.listed() && len(t.ids) <= maxNamed && len(t.Objects) == len(t.ids) {
			some, objects = append(some, t), objects+len(t.ids)
		}
	}
	for _, t := range some {
		t.grouped = objects <= maxAllNamed
	}
}

// addLanes makes the lanes, in the order in which their first tiers are released.
func (b *builder) addLanes() {
	of := map[string][]string{}
	var order []string
	bodies := b.bodies()
	for _, t := range b.plan.InOrder() {
		if _, seen := b.lanes[t.Cluster]; seen {
			continue
		}
		b.lanes[t.Cluster] = -1
		b.all = append(b.all, t.Cluster)
		key := b.names.Wave(t.Cluster) + "\x00" + b.signature(t.Cluster, bodies)
		if of[key] == nil {
			order = append(order, key)
		}
		of[key] = append(of[key], t.Cluster)
	}
	slices.Sort(b.all)
	var lanes [][]string
	for _, key := range order {
		if len(of[key]) >= minEqual {
			lanes = append(lanes, of[key])
			continue
		}
		for _, cluster := range of[key] {
			lanes = append(lanes, []string{cluster})
		}
	}
	joined := len(lanes)
	if len(lanes) > maxLanes {
		joined = maxLanes - 1
	}
	for i, clusters := range lanes {
		if i <= joined {
			l := Lane{Joined: i == joined}
			if !l.Joined {
				l.Wave = b.names.Wave(clusters[0])
			}
			b.graph.Lanes = append(b.graph.Lanes, l)
			b.sample = append(b.sample, clusters[0])
		}
		lane := min(i, joined)
		b.graph.Lanes[lane].Clusters = append(b.graph.Lanes[lane].Clusters, clusters...)
		for _, c := range clusters {
			b.lanes[c] = lane
		}
	}
	for i := range b.graph.Lanes {
		l := &b.graph.Lanes[i]
		slices.Sort(l.Clusters)
		if l.Name = b.names.Runs(l.Clusters, b.all); l.Joined {
			l.Name = fmt.Sprintf("%d other clusters", len(l.Clusters))
		}
	}
}

// bodies returns the ids of the objects of each contents as one text. Clusters share contents, so
// the cost does not grow with them.
func (b *builder) bodies() map[string]string {
	out := map[string]string{}
	for _, c := range b.plan.Contents {
		var text strings.Builder
		for _, o := range c.Objects {
			text.WriteString(o.ID.String() + "\x00")
		}
		out[c.ID] = text.String()
	}
	return out
}

// signature returns a text that clusters have in common if all their tiers are equal but for the
// names of the clusters.
func (b *builder) signature(cluster string, bodies map[string]string) string {
	var out strings.Builder
	for _, t := range b.plan.On(cluster) {
		body := bodies[t.Contents]
		if strings.Contains(body, cluster) {
			body = b.names.Without(cluster, body)
		}
		fmt.Fprintf(&out, "\x01%d %d %s", t.Ordinal, t.Level, body)
		for _, pre := range t.Prerequisites {
			of := pre.Cluster
			if of == cluster {
				of = ""
			}
			fmt.Fprintf(&out, "\x02%s %s %d", pre.Seed, of, pre.Ordinal)
		}
	}
	return out.String()
}

// addTiers makes the tiers of the lanes.
func (b *builder) addTiers() {
	joined := map[int]int{} // by level
	for _, t := range b.plan.InOrder() {
		lane := b.lanes[t.Cluster]
		l := b.graph.Lanes[lane]
		if !l.Joined && t.Cluster != b.sample[lane] {
			continue
		}
		at, there := joined[t.Level]
		if !l.Joined || !there {
			at = len(b.graph.Tiers)
			b.graph.Tiers = append(b.graph.Tiers, Tier{Name: layout.NameOnCluster(t.Ordinal), Lane: lane, Level: t.Level})
			if l.Joined {
				b.graph.Tiers[at].Name = "tiers of level " + strconv.Itoa(t.Level)
				joined[t.Level] = at
			}
		}
		b.tiers[tierOf{"", t.Cluster, t.Ordinal}] = at
		to := &b.graph.Tiers[at]
		for _, o := range b.plan.Objects(t) {
			id := o.ID
			if len(l.Clusters) > 1 && !l.Joined {
				id.Namespace, id.Name = b.names.Without(t.Cluster, id.Namespace), b.names.Without(t.Cluster, id.Name)
			}
			to.ids = append(to.ids, id)
			if !l.Joined {
				to.Objects = append(to.Objects, id.String())
			}
		}
	}
	for _, t := range b.plan.InOrder() { // the other clusters of a lane have the tiers of the first
		lane := b.lanes[t.Cluster]
		if !b.graph.Lanes[lane].Joined {
			b.tiers[tierOf{"", t.Cluster, t.Ordinal}] = b.tiers[tierOf{"", b.sample[lane], t.Ordinal}]
		}
	}
}

// addStates counts the states of the tiers on the clusters of each lane.
func (b *builder) addStates() {
	if b.names.State == nil {
		return
	}
	counts := map[int]map[string]int{}
	for _, t := range b.plan.InOrder() {
		at := b.tiers[tierOf{"", t.Cluster, t.Ordinal}]
		if counts[at] == nil {
			counts[at] = map[string]int{}
		}
		counts[at][b.names.State(t.Cluster, t.Ordinal)]++
	}
	for at, by := range counts {
		delete(by, "")
		states := slices.SortedFunc(maps.Keys(by), func(x, y string) int { return cmp.Or(cmp.Compare(by[y], by[x]), cmp.Compare(x, y)) })
		for i, state := range states {
			if len(states) > 1 {
				states[i] = fmt.Sprintf("%d %s", by[state], state)
			}
		}
		b.graph.Tiers[at].State = strings.Join(states, ", ")
	}
}

// addEdges makes the edges, and the tiers of other seeds.
func (b *builder) addEdges() {
	for _, t := range b.plan.InOrder() {
		lane := b.lanes[t.Cluster]
		l := b.graph.Lanes[lane]
		if !l.Joined && t.Cluster != b.sample[lane] {
			continue
		}
		to := b.tiers[tierOf{"", t.Cluster, t.Ordinal}]
		for _, pre := range t.Prerequisites {
			from, ok := b.tiers[tierOf{pre.Seed, pre.Cluster, pre.Ordinal}]
			if !ok && pre.Seed != "" {
				from, ok = b.other(pre, t.Level), true
			}
			if !ok || from == to || b.edges[[2]int{from, to}] {
				continue
			}
			b.edges[[2]int{from, to}] = true
			why := pre.Why
			if len(l.Clusters) > 1 {
				why = b.names.Without(t.Cluster, why)
			}
			b.graph.Edges = append(b.graph.Edges, Edge{from, to, why})
		}
	}
}

// other adds the tier of another seed, just before the tier that waits for it. Clusters of one lane
// share it.
func (b *builder) other(pre plan.Prerequisite, level int) int {
	last := len(b.graph.Lanes) - 1
	if !b.graph.Lanes[last].OtherSeeds {
		b.graph.Lanes = append(b.graph.Lanes, Lane{Name: "other seeds", OtherSeeds: true})
		last++
	}
	on := pre.Cluster
	if lane, ok := b.lanes[pre.Cluster]; ok {
		on = b.graph.Lanes[lane].Name
	}
	name := "seed " + pre.Seed + " on " + on + " " + layout.NameOnCluster(pre.Ordinal)
	at := slices.IndexFunc(b.graph.Tiers, func(t Tier) bool { return t.Lane == last && t.Name == name })
	if at < 0 {
		at = len(b.graph.Tiers)
		b.graph.Tiers = append(b.graph.Tiers, Tier{Name: name, Lane: last, Level: level - 1})
	}
	b.tiers[tierOf{pre.Seed, pre.Cluster, pre.Ordinal}] = at
	return at
}

// kinds counts objects by kind, the most frequent first. Kinds that share a name have their group.
func (b *builder) kinds(ids []manifest.ID) []Kind {
	counts := map[manifest.GroupKind]int{}
	groups := map[string]map[string]bool{}
	for _, id := range ids {
		counts[id.GroupKind()]++
		if groups[id.Kind] == nil {
			groups[id.Kind] = map[string]bool{}
		}
		groups[id.Kind][id.Group] = true
	}
	order := slices.SortedFunc(maps.Keys(counts), func(x, y manifest.GroupKind) int {
		return cmp.Or(cmp.Compare(counts[y], counts[x]), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Group, y.Group))
	})
	var out []Kind
	for _, k := range order {
		name := k.Kind
		if len(groups[k.Kind]) > 1 {
			name = k.String()
		}
		out = append(out, Kind{name, counts[k]})
	}
	return out
}

// addWaits makes what objects wait for, as the first cluster of each lane has it.
func (b *builder) addWaits() {
	objects := map[int]map[manifest.ID]int{}
	find := func(cluster string, id manifest.ID) (Object, bool) {
		for _, t := range b.plan.On(cluster) {
			at, ok := b.tiers[tierOf{"", cluster, t.Ordinal}]
			if !ok {
				continue
			}
			if objects[at] == nil {
				objects[at] = map[manifest.ID]int{}
				for i, o := range b.graph.Tiers[at].ids {
					objects[at][o] = i
				}
			}
			shown := id
			if lane := b.graph.Lanes[b.lanes[cluster]]; len(lane.Clusters) > 1 {
				shown.Namespace, shown.Name = b.names.Without(cluster, id.Namespace), b.names.Without(cluster, id.Name)
			}
			if i, ok := objects[at][shown]; ok {
				return Object{at, i}, true
			}
		}
		return Object{}, false
	}
	seen := map[Wait]bool{}
	for _, d := range b.plan.Dependencies {
		if d.To.Seed != "" || d.Kind == dependency.Soft {
			continue
		}
		for _, cluster := range b.sample {
			if !slices.Contains(d.From.Clusters, cluster) {
				continue
			}
			to, found := find(cluster, d.From.Object)
			from, there := find(cmp.Or(d.To.Cluster, cluster), d.To.Object)
			w := Wait{From: from, To: to, Rule: d.Rule, Why: d.Why, Weak: d.Kind == dependency.Weak}
			if len(b.graph.Lanes[b.lanes[cluster]].Clusters) > 1 {
				w.Why = b.names.Without(cluster, d.Why)
			}
			if found && there && !seen[w] {
				seen[w] = true
				b.graph.Waits = append(b.graph.Waits, w)
			}
		}
	}
}

// needed lists the edges that do not follow from others.
func (g *Graph) needed() []Edge {
	next := map[int][]int{}
	for _, e := range g.Edges {
		next[e.From] = append(next[e.From], e.To)
	}
	reached := map[int]map[int]bool{}
	var from func(int) map[int]bool
	from = func(at int) map[int]bool {
		if all, ok := reached[at]; ok {
			return all
		}
		all := map[int]bool{}
		reached[at] = all
		for _, to := range next[at] {
			all[to] = true
			for further := range from(to) {
				all[further] = true
			}
		}
		return all
	}
	var out []Edge
	for _, e := range g.Edges {
		if !slices.ContainsFunc(next[e.From], func(to int) bool { return to != e.To && from(to)[e.To] }) {
			out = append(out, e)
		}
	}
	return out
}
