package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// push moves all branches in one request. What is refused, or was moved by somebody else,
// holds only what it belongs to: the rest is sent again without it.
func (s *slice) push(ctx context.Context) {
	for {
		var moving []git.Update
		for _, u := range s.updates {
			if u.Old != u.New {
				moving = append(moving, u.Update)
			}
		}
		if len(moving) == 0 {
			return
		}
		err := s.repo.move(ctx, moving...)
		if err == nil {
			s.changed = true
			return
		}
		refused, ok := errors.AsType[*git.PushError](err)
		if ok && s.withdrawRefused(refused) {
			continue
		}
		if !git.IsLeaseRefused(err) { // else it is observed in the next pass
			s.failAll(err)
		}
		s.updates = nil
		return
	}
}

// withdrawRefused takes out what cannot be pushed; false when there is nothing to take out.
func (s *slice) withdrawRefused(refused *git.PushError) bool {
	stale, unplanned := map[string]bool{}, map[string]bool{}
	for _, u := range s.updates {
		reason, blamed := refused.Refs[u.Ref]
		switch {
		case !blamed:
		case refused.LeaseRefused(u.Ref):
			s.raced, stale[u.action.Seed] = true, true
		case u.action.Verb == pass.PushPlan:
			unplanned[u.action.Seed] = true // without its plan nothing may be proposed
			s.seeds[u.action.Seed] = fmt.Errorf("seed %q: %w", u.action.Seed, refused)
		default:
			for _, m := range u.action.Tiers {
				s.tiers[m.Tier] = manifest.Problem{Reason: v1alpha1.ReasonBranchRefused, Repo: s.repo.name, Path: u.Ref, Message: fmt.Sprintf("the server refuses branch %s: %s", u.Ref, reason)}
			}
		}
	}
	return s.withdraw(func(u update) bool {
		_, blamed := refused.Refs[u.Ref]
		return blamed || stale[u.action.Seed] || unplanned[u.action.Seed]
	})
}

// failAll notes that a push failed as a whole.
func (s *slice) failAll(err error) {
	s.repo.leaveAlone(err, s.engine.config.Now)
	if git.IsTransient(err) && s.unread() != nil {
		return // the repository's servers do not answer, which is its problem and not the seeds'
	}
	for _, u := range s.updates {
		if s.seeds[u.action.Seed] == nil && u.action.Seed != "" {
			s.seeds[u.action.Seed] = fmt.Errorf("seed %q: %w", u.action.Seed, err)
		}
	}
}

// pushGrace is how long a push that has begun may take after the engine was told to stop.
const pushGrace = 30 * time.Second

// move moves branches, and is not interrupted by a stop: a server that is cut off while
// it moves branches can leave them locked.
func (r *repoState) move(ctx context.Context, updates ...git.Update) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		grace, done := context.WithTimeout(whole, pushGrace)
		defer done()
		<-grace.Done()
		cancel()
	})
	defer stop()
	return r.Mirror.Push(whole, updates)
}
