package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
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
		page, landed, err := r.landed(ctx, pl.Name(t), w, t, have)
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
			paths := ""
			for _, e := range t.Entries {
				paths += " " + e.Path
			}
			f.BaseDetail = fmt.Sprintf("a person changed it in %s before merging; git diff origin/%s origin/%s --%s shows how", page, layout.PlanBranch(r.base, pl.Seed), r.base, paths)
		}
		return nil
	}
	return nil
}

// landed says that what base has of a tier is what the newest merged proposal with these
// Wants was when it was merged. page is that of the proposal by which it came to be so: of
// several that landed with this content one after the other, the first that base still has.
func (r *repoState) landed(ctx context.Context, name layout.Tier, wants string, t *plan.Tier, have map[string]layout.Hash) (page string, landed bool, err error) {
	closed, err := r.Forge.Closed(ctx, r.refs, name, wants)
	if err != nil {
		return "", false, err
	}
	for i, l := range closed.Landings {
		merged, err := r.at(l.Merge, t.Paths()...)
		if git.IsUnknown(err) {
			break // the base branch was rewritten since
		}
		if err != nil {
			return "", false, err
		}
		if slices.ContainsFunc(t.Paths(), func(at string) bool { return merged[at] != have[at] }) {
			break
		}
		on, err := r.isOnBase(l.Merge)
		if err != nil {
			return "", false, err
		}
		if landed = true; i == 0 || on {
			page = l.URL
		}
	}
	return page, landed, nil
}

// isOnBase says that base has a commit in its history.
func (r *repoState) isOnBase(commit git.Hash) (bool, error) {
	for _, err := range r.Mirror.Log(commit, r.head) {
		return false, err
	}
	return true, nil
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
