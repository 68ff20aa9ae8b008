// Package release decides the states of tiers and the next action for each.
//
// The flow is
//
//	plan, facts of one pass ─▶ Next ─▶ checks, tier by tier ─▶ states ─▶ groups ─▶ Result
//
// Next is a pure function of a plan and the facts of one pass. Nothing is kept between passes: a
// state follows from the current facts. A fact that a check needs and that was not observed makes
// the tier Queued, with NeedsRoot or NeedsClosed set; the caller gets the answer and asks again.
//
// Invariants:
//   - Gates guard proposing, not running, so nothing on the base branch is ever reverted because
//     health flaps.
//   - An unknown fact never passes a gate.
//   - A tier is proposed only while all its direct and indirect prerequisites, in any plan, are
//     Released at their entries of the plan in force.
//   - An open proposal whose merge would change more than the tier's entries has a shut gate until
//     it is rebuilt.
//   - A branch that a person has edited is not changed.
package release

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// State of a tier.
type State string

const (
	// Blocked means that a prerequisite is not Released at its entries of the plan in force.
	Blocked State = "Blocked"
	// Queued means that the tier is free to be proposed, but held by what Message names, or about
	// to be.
	Queued State = "Queued"
	// Proposed means that an open proposal carries the tier's entries.
	Proposed State = "Proposed"
	// Outdated means that an open proposal carries other entries and is being updated.
	Outdated State = "Outdated"
	// Held means that a person has to decide something first; Message names the way out.
	Held State = "Held"
	// Rejected means that a person rejected these entries.
	Rejected State = "Rejected"
	// Reverted means that these entries were merged and are no longer on base.
	Reverted State = "Reverted"
	// Merged means that base has the entries and the reconciler is not there yet.
	Merged State = "Merged"
	// Progressing means that the reconciler has them and is not ready.
	Progressing State = "Progressing"
	// Failed means that the reconciler cannot build or apply them, or reported that an object failed.
	Failed State = "Failed"
	// Released means that the cluster runs exactly what was merged, and is healthy.
	Released State = "Released"
	// Gone means that nothing of the tier is left, as the plan wants it.
	Gone State = "Gone"
)

// Done reports whether nothing is left to do about a tier.
func (s State) Done() bool { return s == Released || s == Gone }

// OnBase reports whether base is as the plan wants it, so the tier waits for its cluster at most.
func (s State) OnBase() bool { return s.Done() || s.changing() }

// changing reports whether the cluster is not ready with what was merged.
func (s State) changing() bool { return s == Merged || s == Progressing || s == Failed }

// States in the order in which a tier usually passes them.
var States = []State{Blocked, Queued, Proposed, Outdated, Held, Rejected, Reverted, Merged, Progressing, Failed, Released, Gone}

// Base says what the base branch has at a tier's paths.
type Base string

const (
	// BaseNothing means that nothing is there.
	BaseNothing Base = "Nothing"
	// BaseEntries means that exactly the plan's entries are there.
	BaseEntries Base = "Entries"
	// BaseAmended means that there is what a person made of the plan's entries in their
	// proposal before it was merged.
	BaseAmended Base = "Amended"
	// BaseEarlier means that there is what an earlier plan put there, or a person in its proposal.
	BaseEarlier Base = "Earlier"
	// BaseForeign means that there is something that Furrow did not put there.
	BaseForeign Base = "Foreign"
)

// Closed says what became of the newest closed proposal with a tier's present digest.
type Closed string

const (
	// ClosedNotAsked means that it was not observed.
	ClosedNotAsked Closed = ""
	// ClosedNone means that there is none that counts.
	ClosedNone Closed = "None"
	// ClosedMerged means that it was merged.
	ClosedMerged Closed = "Merged"
	// ClosedRejected means that a person closed it unmerged.
	ClosedRejected Closed = "Rejected"
)

