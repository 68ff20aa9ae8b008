package release

import (
	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// ChecksState says what the checks of a forge, as a whole, say of a proposal.
type ChecksState string

const (
	// ChecksPassed means that all have passed, and that there is one.
	ChecksPassed ChecksState = "Passed"
	// ChecksPending means that some have not ended, or that none has begun.
	ChecksPending ChecksState = "Pending"
	// ChecksFailed means that some have failed.
	ChecksFailed ChecksState = "Failed"
	// ChecksQueued means that the merge queue of the forge has the proposal.
	ChecksQueued ChecksState = "Queued"
	// ChecksRefused means that they have passed, and that a rule of the forge refused the merge.
	ChecksRefused ChecksState = "Refused"
	// ChecksUnprotected means that they have passed, and that everybody may push to Furrow's branches,
	// unsigned.
	ChecksUnprotected ChecksState = "Unprotected"
	// ChecksUnknown means that they could not be read, or that there is nothing to read.
	ChecksUnknown ChecksState = "Unknown"
)

// Checks are what the checks of a forge say of a proposal, and which of them say so.
type Checks struct {
	State ChecksState `json:"state"`
	Why   string      `json:"why,omitempty"`
}

// autoMerge has those proposals merged that the seed's rollout lets Furrow merge. It
// concerns only what is open as wanted and may be merged by people, and nothing while the seed is
// suspended.
func (r *Result) autoMerge(p *plan.Plan, facts Facts) {
	if p.Rollout == nil || !p.Rollout.AutoMerge || facts.Suspended {
		return
	}
	for i := range p.Tiers {
		s := &r.Tiers[i]
		if s.Group == "" && mergesItself(&p.Tiers[i], s, facts.Tiers[s.Tier]) {
			r.merge(facts, s)
		}
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		if !g.mergesItself() {
			continue
		}
		all, members := true, make([]*TierStatus, 0, len(g.Tiers))
		for _, name := range g.Tiers {
			t, planned := p.Find(name.Cluster, name.Ordinal)
			s, found := r.find(name)
			if all = all && planned && found && mergesItself(t, s, facts.Tiers[name]); !all {
				break
			}
			members = append(members, s)
		}
		if all && r.merge(facts, members...) {
			g.Act = ActMerge
			for _, s := range members {
				s.Act = ActNone // the group's
			}
		}
	}
}

// mergesItself reports whether a proposal of several tiers may be merged without a person, as far as
// that does not depend on each of them.
func (g *GroupStatus) mergesItself() bool {
	return g.Act == ActNone && !g.locked() && !g.stuck && g.Now == "" && len(g.Tiers) > 0
}

// mergesItself reports whether a proposed tier may be merged without a person.
func mergesItself(t *plan.Tier, s *TierStatus, f TierFacts) bool {
	of := f.Proposal
	if of == nil || of.Edited || of.Rejected || s.State != Proposed || s.Act != ActNone || s.Shut() != "" {
		return false
	}
	return t.Leaving == nil && !t.Gone() && !t.Orphans() && t.Orphan == nil && len(f.Foreign) == 0
}

// merge merges one proposal, whose tiers are given, where its checks have passed, and else says what
// it waits for.
func (r *Result) merge(facts Facts, members ...*TierStatus) bool {
	checks := facts.Tiers[members[0].Tier].Proposal.Checks
	for _, s := range members {
		switch {
		case checks == nil:
			s.NeedsChecks = true
		case checks.State == ChecksPassed:
			s.Act, s.Reason, s.Message = ActMerge, v1alpha1.ReasonAutoMerging, "is being merged: its checks have passed"
		case checks.State == ChecksFailed:
			s.Reason, s.Message = v1alpha1.ReasonChecksFailed, "is not merged by itself: "+checks.Why
		case checks.State == ChecksRefused:
			s.Reason, s.Message = v1alpha1.ReasonMergeRefused, "is merged once the forge allows it: "+checks.Why
		case checks.State == ChecksQueued:
			s.Reason, s.Message = v1alpha1.ReasonMergeQueued, "is merged by the forge: "+checks.Why
		case checks.State == ChecksUnprotected:
			s.Reason, s.Message = v1alpha1.ReasonBranchesUnprotected, "waits to be merged by a person: "+checks.Why
		case checks.State == ChecksPending:
			s.Reason, s.Message = v1alpha1.ReasonWaitingForChecks, "is merged once its checks have passed: "+checks.Why
		default:
			s.Reason, s.Message = v1alpha1.ReasonChecksUnknown, "waits to be merged by a person: "+checks.Why
		}
	}
	return checks != nil && checks.State == ChecksPassed
}
