package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/state"
)

// maxChains is how many different chains of one object are shown.
const maxChains = 3

// objectChain is the longest chain of what must be ready before an object on one cluster, first
// things first; the object is its last step.
type objectChain struct {
	Cluster string      `json:"cluster"`
	Steps   []chainStep `json:"steps"`
}

// chainStep is one object of a chain, and why it waits for the step before it.
type chainStep struct {
	Object string `json:"object"`
	// Seed is set where the object is another seed's.
	Seed    string `json:"seed,omitempty"`
	Cluster string `json:"cluster"`
	Ordinal int    `json:"ordinal"`
	// State of the tier, as far as it is known.
	State string `json:"state,omitempty"`
	// Rule, Field and Why are of the dependency on the step before; the first step has none.
	Rule  string `json:"rule,omitempty"`
	Field string `json:"field,omitempty"`
	Why   string `json:"why,omitempty"`
}

// planVertex is an object of a seed on a cluster.
type planVertex struct {
	seed    string
	object  manifest.ID
	cluster string
}

// chainLink is the longest chain that ends at a vertex: how long it is, and what the vertex waits
// for as its last link but one; nil at the beginning.
type chainLink struct {
	length int
	by     *plan.Dependency
	to     planVertex
}

// planWait is a dependency, with the clusters on which the object waits in order.
type planWait struct {
	*plan.Dependency
	clusters []string
}

// planGraph finds chains in the dependencies of plans. What is computed of a vertex is kept, so the
// cost is linear in the dependencies that chains can take: walking all paths would be exponential in
// plans of layers that each wait for all of the layer below.
type planGraph struct {
	plans map[string]*plan.Plan
	waits map[string]map[manifest.ID][]planWait
	known map[planVertex]chainLink
	tiers map[planVertex]int
}

func newPlanGraph(plans map[string]*plan.Plan) *planGraph {
	return &planGraph{plans: plans, waits: map[string]map[manifest.ID][]planWait{}, known: map[planVertex]chainLink{}, tiers: map[planVertex]int{}}
}

// waitsOf lists the dependencies of an object of a seed that are not only shown.
func (g *planGraph) waitsOf(seed string, object manifest.ID) []planWait {
	of, ok := g.waits[seed]
	if !ok {
		of = map[manifest.ID][]planWait{}
		if p := g.plans[seed]; p != nil {
			for i := range p.Dependencies {
				if d := &p.Dependencies[i]; d.Kind != dependency.Soft {
					of[d.From.Object] = append(of[d.From.Object], planWait{d, slices.Sorted(slices.Values(d.From.Clusters))})
				}
			}
		}
		g.waits[seed] = of
	}
	return of[object]
}

// longest finds the longest chain that ends at a vertex; of several the first in the plan's order.
//
// Objects that need each other to become ready are a cycle, so what leads back to a vertex that is being
// computed does not count.
func (g *planGraph) longest(v planVertex) chainLink {
	if link, ok := g.known[v]; ok {
		return link
	}
	best := chainLink{length: 1}
	g.known[v] = chainLink{}
	for _, d := range g.waitsOf(v.seed, v.object) {
		if _, there := slices.BinarySearch(d.clusters, v.cluster); !there {
			continue
		}
		to := planVertex{cmp.Or(d.To.Seed, v.seed), d.To.Object, cmp.Or(d.To.Cluster, v.cluster)}
		if n := g.longest(to).length; n > 0 && n+1 > best.length {
			best = chainLink{n + 1, d.Dependency, to}
		}
	}
	g.known[v] = best
	return best
}

// chain returns the longest chain that ends at a vertex. Objects of seeds without a plan have no
// tier, which is -1.
func (g *planGraph) chain(v planVertex) []chainStep {
	var out []chainStep
	for range g.longest(v).length {
		link, step := g.longest(v), chainStep{Object: v.object.String(), Seed: v.seed, Cluster: v.cluster, Ordinal: g.tier(v)}
		if link.by != nil {
			step.Rule, step.Field, step.Why = link.by.Rule, link.by.Field, link.by.Why
		}
		out = append(out, step)
		v = link.to
	}
	slices.Reverse(out)
	return out
}

// tier returns the ordinal of the tier that a vertex is in, or -1.
func (g *planGraph) tier(v planVertex) int {
	if n, ok := g.tiers[v]; ok {
		return n
	}
	g.tiers[v] = -1
	if p := g.plans[v.seed]; p != nil {
		for _, t := range p.On(v.cluster) {
			if slices.ContainsFunc(p.Objects(&t), func(o plan.Object) bool { return o.ID == v.object && !o.Leaving }) {
				g.tiers[v] = t.Ordinal
			}
		}
	}
	return g.tiers[v]
}

