package engine

import (
	"context"
	"maps"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// mergePause is for how long a merge is not tried again that the rules of the forge refuse.
const mergePause = 2 * time.Minute

// refusedMerge is a merge that the rules of the forge refused, as when it lacks an approval.
type refusedMerge struct {
	head git.Hash
	at   time.Time
	why  string
}

// over reports whether the merge of a commit may be tried again.
func (m refusedMerge) over(head git.Hash, now time.Time) bool {
	return m.head != head || now.Sub(m.at) >= mergePause
}

// mergeAll merges what may be merged, after its gates are shown, and returns the other actions. With
// the first merge of a slice there is always some progress; the others wait where its time is over.
func (s *repoActor) mergeAll(ctx context.Context, actions []pass.Action) (rest []pass.Action) {
	merging := map[string]bool{}
	for _, a := range actions {
		merging[a.Branch] = merging[a.Branch] || a.Verb == pass.Merge
	}
	merged := 0
	for _, a := range actions {
		switch {
		case !merging[a.Branch] || a.Verb != pass.Merge && a.Verb != pass.Gate:
			rest = append(rest, a)
		case s.stopped(ctx):
		case merged > 0 && s.engine.timeIsOver(): // a person may have asked to pause
			s.unfinished = true
		default:
			s.prepare(ctx, &a)
			if a.Verb == pass.Merge {
				merged++
			}
		}
	}
	return rest
}

// merge merges a proposal as Furrow, at the commit whose checks have passed. What has changed since is
// observed in the next pass.
func (s *repoActor) merge(ctx context.Context, a *pass.Action) error {
	r, p, now := s.repo, s.repo.proposals[a.Branch], s.engine.began
	p.MergeBy = s.decision.MergeBy[r.name].Ways
	err := r.Forge.Merge(ctx, p, s.person)
	switch {
	case forge.IsConflict(err):
		return forge.ErrGone
	case forge.IsQueued(err):
		return nil
	case err == nil:
		s.changed = true
	case manifest.ReasonOf(err) == v1alpha1.ReasonMergeRefused:
		maps.DeleteFunc(r.refusedMerges, func(_ string, m refusedMerge) bool { return m.over(m.head, now) })
		if r.refusedMerges == nil {
			r.refusedMerges = map[string]refusedMerge{}
		}
		r.refusedMerges[a.Branch] = refusedMerge{p.Head, now, manifest.Printable(err.Error())}
		s.changed = true // the next pass says why it is not merged
		return nil
	}
	return err
}