// Proposal is what counts of an open proposal, or of a rejected one whose branch is still there.
type Proposal struct {
	// Group is the name of its group; empty where it carries the tier alone.
	Group string
	// Branch is the branch that has it.
	Branch string `json:"Branch,omitempty"`
	// Digest is the digest of the tier's entries in it.
	Digest string
	// Edited reports whether a person changed it, and Unknown whether the tier is held
	// once that is merged, because the forge does not remember it.
	Edited, Unknown bool
	// Rejected reports whether a person rejected it, Reason why.
	Rejected bool
	Reason   string
	// Stale reports whether it cannot be merged as it is: base has changed under its
	// paths, or was moved back, so merging would bring back what was removed.
	Stale bool
	// Outside names what merging it would change beside the tier's own paths; empty when
	// it changes nothing else.
	Outside string
	// Differs says what it brings that no plan has, and what to do about it; empty where it is what
	// its commit says. It is Edited, too.
	Differs string `json:"Differs,omitempty"`
	// Behind reports whether the base branch has moved and the repository's policy is to follow.
	Behind bool
	// Checks are what the checks of the forge say of it; nil where they were not asked for.
	Checks *Checks `json:"Checks,omitempty"`
}

// deletable names a proposal's branch as what to delete, with the command.
func deletable(branch string) string {
	if branch == "" {
		return "its branch"
	}
	return "its branch: " + layout.DeleteCommand(branch)
}

// TierFacts is what a pass has gathered about one tier.
type TierFacts struct {
	Base Base
	// BaseDetail says, of foreign content, what is where; of amended content, how to show
	// what a person changed.
	BaseDetail string
	// Foreign are the files at the tier's paths that Furrow did not put there, as long as
	// base holds any: the tier's proposal deletes or replaces them.
	Foreign []string
	// Proposal is nil when there is none.
	Proposal *Proposal
	Closed   Closed
	// ClosedReason is why a person rejected it; empty where that is not known.
	ClosedReason string
	Health       health.Verdict
	// RootUnfit says what is wrong with the root that would sync the tier; nil when it is fit.
	RootUnfit *manifest.Problem `json:"RootUnfit,omitempty"`
	// RootUnknown says why nothing is known of that root; nil when something is.
	RootUnknown *manifest.Problem `json:"RootUnknown,omitempty"`
	// RootNotAsked reports whether the root was not observed.
	RootNotAsked bool
	// LeftBehind says, of a tier that must go, why the reconciler would leave its objects
	// behind if it went now, and what to do about it; nil if it would not.
	LeftBehind *manifest.Problem `json:"LeftBehind,omitempty"`
	// Unprotected says why the reconciler could delete objects that move to other tiers if the tier
	// got its entries now; nil if it would not.
	Unprotected *manifest.Problem `json:"Unprotected,omitempty"`
	// OnlyMoves reports whether the entries change nothing on base but objects that move.
	OnlyMoves bool `json:"OnlyMoves,omitempty"`
}

// Facts is what a pass has gathered about one plan.
type Facts struct {
	// Tiers has facts for every tier of the plan.
	Tiers map[layout.Tier]TierFacts
	// GroupBy says which tiers are proposed together, and Groups lists the proposals of
	// several that there are.
	GroupBy v1alpha1.GroupBy
	Groups  []Group
	// Suspended holds new proposals.
	Suspended bool
	// KeepAll reports whether the seed cannot be planned at present, so nothing of
	// it leaves.
	KeepAll bool
	// Guarded says of KeepAll that it is the deletion guard that holds the seed's removal.
	Guarded bool
	// Confirmed reports whether a person has confirmed what leaves with the plan.
	Confirmed bool
	// Lost are clusters that were declared once, and that no document declares and no seed creates any more.
	Lost map[string]bool
	// Fleet has the tiers of all plans in force.
	Fleet Fleet
	// Needed lists, for a tier, the tiers of other seeds that need it; see Fleet.Needed.
	Needed map[layout.Tier][]layout.Tier
	// Now is when the facts were observed, Zones are the time zones of windows, and Record is what
	// is recorded of the rollout. They count only for a plan with a rollout, or with a record.
	Now    time.Time
	Zones  map[string]window.Zone
	Record *Record
}

// Wait is one thing that a tier waits for.
type Wait struct {
	Tier   layout.Tier
	State  State
	Why    string
	Reason v1alpha1.Reason
}

