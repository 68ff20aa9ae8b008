package engine

import (
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// moveToPlan moves a marker to the seed's plan.
func (s *slice) moveToPlan(a *pass.Action) error {
	old, err := gitHash(a.Old)
	if at := s.plan(a.Seed); err == nil && at != old {
		s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: old, New: at}, action: a})
	}
	return err
}
