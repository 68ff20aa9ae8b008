// Package forge owns proposals, which show the entries of one or several tiers to people
// and return their decisions. A forge is where people decide: pull requests or plain
// branches.
//
// Branches are pushed by the engine, through internal/git, before a forge proposes them. A
// forge is read again on every pass, because people merge, close and edit at any time; it
// keeps nothing that cannot be lost.
//
// What a branch itself shows is read here, for all forges: a Reader distinguishes Furrow's
// commit from those of people, and a History finds what has reached base.
//
// Invariants:
//   - Nothing that is not Furrow's is ever touched, and a branch moves only from
//     the commit that the caller has read.
//   - A commit says that it is Furrow's by the trailer Furrow-Digest. Anybody can copy that, so it
//     counts as Furrow's only once its content was compared with the plan, which is what callers do
//     with Own and Paths. Merge takes nothing but the commit that they have compared.
//   - No commit or tree is read from the server, and no blob at all: refs and the
//     mirror say everything.
//
// Concurrency: a Forge, a Reader and a History may be used by several goroutines.
package forge

import (
	"context"
	"errors"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/git"
)

// Trailers of the commits that Furrow makes.
const (
	trailerPrefix = "Furrow-"

	TrailerSeed     = "Furrow-Seed"
	TrailerRevision = "Furrow-Revision"
	// TrailerTier names the tier. A proposal of several has one for each, which has the
	// tier's own digest as well.
	TrailerTier   = "Furrow-Tier"
	TrailerPlan   = "Furrow-Plan"
	TrailerDigest = "Furrow-Digest"
	// TrailerDestroys is on the commit of a proposal that destroys data when it is merged.
	TrailerDestroys = "Furrow-Destroys"
	// TrailerRejected is on the commit by which a person rejects a proposal on
	// plain Git; its value is the rejected digest.
	TrailerRejected = "Furrow-Rejected"
)

// Carried is what a proposal carries.
type Carried struct {
	// Digest is the digest of all entries.
	Digest string
	// Tiers each have the digest of their own.
	Tiers []layout.Member
	// Destroys reports whether merging it destroys data.
	Destroys bool
}

// Alone returns what a proposal of one tier carries.
func Alone(tier layout.Tier, digest string) Carried {
	return Carried{Digest: digest, Tiers: []layout.Member{{Tier: tier, Digest: digest}}}
}

// Has reports whether a tier is part of it.
func (c Carried) Has(tier layout.Tier) bool {
	return slices.ContainsFunc(c.Tiers, func(m layout.Member) bool { return m.Tier == tier })
}

// Carries reports whether a tier with this digest is part of it.
func (c Carried) Carries(tier layout.Tier, digest string) bool {
	return slices.Contains(c.Tiers, layout.Member{Tier: tier, Digest: digest})
}

// Proposal is one open or rejected proposal, as the forge has it now.
type Proposal struct {
	Seed   string
	Branch string
	// Carried is what the proposal was opened with. Digest is empty where the branch is
	// somebody else's: then Edited is set, and nobody may touch it.
	Carried
	Title string
	Body  string
	// Head is the branch's tip, Base the commit on the base branch that it was
	// grafted on: the parent of Furrow's commit.
	Head, Base git.Hash
	// Own is the commit that says what the proposal carries, as Furrow's commits do, and Author who
	// made it. Own is zero where the branch is somebody else's, and Author is that of its tip then.
	Own    git.Hash
	Author string
	// Amended reports whether another hand than the author's has committed Own.
	Amended bool
	// Edited reports whether a person has changed the branch.
	Edited bool
	// Differs says what the proposal brings that no plan has, which callers have found out. It is
	// not merged then.
	Differs string
	// MergeBy are the names of the ways to merge that leave a signature which reconcilers accept; any
	// way will do if there are none. Callers have found that out.
	MergeBy []string
	// Rejected reports whether a person has rejected it, and Reason why. What a person
	// commits on top of a rejection takes it back.
	Rejected bool
	Reason   string
	// Stale reports whether it cannot be merged as it is: it conflicts with the base
	// branch, base changed under its paths, or base was moved back to before Base, so
	// merging would bring back what people removed.
	Stale bool
	// Paths are what merging it would change on the base branch; a directory may be given
	// for all that is in it. Of one that is Stale and not edited they are what it changes of Base,
	// as far as that is known; of one that is not Furrow's there are none.
	Paths []string
	// Number is what people call it by on the server; zero on plain Git.
	Number int64
	// URL is its web page; empty on plain Git.
	URL string
}

