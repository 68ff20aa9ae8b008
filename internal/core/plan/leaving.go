package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// findLeaving lists what is planted and no longer in its seed. What is planted on a cluster whose
// document cannot be used neither leaves nor changes.
//
// Nothing is removed because something could not be read. So each mistake by which an object may be
// missing has a check, and the seed then stays as it is: its cluster is broken and it
// was already going (holdIfGoing), a file of the seed is not read (holdIfLost), the creator of its
// cluster is in a seed that cannot be planned (holdIfCreatorIsUnknown). The last is repeated until
// nothing else fails, since a seed that fails may be such a creator's.
func (c *computation) findLeaving() {
	for _, s := range c.alive() {
		if s.planted.empty() {
			continue
		}
		now := s.wanted()
		for v := range s.planted.notIn(now) {
			if why := c.inventory.BrokenOrLost(v.Cluster); why != "" {
				s.held = append(s.held, v)
				s.broken[v.Cluster] = why
				continue
			}
			s.leaving = append(s.leaving, v)
			s.leaves[v] = true
		}
		slices.SortFunc(s.leaving, dependency.Vertex.Compare)
		slices.SortFunc(s.held, dependency.Vertex.Compare)
		c.holdIfGoing(s)
		c.holdIfLost(s, now)
		if c.dropping[s.seed.Name] && s.handsOver() {
			c.dropping[s.seed.Name] = false
		}
	}
	for before := -1; before != len(c.failed); { // whatever the names of seeds are
		before = len(c.failed)
		for _, s := range c.alive() {
			c.holdIfCreatorIsUnknown(s)
		}
	}
}

// holdIfLost keeps a seed as it is while a part of it is not read, and something that is
// planted would leave or go to more clusters: the object or the settings may be in that part.
func (c *computation) holdIfLost(s *seedState, now *wanted) {
	if len(s.seed.Lost) == 0 {
		return
	}
	changed := slices.Clone(s.leaving)
	known := map[manifest.ID]bool{}
	for id := range s.planted.objects() {
		known[id] = true
	}
	for v := range now.all() {
		if known[v.Object] && !s.planted.has(v) {
			changed = append(changed, v)
		}
	}
	if len(changed) == 0 {
		return
	}
	v := slices.MinFunc(changed, dependency.Vertex.Compare)
	change := "would be planted"
	if s.leaves[v] {
		change = "would leave"
	}
	c.fail(s.seed.Name, manifest.OfSeed(v1alpha1.ReasonFileUnreadable, s.seed.Name, fmt.Sprintf("%s %s, but %s cannot be read and may hold it, or settings of the seed", v, change, s.seed.Lost[0]), "Correct that file or directory, or remove it."))
}

// holdIfGoing keeps a seed as it is when objects were to leave a cluster whose
// document cannot be used now.
func (c *computation) holdIfGoing(s *seedState) {
	for _, v := range s.held {
		if was, _ := s.planted.get(v); was.going {
			c.fail(s.seed.Name, manifest.OfSeed(v1alpha1.ReasonBrokenDocument, s.seed.Name, fmt.Sprintf("%s is being removed, and of its cluster %s", v, s.broken[v.Cluster]), "Correct that document."))
			return
		}
	}
}

// holdNeeded holds seeds that would take something from under what stays. Seeds that cannot be
// planned keep all they have, so it is asked again when one more fails.
func (c *computation) holdNeeded() {
	for before := -1; before != len(c.failed); {
		before = len(c.failed)
		for _, s := range c.alive() {
			c.holdIfStillNeeded(s)
		}
	}
}

// stays reports whether an object is planted and remains where it is.
func (c *computation) stays(v dependency.Vertex) bool {
	s := c.seeds[v.Seed]
	return s.planted.has(v) && (c.failed[v.Seed] != nil || !s.leaves[v])
}

// holdIfCreatorIsUnknown keeps a seed as it is when what leaves it leaves only because
// another seed, which may create the cluster, cannot be planned.
func (c *computation) holdIfCreatorIsUnknown(s *seedState) {
	for _, v := range s.leaving {
		if _, known := c.inventory.Clusters[v.Cluster]; known {
			continue
		}
		if creators := c.mayCreate(v.Cluster); len(creators) > 0 {
			c.fail(s.seed.Name, manifest.OfSeed(v1alpha1.ReasonBrokenSeed, s.seed.Name, fmt.Sprintf("the cluster %q is not known any more, while %s cannot be planned and may create it", v.Cluster, strings.Join(quoteAll("seed", creators), ", ")), "Correct that seed first."))
			return
		}
	}
}

