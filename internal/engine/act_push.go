package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// push moves all branches in one request. What is refused, or was moved by somebody else, holds
// only what it belongs to: the rest is sent again without it. Each round takes out at least one
// update, so there is an end.
func (s *repoActor) push(ctx context.Context) {
	var err error
	if len(s.updates) > 0 {
		err = s.repo.ready(ctx, s.engine.began)
	}
	if err == nil {
		err = s.record(ctx)
	}
	if err != nil {
		s.failAll(err)
		s.updates = nil
		return
	}
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
		s.notePlans(false) // before the push: its answer may get lost
		err := s.move(ctx, moving)
		if err == nil {
			s.changed = true
			s.notePlans(true)
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

// notePlans notes the plans that are pushed as Furrow's own, and forgets those before them once the push
// has succeeded.
func (s *repoActor) notePlans(pushed bool) {
	for _, u := range s.updates {
		if u.action.Verb != pass.PushPlan || u.record {
			continue
		}
		var before git.Hash
		if pushed {
			before = u.Old
		}
		s.engine.config.Ledger.Put(s.repo.name, u.New, before)
	}
}

// record adds what the forge keeps in Git of its proposals.
func (s *repoActor) record(ctx context.Context) error {
	if s.stopped(ctx) {
		return nil
	}
	var opening []forge.Request
	for _, u := range s.requests() {
		opening = append(opening, *u.request)
	}
	records, news, err := s.repo.Forge.Record(s.repo.refs, s.engine.self.Owner, opening, s.person)
	if news {
		s.updates = append(s.updates, update{Update: records, action: &pass.Action{}, record: true})
	}
	return err
}

// withdrawRefused takes out what cannot be pushed; false when there is nothing to take out. Of a
// seed with a branch that was moved by somebody else, nothing is pushed: what was decided about
// the others may depend on it. What is not recorded is not proposed.
func (s *repoActor) withdrawRefused(refused *git.PushError) bool {
	stale, unplanned, unrecorded := map[string]bool{}, map[string]bool{}, false
	for _, u := range s.updates {
		_, blamed := refused.Refs[u.Ref]
		seed := u.action.Seed
		switch {
		case !blamed:
		case u.record && refused.LeaseRefused(u.Ref):
			s.raced, unrecorded = true, true
		case u.record:
			s.problems = append(s.problems, s.refusal(u, refused))
			unrecorded = true
		case refused.LeaseRefused(u.Ref):
			s.raced, stale[seed] = true, true
		case u.action.Verb == pass.PushPlan:
			unplanned[seed] = true // without its plan nothing may be proposed
			s.seeds[seed] = fmt.Errorf("seed %q: %w", seed, s.refusal(u, refused))
		case len(u.action.Tiers) == 0: // a marker, or a branch of what is gone: nothing waits for it
			s.problems = append(s.problems, s.refusal(u, refused))
		default:
			for _, m := range u.action.Tiers {
				s.tiers[m.Tier] = s.refusal(u, refused)
			}
		}
	}
	return s.withdraw(func(u update) bool {
		_, blamed := refused.Refs[u.Ref]
		return blamed || stale[u.action.Seed] || unplanned[u.action.Seed] || unrecorded && u.request != nil
	})
}

// refusal returns the problem that the server does not let a branch move, with the output of its
// hooks.
func (s *repoActor) refusal(u update, refused *git.PushError) manifest.Problem {
	verb, reason := "change", strings.TrimSuffix(refused.Refs[u.Ref], ".")
	if u.New.IsZero() {
		verb = "delete"
	}
	next := refused.Next()
	if next == "" {
		next = "Let Furrow's user create, change and delete branches furrow/** there."
		if refused.Text != "" {
			reason += "; the server said: " + refused.Text
		}
	}
	return manifest.Problem{
		Reason: v1alpha1.ReasonBranchRefused, Seed: u.action.Seed, Repo: s.repo.name, Path: u.Ref,
		Message: fmt.Sprintf("the server of GitOps repository %q refuses to %s branch %s: %s", s.repo.name, verb, u.Ref, reason),
		Next:    next,
	}
}

// failAll notes that a push failed as a whole. Where the servers do not answer, or nothing may be
// pushed, that is the repository's problem and not the seeds'.
func (s *repoActor) failAll(err error) {
	if s.repo.coolDown(err, s.engine.config.Now); git.IsTransient(err) || s.repo.unready != nil {
		return
	}
	s.repo.pushRefused(err, s.engine.began)
	for _, u := range s.updates {
		switch seed := u.action.Seed; {
		case seed == "":
			s.problems = append(s.problems, manifest.AsProblem(inRepo(s.repo.name, err)))
		case s.seeds[seed] == nil:
			s.seeds[seed] = fmt.Errorf("seed %q: %w", seed, err)
		}
	}
}

// pushGrace is how long a push that has begun may take after the engine was asked to stop.
const pushGrace = 30 * time.Second

// move moves branches, and is not interrupted by a stop: a server that is cut off while it moves
// branches can leave them locked. It gets a while to finish, and is then given up.
func (r *repoState) move(ctx context.Context, updates ...git.Update) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		_ = backoff.Sleep(whole, backoff.RealClock{}, pushGrace)
		cancel()
	})
	defer stop()
	err := r.engine.patiently(fmt.Sprintf("pushing to GitOps repository %q", r.name), func() error { return r.Mirror.Push(whole, updates) })
	r.refuseOldLocks(err, updates)
	return err
}

// lockGrace is for how long a branch that the server cannot lock counts as one that somebody else is
// moving. A push that was cut off may have left a lock that nobody removes.
const lockGrace = time.Minute

// refuseOldLocks turns what has been locked for longer from a race into a refusal.
func (r *repoState) refuseOldLocks(err error, updates []git.Update) {
	refused, _ := errors.AsType[*git.PushError](err)
	for _, u := range updates {
		if refused == nil || !refused.Locked(u.Ref) {
			r.locks.Delete(u.Ref)
		} else if since, _ := r.locks.LoadOrStore(u.Ref, r.began); r.began.Sub(since.(time.Time)) >= lockGrace {
			delete(refused.Raced, u.Ref)
		}
	}
}
