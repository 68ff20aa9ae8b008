package engine

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
)

// gate shows on an open proposal whether it may be merged.
func (s *repoActor) gate(ctx context.Context, a *pass.Action) error {
	return s.repo.Forge.Gate(ctx, s.repo.proposals[a.Branch], forge.Gate{Shut: a.Why, Updating: s.updating[a.Branch]})
}
