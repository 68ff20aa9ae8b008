package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// outcome is what became of a decision's actions.
type outcome struct {
	// seeds and tiers are what failed.
	seeds map[string]error
	tiers map[layout.Tier]error
	// problems are those that hold nothing up, as of branches that cannot be deleted.
	problems manifest.Problems
	// opened are the proposals that were opened or updated, by repository and branch.
	opened map[string]pass.Proposal
	// served are the seeds that got proposals opened, and left those that still want some.
	served, left map[string]bool
	// unfinished reports whether the pass had no time for some; the next one follows at once.
	unfinished bool
}

// hasFailures reports whether some action failed.
func (o *outcome) hasFailures() bool { return len(o.seeds)+len(o.tiers)+len(o.problems) > 0 }

// problemsOf returns those of a seed, or those that belong to none.
func (o *outcome) problemsOf(seed string) manifest.Problems {
	return slices.DeleteFunc(slices.Clone(o.problems), func(p manifest.Problem) bool { return p.Seed != seed })
}

// repoActor does what a pass does in one repository: it merges, withdraws at the forge what it must, pushes
// all branches at once, and opens the proposals. Merges come first, in all repositories: they count on
// facts that grow old while something is pushed. The order keeps a crash harmless: a proposal that
// is open has its branch, and a branch without a proposal gets it in the next pass.
type repoActor struct {
	*observation
	*outcome
	decision *pass.Decision
	repo     *repoState
	person   git.Person
	// plans are where the plan branches of seeds are after the push.
	plans   map[string]git.Hash
	updates []update
	// updating are the branches whose proposals the pass opens or updates.
	updating map[string]bool
	// kept are branches that stay, as the forge did not take their proposals back.
	kept map[string]bool
}

// update is a branch that moves, and the action that wants it.
type update struct {
	git.Update
	action *pass.Action
	// request is the proposal that follows the push; nil where none does.
	request *forge.Request
	// record reports whether it is the forge's own branch.
	record bool
}

// act performs the actions of a decision, repository by repository. Every action can be repeated,
// so a pass that was killed, or whose time is over, is continued by the next one.
//
// A pass opens no more proposals than it has time for, so what people do is noticed, and the
// state published, every few seconds even while hundreds of proposals have to be opened; and no more
// than the forge allows. Seeds take turns: what is left out is served first the next time.
func (o *observation) act(ctx context.Context, d *pass.Decision) *outcome {
	out := &outcome{seeds: map[string]error{}, tiers: map[layout.Tier]error{}, opened: map[string]pass.Proposal{}, served: map[string]bool{}, left: map[string]bool{}}
	byRepo, actions := map[string][]pass.Action{}, o.engine.fairly(d.Actions)
	for _, a := range actions {
		byRepo[a.Repo] = append(byRepo[a.Repo], a)
	}
	begun, total := map[string]bool{}, len(seedsOf(actions))
	actors := map[string]*repoActor{}
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		s := &repoActor{observation: o, outcome: out, decision: d, repo: o.repos[name], person: o.engine.person(), plans: map[string]git.Hash{}, updating: map[string]bool{}, kept: map[string]bool{}}
		actors[name], byRepo[name] = s, s.mergeAll(ctx, byRepo[name])
	}
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		s := actors[name]
		opens, seed := s.allot(byRepo[name]), ""
		for _, a := range byRepo[name] {
			s.updating[a.Branch] = s.updating[a.Branch] || a.Verb == pass.Propose && opens[a.Branch]
		}
		for _, a := range byRepo[name] {
			if a.Seed != seed {
				seed = a.Seed
				o.engine.progress(stageProposing, len(begun), total)
			}
			switch {
			case s.stopped(ctx):
			case a.Verb == pass.Propose && !opens[a.Branch]:
				s.leave(&a)
			case a.Verb == pass.Drop && s.left[a.Seed] && isRetry(s.repo.facts.Base, &a):
				// what is left out may need it
			default:
				s.prepare(ctx, &a)
				begun[seed] = true
			}
		}
		s.finish(ctx)
	}
	o.engine.resume = cmp.Or(pass.NextTurn(seedsOf(actions), out.served, out.left), o.engine.resume)
	return out
}

// isRetry reports whether an action is about the marker of a retry.
func isRetry(base string, a *pass.Action) bool {
	_, ofTier := layout.RetriedTier(base, a.Branch)
	return ofTier || a.Branch == layout.RetryBranch(base, a.Seed)
}

// seedsOf returns the seeds of actions, each once, in their order.
func seedsOf(actions []pass.Action) []string {
	var seeds []string
	for _, a := range actions {
		if len(seeds) == 0 || seeds[len(seeds)-1] != a.Seed {
			seeds = append(seeds, a.Seed)
		}
	}
	return seeds
}

// stopped reports whether nothing more can be done in the repository.
func (s *repoActor) stopped(ctx context.Context) bool {
	return ctx.Err() != nil || s.repo.err != nil || s.repo.facts.Failure != nil
}

// prepare does what comes before the push: it takes proposals back, and writes the objects.
func (s *repoActor) prepare(ctx context.Context, a *pass.Action) {
	if s.seeds[a.Seed] != nil && (a.Verb != pass.Gate || a.Why == "") {
		return // in this repository or another: the plan has to be everywhere first
	}
	var err error
	switch a.Verb {
	case pass.Gate:
		err = s.gate(ctx, a)
	case pass.Supersede:
		err = s.supersede(ctx, a)
	case pass.PushPlan:
		err = s.commitPlan(a)
	case pass.Propose:
		err = s.graft(a)
	case pass.MoveToPlan:
		err = s.moveToPlan(a)
	case pass.RecordRollout:
		err = s.recordRollout(a)
	case pass.Merge:
		err = s.merge(ctx, a)
	case pass.Drop:
		s.drop(a)
	}
	s.failed(a, err)
}

