package release

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// limiter holds new proposals of one plan back where as many are open in a repository as may be.
type limiter struct {
	*Result
	plan *plan.Plan
	// open counts, by repository, the open proposals that stay. Waiting are those among them that give
	// way to others, and wanted are new ones.
	open    map[string]int
	waiting []counted
	wanted  []counted
}

// counted is one proposal.
type counted struct {
	repo  string
	tiers []*TierStatus
	group int // index in Groups; -1 where the tier is proposed alone
	order [3]int
}

// limit has no more proposals of the seed open in a repository than may be. What belongs to an
// earlier wave, or comes first in the order of tiers, is proposed first.
//
// An open proposal that waits for other tiers, or for a wave, gives way to new ones: what it waits for
// may be among them, and people cannot merge it. One that a person has edited is theirs, so it stays,
// and does not count. Nothing is held back once a person asked that all be proposed at once.
func (r *Result) limit(p *plan.Plan) {
	if p.Rollout == nil || p.Rollout.MaxOpenProposals <= 0 || r.unpaced() {
		return
	}
	most := p.Rollout.MaxOpenProposals
	r.limiter(p).drop(func(string) int { return most }, fmt.Sprintf("at most %d %s of the seed may be open in a repository", most, plural(most, "proposal")))
}

// unpaced reports whether a person asked that all be proposed at once.
func (r *Result) unpaced() bool { return r.Rollout != nil && r.Rollout.Unpaced != nil }

// New counts the new proposals of a plan in a repository, unless a person asked that all be proposed
// at once.
func (r *Result) New(p *plan.Plan, repo string) int {
	n := 0
	if !r.unpaced() {
		for _, c := range r.limiter(p).wanted {
			if c.repo == repo {
				n++
			}
		}
	}
	return n
}

// LimitNew proposes no more than some new proposals of a plan in a repository in which, of all seeds,
// as many are open as may be.
func (r *Result) LimitNew(p *plan.Plan, repo string, room, most int) {
	l := r.limiter(p)
	l.open, l.waiting = map[string]int{}, nil
	of := func(name string) int {
		if name != repo {
			return len(l.wanted)
		}
		return room
	}
	l.drop(of, fmt.Sprintf("at most %d %s may be open in GitOps repository %q (spec.proposals.maxOpen)", most, plural(most, "proposal"), repo))
}

// limiter counts the proposals of a plan.
func (r *Result) limiter(p *plan.Plan) *limiter {
	l := &limiter{Result: r, plan: p, open: map[string]int{}}
	for i := range p.Tiers {
		s := &r.Tiers[i]
		act := s.Act
		if act == ActUpdate && !s.open {
			act = ActPropose // a person rejected it, and with other entries it is open again
		}
		if s.Group == "" && (act == ActPropose || s.open && act != ActSupersede) {
			l.count(counted{repo: p.Tiers[i].Repo, tiers: []*TierStatus{s}, group: -1}, act, s.edited)
		}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Act == ActSupersede || g.listed.Rejected && g.Act != ActPropose {
			continue
		}
		c := counted{repo: g.Repo, group: i}
		for _, name := range g.Tiers {
			s, _ := r.find(name)
			c.tiers = append(c.tiers, s)
		}
		l.count(c, g.Act, g.listed.Edited)
	}
	return l
}

// count notes a proposal that is open or wanted.
func (l *limiter) count(c counted, act Act, edited bool) {
	for i, s := range c.tiers {
		if at := l.order(s); i == 0 || slices.Compare(at[:], c.order[:]) < 0 {
			c.order = at
		}
	}
	waits := slices.ContainsFunc(c.tiers, func(s *TierStatus) bool { return len(s.Waits) > 0 || s.behind != nil })
	switch {
	case act == ActPropose:
		l.wanted = append(l.wanted, c)
	case !waits:
		l.open[c.repo]++
	case !edited:
		l.open[c.repo]++
		l.waiting = append(l.waiting, c)
	}
}

