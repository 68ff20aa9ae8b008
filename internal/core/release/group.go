package release

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// MaxMembers is how many tiers one proposal carries at most: the text of a pull request
// has to hold what names them.
const MaxMembers = 200

// Group is a proposal of several tiers that is listed: open, or rejected with its branch
// still there.
type Group struct {
	Repo, Name string
	// Branch is the branch that has it.
	Branch string
	// Tiers are those that it carries; none where the branch is somebody else's.
	Tiers []layout.Tier
	// Edited reports whether a person changed it, and Rejected whether a person rejected it.
	Edited, Rejected bool
	// Differs says what it brings that no plan has, and what to do about it; it has no Tiers then.
	Differs string
}

// GroupStatus is the decision about a proposal of several tiers. A group with no Act stays as it
// is.
type GroupStatus struct {
	Repo, Name string
	// Tiers are those that it is to carry, in the order of the plan.
	Tiers []layout.Tier
	Act   Act
	// Why says why it is superseded.
	Why string
	// Gate says why it must not be merged once the act is done, and Now why it must not be
	// merged as it is; both are empty when there is no reason.
	Gate, Now string

	listed Group
	// stuck reports whether it carries what must not be updated now.
	stuck bool
}

// locked reports whether nobody but a person may change the proposal.
func (g *GroupStatus) locked() bool { return g.listed.Edited || g.listed.Rejected }

// groupKey is a group in a repository.
type groupKey struct{ repo, name string }

// groupName returns the name of the group that a tier is proposed in; empty where it is proposed
// alone. A proposal is of one wave, if there are waves. What deletes objects is never proposed together with what only adds or changes some: a
// reviewer must not have to find a removal between two hundred additions.
func groupName(by v1alpha1.GroupBy, t *plan.Tier, wave string) string {
	name := ""
	switch by {
	case v1alpha1.GroupByLevel:
		name = fmt.Sprintf("level-%02d", t.Level)
	case v1alpha1.GroupByCluster:
		name = "cluster-" + t.Cluster
	case v1alpha1.GroupBySeed:
		name = "seed"
	default:
		return ""
	}
	if wave != "" {
		name = "wave-" + wave + "-" + name
	}
	if t.Gone() || t.Orphans() || t.Leaving != nil {
		name = "remove-" + name
	}
	return name
}

// numbered returns the name of the n-th proposal of a group, and unnumbered its inverse. There is
// more than one where some were rejected, or are full.
func numbered(name string, n int) string {
	if n > 1 {
		name = fmt.Sprintf("%s.%d", name, n)
	}
	return name
}

func unnumbered(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return name
}

// regroup leaves a proposal out of account that is not to carry the tier any more: the group is
// another one now, or a person rejected it and the tier has changed since. The rest of the decision
// then goes as if there were none, and moves has the engine take the tier out of it. What a person
// has edited stays where it is, and so does everything while the seed is suspended, its rollout is
// paused, or the windows of the wave are closed.
func (d *decision) regroup() {
	p, home := d.have.Proposal, groupName(d.facts.GroupBy, d.tier, d.pace.waveOf(d.name))
	if p == nil || p.Rejected && p.Digest == d.tier.Digest() {
		return
	}
	switch same := unnumbered(p.Group) == home; {
	case p.Rejected && same && home == "": // it is updated, and open again
		return
	case p.Rejected:
	case same, p.Edited, d.facts.Suspended, d.pace.frozen(d.name):
		return
	}
	d.moves, d.have.Proposal = true, nil
	if !p.Rejected && p.Digest == d.tier.Digest() && d.have.Closed == ClosedNotAsked {
		d.have.Closed = ClosedNone // people are asked already
	}
}

// group forms the proposals of several tiers, of what the states of tiers ask for, in three steps:
// the listed proposals keep the members that may stay; tiers that are free join the proposal of
// their group, or a new one; and each proposal gets the act that follows from its members.
//
// The states of tiers are decided one by one before this, so grouping never lets a tier through
// that would not be proposed alone. It may only hold one back: in a proposal of another name, or
// with a member that must not be merged yet.
func (r *Result) group(p *plan.Plan, facts Facts) {
	members := map[groupKey][]*TierStatus{}
	for i := range p.Tiers {
		if s := &r.Tiers[i]; s.Group != "" {
			key := groupKey{p.Tiers[i].Repo, s.Group}
			members[key] = append(members[key], s)
		}
	}
	homes := map[groupKey][]int{}
	for i, listed := range facts.Groups {
		home := groupKey{listed.Repo, unnumbered(listed.Name)}
		homes[home] = append(homes[home], i)
		r.Groups = append(r.Groups, keep(listed, members[groupKey{listed.Repo, listed.Name}]))
	}
	for i := range p.Tiers {
		home := groupKey{p.Tiers[i].Repo, groupName(facts.GroupBy, &p.Tiers[i], r.Tiers[i].Wave)}
		if home.name != "" && r.Tiers[i].Act == ActPropose {
			homes[home] = r.join(&r.Tiers[i], home, homes[home])
		}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		slices.SortFunc(g.Tiers, layout.Tier.Compare)
		switch {
		case g.listed.Edited || g.stuck || g.Act == ActPropose:
		case len(g.Tiers) == 0:
			g.Act, g.Why = ActSupersede, cmp.Or(g.Why, "none of its tiers belongs to it any more")
		case !g.listed.Rejected && !slices.Equal(g.Tiers, g.listed.Tiers):
			g.Act = ActUpdate
		}
	}
}

