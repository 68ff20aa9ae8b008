package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// A person asks by a marker: a branch at the commit of the seed's plan. So the
// engine that runs, and sees the clusters, does what was asked for, and a marker
// of an earlier plan asks for nothing. Markers of what was confirmed stay while it is
// under way.

// Retry asks for a seed to be proposed again: what a person turned down or took
// back, and what foreign content keeps from being proposed.
func (e *Engine) Retry(ctx context.Context, seed string) error {
	_, err := e.retry(ctx, seed, true)
	return err
}

// RetryRejected is Retry where the seed has rejected proposals, whose tiers it returns,
// and else does nothing.
func (e *Engine) RetryRejected(ctx context.Context, seed string) ([]layout.Tier, error) {
	return e.retry(ctx, seed, false)
}

func (e *Engine) retry(ctx context.Context, seed string, always bool) ([]layout.Tier, error) {
	p, s, err := e.planOf(ctx, seed)
	if err != nil {
		return nil, err
	}
	var rejected []layout.Tier
	for _, name := range s.plan.Repos() {
		for _, branch := range slices.Sorted(maps.Keys(p.repos[name].proposals)) {
			proposal := p.repos[name].proposals[branch]
			if proposal.Tier.Seed != seed || !proposal.Rejected {
				continue
			}
			if err := p.repos[name].Forge.Reopen(ctx, proposal); err != nil {
				return nil, err
			}
			rejected = append(rejected, proposal.Tier)
		}
	}
	if len(rejected) == 0 && !always {
		return nil, nil
	}
	for _, name := range s.plan.Repos() {
		if err := p.repos[name].mark(ctx, layout.RetryBranch(p.repos[name].base, seed), s.commits[name]); err != nil {
			return nil, err
		}
	}
	return rejected, nil
}

// Confirm asks for what the deletion guard holds of a seed: its removal, or that of
// objects which left it. It says what that is; nothing where the removal has begun, and
// only counts no more against others.
func (e *Engine) Confirm(ctx context.Context, seed string) ([]string, error) {
	p, s, err := e.planOf(ctx, seed)
	if err != nil {
		return nil, err
	}
	p.decide(ctx)
	d, ours := p.seeds[seed]
	if !ours {
		return nil, nothingToConfirm{seed: seed}
	}
	held := d.waiting()
	if done := p.confirmed(d) || p.marked(d, layout.ConfirmLeavingBranch); len(held) == 0 && (done || d.plan == nil || !d.plan.Removal) {
		if p.readErr != nil { // a seed that is gone looks as if it were still there
			return nil, fmt.Errorf("the control-plane repository cannot be read: %w", p.readErr)
		}
		return nil, nothingToConfirm{seed, done}
	}
	home := p.repos[s.plan.Repos()[0]]
	branch := layout.ConfirmLeavingBranch(home.base, seed)
	if d.unconfirmed != nil || d.plan.Removal {
		branch = layout.ConfirmBranch(home.base, seed)
	}
	return held, home.mark(ctx, branch, s.commits[home.name])
}

// nothingToConfirm is a seed of which the deletion guard holds nothing.
type nothingToConfirm struct {
	seed string
	// done says that what the guard held is confirmed already.
	done bool
}

func (e nothingToConfirm) Error() string {
	if e.done {
		return fmt.Sprintf("the removal of seed %q is confirmed already, and the next pass goes on with it. See 'furrow status %[1]s'", e.seed)
	}
	return fmt.Sprintf("there is nothing to confirm for seed %q: no removal of it waits for a person. See 'furrow status %[1]s'", e.seed)
}

// IsNothingToConfirm says that Confirm had nothing to do, and whether that is because it
// is confirmed already.
func IsNothingToConfirm(err error) (nothing, done bool) {
	e, ok := errors.AsType[nothingToConfirm](err)
	return ok, e.done
}

// waiting is what is removed once a person confirms it: of the seed as a whole, or
// what leaves it.
func (d *seedDecision) waiting() []string {
	if d.unconfirmed != nil {
		return d.unconfirmed
	}
	var leaving []plan.Removed
	for _, t := range d.result.Tiers {
		leaving = append(leaving, t.Unconfirmed...)
	}
	return plan.Describe(leaving)
}

// planOf looks up the plan that a person asks about, which must be ours.
func (e *Engine) planOf(ctx context.Context, seed string) (*pass, *plannedSeed, error) {
	p, err := e.gather(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, known := p.previous[seed]
	switch {
	case !known && p.unread() != nil:
		return nil, nil, p.unread()
	case !known:
		return nil, nil, fmt.Errorf("there is no plan of a seed %q yet; see 'furrow status'", seed)
	case s.err != nil:
		return nil, nil, s.err
	case !e.owns(s.plan):
		return nil, nil, e.errNotOurs(s.plan)
	case len(s.plan.Repos()) == 0:
		return nil, nil, fmt.Errorf("the plan of seed %q is empty", seed)
	}
	return p, s, nil
}

// errNotOurs answers whoever asks about another control plane's plan.
func (e *Engine) errNotOurs(of *plan.Plan) error {
	return fmt.Errorf("the plan of seed %q belongs to control plane %s, and you ask as %s; name that one with --control-plane, --id and --environment", of.Seed, of.Identity(), e.self)
}

// unread says why a plan that is not seen may yet be there: a repository cannot be read.
func (p *pass) unread() error {
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		if err := p.repos[name].err; err != nil {
			return err
		}
	}
	return nil
}