// order is that in which proposals go: by wave, what stays before what leaves, and by level, in
// reverse where something leaves.
func (l *limiter) order(s *TierStatus) [3]int {
	t, _ := l.plan.Find(s.Tier.Cluster, s.Tier.Ordinal)
	at := [3]int{0, 0, t.Level}
	if l.pace != nil {
		at[0] = slices.Index(l.pace.stages, l.pace.of[s.Tier])
	}
	if s.leaving {
		at[1], at[2] = 1, -t.Level
	}
	return at
}

// drop holds those proposals back for which there is no room, and withdraws as many of those that
// wait. The room is used in the next pass, once they are closed.
func (l *limiter) drop(most func(repo string) int, why string) {
	inOrder := func(a, b counted) int {
		return cmp.Or(slices.Compare(a.order[:], b.order[:]), a.tiers[0].Tier.Compare(b.tiers[0].Tier))
	}
	slices.SortStableFunc(l.wanted, inOrder)
	slices.SortStableFunc(l.waiting, inOrder)
	dropped := map[int]bool{}
	for _, c := range l.wanted {
		if l.open[c.repo]++; l.open[c.repo] <= most(c.repo) {
			continue
		}
		dropped[c.group] = true
		for _, s := range c.tiers {
			s.State, s.Act, s.Group, s.Reason = Queued, ActNone, "", v1alpha1.ReasonMaxOpenProposals
			s.Message = why
		}
		for i, w := range slices.Backward(l.waiting) {
			if w.repo == c.repo {
				l.withdraw(w)
				l.waiting = slices.Delete(l.waiting, i, i+1)
				break
			}
		}
	}
	at := -1
	l.Groups = slices.DeleteFunc(l.Groups, func(GroupStatus) bool { at++; return dropped[at] })
}

// withdraw closes an open proposal whose tiers wait.
func (l *limiter) withdraw(c counted) {
	for _, s := range c.tiers {
		s.State, s.Act = Blocked, ActSupersede
		if len(s.Waits) == 0 {
			s.State, s.Reason, s.Message = Queued, v1alpha1.ReasonProposing, "is proposed again when there is room"
		}
		if s.behind != nil {
			s.Reason, s.Message = s.behind.reason(), fmt.Sprintf("waits for wave %q", s.behind.wave.Name)
		}
		s.Gate, s.GateReason, s.Stale, s.StaleReason = "", "", "", ""
	}
	if c.group >= 0 {
		g := &l.Groups[c.group]
		for _, s := range c.tiers {
			s.Act, s.Group = ActNone, ""
		}
		g.Act, g.Why, g.Tiers = ActSupersede, "it waits for others, and gives way to them", nil
	}
}

// IsProposed reports whether a tier has an open proposal, or is about to get one.
func (s TierStatus) IsProposed() bool {
	return s.Act != ActSupersede && (s.open || s.Group != "" || s.Act == ActPropose)
}

// HoldMerges keeps anything of a plan from being merged in a repository: it holds new proposals back, and shuts
// the gates of open ones.
func (r *Result) HoldMerges(p *plan.Plan, repo string, why manifest.Problem) {
	l, dropped := r.limiter(p), map[int]bool{}
	for _, c := range l.wanted {
		if c.repo != repo {
			continue
		}
		dropped[c.group] = true
		for _, s := range c.tiers {
			s.State, s.Reason, s.Message, s.On, s.Object = Held, why.Reason, why.Text(), why.Cluster, why.Object
			s.Act, s.Group = ActNone, ""
		}
	}
	at := -1
	r.Groups = slices.DeleteFunc(r.Groups, func(GroupStatus) bool { at++; return dropped[at] })
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Repo == repo && g.Act == ActMerge {
			g.Act = ActNone
		}
	}
	for i := range p.Tiers {
		s := &r.Tiers[i]
		if p.Tiers[i].Repo != repo || !s.IsProposed() {
			continue
		}
		if s.Act == ActMerge {
			s.Act = ActNone
		}
		if s.Gate == "" {
			s.Gate, s.GateReason = why.Text(), why.Reason
		}
	}
}