// keep decides which tiers stay in a proposal that is listed. One that is Held leaves it, and so
// does one whose prerequisites are no longer Released, or for which its wave has no room, as long as
// others can go on: a merge is of all of them. If all would leave, all stay, and the gate of the proposal is shut instead.
func keep(listed Group, carried []*TierStatus) GroupStatus {
	listed.Tiers = slices.SortedFunc(slices.Values(listed.Tiers), layout.Tier.Compare)
	g := GroupStatus{Repo: listed.Repo, Name: listed.Name, listed: listed}
	var members []*TierStatus
	for _, s := range carried {
		if s.Act == ActSupersede {
			g.Why = cmp.Or(g.Why, s.Message)
			s.Act, s.Group = ActNone, ""
			continue
		}
		members = append(members, s)
		g.stuck = g.stuck || s.stuck() && s.full == ""
	}
	if !g.locked() && !g.stuck {
		members = leaveOut(members, func(s *TierStatus) bool { return s.State == Held })
		members = leaveOut(members, func(s *TierStatus) bool { return len(s.Waits) > 0 })
		members = leaveOut(members, func(s *TierStatus) bool { return s.full != "" })
	}
	g.stuck = g.stuck || slices.ContainsFunc(members, (*TierStatus).stuck)
	for _, s := range members {
		g.Tiers = append(g.Tiers, s.Tier)
		if s.Act == ActUpdate && !g.stuck {
			g.Act = ActUpdate
		}
	}
	return g
}

// stuck reports whether the proposal of a tier carries an earlier plan and must not be updated now.
func (s *TierStatus) stuck() bool { return s.State == Outdated && s.Act == ActNone }

// leaveOut returns those that stay: all of them where all would leave. Those that leave become
// Blocked, or Queued where there is no room for them, unless they are Held, and have no proposal.
func leaveOut(members []*TierStatus, leaves func(*TierStatus) bool) []*TierStatus {
	stay := slices.DeleteFunc(slices.Clone(members), leaves)
	if len(stay) == 0 {
		return members
	}
	for _, s := range members {
		if !leaves(s) {
			continue
		}
		switch {
		case s.State == Held:
		case len(s.Waits) > 0:
			s.State = Blocked
		default:
			s.State, s.Reason, s.Message = Queued, v1alpha1.ReasonMaxUnavailable, s.full
		}
		s.Act, s.Group = ActNone, ""
		s.Gate, s.GateReason, s.Stale, s.StaleReason = "", "", "", ""
	}
	return stay
}

// join adds a free tier to the open proposal of its group, or to a new one. The proposals of
// the group are those at some indexes; it returns them with the new one.
func (r *Result) join(s *TierStatus, home groupKey, at []int) []int {
	taken := map[string]bool{}
	room := -1
	for _, i := range at {
		g := &r.Groups[i]
		taken[g.Name] = true
		switch {
		case g.listed.Edited && !g.listed.Rejected && len(g.listed.Tiers) > 0:
			s.Act, s.Reason = ActNone, v1alpha1.ReasonWaitingForProposal
			s.Message = fmt.Sprintf("waits for proposal %s/%s, which a person has edited. Merge it, or delete %s", s.Tier.Seed, g.Name, deletable(g.listed.Branch))
			return at
		case room < 0 && !g.locked() && !g.stuck && len(g.Tiers) < MaxMembers:
			room = i
		}
	}
	if room < 0 {
		n := 1
		for taken[numbered(home.name, n)] {
			n++
		}
		room = len(r.Groups)
		r.Groups, at = append(r.Groups, GroupStatus{Repo: home.repo, Name: numbered(home.name, n), Act: ActPropose}), append(at, room)
	}
	g := &r.Groups[room]
	g.Tiers = append(g.Tiers, s.Tier)
	s.Group = g.Name
	return at
}

// shutGroups gives the tiers of a proposal the reason why one of the others must not be merged: a
// merge is of all of them. It computes everything anew from the members, so it may be called again
// after their states have changed.
func (r *Result) shutGroups() {
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Gate, g.Now = "", ""
		stale := ""
		members := make([]*TierStatus, 0, len(g.Tiers))
		for _, tier := range g.Tiers {
			s, found := r.find(tier)
			if !found {
				continue
			}
			members = append(members, s)
			stale = cmp.Or(stale, s.Stale)
			if g.Gate == "" && s.Gate != "" {
				g.Gate = inGroup(g.Tiers, tier, s.Gate)
			}
		}
		shut := cmp.Or(g.listed.Differs, g.Gate, r.mustNotBring(g))
		g.Now = cmp.Or(shut, stale)
		for _, s := range members {
			if s.others = ""; s.Gate == "" {
				s.others = shut
			}
		}
	}
}

// mustNotBring returns which tier a proposal still carries, on its branch, that must not be merged
// with it, though it is no longer one of the members: until the branch is rebuilt, a merge would
// bring it, too.
func (r *Result) mustNotBring(g *GroupStatus) string {
	if g.listed.Rejected {
		return ""
	}
	for _, tier := range g.listed.Tiers {
		if slices.Contains(g.Tiers, tier) {
			continue
		}
		s, planned := r.find(tier)
		switch {
		case !planned:
			return inGroup(g.listed.Tiers, tier, "it is not in the plan any more")
		case s.State == Blocked, s.State == Held, s.State == Queued && s.Act == ActNone && s.Group == "":
			return inGroup(g.listed.Tiers, tier, s.Message)
		case s.Group != "" || s.State == Proposed:
			return inGroup(g.listed.Tiers, tier, "it is proposed elsewhere")
		}
	}
	return ""
}

// inGroup prefixes a text with the tier that it is about, if there are several.
func inGroup(of []layout.Tier, tier layout.Tier, text string) string {
	if len(of) == 1 {
		return text
	}
	return tier.Name() + ": " + text
}
