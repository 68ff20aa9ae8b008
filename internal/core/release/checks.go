package release

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// checks are asked in this order; the first that has an answer decides. A tier about which none has
// an answer is free to be proposed. The order is the policy:
//
//   - What base already has goes before everything about proposals.
//   - What must not leave, or be overwritten, goes before any proposal of it.
//   - What an open proposal is goes before whether a new one may be made: people have it in front
//     of them.
//   - A tier that waits for others, or for its wave, is decided before anything about it has to be
//     asked: blocked and paced go before unfit and closed, which may need answers about roots and
//     closed proposals. What has no room in its wave is known only when those are known.
var checks = []func(*decision) (TierStatus, bool){
	onBase,
	removalOnHold,
	unconfirmed,
	unprotected,
	foreign,
	differing,
	proposedAsWanted,
	proposedOtherwise,
	blocked,
	paced,
	unfit,
	suspended,
	closed,
	waveFull,
}

// onBase: base has the entries, or what a person made of them, so health alone
// says how far the tier is. A proposal that is still open is of no use any more.
func onBase(d *decision) (TierStatus, bool) {
	state := d.gates.baseState(d.name)
	if state == "" {
		return TierStatus{}, false
	}
	v := d.have.Health
	s := TierStatus{State: state, Reason: v.Reason, On: v.On, Object: v.Object, Message: v.Message}
	if d.tier.Orphans() {
		s.Reason, s.On = v1alpha1.ReasonOrphanPending, d.tier.Object.Cluster
		s.Message = fmt.Sprintf("cluster %s was abandoned, and the reconciler on %s must first be set to leave everything there: %s", d.name.Cluster, d.tier.Object.Cluster, s.Message)
	}
	if note := d.toLeave(); note != "" {
		s.Message = strings.TrimPrefix(s.Message+"; "+note, "; ")
	}
	if d.have.Base == BaseAmended {
		s.Amended = d.have.BaseDetail
	}
	if d.have.Proposal != nil && !d.have.Proposal.Edited {
		s.Act = ActSupersede
	}
	return s, true
}

// toLeave says what of a tier on base is to leave, although nothing takes it away yet; empty if nothing is.
func (d *decision) toLeave() string {
	objects := d.plan.Objects(d.tier)
	leaving := 0
	for _, o := range objects {
		if o.Leaving {
			leaving++
		}
	}
	switch {
	case d.facts.Lost[d.name.Cluster]:
		return fmt.Sprintf("no document declares cluster %[1]s any more, so all of it is to leave: restore the document, or run 'furrow abandon %[1]s' if the cluster is gone for good", d.name.Cluster)
	case leaving == 0:
		return ""
	case leaving == len(objects):
		return "all of it leaves once the rest of the seed is released"
	case leaving == 1:
		return fmt.Sprintf("1 of %d objects leaves once the rest of the seed is released", len(objects))
	}
	return fmt.Sprintf("%d of %d objects leave once the rest of the seed is released", leaving, len(objects))
}

// removalOnHold: a seed that cannot be planned keeps what it has; an earlier plan by
// which something leaves waits.
func removalOnHold(d *decision) (TierStatus, bool) {
	if !d.facts.KeepAll || d.tier.Leaving == nil || d.have.Base == BaseNothing {
		return TierStatus{}, false
	}
	reason, why := v1alpha1.ReasonRemovalOnHold, "removals are on hold because the seed cannot be planned"
	if d.facts.Guarded {
		reason, why = v1alpha1.ReasonDeletionGuard, fmt.Sprintf("removals are on hold because the deletion guard holds that of the seed. Run 'furrow confirm %s' to remove it, or put it back", d.name.Seed)
	}
	return d.holdRemoval(reason, why, nil)
}

// unconfirmed: what only a person may let go stays until they have confirmed it. What base has
// nothing of is gone already, whatever the plan says.
func unconfirmed(d *decision) (TierStatus, bool) {
	guarded := d.tier.Guarded()
	if d.facts.Confirmed || len(guarded) == 0 || d.have.Base == BaseNothing {
		return TierStatus{}, false
	}
	return d.holdRemoval(v1alpha1.ReasonDeletionGuard, fmt.Sprintf("blocked by the deletion guard: it deletes %[1]s. Run 'furrow confirm %[2]s' to remove it, or put it back into the seed",
		plan.List(guarded), d.name.Seed), guarded)
}

