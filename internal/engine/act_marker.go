package engine

import (
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// moveToPlan moves a marker to the seed's plan.
func (s *slice) moveToPlan(a *pass.Action) {
	if at := s.plan(a.Seed); at != a.Old {
		s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: a.Old, New: at}, action: a})
	}
}
