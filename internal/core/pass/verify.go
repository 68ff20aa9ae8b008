package pass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// Claims are the entries that plans have of what a proposal says it carries, tier by tier. A tier
// without entries is in no plan with that digest.
type Claims map[layout.Member][]plan.Entry

// Differs says what a proposal brings that no plan of its seed has; empty if it is exactly what it
// says. Trailers and names prove nothing, since anybody who may push can copy them. So what counts is
// what the commit holds: own is what it has at the paths that Needs returns, and base what BaseOf has
// there.
//
// What people committed on top of Furrow's commit is theirs, and not judged here.
func (p Proposal) Differs(claims Claims, own, base map[string]layout.Hash) string {
	by := fmt.Sprintf("commit %.7s by %s", cmp.Or(p.Own, p.Head), manifest.Printable(p.Author))
	switch {
	case p.Own.IsZero():
		return by + " is on its branch, and does not say what it carries, as Furrow's commits do"
	case p.Amended: // a person's commit, and shown as such
		return ""
	}
	var other []string
	for _, m := range p.Tiers {
		if claims[m] == nil {
			return fmt.Sprintf("%s says that it is Furrow's, and carries what no plan has of %s", by, m.Tier.Name())
		}
		for _, e := range claims[m] {
			if own[e.Path] != e.Hash {
				other = append(other, e.Path)
			}
		}
	}
	if len(other) > 0 {
		slices.Sort(other)
		return fmt.Sprintf("%s says that it is Furrow's, and holds something else than planned at %s", by, listed(other))
	}
	if p.Edited {
		return ""
	}
	var beside []string
	for _, at := range p.Paths {
		if !claims.within(at) && !(claims.above(at) && own[at] == claims.tree(at, own) && base[at] == claims.tree(at, base)) {
			beside = append(beside, at)
		}
	}
	if len(beside) > 0 {
		slices.Sort(beside)
		return fmt.Sprintf("%s says that it is Furrow's, and also changes %s", by, listed(beside))
	}
	return ""
}

// Needs returns the paths at which Furrow's commit, and the base branch, are compared. The base branch
// is, where merging adds or removes a whole directory above a tier.
func (p Proposal) Needs(claims Claims) (own, base []string) {
	for _, m := range p.Tiers {
		for _, e := range claims[m] {
			own = append(own, e.Path)
		}
	}
	var above []string
	for _, at := range p.Paths {
		if !p.Edited && claims.above(at) {
			above = append(above, at)
		}
	}
	if len(above) == 0 {
		return own, nil
	}
	own = append(own, above...)
	return own, own
}

// BaseOf returns the commit of the base branch that a proposal is compared with: where that is now or,
// for one that cannot be merged, what it was grafted on.
func (p Proposal) BaseOf(head layout.Hash) layout.Hash {
	if p.Stale {
		return p.Base
	}
	return head
}

// within reports whether a path is part of some tier.
func (c Claims) within(at string) bool {
	return c.any(func(e plan.Entry) bool { return at == e.Path || strings.HasPrefix(at, e.Path+"/") })
}

// above reports whether a directory holds paths of some tier.
func (c Claims) above(at string) bool {
	return c.any(func(e plan.Entry) bool { return strings.HasPrefix(e.Path, at+"/") })
}

func (c Claims) any(holds func(plan.Entry) bool) bool {
	for _, entries := range c {
		if slices.ContainsFunc(entries, holds) {
			return true
		}
	}
	return false
}

// tree returns the hash of a directory that holds what a commit has at the tiers' paths, and nothing
// else.
func (c Claims) tree(at string, have map[string]layout.Hash) layout.Hash {
	below := map[string]githash.Entry{}
	for _, entries := range c {
		for _, e := range entries {
			if path, found := strings.CutPrefix(e.Path, at+"/"); found && !have[e.Path].IsZero() {
				below[path] = githash.Entry{Hash: have[e.Path], Dir: e.Mode == plan.ModeTree}
			}
		}
	}
	return githash.TreeOf(below)
}

// proposalKey is a proposal as a plan judges it.
type proposalKey struct {
	plan         *plan.Plan
	repo, branch string
}

// verified returns a proposal of a seed with what it brings that no plan has, if anything does: such
// a proposal is not Furrow's, whatever its commit says. The plan in force counts, and those that were
// before it on its branch: a proposal may be of an earlier one.
func (d *decider) verified(pl *plan.Plan, p *Previous, repo, branch string) (proposal Proposal, open bool) {
	proposal, open = d.facts.Repos[repo].Proposals[branch]
	if !open || proposal.Rejected {
		return proposal, open
	}
	key := proposalKey{pl, repo, branch}
	differs, known := d.differs[key]
	if !known {
		asked := d.asked
		differs = d.judgeProposal(proposal, pl, p, repo)
		if d.asked > asked { // nothing is concluded from facts that are missing
			return proposal, open
		}
		d.differs[key] = differs
	}
	if differs != "" {
		proposal.Edited, proposal.differs, proposal.Paths = true, differs, nil
		if _, _, group := layout.GroupOfBranch(d.facts.Repos[repo].Base, branch); group {
			proposal.Tiers = nil // it keeps none of them from being proposed
		} else {
			proposal.Tiers = slices.Clone(proposal.Tiers)
			for i := range proposal.Tiers {
				proposal.Tiers[i].Digest = ""
			}
		}
	}
	return proposal, open
}

// judgeProposal asks for what it needs to compare a proposal with what it says.
func (d *decider) judgeProposal(proposal Proposal, pl *plan.Plan, p *Previous, repo string) string {
	claims := Claims{}
	for _, m := range proposal.Tiers {
		switch {
		case m.Digest == "":
		case p == nil:
			claims[m] = pl.Claimed(m)
		default:
			if claims[m] = pl.Claimed(m); claims[m] == nil {
				claims[m] = p.plans[repo].Claimed(m)
			}
			if claims[m] == nil {
				claims[m] = d.planned(repo, p.commit(repo), m)
			}
		}
	}
	paths, above := proposal.Needs(claims)
	own := d.at(repo, proposal.Own, paths...)
	base := map[string]layout.Hash{}
	if len(above) > 0 {
		base = d.at(repo, proposal.BaseOf(d.facts.Repos[repo].Head), above...)
	}
	return proposal.Differs(claims, own, base)
}

// difference says what a proposal brings that no plan has, and what a person can do about it. It is empty
// if there is nothing.
func difference(p Proposal, branch string) string {
	if p.differs == "" {
		return ""
	}
	return p.differs + ". Delete its branch to have it proposed again: " + layout.DeleteCommand(branch)
}
