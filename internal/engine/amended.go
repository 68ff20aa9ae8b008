package engine

import (
	"context"
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// lookBehind finds out how content that no plan has came to be on base: a person
// made it of a proposal before it was merged, or asks for it to be replaced, as the
// open proposal does that was made when they asked.
func (p *pass) lookBehind(ctx context.Context, r *repoState, pl *plan.Plan, t *plan.Tier, planned *plannedSeed, have map[string]layout.Hash, f *release.TierFacts) error {
	proposal, open := r.proposals[layout.TierBranch(r.base, pl.Name(t))]
	replacing := open && !proposal.Rejected && proposal.Wants == t.Wants()
	if r.retries(planned, pl.Seed) || replacing && !proposal.Stale {
		f.Base = release.BaseEarlier
		return nil
	}
	wants, err := p.wantsOf(ctx, r, pl, t, planned)
	if err != nil {
		return err
	}
	for i, w := range wants {
		closed, landed, err := r.landed(ctx, pl.Name(t), w, t, have)
		if err != nil {
			p.heard(r, err)
			return err
		}
		switch {
		case !landed:
			continue
		case i > 0 || t.Gone():
			f.Base, f.BaseDetail = release.BaseEarlier, ""
		default:
			f.Base = release.BaseAmended
			f.BaseDetail = fmt.Sprintf("a person changed it in %s before merging; git diff origin/%s origin/%s -- %s %s shows how", closed.URL, layout.PlanBranch(r.base, pl.Seed), r.base, t.Path, t.Reconciler)
		}
		return nil
	}
	return nil
}

// landed says that what base has of a tier is what the newest merged proposal with
// these Wants was when it was merged.
func (r *repoState) landed(ctx context.Context, name layout.Tier, wants string, t *plan.Tier, have map[string]layout.Hash) (forge.Closed, bool, error) {
	closed, err := r.Forge.Closed(ctx, r.refs, name, wants)
	if err != nil || closed.Merge.IsZero() {
		return closed, false, err
	}
	merged, err := r.at(closed.Merge, t.Path, t.Reconciler)
	if err != nil {
		if git.IsUnknown(err) {
			err = nil // the base branch was rewritten since
		}
		return closed, false, err
	}
	return closed, merged[t.Path] == have[t.Path] && merged[t.Reconciler] == have[t.Reconciler], nil
}

// maxAmendedPlans is how many earlier plans' proposals are looked at for what base has.
const maxAmendedPlans = 5

// wantsOf are the Wants of a tier in the plan in force and in those before it.
func (p *pass) wantsOf(ctx context.Context, r *repoState, pl *plan.Plan, t *plan.Tier, planned *plannedSeed) ([]string, error) {
	wants := []string{t.Wants()}
	if planned == nil || planned.commits[r.name].IsZero() {
		return wants, nil
	}
	n := 0
	for commit, err := range r.Mirror.Log(planned.commits[r.name], git.Hash{}) {
		if err != nil {
			return nil, err
		}
		earlier, err := p.engine.readPlan(ctx, r, pl.Seed, commit.Hash)
		if err != nil {
			break // of another version, say: what it planned stays foreign
		}
		was, ok := earlier.Find(t.Cluster, t.Ordinal)
		if ok && was.Wants() != wants[len(wants)-1] {
			wants = append(wants, was.Wants())
		}
		if ok && was.Orphan != nil {
			before := was.Orphaning()
			wants = append(wants, before.Wants())
		}
		if n++; n == maxAmendedPlans {
			break
		}
	}
	return wants, nil
}
