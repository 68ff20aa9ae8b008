package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// What a person asks for is a marker, which the pass of the engine that observes the
// clusters acts on: see internal/core/pass.

// Requests are what people may ask of a seed or a cluster. They act on what one pass has observed,
// so a request lists nothing by itself, and several of them share one observation. A request
// writes a marker, or reopens a proposal, and decides nothing: the pass does. Methods return an
// error that says what to do if there is nothing to do.
type Requests struct {
	observation *observation
	// decision is the one that people ask about, once it was needed.
	decision *pass.Decision
	// reopened reports whether proposals are not as they were observed any more.
	reopened bool
}

// Requests observes everything once, for requests outside of a pass.
func (e *Engine) Requests(ctx context.Context) (*Requests, error) {
	o, err := e.observe(ctx)
	if err != nil {
		return nil, err
	}
	return &Requests{observation: o}, nil
}

// Retry asks for a seed to be proposed again: what a person rejected or
// reverted, and what foreign content keeps from being proposed. Who asks, and why, is recorded for the
// texts of proposals, if anybody says.
func (q *Requests) Retry(ctx context.Context, seed, by, why string) error {
	_, err := q.retry(ctx, seed, true, by, why)
	return err
}

// RetryTiers is Retry for some tiers of a seed only, and with tiers that were rejected together with
// one of them.
func (q *Requests) RetryTiers(ctx context.Context, seed string, tiers []layout.Tier, by, why string) error {
	_, err := q.retry(ctx, seed, true, by, why, tiers...)
	return err
}

// RetryRejected is Retry where the seed has rejected proposals, whose tiers it returns,
// and else does nothing.
func (q *Requests) RetryRejected(ctx context.Context, seed, by, why string) ([]layout.Tier, error) {
	return q.retry(ctx, seed, false, by, why)
}

// retry reopens the proposals of a seed that a person rejected, and then marks the seed for the
// next pass in every repository of its plan; without always only if there were any.
func (q *Requests) retry(ctx context.Context, seed string, always bool, by, why string, only ...layout.Tier) ([]layout.Tier, error) {
	o := q.observation
	p, err := o.planOf(seed)
	if err != nil {
		return nil, err
	}
	for _, t := range only {
		if _, found := p.Plan.Find(t.Cluster, t.Ordinal); !found {
			return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Seed: seed, Cluster: t.Cluster, Message: fmt.Sprintf("the plan of seed %q has no %s", seed, t.Name()), Next: fmt.Sprintf("See 'furrow status %s' for its tiers", seed)}
		}
	}
	meant := func(proposal forge.Proposal) bool {
		return len(only) == 0 || slices.ContainsFunc(only, proposal.Has)
	}
	var rejected []layout.Tier
	for _, name := range p.Plan.Repos() {
		r := o.repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.proposals)) {
			proposal := r.proposals[branch]
			if proposal.Seed != seed || !proposal.Rejected || !meant(proposal) {
				continue
			}
			q.reopened = true
			if err := r.Forge.Reopen(ctx, proposal); err != nil {
				return nil, err
			}
			for _, m := range proposal.Tiers {
				rejected = append(rejected, m.Tier)
			}
		}
	}
	if len(rejected) == 0 && !always {
		return nil, nil
	}
	if by != "" || why != "" {
		if _, err := q.record(ctx, seed, func(p *plan.Plan, r *release.Record) (bool, error) {
			r.Retried = &release.Retry{Inputs: p.Inputs, Request: *q.asked(by, why)}
			return true, nil
		}); err != nil {
			return nil, err
		}
	}
	for _, name := range p.Plan.Repos() {
		if err := o.record(ctx, o.repos[name]); err != nil {
			return nil, err
		}
		if err := o.repos[name].markRetry(ctx, p, only, q.person(by)); err != nil {
			return nil, err
		}
	}
	return rejected, nil
}

// markRetry marks the tiers of a plan that will be proposed again, or all of them.
func (r *repoState) markRetry(ctx context.Context, p *pass.Previous, only []layout.Tier, who git.Person) error {
	if len(only) == 0 {
		return r.mark(ctx, layout.RetryBranch(r.facts.Base, p.Plan.Seed), p.Commits[r.name], who)
	}
	for _, name := range only {
		if t, _ := p.Plan.Find(name.Cluster, name.Ordinal); t.Repo != r.name {
			continue
		}
		if err := r.mark(ctx, layout.RetryTierBranch(r.facts.Base, name), p.Commits[r.name], who); err != nil {
			return err
		}
	}
	return nil
}

// maxRecording is how often records are pushed that a run writes at the same time.
const maxRecording = 5

