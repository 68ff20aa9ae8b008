package release

import (
	"cmp"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Node is what the tiers of other plans need to know of a tier. A Fleet of 1,000 clusters with 5
// tiers each is small because nothing else is in it.
type Node struct {
	// BaseState is the tier's state as far as base and health alone give it.
	BaseState State
	// Present reports whether base has something of the tier, or a proposal of it is open.
	Present       bool
	Prerequisites []plan.Prerequisite
	// Held reports whether the tier has what it had, until objects of its cluster have moved to other
	// tiers, and Live whether nothing new comes with it: it waits for nothing.
	Held, Live bool
}

// Fleet has the tiers of all plans in force.
type Fleet map[layout.Tier]Node

// Add takes in the tiers of a plan with their facts.
func (f Fleet) Add(p *plan.Plan, facts map[layout.Tier]TierFacts) {
	for i := range p.Tiers {
		t := &p.Tiers[i]
		name := p.Name(t)
		have := facts[name]
		held := p.HeldOn(t.Cluster)
		f[name] = Node{
			BaseState: BaseState(t, have), Present: have.Base != BaseNothing || have.Proposal != nil, Prerequisites: t.Prerequisites,
			Held: held, Live: held && (have.OnlyMoves || moves(p, t) && have.Base != BaseNothing),
		}
	}
}

// Needed lists, for each tier, the present tiers of other seeds that have it as prerequisite,
// directly or through tiers that are not present. A tier that is not present holds nothing, but
// what it needed may still be needed by what is behind it.
//
// It searches from each present tier, and stops at the next present ones: so the cost follows the
// prerequisites, and not the pairs of tiers.
func (f Fleet) Needed() map[layout.Tier][]layout.Tier {
	needed := map[layout.Tier][]layout.Tier{}
	for name, node := range f {
		if node.Present {
			f.need(name, name, map[layout.Tier]bool{}, needed)
		}
	}
	for _, by := range needed {
		slices.SortFunc(by, layout.Tier.Compare)
	}
	return needed
}

// need notes what the tier by has as prerequisite through the tier at.
func (f Fleet) need(by, at layout.Tier, seen map[layout.Tier]bool, needed map[layout.Tier][]layout.Tier) {
	for _, p := range f[at].Prerequisites {
		name := prerequisite(at.Seed, p)
		if seen[name] {
			continue
		}
		seen[name] = true
		if name.Seed != by.Seed {
			needed[name] = append(needed[name], by)
		}
		if !f[name].Present {
			f.need(by, name, seen, needed)
		}
	}
}

// prerequisite names the tier that a tier of a seed has as prerequisite.
func prerequisite(seed string, p plan.Prerequisite) layout.Tier {
	return layout.Tier{Seed: cmp.Or(p.Seed, seed), Cluster: p.Cluster, Ordinal: p.Ordinal}
}

// gates finds what the tiers of a plan wait for. A gate is shut by a prerequisite and by what that
// one has as prerequisite in turn, in whatever plan, so an update goes out tier by tier also
// where a tier in between is unchanged: that one is Released all the time, and would let through
// what is behind it.
//
// The answer for each tier is computed once, in shut and holds, so all gates together cost as much
// as there are prerequisites, times the length of the lists. It is for one goroutine.
type gates struct {
	seed   string
	own    Fleet
	others Fleet
	// after has, for what leaves, the tiers of the plan that must leave before.
	after map[layout.Tier][]plan.Reference
	shut  map[layout.Tier][]Wait
	holds map[layout.Tier][]Wait
}

// newGates makes the gates of one plan, and gives its own tiers the state that base and health
// do.
func newGates(p *plan.Plan, facts Facts) *gates {
	g := &gates{
		seed: p.Seed, own: Fleet{}, others: facts.Fleet, after: map[layout.Tier][]plan.Reference{},
		shut: map[layout.Tier][]Wait{}, holds: map[layout.Tier][]Wait{},
	}
	g.own.Add(p, facts.Tiers)
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Leaving != nil {
			g.after[p.Name(t)] = t.Leaving.After
		}
	}
	return g
}

// baseState returns the state that base and health give a tier of the plan.
func (g *gates) baseState(name layout.Tier) State { return g.own[name].BaseState }

// node returns what is known of a tier, of this plan or of another seed's.
func (g *gates) node(name layout.Tier) (Node, bool) {
	in := g.others
	if name.Seed == g.seed {
		in = g.own
	}
	n, known := in[name]
	return n, known
}

// of lists what shuts a tier's gate: the nearest prerequisites that are not Released, none where it
// is open. A prerequisite that no plan has counts as Blocked: what is unknown never passes a gate.
// The slice is shared; do not change it.
func (g *gates) of(name layout.Tier) []Wait {
	if at, _ := g.node(name); at.Live {
		return nil
	}
	return g.behind(name)
}

// behind lists the nearest prerequisites of a tier that are not Released, whether it waits for them or
// not.
func (g *gates) behind(name layout.Tier) []Wait {
	if known, done := g.shut[name]; done {
		return known
	}
	g.shut[name] = nil // prerequisites form no circle; broken plans must not hang
	var out waits
	at, _ := g.node(name)
	for _, p := range at.Prerequisites {
		of := prerequisite(name.Seed, p)
		before, known := g.node(of)
		switch {
		case before.Held && !at.Held:
			out.add(Wait{of, stateOf(before.BaseState, true), "objects on " + of.Cluster + " move to other tiers first, and " + p.Why, v1alpha1.ReasonWaitingForMove})
		case known && before.BaseState == Released:
			out.add(g.behind(of)...)
		default:
			out.add(Wait{of, stateOf(before.BaseState, known), p.Why, v1alpha1.ReasonWaitingForTier})
		}
	}
	g.shut[name] = out
	return out
}

// ofLeaving lists what must leave before a tier of the plan: the nearest that has not left. It is
// of with the order reversed: what waited for the tier goes first.
func (g *gates) ofLeaving(name layout.Tier) []Wait {
	if known, done := g.holds[name]; done {
		return known
	}
	g.holds[name] = nil
	var out waits
	for _, r := range g.after[name] {
		of := layout.Tier{Seed: g.seed, Cluster: r.Cluster, Ordinal: r.Ordinal}
		if state := g.baseState(of); state.Done() {
			out.add(g.ofLeaving(of)...)
		} else {
			out.add(Wait{of, stateOf(state, true), "leaves first: " + r.Why, v1alpha1.ReasonWaitingForRemoval})
		}
	}
	g.holds[name] = out
	return out
}

// moves reports whether a tier loses or gets objects with the second release of moves. Base had both
// tiers as planned when that began, so nothing else is new in them. They never wait: what keeps others
// from being healthy may be corrected only after the move.
func moves(p *plan.Plan, t *plan.Tier) bool {
	return slices.ContainsFunc(p.MovesOn(t), func(m plan.Move) bool { return m.Stage == plan.StageMove && m.Goes() })
}

// waits has each tier that is waited for once, in the order in which they were found.
type waits []Wait

func (w *waits) add(more ...Wait) {
	for _, m := range more {
		if !slices.ContainsFunc(*w, func(had Wait) bool { return had.Tier == m.Tier }) {
			*w = append(*w, m)
		}
	}
}
