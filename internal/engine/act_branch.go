package engine

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// gate shows on an open proposal whether it may be merged.
func (s *slice) gate(ctx context.Context, a *pass.Action) error {
	return s.repo.Forge.Gate(ctx, s.repo.proposals[a.Branch], a.Why)
}

// supersede closes a proposal; its branch stays where that fails.
func (s *slice) supersede(ctx context.Context, a *pass.Action) error {
	err := s.repo.Forge.Supersede(ctx, s.repo.proposals[a.Branch], a.Why)
	s.kept[a.Branch] = err != nil
	return err
}

// drop deletes a branch.
func (s *slice) drop(a *pass.Action) error {
	old, err := gitHash(a.Old)
	if err == nil && !s.kept[a.Branch] {
		s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: old}, action: a})
	}
	return err
}

// moveToPlan moves a marker to the seed's plan.
func (s *slice) moveToPlan(a *pass.Action) error {
	old, err := gitHash(a.Old)
	if at := s.plan(a.Seed); err == nil && at != old {
		s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: old, New: at}, action: a})
	}
	return err
}
