package engine

import (
	"context"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// mergePause is for how long a merge is not tried again that the rules of the forge refuse.
const mergePause = 2 * time.Minute

// refusedMerge is a merge that the rules of the forge refused.
type refusedMerge struct {
	head git.Hash
	at   time.Time
	err  error
}

// merge merges a proposal as Furrow, at the commit whose checks have passed. What has changed since is
// observed in the next pass.
func (s *slice) merge(ctx context.Context, a *pass.Action) error {
	r, p, now := s.repo, s.repo.proposals[a.Branch], s.engine.began
	if had, refused := r.refusedMerges[a.Branch]; refused && had.head == p.Head && now.Sub(had.at) < mergePause {
		return had.err
	}
	delete(r.refusedMerges, a.Branch)
	err := r.Forge.Merge(ctx, p, s.person)
	switch {
	case forge.IsConflict(err):
		return forge.ErrGone
	case forge.IsQueued(err):
		return nil
	case err == nil:
		s.changed = true
	case manifest.ReasonOf(err) == v1alpha1.ReasonMergeRefused:
		if r.refusedMerges == nil {
			r.refusedMerges = map[string]refusedMerge{}
		}
		r.refusedMerges[a.Branch] = refusedMerge{p.Head, now, err}
	}
	return err
}