func (r *repoState) mark(ctx context.Context, branch string, at git.Hash) error {
	if r.refs[branch] == at {
		return nil
	}
	return r.finish(ctx, []git.Update{{Ref: branch, Old: r.refs[branch], New: at}})
}

// retries says that a person wants the seed's present plan proposed again.
func (r *repoState) retries(planned *plannedSeed, seed string) bool {
	at, marked := r.refs[layout.RetryBranch(r.base, seed)]
	return marked && planned != nil && at == planned.commits[r.name]
}

// confirmed says that a person wants the seed removed.
func (p *pass) confirmed(d *seedDecision) bool { return p.marked(d, layout.ConfirmBranch) }

// confirmedLeaving says that a person wants what leaves with the plan in force removed.
func (p *pass) confirmedLeaving(d *seedDecision) bool {
	if d.plan.Removal {
		return p.confirmed(d)
	}
	return p.marked(d, layout.ConfirmLeavingBranch) && d.sameLeaving()
}

// marked says that a marker of the seed is at the plan that is on its branches.
func (p *pass) marked(d *seedDecision, marker func(base, seed string) string) bool {
	if d.planned == nil || d.planned.plan == nil || len(d.planned.plan.Repos()) == 0 {
		return false
	}
	home, ok := p.repos[d.planned.plan.Repos()[0]]
	if !ok || home.err != nil {
		return false
	}
	at, marked := home.refs[marker(home.base, d.name)]
	return marked && at == d.planned.commits[home.name]
}

// noteRetryLater finds out whether a tier that is Blocked now would have to be
// retried once it is free, so that the marker has to stay.
func (p *pass) noteRetryLater(ctx context.Context, d *seedDecision) {
	for i, s := range d.result.Tiers {
		t := &d.plan.Tiers[i]
		r := p.repos[t.Repo]
		if s.State != release.Blocked || !r.retries(d.planned, d.name) {
			continue
		}
		later := d.facts.Tiers[s.Tier].BaseDetail != ""
		if !later {
			closed, err := r.Forge.Closed(ctx, r.refs, s.Tier, t.Wants())
			later = err != nil || closedOf[closed.Outcome] != release.ClosedNone
		}
		if later {
			d.retryLater[t.Repo] = true
		}
	}
}

// dropMarkers deletes the markers of a seed that have done their work, or that
// ask about an earlier plan. sure says that where nothing is removed nothing is to be.
func (out *push) dropMarkers(sure bool) {
	r, d := out.repo, out.seed
	out.moveConfirm(sure)
	at, marked := r.refs[layout.RetryBranch(r.base, d.name)]
	if !marked {
		return
	}
	if !d.retryLater[r.name] || out.planCommit != at {
		out.updates = append(out.updates, git.Update{Ref: layout.RetryBranch(r.base, d.name), Old: at})
	}
}

// moveConfirm keeps what was confirmed known while it is under way: the marker of a
// removal goes along with the plan of the removal, that of what leaves stays at its
// plan. Who confirmed that so many plantings go confirmed also what goes with them.
func (out *push) moveConfirm(sure bool) {
	r, d := out.repo, out.seed
	move := func(branch string, to git.Hash) {
		if at := r.refs[branch]; at != to {
			out.updates = append(out.updates, git.Update{Ref: branch, Old: at, New: to})
		}
	}
	removal, leaving := layout.ConfirmBranch(r.base, d.name), layout.ConfirmLeavingBranch(r.base, d.name)
	to := git.Hash{}
	if at, marked := r.refs[leaving]; marked && (at == out.planCommit || d.planned != nil && at == d.planned.commits[r.name] && d.sameLeaving()) && (!sure || d.leaves()) {
		to = out.planCommit
	}
	if at, marked := r.refs[removal]; marked {
		ours := d.planned != nil && at == d.planned.commits[r.name]
		switch {
		case out.planCommit == at && (d.plan.Removal || !sure), d.plan.Removal && ours:
			move(removal, out.planCommit)
		default:
			move(removal, git.Hash{})
			if ours && sure && d.leaves() {
				to = out.planCommit
			}
		}
	}
	move(leaving, to)
}

// leaves says that something is still to leave that only a person may let go.
func (d *seedDecision) leaves() bool {
	for i := range d.plan.Tiers {
		t := &d.plan.Tiers[i]
		done := i < len(d.result.Tiers) && release.Standing(t, d.facts.Tiers[d.plan.Name(t)]) != ""
		if !d.plan.Removal && !done && len(t.Guarded()) > 0 {
			return true
		}
	}
	return false
}

// sameLeaving says that the plan in force takes away what the one on its branches does,
// as where only entries were added that come before that.
func (d *seedDecision) sameLeaving() bool {
	if d.planned.plan == nil || d.plan.Removal != d.planned.plan.Removal || len(d.plan.Tiers) != len(d.planned.plan.Tiers) {
		return false
	}
	for i := range d.plan.Tiers {
		if !slices.Equal(d.plan.Tiers[i].Guarded(), d.planned.plan.Tiers[i].Guarded()) {
			return false
		}
	}
	return true
}