// Act is the next action for a tier.
type Act string

const (
	// ActNone does nothing.
	ActNone Act = ""
	// ActPropose grafts the entries onto base and opens a proposal.
	ActPropose Act = "Propose"
	// ActUpdate grafts them again and updates the open proposal.
	ActUpdate Act = "Update"
	// ActSupersede takes the open proposal back.
	ActSupersede Act = "Supersede"
	// ActMerge merges the open proposal.
	ActMerge Act = "Merge"
)

// TierStatus is a tier's state and what follows from it.
type TierStatus struct {
	Tier   layout.Tier
	State  State
	Reason v1alpha1.Reason
	// On, Object and Path are the cluster, the object there and the path that the message is about,
	// where it is about others than the tier itself.
	On, Object, Path string
	Message          string
	Waits            []Wait
	Act              Act
	// Amended says how to show what a person changed in the entries before merging; empty if
	// base has exactly the entries.
	Amended string
	// Group is the name of the group that proposes the tier; empty if it is proposed alone.
	// The group decides on the action then.
	Group string
	// Moves reports whether the tier is proposed with others now, so a proposal of
	// it alone is superseded, or the reverse.
	Moves bool
	// proposed is what the tier is once its proposal is open as wanted.
	proposed openProposal
	// others says why another tier of the same proposal must not be merged.
	others string
	// Gate says why an open proposal must not be merged whatever its branch holds; empty
	// when there is no reason.
	Gate       string
	GateReason v1alpha1.Reason
	// Stale says why an open proposal must not be merged until it is grafted anew, or a
	// person has put their change right; empty when it need not be.
	Stale       string
	StaleReason v1alpha1.Reason
	// Unconfirmed are the objects that the tier is to lose once a person confirms it.
	Unconfirmed []plan.Removed
	// NeedsRoot and NeedsClosed report whether the root, or Closed, must be observed
	// before the state is known.
	NeedsRoot, NeedsClosed bool
	// NeedsChecks reports whether the checks of its proposal must be observed to decide whether it is
	// merged.
	NeedsChecks bool `json:"NeedsChecks,omitempty"`
	// Wave is the name of the wave that the tier goes in; empty where there are none.
	Wave string `json:"Wave,omitempty"`
	// leaving reports whether it is in the sequence of what leaves, open whether a proposal of the
	// tier alone is open, and edited whether a person has edited it.
	leaving, open, edited bool
	// behind is the wave that it waits for, and full says why there is no room for it in its wave.
	behind *stage
	full   string
}

// Retriable reports whether a person's retry has a tier proposed again: it was rejected
// or reverted, or base has at its paths what others made.
func Retriable(s TierStatus, f TierFacts) bool {
	return s.State == Rejected || s.State == Reverted || f.Base == BaseForeign || f.Base == BaseAmended
}

// Shut returns why an open proposal must not be merged now; empty when it may be merged.
func (s TierStatus) Shut() string { return cmp.Or(s.Gate, s.others, s.Stale) }

// ShutReason returns the reason of that.
func (s TierStatus) ShutReason() v1alpha1.Reason {
	if s.Gate == "" && s.others != "" {
		return v1alpha1.ReasonHeldByMember
	}
	return cmp.Or(s.GateReason, s.StaleReason)
}

// because makes a status of a problem.
func because(state State, p manifest.Problem) TierStatus {
	return TierStatus{State: state, Reason: p.Reason, On: p.Cluster, Object: p.Object, Path: p.Path, Message: p.Text()}
}

// openProposal says that a tier is proposed.
type openProposal struct {
	reason  v1alpha1.Reason
	message string
}

// shut says the same of an open proposal of the tier.
func (s TierStatus) shut() TierStatus {
	s.Gate, s.GateReason = s.Message, s.Reason
	return s
}

// Result is the state of a whole plan. It is a value of the caller's: Proposed and NameWaits change
// it in place.
type Result struct {
	// Tiers in the plan's order.
	Tiers []TierStatus
	// Groups are the proposals of several tiers, those that are listed first.
	Groups []GroupStatus
	// Done reports whether nothing is left to do: every tier is Released or Gone.
	Done bool
	// Rollout is the pace; nil where there is none.
	Rollout *RolloutStatus `json:"Rollout,omitempty"`

	pace *pace
}