// Closed is the newest closed proposal that carried a tier with a digest, and what became of it.
type Closed struct {
	Outcome Outcome
	// Landings are those that were merged, newest first, also where a later one with this
	// digest was rejected or reverted. There are none where that is not known, as on
	// plain Git.
	Landings []Landing
	// Plan is the plan that it was released from, where a commit on base is all that says that it was
	// merged: others may have replaced it since by commits that say nothing.
	Plan git.Hash
	// URL is its web page; empty on plain Git.
	URL string
	// Reason is why a person rejected it, or how; empty where that is not known.
	Reason string
}

// BranchDeleted is the reason of a rejection by deleting the branch.
const BranchDeleted = "its branch was deleted"

// Landing is how a proposal came to be on the base branch.
type Landing struct {
	// Merge is the commit of the base branch by which it landed, with what people had made
	// of it.
	Merge git.Hash
	// Head is the commit that was merged.
	Head git.Hash
	// URL is its web page.
	URL string
}

// Merged is a proposal that was merged.
type Merged struct {
	Branch string
	Tiers  []layout.Member
	// Merge is the commit of the base branch by which it landed; zero where that is not known.
	Merge git.Hash
	// URL is its web page; empty on plain Git.
	URL string
}

// MaxMerged is how many merged proposals are listed.
const MaxMerged = 100

// Checks are what the checks of a server, as a whole, say of a proposal.
type Checks struct {
	State ChecksState
	// Why names the checks that say so, for people.
	Why string
}

// ChecksState says whether checks have passed.
type ChecksState string

const (
	// ChecksPassed means that all have passed, and that there is one besides Furrow's gate.
	ChecksPassed ChecksState = "Passed"
	// ChecksPending means that some have not ended, or that none has begun.
	ChecksPending ChecksState = "Pending"
	// ChecksFailed means that some have failed.
	ChecksFailed ChecksState = "Failed"
	// ChecksQueued means that the server's merge queue or train has it.
	ChecksQueued ChecksState = "Queued"
	// ChecksUnprotected means that they have passed, and that they say nothing of who wrote what they
	// checked: everybody may push to Furrow's branches, and commits are not signed.
	ChecksUnprotected ChecksState = "Unprotected"
	// ChecksUnknown means that nothing can be read, or that the proposal is a draft.
	ChecksUnknown ChecksState = "Unknown"
)

// Outcome is what became of a closed proposal.
type Outcome string

const (
	// OutcomeNone means that no closed proposal carried the tier with the digest.
	OutcomeNone Outcome = "None"
	// OutcomeMerged means that it was merged, and none with another digest of the tier
	// since: those would have replaced what it brought, which is not a revert.
	OutcomeMerged Outcome = "Merged"
	// OutcomeRejected means that a person closed it unmerged.
	OutcomeRejected Outcome = "Rejected"
	// OutcomeSuperseded means that Furrow closed it itself.
	OutcomeSuperseded Outcome = "Superseded"
)

// Request is a proposal to open or to update.
type Request struct {
	Branch string
	Carried
	Title string
	Body  string
	// Head is the branch's tip, which was pushed before.
	Head git.Hash
	// Shut says why the proposal must not be merged now; empty when it may be.
	Shut string
	// Labels are what it is opened with, where the forge has labels.
	Labels []string
}

// Gate says whether a proposal may be merged.
type Gate struct {
	// Shut says why it must not be merged now; empty when it may be.
	Shut string
	// Updating reports whether the pass updates it after that.
	Updating bool
}

