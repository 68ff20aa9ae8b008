package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// node is an object to place, or a group of objects that others follow: the rest of a namespace, or
// the parts of an operator.
//
// Objects go through the list of rules. A rule that names nodes to follow has matched if one of
// them is placed by anything else than this node. Nodes that only follow each other are a circle,
// and go on to the next rule together. A group has no rules: without anything to follow it has no
// clusters, and who follows it goes on as well.
type node struct {
	object    *manifest.Object
	kind      *kind
	namespace *namespace
	// annotations and owners are what the object has in its metadata.
	annotations map[string]any
	owners      []any
	// forCluster is the cluster that the object's label names, and account the ServiceAccount of a
	// workload (findNamers).
	forCluster, account string
	// order is the index in order of ids.
	order int
	// names are what the object names (findNamers).
	names []Name
	// namers are the objects that name this one (findNamers).
	namers []*node
	vertex *vertex // of the operators; nil where the object has no links
	// decide is the only rule of a group.
	decide func() (decision, error)

	// rule is the one that was asked last, if asked; pending is its answer while that follows others
	// and the node is not done.
	rule        int
	asked, done bool
	pending     *pending

	clusters []string
	why      string
	err      error
	// shown is the object that a why names for the node: itself, or for a group the first object
	// that gives it clusters. Nil where there are none.
	shown *manifest.ID
}

// pending is what a node follows until it is placed. Most nodes never have one.
type pending struct {
	decision decision
	// via is the object that the node follows, while its circle is decided, and round when it was found.
	via   *manifest.ID
	round int

	// index and low are Tarjan's; index is 0 outside of a search. circle is the number of the circle
	// that the last search found the node in.
	index, low, circle int
	onStack            bool
}

// place returns where an object goes.
func (s *placer) place(n *node) (Placement, error) {
	for s.ask(n); !n.done; s.ask(n) {
		s.decideAround(n)
	}
	if n.err != nil {
		return Placement{}, n.err
	}
	return Placement{Object: n.object.ID, Clusters: n.clusters, Rule: s.rules[n.rule].Name, Why: n.why}, nil
}

// decideAround decides for all circles of nodes that n follows, the followed ones first. Each call
// decides at least one node or lets one go on to its next rule.
//
// What comes out does not depend on n: a circle goes on only if it follows nothing outside, so no
// other circle's choice can change that.
func (s *placer) decideAround(n *node) {
	search := &s.search // its lists are used again
	search.placer, search.last, search.found, search.ends = s, 0, search.found[:0], search.ends[:0]
	search.visit(n)
	for _, n := range search.found {
		n.pending.index, n.pending.low = 0, 0
	}
	start := 0
	for _, end := range search.ends {
		s.decideCircle(search.found[start:end])
		start = end
	}
}

// search finds the strongly connected components of what a node follows, by Tarjan's algorithm:
// each after those that it follows. Nodes that are placed are not part of it.
type search struct {
	*placer
	last  int
	stack []*node
	// found are the circles, one after the other, and ends where each ends.
	found []*node
	ends  []int
}

// visit searches from a node that has been asked, and is not placed by that.
func (s *search) visit(n *node) {
	s.last++
	p := n.pending
	p.index, p.low = s.last, s.last
	s.stack = append(s.stack, n)
	p.onStack = true
	for _, next := range p.decision.follows {
		if s.ask(next); next.done {
			continue
		}
		switch {
		case next.pending.index == 0:
			s.visit(next)
			p.low = min(p.low, next.pending.low)
		case next.pending.onStack:
			p.low = min(p.low, next.pending.index)
		}
	}
	if p.low != p.index {
		return
	}
	at := len(s.stack) - 1
	for s.stack[at] != n {
		at--
	}
	for _, member := range s.stack[at:] {
		member.pending.onStack, member.pending.circle = false, len(s.ends)
	}
	s.found = append(s.found, s.stack[at:]...)
	s.stack, s.ends = s.stack[:at], append(s.ends, len(s.found))
}

