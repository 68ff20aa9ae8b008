package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// graft copies the entries of tiers from the plan's tree onto base, hash by hash. If the branch
// already has what would be pushed, but for the time, it stays where it is: the pass before was
// killed between push and proposal.
func (s *repoActor) graft(a *pass.Action) error {
	r := s.repo
	request := &forge.Request{
		Branch: a.Branch, Carried: forge.Carried{Digest: a.Digest, Tiers: a.Tiers, Destroys: a.Destroys}, Title: a.Title, Body: a.Body, Shut: a.Why, Labels: a.Labels,
	}
	meta := git.CommitMeta{Author: s.person, Message: forge.AddTrailers(a.Title+"\n\n"+a.Message, s.trailers(a, request.Carried))}
	graft, err := r.Mirror.Graft(r.head, edits(a.Entries), meta)
	if err != nil {
		return err
	}
	if graft.Unchanged {
		return fmt.Errorf("branch %s: base has the entries already", a.Branch)
	}
	old := r.refs[a.Branch]
	u := update{Update: git.Update{Ref: a.Branch, Old: old, New: graft.Commit, Objects: graft.Objects}, action: a, request: request}
	if !old.IsZero() && r.isCommit(old, graft.Tree, meta) {
		u.New, u.Objects = old, nil // pushed before, and not proposed then
	}
	request.Head = u.New
	s.updates = append(s.updates, u)
	return nil
}

// trailers returns those of the commit of a proposal.
func (s *repoActor) trailers(a *pass.Action, carried forge.Carried) []forge.Trailer {
	out := []forge.Trailer{{Key: forge.TrailerSeed, Value: a.Seed}, revisionTrailer(a.Revision)}
	for _, t := range carried.Trailers() {
		if t.Key == forge.TrailerDigest {
			out = append(out, forge.Trailer{Key: forge.TrailerPlan, Value: s.plan(a.Seed).String()})
		}
		out = append(out, t)
	}
	return out
}

// isCommit reports whether a commit is what would be pushed now, but for its time.
func (r *repoState) isCommit(commit, tree git.Hash, meta git.CommitMeta) bool {
	had, err := r.Mirror.Commit(commit)
	return err == nil && had.Tree == tree && len(had.Parents) == 1 && had.Parents[0] == r.head && had.Message == meta.Message &&
		had.Author.Email == meta.Author.Email && had.Committer.Email == meta.Author.Email
}

// revisionTrailer is for people; nothing reads it.
func revisionTrailer(revision string) forge.Trailer {
	return forge.Trailer{Key: forge.TrailerRevision, Value: template.Ordinary(revision)}
}

// modes are Git's, of a plan's entries.
var modes = map[plan.Mode]git.Mode{plan.ModeTree: git.ModeDir, plan.ModeFile: git.ModeFile}

// edits turns entries of a plan into edits of a tree; an entry without a hash deletes.
func edits(entries []plan.Entry) []git.Edit {
	out := make([]git.Edit, len(entries))
	for i, e := range entries {
		out[i].Path = e.Path
		if !e.Hash.IsZero() {
			out[i].Hash, out[i].Mode = e.Hash, modes[e.Mode]
		}
	}
	return out
}

// propose opens the proposals of the branches that were pushed, as many at once as the forge may be
// asked. At least that many are begun even if the push took all the time, so every pass gets
// further; then time is checked before each. mu guards the outcome, which the calls share.
func (s *repoActor) propose(ctx context.Context) {
	var proposed []layout.Tier
	var mu sync.Mutex
	opened := 0
	open := func(u update) {
		proposal, err := s.repo.Forge.Propose(ctx, *u.request)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if git.IsAuth(err) && proposal.Number == 0 {
				s.repo.opening = readiness{asked: s.engine.began, err: err}
			}
			s.failed(u.action, fmt.Errorf("proposing %s: %w", u.Ref, err))
			return
		}
		opened++
		s.served[u.action.Seed] = true
		s.repo.proposals[u.Ref], s.opened[s.repo.name+" "+u.Ref] = proposal, ProposalFacts(proposal)
		for _, m := range u.action.Tiers {
			proposed = append(proposed, m.Tier)
		}
	}
	late, calling := false, s.engine.calls()
	var calls sync.WaitGroup
	free := make(chan struct{}, calling)
	for i, u := range s.requests() {
		free <- struct{}{} // which may take long, and then there is no time left
		mu.Lock()
		stopped, isLate := s.stopped(ctx), i >= calling && s.engine.timeIsOver() // however long the push took
		waits, refused := s.repo.limit.Why != "", s.repo.mayOpen(s.engine.began)
		switch {
		case stopped:
		case refused != nil:
			s.failed(u.action, fmt.Errorf("proposing %s: %w", u.Ref, refused))
		case isLate || waits:
			s.leave(u.action)
		}
		mu.Unlock()
		switch {
		case stopped, refused != nil:
			<-free
		case isLate, waits:
			late = late || isLate
			<-free
		case calling == 1:
			open(u)
			<-free
		default:
			calls.Go(func() { open(u); <-free })
		}
	}
	calls.Wait()
	s.adaptBatch(opened, late)
	s.decision.Proposed(proposed...)
}

// requests returns the updates that proposals follow.
func (s *repoActor) requests() []update {
	return slices.DeleteFunc(slices.Clone(s.updates), func(u update) bool { return u.request == nil })
}
