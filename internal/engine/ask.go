package engine

import (
	"context"
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
// of an earlier plan asks for nothing. The marker of a removal that was confirmed
// goes along with the plan of the removal.

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

// Confirm asks for the removal of a seed that the deletion guard holds.
func (e *Engine) Confirm(ctx context.Context, seed string) error {
	p, s, err := e.planOf(ctx, seed)
	if err != nil {
		return err
	}
	home := s.plan.Repos()[0]
	return p.repos[home].mark(ctx, layout.ConfirmBranch(p.repos[home].base, seed), s.commits[home])
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
func (p *pass) confirmed(d *seedDecision) bool {
	repos := d.planned.plan.Repos()
	if len(repos) == 0 {
		return false
	}
	home, ok := p.repos[repos[0]]
	if !ok || home.err != nil {
		return false
	}
	at, marked := home.refs[layout.ConfirmBranch(home.base, d.name)]
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
// ask about an earlier plan. That a removal was confirmed stays known while it is
// under way; sure says that where nothing is removed nothing is to be.
func (out *push) dropMarkers(sure bool) {
	r, d := out.repo, out.seed
	confirm := layout.ConfirmBranch(r.base, d.name)
	if at, marked := r.refs[confirm]; marked {
		update := git.Update{Ref: confirm, Old: at}
		switch {
		case out.planCommit == at && (d.plan.Removal || !sure):
			update.New = at
		case d.plan.Removal && at == d.planned.commits[r.name]:
			update.New = out.planCommit
		}
		if update.New != at {
			out.updates = append(out.updates, update)
		}
	}
	at, marked := r.refs[layout.RetryBranch(r.base, d.name)]
	if !marked {
		return
	}
	if !d.retryLater[r.name] || out.planCommit != at {
		out.updates = append(out.updates, git.Update{Ref: layout.RetryBranch(r.base, d.name), Old: at})
	}
}
