package engine

import (
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// drop deletes a branch.
func (s *repoActor) drop(a *pass.Action) {
	if !s.kept[a.Branch] {
		s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: a.Old}, action: a})
	}
}
