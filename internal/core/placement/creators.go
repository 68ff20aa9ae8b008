package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// checkCreators refuses creators that wait for themselves: what makes their kind work is on the
// cluster that they make, and not where they are. The objects of the variant must be placed.
func (s *placer) checkCreators() manifest.Problems {
	var problems manifest.Problems
	for _, n := range s.creators() {
		if len(n.clusters) != 1 {
			continue
		}
		made, ok := s.inventory.Clusters[n.object.ID.Name]
		if !ok || made.CreatedBy == nil || made.CreatedBy.Object != n.object.ID {
			continue
		}
		check := creatorCheck{placer: s, creator: n, on: n.clusters[0], seen: map[manifest.GroupKind]bool{}}
		check.elsewhere = func(_ *placer, part *node, chain []string) bool {
			if !slices.Contains(part.clusters, made.Name) {
				return false
			}
			problems = append(problems, part.object.Problem(v1alpha1.ReasonCreatorCycle,
				fmt.Sprintf("it goes to cluster %s (%s), which %s creates, and that needs it on %s: %s", made.Name, part.why, n.object.ID, check.on, strings.Join(chain, "; ")),
				fmt.Sprintf("Place it on %s, or list the CustomResourceDefinition in spec.provides of Cluster %q if it is installed there.", check.on, check.on)).WithCluster(made.Name))
			return true
		}
		check.misplaced()
	}
	return problems
}

// creators returns the objects that create clusters, in order.
func (s *placer) creators() []*node {
	var found []*node
	for _, k := range s.kinds {
		if catalog.IsCreator(k.GroupKind) {
			found = append(found, k.nodes...)
		}
	}
	return found
}

// creatorCheck goes through what one creator needs on the cluster that it is on.
type creatorCheck struct {
	*placer
	creator *node
	on      string
	// others returns where else a kind may be defined or installed; nil where only the own seed counts.
	others func(manifest.GroupKind) []*placer
	// elsewhere is called for each object that the creator needs and that is not where the creator is,
	// with the chain of reasons. Once it returns true, the check ends.
	elsewhere func(of *placer, part *node, chain []string) bool
	seen      map[manifest.GroupKind]bool
	queue     []needed
}

// needed is a kind that must work, with the chain of reasons.
type needed struct {
	kind  manifest.GroupKind
	chain []string
}

// misplaced goes through the objects that the creator needs: of the operator that serves the
// creator's kind, of those that serve what the creator refers to, and of those that serve what these
// operators consist of.
func (c *creatorCheck) misplaced() {
	c.need(c.creator.object.ID.GroupKind(), nil)
	c.needReferred(c.creator, nil)
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		for _, d := range c.definitionsOf(next.kind) {
			chain := slices.Concat(next.chain, []string{fmt.Sprintf("%s is defined by %s", next.kind, d.node.object.ID)})
			if c.ofOperator(d, chain) {
				return
			}
		}
		if c.ofInstallers(next) {
			return
		}
	}
}

// ofInstallers checks the charts and packages that install a kind, unless one of them is with the creator.
func (c *creatorCheck) ofInstallers(next needed) (ended bool) {
	if c.inventory.Clusters[c.on].HasKind(next.kind) {
		return false
	}
	type installs struct {
		in *placer
		by *node
	}
	var all []installs
	for _, p := range c.placersOf(next.kind) {
		for _, n := range p.installersOf(next.kind) {
			if slices.Contains(n.clusters, c.on) {
				return false
			}
			all = append(all, installs{p, n})
		}
	}
	for _, i := range all {
		if c.check(i.in, i.by, slices.Concat(next.chain, []string{fmt.Sprintf("%s is installed by %s", next.kind, i.by.object.ID)})) {
			return true
		}
	}
	return false
}

// placersOf returns the variants that may define or install a kind.
func (c *creatorCheck) placersOf(kind manifest.GroupKind) []*placer {
	if c.others != nil {
		return c.others(kind)
	}
	return []*placer{c.placer}
}

// located is a definition, and the variant of a seed that has it.
type located struct {
	*definition
	in *placer
}

// definitionsOf returns the definitions of a kind: those that are where the creator is, else all.
// There is none where the kind is known to be installed there.
func (c *creatorCheck) definitionsOf(kind manifest.GroupKind) []located {
	var all, here []located
	for _, p := range c.placersOf(kind) {
		for _, d := range p.findOperators().crds[kind.Group] {
			switch {
			case d.kind != kind:
				continue
			case slices.Contains(c.inventory.Clusters[c.on].Provides.CustomResourceDefinitions, d.node.object.ID.Name):
				return nil
			case slices.Contains(d.node.clusters, c.on):
				here = append(here, located{d, p})
			}
			all = append(all, located{d, p})
		}
	}
	if len(here) > 0 {
		return here
	}
	return all
}

func (c *creatorCheck) need(kind manifest.GroupKind, chain []string) {
	if !c.seen[kind] && !manifest.ServedByKubernetes(kind) {
		c.seen[kind] = true
		c.queue = append(c.queue, needed{kind, chain})
	}
}

// needReferred needs the kinds of what an object refers to, and what that refers to.
func (c *creatorCheck) needReferred(n *node, chain []string) {
	for _, id := range References(n.object) {
		to := c.node(id)
		if to == nil || c.seen[id.GroupKind()] {
			continue
		}
		further := slices.Concat(chain, []string{fmt.Sprintf("%s refers to %s", n.object.ID, id)})
		c.need(id.GroupKind(), further)
		c.needReferred(to, further)
	}
}

// ofOperator checks the objects of the operator that a definition belongs to, and needs their kinds.
func (c *creatorCheck) ofOperator(d located, chain []string) (ended bool) {
	d.in.findOperators()
	start := d.node.vertex
	if start == nil {
		return c.check(d.in, d.node, chain)
	}
	type step struct {
		at    *vertex
		chain []string
	}
	seen := map[*vertex]bool{start: true}
	for queue := []step{{start, chain}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if n := at.at.node; n != nil {
			if c.check(d.in, n, at.chain) {
				return true
			}
			c.need(at.at.id.GroupKind(), at.chain)
		}
		for _, l := range at.at.links {
			if !seen[l.to] {
				seen[l.to] = true
				queue = append(queue, step{l.to, slices.Concat(at.chain, []string{fmt.Sprintf("%s: %s", at.at.id, l.text)})})
			}
		}
	}
	return false
}

// check reports an object that is not with the creator.
func (c *creatorCheck) check(of *placer, n *node, chain []string) (ended bool) {
	return !slices.Contains(n.clusters, c.on) && c.elsewhere(of, n, chain)
}
