package engine

import (
	"context"
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
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
	Problems manifest.Problems
}

// Preview is what a pass would make of a seed, without changing anything.
func (e *Engine) Preview(ctx context.Context, seed string) (*Preview, error) {
	o, d, err := e.observeAndDecide(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := &Preview{Revision: o.tree.Revision, Problems: o.report(d, &outcome{}).Problems}
	if p := d.Previous[seed]; p != nil && p.Plan != nil {
		if !e.owns(p.Plan) {
			return nil, e.errNotOurs(p.Plan)
		}
		out.InForce = p.Plan
	}
	s := d.Seeds[seed]
	switch {
	case s == nil && out.InForce == nil:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonSeedNotFound, Seed: seed, Message: fmt.Sprintf("%s has no seed %q", out.Revision, seed)}
	case s != nil && s.Failure != nil:
		out.Message = s.Failure.Message
	}
	if out.Next = out.InForce; s != nil && s.Plan != nil {
		out.Next = s.Plan
	}
	return out, ctx.Err()
}