// mayCreate returns the seeds that cannot be planned and may create a cluster: they have its
// creator, did so by their last plan, or cannot be read.
func (c *computation) mayCreate(cluster string) []string {
	creates := func(s *seedState) bool {
		isCreator := func(o manifest.Object) bool { return o.ID.Name == cluster && catalog.IsCreator(o.ID.GroupKind()) }
		return s.seed.Err != nil || s.previous.creates(cluster) || slices.ContainsFunc(s.seed.Objects(), isCreator)
	}
	return slices.DeleteFunc(sortedKeys(c.failed), func(name string) bool { return !creates(c.seeds[name]) })
}

// holdIfStillNeeded refuses to take a Namespace, CRD or creator from under what
// stays, in this seed or in another.
func (c *computation) holdIfStillNeeded(s *seedState) {
	if len(s.leaving) == 0 {
		return
	}
	for i := range c.in.Catalog.Seeds {
		other := c.seeds[c.in.Catalog.Seeds[i].Name]
		for _, e := range other.previous.kept() {
			if s.leaves[e.To] && s.gives[e.To] == "" && !e.Reason.OrderOnly() && c.stays(e.From) {
				c.fail(s.seed.Name, manifest.OfSeed(v1alpha1.ReasonDependencyLeaving, s.seed.Name, fmt.Sprintf("%s leaves the seed while %s of seed %q stays and needs it (%s)", e.To, e.From, e.From.Seed, e.Reason.Why), "Keep the one, or remove both."))
				return
			}
		}
	}
}

// stopDropping finds the seeds that changed while something was leaving them: what has not left yet
// stays again until the new changes are released. It reports whether there are any, and then all
// must be computed again.
func (c *computation) stopDropping(outcomes map[string]*Outcome) bool {
	stopped := false
	for name, dropping := range c.dropping {
		if o := outcomes[name]; dropping && o.Err == nil && !o.Kept {
			c.dropping[name], stopped = false, true
		}
	}
	return stopped
}

// startDropping finds the seeds whose other changes are all released, so what leaves them can
// go. It reports whether there are any, and then all must be computed again.
func (c *computation) startDropping(outcomes map[string]*Outcome) bool {
	started := false
	for _, s := range c.alive() {
		name := s.seed.Name
		if len(s.leaving) > 0 && !c.dropping[name] && s.previous.Released && outcomes[name].Kept && !s.protects() && !c.givesInVain(s) {
			c.dropping[name], started = true, true
		}
	}
	return started
}

// addDropped records what goes with this plan: without it in the tree, and in the reverse order of
// the dependencies. A tier that keeps nothing comes back as one without entries, so its
// removal is proposed like any other change.
func (a *assembly) addDropped() {
	after := map[dependency.Vertex][]dependency.KeptEdge{}
	for _, e := range a.previous.kept() {
		after[e.To] = append(after[e.To], e)
	}
	for _, v := range a.leaving {
		was, _ := a.seedState.planted.get(v)
		i, ok := a.plan.position(v.Cluster, was.tier.Ordinal)
		if !ok {
			a.plan.Tiers = slices.Insert(a.plan.Tiers, i, was.tier.gone())
		}
		t := &a.plan.Tiers[i]
		if t.Leaving == nil {
			t.Leaving = &Leaving{}
		}
		o := was.object
		o.Leaving = false
		t.Leaving.Objects = append(t.Leaving.Objects, o)
		a.addAfter(t, v, after[v])
	}
	a.explainLeaving()
}

// explainLeaving says, of clusters that keep nothing of the seed, why that is so.
func (a *assembly) explainLeaving() {
	keeps := map[string]bool{}
	for i := range a.plan.Tiers {
		if t := &a.plan.Tiers[i]; !t.Gone() {
			keeps[t.Cluster] = true
		}
	}
	for i := range a.plan.Tiers {
		t := &a.plan.Tiers[i]
		if t.Leaving == nil || keeps[t.Cluster] {
			continue
		}
		t.Leaving.Why = fmt.Sprintf("nothing of the seed is placed on cluster %s any more", t.Cluster)
		if _, known := a.inventory.Clusters[t.Cluster]; !known {
			t.Leaving.Why = fmt.Sprintf("no document declares cluster %s any more", t.Cluster)
		}
	}
}

// addAfter notes that a tier loses an object only after those that waited for it have gone.
func (a *assembly) addAfter(t *Tier, v dependency.Vertex, edges []dependency.KeptEdge) {
	for _, e := range edges {
		from, leaving := a.seedState.planted.get(e.From)
		if !leaving || e.From.Seed != a.seed.Name || !a.leaves[e.From] {
			continue
		}
		same := from.tier.Cluster == t.Cluster && from.tier.Ordinal == t.Ordinal
		known := slices.ContainsFunc(t.Leaving.After, func(r Reference) bool { return r.Cluster == from.tier.Cluster && r.Ordinal == from.tier.Ordinal })
		if !same && !known {
			t.Leaving.After = append(t.Leaving.After, Reference{from.tier.Cluster, from.tier.Ordinal, fmt.Sprintf("%s waits for %s (%s)", e.From.Object, v.Object, e.Reason.Rule)})
		}
	}
}