// record pushes what the forge keeps in Git of its proposals. A run that was faster is read first.
func (o *observation) record(ctx context.Context, r *repoState) error {
	for try := 1; ; try++ {
		records, news, err := r.Forge.Record(r.refs, o.engine.self.Owner, nil, o.engine.person())
		if err != nil || !news {
			return err
		}
		if err = r.move(ctx, records); err == nil {
			r.refs[records.Ref] = records.New
			return nil
		}
		if !git.IsLeaseRefused(err) || try == maxRecording {
			return err
		}
		refs, err := r.Mirror.Fetch(ctx, r.facts.Base)
		if err == nil {
			_, err = r.Forge.List(ctx, refs)
		}
		if err != nil {
			return err
		}
		r.refs[records.Ref] = refs[records.Ref]
	}
}

// Confirm asks for what the deletion guard holds of a seed: its removal, or that of
// objects which left it. It says what that is; nothing where the removal has begun, and
// only counts no more against others.
func (q *Requests) Confirm(ctx context.Context, seed, by string) ([]string, error) {
	o := q.observation
	p, err := o.planOf(seed)
	if err != nil {
		return nil, err
	}
	if q.decision == nil {
		if q.decision, err = o.decideAsPlanned(ctx); err != nil {
			return nil, err
		}
	}
	s, ours := q.decision.Seeds[seed]
	if !ours {
		return nil, nothingToConfirm{seed: seed}
	}
	held := s.Waiting()
	done := o.facts.Marked(p, layout.ConfirmBranch) || o.facts.Marked(p, layout.ConfirmLeavingBranch)
	if len(held) == 0 && (done || s.Plan == nil || !s.Plan.Removal) {
		if o.readErr != nil { // a deleted seed appears to exist
			return nil, fmt.Errorf("the control-plane repository cannot be read: %w", unreadSource(o.readErr))
		}
		return nil, nothingToConfirm{seed, done}
	}
	home := o.repos[p.Home()]
	if home == nil { // its branches have just gone
		return nil, nothingToConfirm{seed, done}
	}
	branch := layout.ConfirmLeavingBranch(home.facts.Base, seed)
	if s.Unconfirmed != nil || s.Plan.Removal {
		branch = layout.ConfirmBranch(home.facts.Base, seed)
	}
	return held, home.mark(ctx, branch, p.Commits[home.name], q.person(by))
}

// Beyond says what goes with what Confirm has confirmed, although it is not of the seed.
func (q *Requests) Beyond(seed string) []string {
	if q.decision == nil {
		return nil
	}
	return q.decision.Beyond(seed)
}

// nothingToConfirm is the error for a seed without a blocked removal.
type nothingToConfirm struct {
	seed string
	// done reports whether what the guard held is confirmed already.
	done bool
}

func (e nothingToConfirm) Error() string { return e.Problem().Error() }

func (e nothingToConfirm) Problem() manifest.Problem {
	p := manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Seed: e.seed, Next: fmt.Sprintf("See 'furrow status %s'", e.seed)}
	p.Message = fmt.Sprintf("there is nothing to confirm for seed %q: no removal of it waits for a person", e.seed)
	if e.done {
		p.Message = fmt.Sprintf("the removal of seed %q is confirmed already, and the next pass goes on with it", e.seed)
	}
	return p
}

// IsNothingToConfirm reports whether Confirm had nothing to do, and whether that is
// because it is confirmed already.
func IsNothingToConfirm(err error) (nothing, done bool) {
	e, ok := errors.AsType[nothingToConfirm](err)
	return ok, e.done
}

// Overwritten returns the files that the proposals of a seed overwrite once a person asks to retry
// it, or only some of its tiers.
func (q *Requests) Overwritten(ctx context.Context, seed string, only ...layout.Tier) (out pass.Overwrites, err error) {
	o := q.observation
	if _, err := o.planOf(seed); err != nil {
		return out, err
	}
	err = o.ask(ctx, func() (questions []pass.Question, err error) {
		out, questions, err = o.engine.memo.Overwritten(o.facts, seed, only...)
		return questions, err
	})
	return out, err
}

// planOf returns the plan that a person asks about, which must be ours. A seed that is not known
// may be one of a repository that could not be read; the error then says that.
func (o *observation) planOf(seed string) (*pass.Previous, error) {
	e := o.engine
	p, known := o.previous()[seed]
	switch {
	case !known && o.unread() != nil:
		return nil, o.unread()
	case !known:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Seed: seed, Message: fmt.Sprintf("there is no plan of a seed %q yet", seed), Next: "See 'furrow status'"}
	case p.Err != nil:
		return nil, p.Err
	case !e.owns(p.Plan):
		return nil, e.errNotOurs(p.Plan)
	case len(p.Plan.Repos()) == 0:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Seed: seed, Message: fmt.Sprintf("the plan of seed %q is empty", seed)}
	}
	return p, nil
}

// previous returns the plans on their branches, by seed.
func (o *observation) previous() map[string]*pass.Previous { return o.facts.Previous() }

// owns reports whether a plan belongs to this control plane.
func (e *Engine) owns(p *plan.Plan) bool { return p.Identity() == e.self }