// Forge is where people decide about one repository's proposals.
type Forge interface {
	// List returns the open proposals, and those rejected ones whose branch is
	// still there, as they are at refs, the repository's branches of this pass. A
	// branch that brings base nothing is left out: it was merged, by whatever method,
	// and nothing is lost when the engine deletes it. The error is ErrGone where a
	// person merged one since refs were read.
	List(ctx context.Context, refs git.Refs) ([]Proposal, error)
	// Closed returns the newest closed proposal that carried the tier with this digest,
	// alone or with others. A merge that base no longer has in its history does not count;
	// the error is ErrGone if base has it only since refs were read.
	Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (Closed, error)
	// Merged returns the proposals that were merged last, newest first and no more than MaxMerged. It asks
	// the server nothing: they are those that the last List knew of.
	Merged(ctx context.Context, refs git.Refs) ([]Merged, error)
	// Ready returns why nothing may be pushed to the repository, as far as its server says: it is
	// archived, or the credentials lack something. It is asked before branches are pushed.
	Ready(ctx context.Context) error
	// Record returns the update of an owner's branch in which the forge keeps what its server cannot
	// be asked later, with the proposals that are about to be opened; false where there is no news.
	// It is pushed with the branches of those proposals, before they are opened.
	Record(refs git.Refs, owner string, opening []Request, by git.Person) (update git.Update, news bool, err error)
	// Propose opens the proposal of a branch, or updates the open one.
	// It does nothing where that was done before. The error is ErrGone where a person
	// has decided about this digest since the proposals were listed.
	Propose(ctx context.Context, r Request) (Proposal, error)
	// Supersede closes a proposal that Furrow withdraws, marked as such. The
	// engine deletes its branch.
	Supersede(ctx context.Context, p Proposal, why string) error
	// Requires returns what base asks of a merge, as it was some minutes ago at most.
	Requires(ctx context.Context) (Requirements, error)
	// Merging returns how the server lets people merge, as it was some minutes ago at most.
	Merging(ctx context.Context) (merging.Repository, error)
	// Checks returns what the checks of the server say of a proposal, at the commit that was listed.
	Checks(ctx context.Context, p Proposal) (Checks, error)
	// Merge accepts a proposal for a person, with what people changed on its branch.
	// The error is ErrConflict, ErrGone, ErrRejected or ErrForeign where the
	// proposal is to blame; nothing was changed then. It is ErrQueued where the server's merge
	// queue has it now, and merges it later or removes it.
	Merge(ctx context.Context, p Proposal, by git.Person) error
	// Reject rejects a proposal for a person. It does nothing where that was done before.
	Reject(ctx context.Context, p Proposal, by git.Person, reason string) error
	// Reopen takes a rejection back. It does nothing where there is none.
	Reopen(ctx context.Context, p Proposal) error
	// Gate shows on the proposal why it must not be merged now, or that it may be. It is called on
	// every pass, and does nothing where that is shown already.
	Gate(ctx context.Context, p Proposal, g Gate) error
	// Warnings are what people should know of proposals and that holds nothing, as of the last pass.
	Warnings() manifest.Problems
	// Amends reports whether a person's changes to a proposal are still known after the
	// merge; otherwise they appear as foreign content, and the tier is held.
	Amends() bool
	// Budget returns what the server still allows, by its last answer, without asking it. It is the
	// zero value where the server sets no limits.
	Budget() Budget
}

// ErrConflict means that a proposal cannot be merged as it is. Furrow brings one that
// nobody has edited up to date by itself.
var ErrConflict error = manifest.Problem{Reason: "ProposalConflict", Message: "the base branch has changed under the proposal, so it cannot be merged as it is"}

// ErrGone means that a proposal is no longer there, or no longer what was asked for.
var ErrGone error = manifest.Problem{Reason: "ProposalChanged", Message: "the proposal has changed or was deleted; read it again"}

// ErrRejected means that a person has rejected the proposal.
var ErrRejected error = manifest.Problem{Reason: "Rejected", Message: "the proposal was rejected; take that back first, with furrow retry"}

// ErrForeign means that what is on a proposal's branch is not Furrow's.
var ErrForeign error = manifest.Problem{Reason: "NotAProposal", Message: "the branch holds no proposal of Furrow's; merge, move or delete it with git"}

// ErrDiffers means that a proposal brings what no plan of Furrow's has.
var ErrDiffers error = manifest.Problem{Reason: "ProposalDiffers", Message: "the proposal is not what was planned, though its commit says that it is Furrow's; read it, and merge or delete its branch with git"}

// ErrQueued means that a proposal is in the merge queue or merge train of its base branch.
var ErrQueued error = manifest.Problem{Reason: "MergeQueued", Message: "the proposal is in the merge queue of its base branch, which merges it later"}

// IsQueued reports whether err is ErrQueued.
func IsQueued(err error) bool { return errors.Is(err, ErrQueued) }

// IsConflict reports whether err is ErrConflict.
func IsConflict(err error) bool { return errors.Is(err, ErrConflict) }

// IsGone reports whether err is ErrGone.
func IsGone(err error) bool { return errors.Is(err, ErrGone) }

// IsRejected reports whether err is ErrRejected.
func IsRejected(err error) bool { return errors.Is(err, ErrRejected) }

// IsDiffers reports whether err is ErrDiffers.
func IsDiffers(err error) bool { return errors.Is(err, ErrDiffers) }

// IsForeign reports whether err is ErrForeign.
func IsForeign(err error) bool { return errors.Is(err, ErrForeign) }
