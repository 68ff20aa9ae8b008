package controlplane

import (
	"context"
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Verify returns a proposal with what it brings that no plan of its seed has, as the branches are at
// refs. Statuses are of an earlier time, when the branch may have held something else. outdated
// reports whether it carries what an earlier plan has.
func (r *Repo) Verify(ctx context.Context, refs git.Refs, p forge.Proposal) (verified forge.Proposal, outdated bool, err error) {
	facts, claims := engine.ProposalFacts(p), pass.Claims{}
	for _, m := range p.Tiers {
		if m.Digest == "" {
			continue
		}
		earlier := false
		if claims[m], earlier, err = r.claimed(ctx, refs, m); err != nil {
			return p, false, fmt.Errorf("comparing %s with its plan: %w", p.Branch, err)
		}
		outdated = outdated || earlier
	}
	own, above := facts.Needs(claims)
	found, err := r.identities(p.Own, own)
	base := map[string]layout.Hash{}
	if err == nil {
		base, err = r.identities(facts.BaseOf(refs[r.Base]), above)
	}
	if err != nil {
		return p, false, fmt.Errorf("comparing %s with its plan: %w", p.Branch, err)
	}
	if p.Differs = facts.Differs(claims, found, base); p.Differs != "" {
		p.Edited = true
	}
	return p, outdated, nil
}

// maxPlans is how many plans are read to find the one that a proposal is of.
const maxPlans = 50

// claimed returns the entries of a tier with a digest in the plan of its seed, or in an earlier one.
func (r *Repo) claimed(ctx context.Context, refs git.Refs, m layout.Member) (entries []plan.Entry, earlier bool, err error) {
	tip, ok := refs[layout.PlanBranch(r.Base, m.Tier.Seed)]
	if !ok {
		return nil, false, nil
	}
	n := 0
	for commit, err := range r.Mirror.Log(tip, git.Hash{}) {
		if n++; err != nil || n > maxPlans || ctx.Err() != nil {
			return nil, false, err
		}
		if entries := r.planAt(ctx, commit.Hash).Claimed(m); entries != nil {
			return entries, n > 1, nil
		}
	}
	return nil, false, nil
}

// identities returns what a commit has at paths.
func (r *Repo) identities(commit git.Hash, paths []string) (map[string]layout.Hash, error) {
	out := make(map[string]layout.Hash, len(paths))
	if len(paths) == 0 {
		return out, nil
	}
	found, err := r.Mirror.Entries(commit, paths)
	for at, entry := range found {
		out[at] = entry.Identity()
	}
	return out, err
}