// failed notes what became of an action. If its plan cannot be pushed, nothing of the seed is: no
// tier may be proposed whose plan nobody can read.
func (s *repoActor) failed(a *pass.Action, err error) {
	switch {
	case err == nil:
	case forge.IsGone(err):
		s.raced = true // a person was faster: what they did is observed in the next pass
	case forge.IsLimited(err) && len(a.Tiers) == 0: // the next passes do it; the repository says why
	case a.Verb == pass.PushPlan || len(a.Tiers) == 0:
		s.seeds[a.Seed] = errors.Join(s.seeds[a.Seed], fmt.Errorf("seed %q: %w", a.Seed, err))
		s.withdraw(func(u update) bool { return u.action.Seed == a.Seed })
	default:
		for _, m := range a.Tiers {
			s.tiers[m.Tier] = err
		}
	}
	if s.repo.coolDown(err, s.engine.config.Now); forge.IsLimited(err) && a.Verb == pass.Propose {
		s.leave(a)
	}
	if git.IsUntrusted(err) && s.seeds[a.Seed] == nil { // a person has to do something
		s.seeds[a.Seed] = fmt.Errorf("seed %q: %w", a.Seed, err)
	}
}

// withdraw takes updates out of the push, and reports whether there were any.
func (s *repoActor) withdraw(which func(update) bool) bool {
	before := len(s.updates)
	s.updates = slices.DeleteFunc(s.updates, which)
	return len(s.updates) < before
}

// finish pushes the branches and opens the proposals.
func (s *repoActor) finish(ctx context.Context) {
	s.push(ctx)
	if s.repo.err == nil {
		s.propose(ctx)
	}
}

// move pushes branches. A push that takes longer than a slice, as one of many plans to a server
// that runs hooks for each branch, does not let the status grow old.
func (s *repoActor) move(ctx context.Context, updates []git.Update) error {
	e := s.engine
	if e.config.Slice == 0 {
		return s.repo.move(ctx, updates...)
	}
	done := make(chan error, 1)
	go func() { done <- s.repo.move(ctx, updates...) }()
	tick := e.config.Clock.NewTicker(e.config.Slice)
	defer tick.Stop()
	s.pushing = true
	defer func() { s.pushing = false }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C():
			s.publish(ctx, s.report(s.decision, s.outcome))
		}
	}
}

// fairly lets the seed begin that the last pass left out; the others follow in their order, and the
// first ones come last. Actions are sorted by seed, so no seed waits for more passes than all seeds
// take together.
func (e *Engine) fairly(actions []pass.Action) []pass.Action {
	at := slices.IndexFunc(actions, func(a pass.Action) bool { return a.Seed >= e.resume })
	if e.resume == "" || at < 0 {
		return actions
	}
	return slices.Concat(actions[at:], actions[:at])
}

// leave leaves a proposal to a later pass: to the next one, which follows at once, where there is
// only no time for it; and otherwise to one after the forge allows more requests, as the state of its
// tiers says then.
func (s *repoActor) leave(a *pass.Action) {
	s.left[a.Seed] = true
	quota := s.quota(s.repo)
	if quota.Why == "" || s.engine.config.Slice > 0 && quota.Proposals > s.batchSize() {
		s.unfinished = true
		return
	}
	s.repo.waits(quota.Until)
	for _, m := range a.Tiers {
		s.tiers[m.Tier] = inRepo(s.repo.name, quota.Failure("propose "+a.Branch, s.repo.url(), s.engine.began))
	}
}

// timeIsOver reports whether a pass has taken as long as it may.
func (e *Engine) timeIsOver() bool {
	return e.config.Slice > 0 && e.config.Now().Sub(e.began) >= e.config.Slice
}

// calls returns how many proposals are opened at once in a repository.
func (e *Engine) calls() int { return max(1, e.config.ForgeCalls) }

// batchSize returns how many proposals a pass may have time for: what it learned, or at first as many as
// are opened at once.
func (s *repoActor) batchSize() int {
	if s.repo.batch == 0 {
		return s.engine.calls()
	}
	return s.repo.batch
}

// allot returns the branches of the proposals that this pass opens. That is decided before the push,
// because a branch that is pushed and not proposed in time is grafted anew where base has moved
// meanwhile. Branches of plain Git take no more than their push.
func (s *repoActor) allot(actions []pass.Action) map[string]bool {
	var branches, seeds []string
	for _, a := range actions {
		if a.Verb == pass.Propose {
			branches, seeds = append(branches, a.Branch), append(seeds, a.Seed)
		}
	}
	n := s.quota(s.repo).Proposals
	if s.engine.config.Slice > 0 && s.repo.facts.Amends {
		n = min(n, s.batchSize())
	}
	opens := map[string]bool{}
	for i, opened := range pass.Share(seeds, n) {
		opens[branches[i]] = opened
	}
	return opens
}

// adaptBatch adapts how many proposals a pass opens to how many it opens in a slice, its reading and
// its push included: a branch that is pushed and not proposed is grafted anew where base has moved
// meanwhile. A pass with fewer to open, which was not late, shows nothing.
func (s *repoActor) adaptBatch(opened int, late bool) {
	if s.engine.config.Slice == 0 || !late && opened < s.batchSize() {
		return
	}
	if took := s.engine.config.Now().Sub(s.engine.began); took > 0 {
		s.repo.batch = max(1, int(time.Duration(opened)*s.engine.config.Slice/took))
	}
}
