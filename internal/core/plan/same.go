package plan

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// isOf says that the plan is what next, whose reconciler objects are not rendered yet, would
// become, and is in all repositories. Only what is rendered is taken on trust.
func (p *Previous) isOf(next *Plan) bool {
	return p != nil && p.Plan != nil && len(p.Older) == 0 && p.Plan.Inputs == next.Inputs && digestOf(unrendered(p.Plan)) == digestOf(unrendered(next))
}

// unrendered is the essence of a plan without its reconciler objects.
func unrendered(p *Plan) *Plan {
	e := essence(p)
	for i := range e.Tiers {
		e.Tiers[i].setHash(ModeFile, layout.Hash{})
		e.Tiers[i].Object.Rendered = ""
	}
	return e
}

// samePlan compares what the plans do, not the positions of their documents.
func samePlan(a, b *Plan) bool {
	return digestOf(essence(a)) == digestOf(essence(b))
}

func essence(p *Plan) *Plan {
	e := *p
	e.Generation, e.Version = 0, manifest.Version{}
	e.Revision, e.From, e.Inputs, e.Warnings, e.Variants, e.Placements, e.Dependencies = "", "", "", nil, nil, nil, nil
	e.Contents = slices.Clone(p.Contents)
	for i := range e.Contents {
		e.Contents[i].Objects = slices.Clone(e.Contents[i].Objects)
		for j := range e.Contents[i].Objects {
			e.Contents[i].Objects[j].From = ""
		}
	}
	e.Tiers = slices.DeleteFunc(slices.Clone(p.Tiers), func(t Tier) bool { return t.Gone() })
	for i := range e.Tiers {
		e.Tiers[i].Level, e.Tiers[i].Leaving = 0, nil
	}
	return &e
}
