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
	for _, n := range s.all {
		if !catalog.IsCreator(n.object.ID.GroupKind()) || len(n.clusters) != 1 {
			continue
		}
		made, ok := s.inventory.Clusters[n.object.ID.Name]
		if !ok || made.CreatedBy == nil || made.CreatedBy.Object != n.object.ID {
			continue
		}
		check := creatorCheck{placer: s, creator: n, on: n.clusters[0], seen: map[manifest.GroupKind]bool{}}
		if p, found := check.misplaced(); found {
			problems = append(problems, p)
		}
	}
	return problems
}

// creatorCheck goes through what one creator needs on the cluster that it is on.
type creatorCheck struct {
	*placer
	creator *node
	on      string
	seen    map[manifest.GroupKind]bool
	queue   []needed
}

// needed is a kind that must work, with the chain of reasons.
type needed struct {
	kind  manifest.GroupKind
	chain []string
}

// misplaced returns the first object that the creator needs and that is on the cluster that it makes
// alone: of the operator that serves the creator's kind, of those that serve what the creator refers
// to, and of those that serve what these operators consist of.
func (c *creatorCheck) misplaced() (manifest.Problem, bool) {
	c.need(c.creator.object.ID.GroupKind(), nil)
	c.needReferred(c.creator, nil)
	operators := c.findOperators()
	for len(c.queue) > 0 {
		next := c.queue[0]
		c.queue = c.queue[1:]
		for _, d := range operators.crds[next.kind.Group] {
			if d.kind != next.kind || slices.Contains(c.inventory.Clusters[c.on].Provides.CustomResourceDefinitions, d.node.object.ID.Name) {
				continue
			}
			chain := slices.Concat(next.chain, []string{fmt.Sprintf("%s is defined by %s", next.kind, d.node.object.ID)})
			if p, found := c.ofOperator(d, chain); found {
				return p, true
			}
		}
	}
	return manifest.Problem{}, false
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
		to, ok := c.nodes[id]
		if !ok || c.seen[id.GroupKind()] {
			continue
		}
		further := slices.Concat(chain, []string{fmt.Sprintf("%s refers to %s", n.object.ID, id)})
		c.need(id.GroupKind(), further)
		c.needReferred(to, further)
	}
}

// ofOperator checks the objects of the operator that a definition belongs to, and needs their kinds.
func (c *creatorCheck) ofOperator(d *definition, chain []string) (manifest.Problem, bool) {
	start := c.findOperators().vertices[d.node.object.ID]
	if start == nil {
		return c.check(d.node, chain)
	}
	type step struct {
		at    *vertex
		chain []string
	}
	seen := map[*vertex]bool{start: true}
	for queue := []step{{start, chain}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if n, ok := c.nodes[at.at.id]; ok {
			if p, found := c.check(n, at.chain); found {
				return p, true
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
	return manifest.Problem{}, false
}

// check refuses an object that is on the cluster that the creator makes, and not with the creator.
func (c *creatorCheck) check(n *node, chain []string) (manifest.Problem, bool) {
	made := c.creator.object.ID.Name
	if !slices.Contains(n.clusters, made) || slices.Contains(n.clusters, c.on) {
		return manifest.Problem{}, false
	}
	return n.object.Problem(v1alpha1.ReasonCreatorCycle,
		fmt.Sprintf("it goes to cluster %s (%s), which %s creates, and that needs it on %s: %s", made, n.why, c.creator.object.ID, c.on, strings.Join(chain, "; ")),
		fmt.Sprintf("Place it on %s, or list the CustomResourceDefinition in spec.provides of Cluster %q if it is installed there.", c.on, c.on)).WithCluster(made), true
}