// holdRemoval holds what leaves and takes an open proposal of it back; one that a person
// has edited stays, and must not be merged.
func (d *decision) holdRemoval(reason v1alpha1.Reason, why string, unconfirmed []plan.Removed) (TierStatus, bool) {
	s := TierStatus{State: Held, Reason: reason, Message: why, Unconfirmed: unconfirmed}.shut()
	if p := d.have.Proposal; p != nil && !p.Edited && !p.Rejected {
		s.Act = ActSupersede
	}
	return s, true
}

// unprotected: the tier loses an object that has moved to another one, and the reconciler could delete
// it on the cluster.
func unprotected(d *decision) (TierStatus, bool) {
	switch why := d.have.Unprotected; {
	case why == nil:
		return TierStatus{}, false
	case why.Reason == v1alpha1.ReasonMovePending:
		return because(Queued, *why).shut(), true
	default:
		return because(Held, *why).shut(), true
	}
}

// foreign: what Furrow did not put there is not overwritten unless a person asks
// for it, as by the open proposal that was made so.
func foreign(d *decision) (TierStatus, bool) {
	if d.have.Base != BaseForeign || d.proposed() && !d.have.Proposal.Stale {
		return TierStatus{}, false
	}
	why := fmt.Sprintf("%s. Remove it from the base branch, make the seed say the same, or run 'furrow retry %s' to propose what belongs there", d.have.BaseDetail, d.name.Seed)
	return TierStatus{State: Held, Reason: v1alpha1.ReasonForeignContent, Message: why}.shut(), true
}

// differing: an open proposal, or the branch where it would be, holds what no plan has. It is not
// Furrow's, so it is neither updated nor merged.
func differing(d *decision) (TierStatus, bool) {
	p := d.have.Proposal
	if p == nil || p.Differs == "" {
		return TierStatus{}, false
	}
	return TierStatus{State: Held, Reason: v1alpha1.ReasonProposalDiffers, Message: p.Differs}.shut(), true
}

// proposed reports whether an open proposal has the present entries.
func (d *decision) proposed() bool {
	p := d.have.Proposal
	return p != nil && p.Digest == d.tier.Digest()
}

// proposedAsWanted: an open proposal has the present entries, so nothing is left to do but to wait,
// unless base has moved under it. A proposal that a person has edited is theirs: it is never
// grafted anew.
func proposedAsWanted(d *decision) (TierStatus, bool) {
	p := d.have.Proposal
	if !d.proposed() {
		return TierStatus{}, false
	}
	if p.Rejected {
		return TierStatus{State: Rejected, Reason: v1alpha1.ReasonRejected, Message: rejection(p.Reason, d.name.Seed, p)}, true
	}
	open := d.proposedText()
	s := TierStatus{State: Proposed, Reason: open.reason, Message: open.message, Waits: d.waits()}
	if why := d.have.LeftBehind; why != nil {
		s.Gate, s.GateReason = why.Text(), why.Reason
	}
	if h := d.pace.hold(d.name, false); h != nil && s.Gate == "" {
		h.shut(&s, "")
	}
	switch {
	case p.Edited && p.Unknown:
		s.Reason, s.Message = v1alpha1.ReasonEditedOnPlainGit, "is not to be merged as it is: "+EditedOnPlainGit(p.Branch)
	case p.Edited:
		s.Reason, s.Message = v1alpha1.ReasonEditedByPerson, "waits to be merged; a person has edited it"
	case p.Stale: // whatever its gate says: it could bring back what was removed from base
		s.Act, s.Reason, s.Message = ActUpdate, v1alpha1.ReasonProposalStale, "is updated: the base branch has changed under it"
	case p.Behind && s.Gate == "" && len(s.Waits) == 0:
		s.Act, s.Reason, s.Message = ActUpdate, v1alpha1.ReasonProposalOutdated, "is updated with the base branch"
	}
	return s, true
}