// Find returns the status of a tier.
func (r Result) Find(tier layout.Tier) (TierStatus, bool) {
	s, found := r.find(tier)
	if !found {
		return TierStatus{}, false
	}
	return *s, true
}

// find searches by halves: tiers are sorted.
func (r Result) find(tier layout.Tier) (*TierStatus, bool) {
	i, found := slices.BinarySearchFunc(r.Tiers, tier, func(s TierStatus, t layout.Tier) int { return s.Tier.Compare(t) })
	if !found {
		return nil, false
	}
	return &r.Tiers[i], true
}

// BaseState returns a tier's state as far as base and health alone give it: Released, Gone or what
// is still missing; empty when base does not have the entries.
func BaseState(t *plan.Tier, f TierFacts) State {
	if t.Gone() {
		return removalState(f)
	}
	if f.Base != BaseEntries && f.Base != BaseAmended {
		return ""
	}
	if t.Orphans() {
		return Merged // until the reconciler object is known to orphan, and the tier can go
	}
	switch f.Health.Phase {
	case health.Ready:
		return Released
	case health.Progressing:
		return Progressing
	case health.Failed:
		return Failed
	}
	return Merged
}

// removalState is BaseState of a tier that is to go: it is gone when base has nothing of it and
// neither has the cluster.
func removalState(f TierFacts) State {
	if f.Base != BaseNothing {
		return ""
	}
	if f.Health.Phase == health.Absent {
		return Gone
	}
	return Progressing
}

// decision is one tier being decided: what was found of it (have), and what it waits for (gates).
type decision struct {
	facts *Facts
	plan  *plan.Plan
	tier  *plan.Tier
	name  layout.Tier
	have  TierFacts
	gates *gates
	pace  *pace
	// moves reports whether the tier has left the proposal that it was in, and open whether that is
	// open.
	moves, open bool
}

// Next derives every tier's state and next action. It costs as much as there are tiers and
// prerequisites.
func Next(p *plan.Plan, facts Facts) Result {
	g := newGates(p, facts)
	tiers := make([]*decision, len(p.Tiers))
	for i := range p.Tiers {
		t := &p.Tiers[i]
		d := &decision{facts: &facts, plan: p, tier: t, name: p.Name(t), gates: g}
		d.have = facts.Tiers[d.name]
		d.open = d.have.Proposal != nil && !d.have.Proposal.Rejected
		tiers[i] = d
	}
	paced := newPace(p, facts, tiers)
	for _, d := range tiers {
		d.pace = paced
		d.regroup()
	}
	paced.decide()
	out := Result{Done: true, Tiers: make([]TierStatus, 0, len(p.Tiers)), pace: paced}
	if paced != nil {
		out.Rollout = paced.status
	}
	for _, d := range tiers {
		s := d.decide()
		s.Tier, s.proposed, s.Moves = d.name, d.proposedText(), d.moves
		if d.have.Proposal != nil {
			s.Group = d.have.Proposal.Group
			s.open = s.Group == "" && !d.have.Proposal.Rejected
			s.edited = d.have.Proposal.Edited
		}
		s.Wave, s.leaving = paced.waveOf(d.name), d.leaves()
		d.judgeProposal(&s)
		out.Tiers = append(out.Tiers, s)
		out.Done = out.Done && s.State.Done()
	}
	out.group(p, facts)
	out.limit(p)
	out.NameWaits(nil)
	out.autoMerge(p, facts)
	return out
}

// AllReleased reports whether all tiers of a plan are Released, except those with only
// leaving objects.
func AllReleased(p *plan.Plan, facts map[layout.Tier]TierFacts) bool {
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if BaseState(t, facts[p.Name(t)]) != Released && !onlyLeaves(p, t) {
			return false
		}
	}
	return true
}

