package engine

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
)

// merge merges a proposal as Furrow, at the commit whose checks have passed. What has changed since is
// observed in the next pass.
func (s *slice) merge(ctx context.Context, a *pass.Action) error {
	err := s.repo.Forge.Merge(ctx, s.repo.proposals[a.Branch], s.person)
	switch {
	case forge.IsConflict(err):
		return forge.ErrGone
	case err == nil:
		s.changed = true
	}
	return err
}
