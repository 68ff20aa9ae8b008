package pass

import (
	"cmp"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// tierProposal is a proposal that has a tier.
type tierProposal struct {
	Proposal
	branch string
	// group is the name of the proposal's group; empty where it is the tier's alone.
	group string
	// digest is the digest of the tier's entries in it.
	digest string
}

// proposalIndex has the proposals of a repository, by what they have.
type proposalIndex struct {
	tiers map[layout.Tier][]tierProposal
	// groups are the branches of groups, by seed, whether they are proposals or not.
	groups map[string][]string
}

// proposalsIn indexes the proposals of a repository by the tiers that they carry, once: asking each
// proposal about each tier would cost their product.
func (d *decider) proposalsIn(repo string) proposalIndex {
	if known, ok := d.indexed[repo]; ok {
		return known
	}
	r := d.facts.Repos[repo]
	c := proposalIndex{map[layout.Tier][]tierProposal{}, map[string][]string{}}
	for branch := range r.Refs {
		if seed, _, several := layout.GroupOfBranch(r.Base, branch); several {
			c.groups[seed] = append(c.groups[seed], branch)
		}
	}
	for _, branches := range c.groups {
		slices.Sort(branches)
	}
	for branch, p := range r.Proposals {
		_, group, _ := layout.GroupOfBranch(r.Base, branch)
		for _, m := range p.Tiers {
			c.tiers[m.Tier] = append(c.tiers[m.Tier], tierProposal{p, branch, group, m.Digest})
		}
	}
	d.indexed[repo] = c
	return c
}

// proposalFor returns the proposal that counts for a tier. Of several it is one that is open, first
// what a person has edited, and then what has the present entries. What was rejected with others,
// and with other entries, does not count, and neither does a group that is not what was planned.
func (d *decider) proposalFor(pl *plan.Plan, previous *Previous, t *plan.Tier, name layout.Tier) (tierProposal, bool) {
	var best tierProposal
	all := d.proposalsIn(t.Repo).tiers[name]
	if len(all) == 0 {
		return best, false
	}
	digest := t.Digest()
	rank := func(c tierProposal) int {
		rank := 0
		for i, better := range []bool{c.digest == digest, c.Edited, !c.Rejected, c.branch != ""} {
			if better {
				rank += 1 << i
			}
		}
		return rank
	}
	for _, c := range all {
		if c.group != "" && c.Rejected && c.digest != digest {
			continue
		}
		if c.Proposal, _ = d.verified(pl, previous, t.Repo, c.branch); c.differs != "" {
			if c.digest = ""; c.group != "" {
				continue
			}
		}
		if cmp.Or(cmp.Compare(rank(c), rank(best)), cmp.Compare(best.branch, c.branch)) > 0 {
			best = c
		}
	}
	return best, best.branch != ""
}

// groupsOf returns the proposals of several tiers of a seed.
func (d *decider) groupsOf(pl *plan.Plan, previous *Previous) []release.Group {
	var out []release.Group
	for _, repo := range pl.Repos() {
		r := d.repo(repo)
		if r == nil {
			continue
		}
		for _, branch := range d.proposalsIn(repo).groups[pl.Seed] {
			p, listed := d.verified(pl, previous, repo, branch)
			if !listed {
				continue
			}
			_, name, _ := layout.GroupOfBranch(r.Base, branch)
			g := release.Group{Repo: repo, Name: name, Branch: branch, Edited: p.Edited, Differs: difference(p, branch), Rejected: p.Rejected}
			for _, m := range p.Tiers {
				g.Tiers = append(g.Tiers, m.Tier)
			}
			out = append(out, g)
		}
	}
	return out
}

// actionsOnGroups returns what the proposals of several tiers of a seed ask for in one repository,
// and the deletion of the branches of those that were merged.
func (d *decider) actionsOnGroups(s *Seed, repo string) []Action {
	r := d.facts.Repos[repo]
	var out []Action
	wanted := map[string]bool{}
	for _, g := range s.Result.Groups {
		if g.Repo != repo {
			continue
		}
		branch := layout.GroupBranch(r.Base, s.Name, g.Name)
		wanted[branch] = true
		proposal, open := d.verified(s.Plan, s.previous, repo, branch)
		act := Action{Repo: repo, Seed: s.Name, Branch: branch, Old: r.Refs[branch], Tiers: proposal.Tiers}
		do := func(verb Verb, why string) {
			a := act
			a.Verb, a.Why = verb, why
			out = append(out, a)
		}
		if open && !proposal.Rejected && g.Act != release.ActSupersede && (g.Act != release.ActUpdate || g.Now != "") {
			do(Gate, g.Now)
		}
		switch g.Act {
		case release.ActPropose, release.ActUpdate:
			a, err := d.propose(s, g.Tiers, g.Gate, act)
			if err != nil {
				for _, tier := range g.Tiers {
					s.Failures[tier] = Fail(err, false)
				}
				break
			}
			out = append(out, a)
		case release.ActSupersede:
			do(Supersede, g.Why)
			do(Drop, "")
		case release.ActMerge:
			do(Merge, "")
		}
	}
	for _, branch := range d.proposalsIn(repo).groups[s.Name] {
		if _, listed := r.Proposals[branch]; !listed && !wanted[branch] { // it was merged
			out = append(out, Action{Verb: Drop, Repo: repo, Seed: s.Name, Branch: branch, Old: r.Refs[branch]})
		}
	}
	return out
}
