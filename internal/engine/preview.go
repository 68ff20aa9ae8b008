package engine

import (
	"context"
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/plan"
)

// Preview is what the control plane as it is now makes of a seed's plan.
type Preview struct {
	// Revision of the control plane.
	Revision string
	// InForce is the plan on the seed's branches; nil when there is none.
	InForce *plan.Plan
	// Next is what a pass would put into force, which may be the same, and is so where
	// the seed cannot be planned anew.
	Next *plan.Plan
	// Message says why the seed cannot be planned anew; empty when it can.
	Message string
	// Problems are those of the control plane and of repositories as a whole.
	Problems []string
}

// Preview looks at what a pass would make of a seed, and changes nothing.
func (e *Engine) Preview(ctx context.Context, seed string) (*Preview, error) {
	p, err := e.see(ctx)
	if err != nil {
		return nil, err
	}
	out := &Preview{Revision: p.tree.Revision, Problems: p.report().Problems}
	if s := p.previous[seed]; s != nil && s.plan != nil {
		if !e.owns(s.plan) {
			return nil, e.errNotOurs(s.plan)
		}
		out.InForce = s.plan
	}
	d := p.seeds[seed]
	switch {
	case d == nil && out.InForce == nil:
		return nil, fmt.Errorf("%s has no seed %q", out.Revision, seed)
	case d != nil && d.err != nil:
		out.Message = d.err.Error()
	}
	if out.Next = out.InForce; d != nil && d.plan != nil {
		out.Next = d.plan
	}
	return out, ctx.Err()
}
