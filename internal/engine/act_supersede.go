package engine

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/pass"
)

// supersede closes a proposal; its branch stays where that fails.
func (s *repoActor) supersede(ctx context.Context, a *pass.Action) error {
	err := s.repo.Forge.Supersede(ctx, s.repo.proposals[a.Branch], a.Why)
	s.kept[a.Branch] = err != nil
	return err
}
