package plan

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// isOf reports whether the plan is what next, whose reconciler objects are not rendered yet, would
// become, and is in all repositories. Equal inputs are not enough: somebody may have edited the
// plan on its branch. The hashes of reconciler objects are not compared: this control plane made the plan, or
// verified all of it.
func (p *Previous) isOf(next *Plan) bool {
	return p != nil && p.Plan != nil && p.Replaced == nil && len(p.Older) == 0 && p.Plan.Inputs == next.Inputs && digestOf(unrendered(p.Plan)) == digestOf(unrendered(next))
}

// unrendered returns the essence of a plan without its reconciler objects.
func unrendered(p *Plan) *Plan {
	e := essence(p)
	for i := range e.Tiers {
		e.Tiers[i].setHash(ModeFile, layout.Hash{})
		e.Tiers[i].Object.Rendered = ""
	}
	return e
}

// samePlan reports whether two plans do the same; the positions of documents, and whys, may differ.
func samePlan(a, b *Plan) bool {
	return digestOf(essence(a)) == digestOf(essence(b))
}

// essence returns a copy of a plan without what does not land: texts for people, counters, and
// tiers that have gone.
func essence(p *Plan) *Plan {
	e := *p
	e.Generation, e.Version = 0, manifest.Version{}
	e.Rules, e.Revision, e.From, e.Inputs, e.Warnings, e.Variants, e.Overrides, e.Placements, e.Dependencies = "", "", "", "", nil, nil, nil, nil, nil
	e.Contents = slices.Clone(p.Contents)
	for i := range e.Contents {
		e.Contents[i].Objects = slices.Clone(e.Contents[i].Objects)
		for j := range e.Contents[i].Objects {
			e.Contents[i].Objects[j].From = ""
		}
	}
	e.Moves = slices.DeleteFunc(slices.Clone(p.Moves), func(m Move) bool { return !m.holds() })
	for i := range e.Moves {
		e.Moves[i].Why = ""
	}
	e.Tiers = slices.DeleteFunc(slices.Clone(p.Tiers), func(t Tier) bool { return t.Gone() })
	for i := range e.Tiers {
		e.Tiers[i].Level, e.Tiers[i].Leaving = 0, nil
	}
	return &e
}