// ask brings the node to its next rule that matches. A rule that has only clusters places it.
func (s *placer) ask(n *node) {
	if n.asked {
		return
	}
	n.asked = true
	var d decision
	if n.object == nil {
		d, n.err = n.decide()
	} else {
		d, n.err = s.match(n)
	}
	if len(d.follows) == 0 || n.err != nil {
		n.finish(d, d.clusters, nil)
		return
	}
	if n.pending == nil {
		n.pending = &pending{}
	}
	n.pending.decision = d
}

// match asks the rules from the current one of the node.
func (s *placer) match(n *node) (decision, error) {
	for ; n.rule < len(s.rules); n.rule++ {
		d, err := s.rules[n.rule].match(s, n)
		if err != nil || d.matches() {
			return d, err
		}
	}
	return decision{}, n.object.Problem(v1alpha1.ReasonNoPlacement, "no placement rule matches", "Set annotation "+v1alpha1.AnnotationCluster+".")
}

// finish places the node by a decision; via is the object that it follows, if any.
func (n *node) finish(d decision, clusters []string, via *manifest.ID) {
	n.done, n.clusters, n.why, n.pending = true, union(clusters), d.why, nil
	if n.err != nil {
		n.clusters = nil
	}
	switch {
	case len(n.clusters) == 0:
	case n.object != nil:
		n.shown = &n.object.ID
	default:
		n.shown = cmp.Or(via, d.shown)
	}
	switch {
	case n.why != "":
	case d.explain != nil:
		n.why = d.explain()
	case d.format != "" && via != nil:
		n.why = strings.Replace(d.format, "%s", via.String(), 1)
	}
}

// decideCircle places the nodes of a circle where all goes that they follow outside of it, and
// lets them go on to their next rule where that is nothing. It leaves them as they are while
// something outside is not yet placed. Who follows something with a problem has that problem, too.
func (s *placer) decideCircle(circle []*node) {
	var clusters, last []string
	add := func(more []string) { // many follow the same, and all with the same list
		if len(more) == 0 || len(more) == len(last) && &more[0] == &last[0] {
			return
		}
		if last = more; clusters == nil {
			clusters = slices.Clip(more)
			return
		}
		clusters = append(clusters, more...)
	}
	var problem error
	for _, n := range circle {
		add(n.pending.decision.clusters)
		for _, next := range n.pending.decision.follows {
			switch {
			case next.done:
				add(next.clusters)
				if problem == nil {
					problem = next.err
				}
			case next.pending.circle != n.pending.circle:
				return
			}
		}
	}
	if len(clusters) == 0 && problem == nil {
		for _, n := range circle {
			n.skip()
		}
		return
	}
	nameFollowed(circle)
	for _, groups := range []bool{true, false} { // the why of an object may quote that of its group
		for _, n := range circle {
			if groups == (n.object == nil) {
				n.err = problem
				n.finish(n.pending.decision, clusters, n.pending.via)
			}
		}
	}
}

// skip lets a node go on to its next rule. A group has none and is done.
func (n *node) skip() {
	if n.object == nil {
		n.finish(decision{}, nil, nil)
		return
	}
	n.rule++
	n.asked, n.pending.decision = false, decision{}
}

// nameFollowed finds for each node of a circle the object outside of it that is nearest by what is
// followed, and of several the first: it is the one that its why names.
func nameFollowed(circle []*node) {
	changed := true
	for round := 1; changed; round++ {
		changed = false
		for _, n := range circle {
			p := n.pending
			if p.via != nil {
				continue
			}
			if p.via = p.nearest(round); p.via != nil {
				p.round, changed = round, true
			}
		}
	}
}

// nearest returns the object that a node shows for itself, or the first that was found, before this
// round, for what it follows.
func (p *pending) nearest(round int) *manifest.ID {
	if p.decision.shown != nil {
		return p.decision.shown
	}
	for _, next := range p.decision.follows {
		switch {
		case next.done && next.shown != nil:
			return next.shown
		case !next.done && next.pending.via != nil && next.pending.round < round:
			return next.pending.via
		}
	}
	return nil
}