// judgeProposal says why an open proposal cannot be merged as it is, and grafts it anew
// where Furrow may, whatever its gate says.
func (d *decision) judgeProposal(s *TierStatus) {
	p := d.have.Proposal
	if p == nil || p.Rejected || s.Act == ActSupersede {
		s.Gate, s.GateReason, s.Stale, s.StaleReason = "", "", "", ""
		return
	}
	switch {
	case p.Differs != "":
		s.StaleReason, s.Stale = v1alpha1.ReasonProposalDiffers, p.Differs
	case p.Outside != "":
		s.StaleReason, s.Stale = v1alpha1.ReasonProposalTooWide, fmt.Sprintf("merging it would also change %s, which is not part of the tier. Take that out of the branch, or delete %s", p.Outside, deletable(p.Branch))
	case p.Stale && p.Edited:
		s.StaleReason, s.Stale = v1alpha1.ReasonEditedAndStale, "the base branch has changed under it, and a person has edited it. Rebase it onto the base branch, or delete "+deletable(p.Branch)
	case p.Stale:
		s.StaleReason, s.Stale = v1alpha1.ReasonProposalStale, "the base branch has changed under it; it is updated first"
	}
}

// Proposed notes that proposals of tiers were opened or updated since Next, so
// what is published after the actions does not wait for the next pass to be right.
func (r *Result) Proposed(tiers ...layout.Tier) {
	proposed := make(map[layout.Tier]bool, len(tiers))
	for _, tier := range tiers {
		proposed[tier] = true
	}
	for i := range r.Tiers {
		if t := &r.Tiers[i]; proposed[t.Tier] {
			t.State, t.Act, t.Stale, t.StaleReason = Proposed, ActNone, "", ""
			t.Reason, t.Message = t.proposed.reason, t.proposed.message
		}
	}
	for i := range r.Groups {
		if g := &r.Groups[i]; len(g.Tiers) > 0 && proposed[g.Tiers[0]] {
			g.Act, g.listed.Tiers = ActNone, g.Tiers
		}
	}
	r.NameWaits(nil)
}

// NameWaits gives what is waited for the state that it was found to have, there or in other seeds,
// and writes the messages that follow from that. The gates know what base and health say of a
// prerequisite, not whether it is Proposed, Held or Rejected, which is what people want to read. It
// may be called again when more is known.
func (r *Result) NameWaits(others map[layout.Tier]State) {
	states := make(map[layout.Tier]State, len(r.Tiers))
	for _, t := range r.Tiers {
		states[t.Tier] = t.State
	}
	for i := range r.Tiers {
		t := &r.Tiers[i]
		for j := range t.Waits {
			w := &t.Waits[j]
			if s, ok := states[w.Tier]; ok {
				w.State = s
			} else if s, ok := others[w.Tier]; ok {
				w.State = s
			}
		}
		switch {
		case t.State == Blocked:
			t.Reason, t.Message = t.Waits[0].Reason, WaitText(t.Tier.Seed, t.Waits)
		case len(t.Waits) > 0:
			t.GateReason, t.Gate = t.Waits[0].Reason, WaitText(t.Tier.Seed, t.Waits)
		}
	}
	r.nameWaves()
	r.shutGroups()
	for i := range r.Tiers {
		t := &r.Tiers[i]
		if shut := t.Shut(); t.State == Proposed && shut != "" && (t.Act == ActNone || t.Gate != "" || t.others != "") {
			t.Reason, t.Message = t.ShutReason(), DoNotMerge+shut
		}
	}
}

// DoNotMerge begins the message of a tier whose open proposal must not be merged now.
const DoNotMerge = "do not merge yet: "

// onlyLeaves reports whether the tier has nothing but objects that go once all else is released. What goes to
// another seed has to be annotated before.
func onlyLeaves(p *plan.Plan, t *plan.Tier) bool {
	for _, o := range p.Objects(t) {
		if !o.Leaving || o.HandedTo != "" {
			return false
		}
	}
	return true
}

// decide asks the checks; see there for what their order means.
func (d *decision) decide() TierStatus {
	for _, check := range checks {
		if s, decided := check(d); decided {
			return s
		}
	}
	return TierStatus{State: Queued, Reason: v1alpha1.ReasonProposing, Message: "is being proposed", Act: ActPropose}
}