// EditedOnPlainGit says why a proposal that a person has edited is better not merged there.
func EditedOnPlainGit(branch string) string {
	return "a person has edited it, and on plain Git the tier is Held once that is merged. Make the change in the seed and delete " + deletable(branch)
}

// proposedText returns what an open proposal with the present entries waits for.
func (d *decision) proposedText() openProposal {
	switch {
	case d.tier.Gone():
		return openProposal{v1alpha1.ReasonRemovalOpen, "waits to be merged: it removes the tier"}
	case d.tier.Orphans():
		return openProposal{v1alpha1.ReasonOrphanOpen, fmt.Sprintf("waits for review: it orphans the objects on abandoned cluster %s, before the tier is removed", d.name.Cluster)}
	}
	return openProposal{v1alpha1.ReasonProposalOpen, "waits to be merged"}
}

// rejection says why a tier is not proposed, and what brings its proposal back. p is nil if its branch
// is gone. The commits of people on the branch of a tier are never overwritten, so another content is
// proposed only once that branch is deleted; a group gets another branch instead.
func rejection(reason, seed string, p *Proposal) string {
	if reason != "" {
		reason = ": " + manifest.Printable(reason)
	}
	if p == nil || !p.Edited || p.Group != "" {
		return fmt.Sprintf("a person rejected it%s. Change the seed, or run 'furrow retry %s'", reason, seed)
	}
	return fmt.Sprintf("a person rejected it%s. Run 'furrow retry %s' to open it again. A person has edited it, so to have a change of the seed proposed, delete %s", reason, seed, deletable(p.Branch))
}

// proposedOtherwise: an open proposal has other entries than the plan in force. It is updated in
// place, so comments and approvals stay where they are, unless it is edited, or the tier may
// not be proposed now.
func proposedOtherwise(d *decision) (TierStatus, bool) {
	p := d.have.Proposal
	if p == nil {
		return TierStatus{}, false
	}
	switch {
	case p.Edited && p.Rejected:
		return TierStatus{State: Held, Reason: v1alpha1.ReasonEditedAndRejected, Message: "a person has edited the proposal and rejected it, and the plan has changed since. Delete " + deletable(p.Branch), Waits: d.waits()}, true
	case p.Edited:
		s := TierStatus{State: Held, Reason: v1alpha1.ReasonEditedAndOutdated, Message: "a person has edited the open proposal, and the plan has changed since. Merge it, or delete " + deletable(p.Branch), Waits: d.waits()}
		if h := d.pace.hold(d.name, false); h != nil {
			h.shut(&s, "")
		}
		if len(s.Waits) > 0 || p.Stale || p.Outside != "" || p.Unknown {
			s.Reason, s.Message = v1alpha1.ReasonEditedAndUnmergeable, "a person has edited the open proposal, and the plan has changed since. Delete "+deletable(p.Branch)
		}
		return s, true
	}
	if waits := d.waits(); len(waits) > 0 {
		return TierStatus{State: Blocked, Waits: waits, Act: ActSupersede}, true
	}
	if h := d.pace.hold(d.name, false); h != nil && !h.withdraws {
		s := TierStatus{State: Outdated, Reason: h.Reason, Message: "is not updated now: " + h.Message}
		h.shut(&s, "it carries an earlier plan, and is not updated now: ")
		return s, true
	} else if h != nil {
		return TierStatus{State: Queued, Reason: h.Reason, Message: h.Message, Act: ActSupersede, behind: h.behind}, true
	}
	if d.facts.Suspended {
		const why = "is not updated while the seed is suspended"
		return TierStatus{State: Outdated, Reason: v1alpha1.ReasonSuspended, Message: why, Gate: "it carries an earlier plan, and " + why, GateReason: v1alpha1.ReasonSuspended}, true
	}
	return TierStatus{State: Outdated, Reason: v1alpha1.ReasonProposalOutdated, Message: "is updated", Act: ActUpdate}, true
}

// blocked: a prerequisite is not Released, or, of what leaves, something that needs it has not
// left.
func blocked(d *decision) (TierStatus, bool) {
	waits := d.waits()
	if len(waits) == 0 {
		return TierStatus{}, false
	}
	return TierStatus{State: Blocked, Waits: waits}, true
}

