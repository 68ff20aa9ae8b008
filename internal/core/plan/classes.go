package plan

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// classes are clusters that differ only by their names for the rules of dependencies: they have the
// same objects with the same contents, in the same tiers so far. The graph has the first cluster of
// each class, and what it says of that counts for all of them.
//
// A cluster that something connects with another one is alone in its class.
type classes struct {
	// first is the first cluster of the class of each cluster that has company, and members are all
	// clusters of such a class by its first, in order.
	first   map[string]string
	members map[string][]string
}

// firstOf returns the cluster that the graph has for one.
func (k classes) firstOf(cluster string) string {
	if first, several := k.first[cluster]; several {
		return first
	}
	return cluster
}

// isFirst reports whether the graph has the cluster itself.
func (k classes) isFirst(cluster string) bool { return k.firstOf(cluster) == cluster }

// membersOf returns the clusters for which the graph has one. The slice must not be changed.
func (k classes) membersOf(first string) []string {
	if members, several := k.members[first]; several {
		return members
	}
	return []string{first}
}

// partition divides names into classes, by splitting them again and again.
type partition struct {
	names  []string
	number map[string]int
	class  []int // by number
	last   int
}

func (p *partition) numberOf(name string) int {
	n, known := p.number[name]
	if !known {
		n = len(p.names)
		p.number[name], p.names, p.class = n, append(p.names, name), append(p.class, 0)
	}
	return n
}

// split separates some names from all others.
func (p *partition) split(names []string) {
	moved := map[int]int{}
	for _, name := range names {
		n := p.numberOf(name)
		to, known := moved[p.class[n]]
		if !known {
			p.last++
			to = p.last
			moved[p.class[n]] = to
		}
		p.class[n] = to
	}
}

// splitBy separates the clusters of some objects from those without them. The vertices are in order of objects.
func (p *partition) splitBy(vertices []dependency.Vertex) {
	for start := 0; start < len(vertices); {
		end := start
		var on []string
		for ; end < len(vertices) && vertices[end].Object == vertices[start].Object; end++ {
			on = append(on, vertices[end].Cluster)
		}
		p.split(on)
		start = end
	}
}

// isolate gives a name a class of its own.
func (p *partition) isolate(name string) {
	p.last++
	p.class[p.numberOf(name)] = p.last
}

// classes returns those with several names.
func (p *partition) classes() classes {
	by := map[int][]string{}
	for n, class := range p.class {
		by[class] = append(by[class], p.names[n])
	}
	k := classes{map[string]string{}, map[string][]string{}}
	for _, members := range by {
		if len(members) == 1 {
			continue
		}
		slices.Sort(members)
		k.members[members[0]] = members
		for _, name := range members {
			k.first[name] = members[0]
		}
	}
	return k
}

// classify finds the classes of all clusters, apart from those that are known to be connected.
func (c *computation) classify(alive []*seedState) classes {
	p := &partition{number: map[string]int{}}
	alike := map[string][]string{}
	for _, name := range c.inventory.Names() {
		cl := c.inventory.Clusters[name]
		known, err := json.Marshal([]any{dependency.Known(cl), cl.Readiness})
		if err == nil {
			alike[string(known)] = append(alike[string(known)], name)
		}
	}
	for _, key := range sortedKeys(alike) {
		p.split(alike[key])
	}
	for _, s := range alive {
		s.splitByWanted(p)
		p.splitBy(slices.SortedFunc(maps.Keys(s.awaits), dependency.Vertex.Compare))
		p.splitBy(slices.SortedFunc(maps.Keys(s.gives), dependency.Vertex.Compare))
		s.splitByPlanted(p)
	}
	for _, name := range c.inventory.Names() {
		cl := c.inventory.Clusters[name]
		if cl.CreatedBy != nil {
			p.isolate(cl.CreatedBy.On)
		}
		if cl.CreatedBy != nil || cl.Role == v1alpha1.RoleManagement {
			p.isolate(name)
		}
	}
	for name := range c.connected {
		p.isolate(name)
	}
	return p.classes()
}

// splitByWanted separates clusters that get different objects, or different contents of them.
func (s *seedState) splitByWanted(p *partition) {
	for i, placed := range s.placements {
		if i == 0 || !sameList(placed.Clusters, s.placements[i-1].Clusters) {
			p.split(placed.Clusters)
		}
	}
	for _, v := range s.variants {
		p.split(v.Clusters)
	}
}