// errNotOurs returns the error for a request about another control plane's plan.
func (e *Engine) errNotOurs(of *plan.Plan) error {
	return manifest.Problem{Reason: v1alpha1.ReasonForeignOwner, Seed: of.Seed, Message: fmt.Sprintf("the plan of seed %q belongs to control plane %s, and you ask as %s", of.Seed, of.Identity(), e.self), Next: "Name that one with --control-plane, --id and --environment"}
}

// unread says why a plan that is not there may yet exist: a repository cannot be read.
func (o *observation) unread() error {
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		if err := r.facts.Failure.AsError(); err != nil {
			return err
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// mark sets, moves or deletes a marker about a commit, and notes that it was observed so.
func (r *repoState) mark(ctx context.Context, branch string, of git.Hash, by git.Person) error {
	if r.refs[branch] == of || !of.IsZero() && r.facts.Asked(branch) == of {
		return nil
	}
	update, err := r.request(branch, of, by)
	if err == nil {
		err = r.move(ctx, update)
	}
	if err != nil {
		return err
	}
	if of.IsZero() {
		delete(r.refs, branch)
		delete(r.facts.Refs, branch)
		delete(r.facts.Requests, branch)
		return nil
	}
	r.refs[branch], r.facts.Refs[branch] = update.New, update.New
	return r.identify()
}

// person returns who asks: by the name that is given, or as the engine knows.
func (q *Requests) person(by string) git.Person {
	who, asker := q.observation.engine.person(), q.observation.engine.config.Asker
	who.Name, who.Email = cmp.Or(by, asker.Name, pass.Unnamed), cmp.Or(asker.Email, who.Email)
	return who
}

// Abandon gives a cluster up that never answers again, for somebody: what is to go from it no
// longer waits for it.
func (q *Requests) Abandon(ctx context.Context, cluster, by string) error {
	o := q.observation
	marks, err := o.marksOf(cluster)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		r, ok := o.repos[name]
		if !ok {
			return manifest.Problem{Reason: v1alpha1.ReasonUnknownRepository, Cluster: cluster, Repo: name, Message: fmt.Sprintf("cluster %q: something of it is in GitOps repository %q, which is no longer declared", cluster, name), Next: "Declare it again, and ask again"}
		}
		if err := r.facts.Failure.AsError(); err != nil {
			return err
		}
		branch := layout.AbandonBranch(r.facts.Base, pass.MarkerScope(o.engine.self), cluster)
		if !r.facts.Asked(branch).IsZero() {
			continue
		}
		if err := r.mark(ctx, branch, marks[name], q.person(by)); err != nil {
			return err
		}
	}
	return nil
}

// marksOf returns the repositories in which plans of this owner have something on a cluster, each
// with a commit to mark there: that of such a plan. If there are none, what could not be read is in
// the error.
func (o *observation) marksOf(cluster string) (map[string]layout.Hash, error) {
	marks := map[string]layout.Hash{}
	unread := o.unread()
	previous := o.previous()
	for _, seed := range slices.Sorted(maps.Keys(previous)) {
		p := previous[seed]
		switch {
		case p.Plan == nil:
			unread = errors.Join(unread, p.Err)
		case o.engine.owns(p.Plan):
			for _, repo := range p.Plan.ReposWith(cluster) {
				if marks[repo].IsZero() {
					marks[repo] = p.Commits[repo]
				}
			}
		}
	}
	if len(marks) > 0 {
		return marks, nil
	}
	return nil, errors.Join(manifest.Problem{Reason: v1alpha1.ReasonUnknownCluster, Cluster: cluster, Message: fmt.Sprintf("no plan of %s has anything on a cluster %q", o.engine.self, cluster), Next: "See 'furrow status' for the existing clusters, or name another owner with --id and --environment"}, unread)
}

// UndoAbandon takes that back, in every repository that has the mark. What was orphaned meanwhile
// stays so. It fails at the first repository that cannot be read, because its mark would stay
// without notice.
func (q *Requests) UndoAbandon(ctx context.Context, cluster string) error {
	o := q.observation
	undone := false
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		if err := r.facts.Failure.AsError(); err != nil {
			return err
		}
		branch := layout.AbandonBranch(r.facts.Base, pass.MarkerScope(o.engine.self), cluster)
		if _, marked := r.refs[branch]; !marked {
			continue
		}
		if err := r.mark(ctx, branch, git.Hash{}, git.Person{}); err != nil {
			return err
		}
		undone = true
	}
	if !undone {
		return manifest.Problem{Reason: v1alpha1.ReasonNothingToDo, Cluster: cluster, Message: fmt.Sprintf("cluster %q is not abandoned for %s, so there is nothing to undo", cluster, o.engine.self), Next: "See 'furrow status', or name another owner with --id and --environment"}
	}
	return nil
}
