package release

import (
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// gates are the prerequisites of all tiers of a plan, and how they stand. A gate
// is shut by a prerequisite and by what that one has as prerequisite in turn, so
// that an update goes out tier by tier also where a tier in between is unchanged.
type gates struct {
	plan     *plan.Plan
	tiers    map[layout.Tier]*plan.Tier
	standing map[layout.Tier]State
	others   map[layout.Tier]State
	shut     map[layout.Tier][]Wait
}

func newGates(p *plan.Plan, facts Facts) *gates {
	g := &gates{plan: p, tiers: map[layout.Tier]*plan.Tier{}, standing: map[layout.Tier]State{}, others: facts.Others, shut: map[layout.Tier][]Wait{}}
	for i := range p.Tiers {
		name := p.Name(&p.Tiers[i])
		g.tiers[name] = &p.Tiers[i]
		g.standing[name] = Standing(&p.Tiers[i], facts.Tiers[name])
	}
	return g
}

// of lists what shuts a tier's gate: the nearest prerequisites that are not Released.
func (g *gates) of(t *plan.Tier) []Wait {
	name := g.plan.Name(t)
	if known, done := g.shut[name]; done {
		return known
	}
	g.shut[name] = nil // a plan's prerequisites form no circle; a broken plan must not hang
	var out []Wait
	seen := map[layout.Tier]bool{}
	add := func(w Wait) {
		if !seen[w.Tier] {
			seen[w.Tier] = true
			out = append(out, w)
		}
	}
	for _, p := range t.Prerequisites {
		w, open := g.stands(p)
		if !open {
			add(w)
			continue
		}
		if before, own := g.tiers[w.Tier]; own {
			for _, w := range g.of(before) {
				add(w)
			}
		}
	}
	g.shut[name] = out
	return out
}

// stands says whether a prerequisite is Released, and what to wait for if not.
func (g *gates) stands(p plan.Prerequisite) (Wait, bool) {
	name := layout.Tier{Seed: g.plan.Seed, Cluster: p.Cluster, Ordinal: p.Ordinal}
	state, known := g.standing[name]
	if p.Seed != "" {
		name.Seed = p.Seed
		state, known = g.others[name]
	}
	return Wait{name, stateOf(state, known), p.Why}, known && state == Released
}