// chains fills in the chain of the object on each of its clusters.
func (e *explanation) chains(id manifest.ID, inForce *plan.Plan) {
	g := newPlanGraph(e.plans)
	for _, cluster := range e.Clusters {
		c := objectChain{cluster, g.chain(planVertex{e.Seed, id, cluster})}
		for i := range c.Steps {
			step := &c.Steps[i]
			if step.Seed != e.Seed {
				continue
			}
			step.Seed = ""
			if t, ok := e.plan.Find(step.Cluster, step.Ordinal); ok {
				if r := e.reportedTier(t, inForce); r.State != state.Unknown {
					step.State = string(r.State)
				}
			}
		}
		e.Chains = append(e.Chains, c)
	}
}

// showChains shows the chains of an object, those that are equal on several clusters as one unless
// whole. The states of their tiers are counted and do not keep chains apart.
func (e *explanation) showChains(w io.Writer, all clusterSet, whole bool) {
	texts := make([]ofCluster, len(e.Chains))
	for i, c := range e.Chains {
		lines := make([]string, 0, 2*len(c.Steps))
		for n, step := range c.Steps {
			lines = append(lines, fmt.Sprintf("%d. %s, %s", n+1, step.Object, step.where()), step.because(n))
		}
		texts[i] = ofCluster{c.Cluster, strings.Join(lines, "\x00")}
	}
	least := 2 // chains are longer than their names
	if whole {
		least = len(texts) + 1
	}
	chains := foldedFrom(least, all, texts)
	longer := func(f fold) bool { return len(e.Chains[f.members[0]].Steps) > 1 }
	if !slices.ContainsFunc(chains, longer) {
		return
	}
	fmt.Fprintln(w)
	heading(w, "Chain")
	for n, f := range chains {
		if n == maxChains && len(chains) > maxChains+1 && !whole {
			paragraph(w, "    ", fmt.Sprintf("  %d other chains on other clusters; -o wide shows each", len(chains)-n))
			return
		}
		if len(chains) > 1 || len(f.members) > 1 {
			paragraph(w, "    ", "  on "+f.on)
		}
		lines := strings.Split(f.text, "\x00")
		for i := 0; i < len(lines); i += 2 {
			line, now := "  "+lines[i], e.stateOf(f.members, i/2)
			if now != "" {
				line += ": " + now
			}
			stateParagraph(w, "     ", line, now)
			if lines[i+1] != "" {
				paragraph(w, "       ", "     "+lines[i+1])
			}
		}
	}
}

// where names the tier of a step.
func (s chainStep) where() string {
	name := s.Cluster
	if s.Ordinal >= 0 {
		name += " " + layout.NameOnCluster(s.Ordinal)
	}
	if s.Seed != "" {
		name = "seed " + s.Seed + " on " + name
	}
	return name
}

// because says why a step waits for step n.
func (s chainStep) because(n int) string {
	if s.Rule == "" {
		return ""
	}
	return fmt.Sprintf("waits for %d by rule %s: %s", n, s.Rule, fieldAndWhy(s.Field, s.Why))
}

// fieldAndWhy names the field that makes an object wait, unless the why begins with it or, as in
// metadata.annotations[key], with its key, and the why.
func fieldAndWhy(field, why string) string {
	_, key, _ := strings.Cut(strings.TrimSuffix(field, "]"), "[")
	if field == "" || strings.HasPrefix(why, field+":") || key != "" && strings.HasPrefix(why, key+":") {
		return why
	}
	return field + ": " + why
}

// stateOf returns the state of step n of some chains, or how many of them are in which.
func (e *explanation) stateOf(chains []int, n int) string {
	counts := map[string]int{}
	var states []string
	for _, c := range chains {
		s := cmp.Or(e.Chains[c].Steps[n].State, state.Unknown)
		if counts[s] == 0 {
			states = append(states, s)
		}
		counts[s]++
	}
	switch {
	case len(states) == 1 && states[0] == state.Unknown:
		return ""
	case len(states) == 1:
		return states[0]
	}
	for i, s := range states {
		states[i] = fmt.Sprintf("%s on %d", s, counts[s])
	}
	return strings.Join(states, ", ")
}