// paced: the tier's wave has not its turn, or the rollout is paused.
func paced(d *decision) (TierStatus, bool) { return d.held(true) }

// waveFull: as many clusters of the tier's wave are under way as may be.
func waveFull(d *decision) (TierStatus, bool) { return d.held(false) }

// held asks the pace, about what may be asked to find out whether the tier could be proposed, or about
// proposing it.
func (d *decision) held(asking bool) (TierStatus, bool) {
	h := d.pace.hold(d.name, asking)
	if h == nil {
		return TierStatus{}, false
	}
	return TierStatus{State: Queued, Reason: h.Reason, Message: h.Message, behind: h.behind}, true
}

// WaitText returns what a tier of a seed waits for.
func WaitText(seed string, waits []Wait) string {
	message := fmt.Sprintf("waits for %s (%s): %s", waits[0].Tier.NameIn(seed), waits[0].State, waits[0].Why)
	if n := len(waits) - 1; n > 0 {
		message += fmt.Sprintf("; and %d more", n)
	}
	return message
}

// unfit: the cluster's root would not sync the tier, or would leave its objects behind. Unknown is
// not fit, and not wrong either: the tier is Queued, because time may answer, and Held only where a
// person has to act.
func unfit(d *decision) (TierStatus, bool) {
	switch {
	case d.have.LeftBehind != nil:
		return because(Held, *d.have.LeftBehind), true
	case d.have.RootNotAsked:
		return TierStatus{State: Queued, Reason: v1alpha1.ReasonProposing, Message: "is about to be proposed", NeedsRoot: true}, true
	case d.have.RootUnfit != nil:
		return because(Held, *d.have.RootUnfit), true
	case d.have.RootUnknown != nil:
		return because(Queued, *d.have.RootUnknown), true
	}
	return TierStatus{}, false
}

// suspended: a suspended seed opens no proposal. Those that are open may be merged.
func suspended(d *decision) (TierStatus, bool) {
	if !d.facts.Suspended {
		return TierStatus{}, false
	}
	return TierStatus{State: Queued, Reason: v1alpha1.ReasonSuspended, Message: "is not proposed while the seed is suspended"}, true
}

// closed: the same entries were proposed before. Rejected and reverted entries are not proposed
// again, so nobody has to close the same pull request twice; other entries are a new question.
func closed(d *decision) (TierStatus, bool) {
	switch d.have.Closed {
	case ClosedNotAsked:
		return TierStatus{State: Queued, Reason: v1alpha1.ReasonProposing, Message: "is about to be proposed", NeedsClosed: true}, true
	case ClosedRejected:
		return TierStatus{State: Rejected, Reason: v1alpha1.ReasonRejected, Message: rejection(d.have.ClosedReason, d.name.Seed, nil)}, true
	case ClosedMerged:
		return TierStatus{State: Reverted, Reason: v1alpha1.ReasonReverted, Message: fmt.Sprintf("it was merged, and the base branch no longer has it. Change the seed, or run 'furrow retry %s' to propose it again", d.name.Seed)}, true
	}
	return TierStatus{}, false
}

// waits lists what must come before a proposal. What leaves waits for those
// that needed it to have left; everything else for its prerequisites.
func (d *decision) waits() []Wait {
	if d.tier.Orphans() || d.tier.Leaving != nil && d.have.Base != BaseNothing {
		return d.waitsOfLeaving()
	}
	return slices.Clone(d.gates.of(d.name))
}

// waitsOfLeaving returns what a tier waits for before something of it goes: those that go before
// it, and, if all of it goes, seeds that still need it.
func (d *decision) waitsOfLeaving() []Wait {
	out := slices.Clone(d.gates.ofLeaving(d.name))
	if d.tier.Gone() || d.tier.Orphans() {
		for _, name := range d.facts.Needed[d.name] {
			out = append(out, Wait{name, Merged, fmt.Sprintf("seed %q still needs it", name.Seed), v1alpha1.ReasonNeededBySeed})
		}
	}
	return out
}

// stateOf names the state of a prerequisite whose entries are not on base yet.
func stateOf(s State, known bool) State {
	switch {
	case !known:
		return Blocked
	case s == "":
		return Queued
	}
	return s
}