// sameList reports whether two lists are the same part of memory.
func sameList(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// splitByPlanted separates clusters that have different tiers, or that different objects leave.
func (s *seedState) splitByPlanted(p *partition) {
	type tier struct {
		has     *contentsOf
		ordinal int
	}
	var order []tier
	clusters := map[tier][]string{}
	for _, name := range s.planted.clusters() {
		for _, t := range s.planted.on[name] {
			key := tier{t.has, t.tier.Ordinal}
			if clusters[key] == nil {
				order = append(order, key)
			}
			clusters[key] = append(clusters[key], name)
			if len(t.going) > 0 {
				p.isolate(name)
			}
		}
	}
	for _, key := range order {
		p.split(clusters[key])
	}
	p.splitBy(s.leaving)
	if len(s.leaving)+len(s.held) > 0 {
		for _, d := range s.previous.Plan.Dependencies {
			p.split(d.From.Clusters)
			if d.To.Cluster != "" {
				p.isolate(d.To.Cluster)
				for _, name := range d.From.Clusters {
					p.isolate(name)
				}
			}
		}
	}
	for name := range s.broken {
		p.isolate(name)
	}
	for v := range s.before {
		p.isolate(v.Cluster)
	}
}

// draw draws the graph for the first cluster of each class. Rules find out only there which
// clusters are connected; their classes come to an end then, and the graph is drawn anew.
func (c *computation) draw(alive []*seedState) dependency.Result {
	for {
		c.classes = c.classify(alive)
		result := dependency.Build(c.graphSeeds(alive), c.inventory)
		connected := len(c.connected)
		for _, name := range result.Connected {
			c.connect(name)
		}
		result.Warnings, result.Errors = c.onMembers(result.Warnings), c.onMembers(result.Errors)
		if len(c.connected) == connected {
			return result
		}
	}
}

// connect notes that a cluster is connected with another one, and so are those of its class.
func (c *computation) connect(cluster string) {
	members := c.classes.membersOf(c.classes.firstOf(cluster))
	if len(members) == 1 {
		return
	}
	for _, name := range members {
		c.connected[name] = true
	}
}

// separateMoves gives clusters on which objects move a class each, because each moves by itself. It
// reports whether the graph must be drawn anew.
func (c *computation) separateMoves(g *dependency.Graph, given []dependency.GivenUp) bool {
	connected := len(c.connected)
	for _, one := range given {
		c.connect(g.Vertex(one.Vertex).Cluster)
	}
	return len(c.connected) > connected
}

// onMembers returns findings about the first cluster of a class for each of its members.
func (c *computation) onMembers(findings []dependency.Finding) []dependency.Finding {
	var out []dependency.Finding
	for _, f := range findings {
		if f.Cluster == "" || len(c.classes.membersOf(f.Cluster)) == 1 {
			out = append(out, f)
			continue
		}
		message, ends := strings.CutSuffix(f.Message, f.Cluster)
		if !ends {
			c.connect(f.Cluster)
			continue
		}
		for _, name := range c.classes.membersOf(f.Cluster) {
			f.Cluster, f.Message = name, message+name
			out = append(out, f)
		}
	}
	return out
}

// onFirst returns placements on the first clusters of their classes.
func (k classes) onFirst(placements []placement.Placement) []placement.Placement {
	if len(k.first) == 0 {
		return placements
	}
	out := slices.Clone(placements)
	for i := range out {
		if i > 0 && sameList(placements[i].Clusters, placements[i-1].Clusters) {
			out[i].Clusters = out[i-1].Clusters
			continue
		}
		out[i].Clusters = slices.DeleteFunc(slices.Clone(out[i].Clusters), func(name string) bool { return !k.isFirst(name) })
	}
	return out
}

// verticesOnFirst returns the vertices that are on the first clusters of their classes.
func (k classes) verticesOnFirst(vertices []dependency.Vertex) []dependency.Vertex {
	if len(k.first) == 0 {
		return vertices
	}
	return slices.DeleteFunc(slices.Clone(vertices), func(v dependency.Vertex) bool { return !k.isFirst(v.Cluster) })
}
