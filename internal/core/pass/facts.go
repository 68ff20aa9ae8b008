// Package pass decides what a pass does: from everything that was observed to all actions.
//
//	Facts ─▶ Decide ─▶ Decision
//	  ▲         │
//	  └─ answers ◀─ []Question
//
// Decide is a pure function. It chooses the plan in force of every seed, guards removals, derives
// the states of tiers and lists the actions. If it needs a fact that cannot be known in advance,
// such as what a commit has at a path, it returns questions. The observer adds the answers to the
// facts and decides again, until there are no questions (docs/decisions/0014).
//
// The files follow the steps: previous.go reads the plans on their branches; tier.go, root.go and
// tier_proposal.go gather the facts of tiers, and verify.go compares proposals with plans; commits.go compares
// the commit that is read with the one planned last; decide.go chooses plans and derives states; guard.go
// and orphan.go are about what leaves; actions.go and proposal.go make the actions. question.go has the
// questions.
//
// Invariants:
//   - The same facts give the same decision, in whatever order they come.
//   - A decision with open questions is never acted on.
//   - What could not be observed is never treated as gone.
//   - Decide does not change the facts, so they can be recorded before or after it.
//
// Facts are plain values that can be written to a file and read back.
package pass

import (
	"slices"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// Facts is all that a pass has observed. Decide only reads them; the observer adds to them between
// its calls.
type Facts struct {
	// Now is when it was observed.
	Now time.Time `json:"now"`
	// Self is whose control plane it is.
	Self plan.Identity `json:"self"`
	// DeletionGuard is the share of plantings, in percent, that may go at once.
	DeletionGuard int `json:"deletionGuard"`
	// Strict makes an error of a namespace or kind that no seed or cluster provides.
	Strict bool `json:"strict,omitempty"`
	// ControlPlane is what people have committed.
	ControlPlane ControlPlane `json:"controlPlane"`
	// Repos are the GitOps repositories, by name.
	Repos map[string]*Repo `json:"repos"`
	// Plans are those on the plan branches, by repository and branch.
	Plans []PlanOnBranch `json:"plans,omitempty"`
	// Health is what the clusters report.
	Health Health `json:"health"`
	// Zones are the time zones that windows name, by name; empty for a name that no zone has.
	Zones map[string]window.Zone `json:"zones,omitempty"`
}

// ControlPlane is a control-plane tree at a revision.
type ControlPlane struct {
	// Revision is "<branch>@sha1:<40 hex>".
	Revision string `json:"revision"`
	// Version changes with whatever Catalog was read from.
	Version string `json:"version"`
	// Unread says why it could not be read anew; the rest is then of an earlier pass.
	Unread string `json:"unread,omitempty"`
	// History reports whether it can be asked which commits changed what.
	History bool `json:"history,omitempty"`
	// Scope has the seeds that the engine is responsible for; nil where it is for all.
	Scope map[string]bool `json:"scope,omitzero"`
	// Commits are those that questions were answered with, by CommitKey; one without an ID is not
	// known.
	Commits map[string]review.Commit `json:"commits,omitempty"`
	// Compared reports whether Revision can be compared with other commits.
	Compared bool `json:"compared,omitempty"`
	// Clone reports whether a clone of the control plane is read, which may be behind it.
	Clone bool `json:"clone,omitempty"`
	// Relations say how other commits relate to Revision.
	Relations map[layout.Hash]Relation `json:"relations,omitempty"`
	// Writer is the process that published the state last; nil where none has.
	Writer *Writer `json:"writer,omitempty"`
	// TakeOver reports whether a person wants plans of newer or unrelated commits replaced.
	TakeOver bool             `json:"takeOver,omitempty"`
	Catalog  *catalog.Catalog `json:"-"`
}

// scopes reports whether the engine is responsible for a seed.
func (c ControlPlane) scopes(seed string) bool { return c.Scope == nil || c.Scope[seed] }

// Repo is one GitOps repository: what was listed, and the answers to questions.
type Repo struct {
	// Base is the branch that reconcilers read, Head its commit.
	Base string      `json:"base"`
	Head layout.Hash `json:"head,omitzero"`
	// Refs are all branches.
	Refs map[string]layout.Hash `json:"refs,omitempty"`
	// OwnKeys are the fingerprints of the keys whose commits are Furrow's own; empty if any may be.
	OwnKeys []string `json:"ownKeys,omitempty"`
	// SigningKey is the fingerprint of the key that Furrow signs with; empty if it does not.
	SigningKey string `json:"signingKey,omitempty"`
	// Signed says who signed plans, records and markers, by branch, where there are OwnKeys.
	Signed map[string]Signature `json:"signed,omitempty"`
	// Requests are the markers that are commits of their own, by branch.
	Requests map[string]Request `json:"requests,omitempty"`
	// Proposals are the open ones and the rejected ones whose branch is still there, by branch.
	Proposals map[string]Proposal `json:"proposals,omitempty"`
	// Amends reports whether the forge remembers what people change in a proposal before merging
	// it.
	Amends bool `json:"amends,omitempty"`
	// Failure says why the repository cannot be used in this pass.
	Failure *Failure `json:"failure,omitempty"`
	Answers
}

// Answers are what questions about a repository were answered.
type Answers struct {
	// Entries is what commits have at paths; an empty hash means nothing.
	Entries map[layout.Hash]map[string]layout.Hash `json:"entries,omitempty"`
	// Blobs are the contents of files.
	Blobs map[layout.Hash][]byte `json:"blobs,omitempty"`
	// Past is what a plan branch's last commits had at paths, newest first.
	Past map[layout.Hash][]map[string]layout.Hash `json:"past,omitempty"`
	// Planned are the entries of tiers in the last plans, by PlannedKey; none where no plan has them.
	Planned map[string][]plan.Entry `json:"planned,omitempty"`
	// Files are all files below a directory of a commit, or the file itself.
	Files map[layout.Hash]map[string]map[string]layout.Hash `json:"files,omitempty"`
	// Since is how the base branch has changed since a commit.
	Since map[layout.Hash]*Since `json:"since,omitempty"`
	// Closed are closed proposals, by ClosedKey.
	Closed map[string]*Closed `json:"closed,omitempty"`
	// Checks are what the checks of the forge say of proposals, by their heads.
	Checks map[layout.Hash]*release.Checks `json:"checks,omitempty"`
	// Merging is how the forge lets people merge.
	Merging *merging.Repository `json:"merging,omitempty"`
	// Roots are the directories that roots sync, by RootDirKey.
	Roots map[string]*RootDir `json:"roots,omitempty"`
}

// Since is how the base branch relates to a commit that a reconciler reports.
type Since struct {
	// Unknown reports whether the repository has no such commit.
	Unknown bool `json:"unknown,omitempty"`
	// OnBase reports whether the commit is a state of the base branch: one of its first parents.
	OnBase bool `json:"onBase,omitempty"`
	// Changed says, of a commit on base, whether base has changed at a path after it.
	Changed map[string]bool `json:"changed,omitempty"`
}

// Closed is what became of the newest closed proposal of a tier with a digest.
type Closed struct {
	// Outcome is empty only where there is a Failure.
	Outcome release.Closed `json:"outcome,omitempty"`
	// Reason is why a person rejected it; empty where that is not known.
	Reason string `json:"reason,omitempty"`
	// Landings are those that were merged, newest first.
	Landings []Landing `json:"landings,omitempty"`
	// Failure says why that could not be observed.
	Failure *Failure `json:"failure,omitempty"`
}

// Landing is how a proposal came to be on the base branch.
type Landing struct {
	// URL is its page.
	URL string `json:"url,omitempty"`
	// Claimed is the commit that was merged, and its author, where it says that it is Furrow's; empty
	// if that is not known.
	Claimed string `json:"claimed,omitempty"`
	// Have is what the merge had at the tier's paths; nil where that commit is not known any more.
	Have map[string]layout.Hash `json:"have,omitempty"`
	// OnBase reports whether the base branch has the merge in its history.
	OnBase bool `json:"onBase,omitempty"`
}

// RootDir is the directory that a root syncs.
type RootDir struct {
	Folder delivery.Folder `json:"folder"`
	// Ignored says by which lines files are not read: those of .sourceignore, or those of the
	// source.
	Ignored map[string]IgnoredBy `json:"ignored,omitempty"`
}

// IgnoredBy is what keeps a file from being read by a source.
type IgnoredBy string

// Nothing, the file .sourceignore, or the source's own spec.
const (
	IgnoredByNothing IgnoredBy = ""
	IgnoredByFile    IgnoredBy = "File"
	IgnoredBySource  IgnoredBy = "Source"
)

// Proposal is one open or rejected proposal.
type Proposal struct {
	Seed string `json:"seed"`
	// Tiers are what it carries, each with the digest that it was opened with; there is no
	// digest where the branch is somebody else's.
	Tiers []layout.Member `json:"tiers,omitempty"`
	Title string          `json:"title,omitempty"`
	URL   string          `json:"url,omitempty"`
	// Head is the branch's tip, Base the commit of the base branch that it was grafted on.
	Head layout.Hash `json:"head"`
	Base layout.Hash `json:"base,omitzero"`
	// Own is the commit that says what the proposal carries, as Furrow's commits do, and Author who
	// made it; zero where no commit does, and Author is that of the branch's tip then.
	Own    layout.Hash `json:"own,omitzero"`
	Author string      `json:"author,omitempty"`
	// Amended reports whether another hand than the author's has committed that.
	Amended bool `json:"amended,omitempty"`
	// Edited reports whether a person has changed the branch.
	Edited bool `json:"edited,omitempty"`
	// Rejected reports whether a person has rejected it, and Reason why.
	Rejected bool   `json:"rejected,omitempty"`
	Reason   string `json:"reason,omitempty"`
	// Stale reports whether it cannot be merged as it is.
	Stale bool `json:"stale,omitempty"`
	// Paths are what merging it would change; a directory includes everything in it.
	Paths []string `json:"paths,omitempty"`

	// differs says what it brings that no plan has; see decider.verified.
	differs string
}

// Has reports whether the proposal carries a tier.
func (p Proposal) Has(tier layout.Tier) bool {
	return slices.ContainsFunc(p.Tiers, func(m layout.Member) bool { return m.Tier == tier })
}

// PlanOnBranch is a plan as one repository has it.
type PlanOnBranch struct {
	Repo   string      `json:"repo"`
	Seed   string      `json:"seed"`
	Commit layout.Hash `json:"commit"`
	// Plan is nil where it cannot be read; Failure says why.
	Plan    *plan.Plan `json:"plan,omitempty"`
	Failure *Failure   `json:"failure,omitempty"`
	// Vouched reports whether the plan needs no verification: the commit carries the signature of this
	// control plane's key or, where there is none, this process made the plan or verified it before.
	Vouched bool `json:"vouched,omitempty"`
	// Author is who the commit names, for people.
	Author string `json:"author,omitempty"`
	// Unreadable says why the commit holds no plan, where Plan is the last one before it.
	Unreadable string `json:"unreadable,omitempty"`
}

// Health is what the health channel reports. A key that is missing was not asked for.
type Health struct {
	// None reports whether there is no health channel.
	None bool `json:"none,omitempty"`
	// Failure says why nothing can be asked.
	Failure     *Failure                                   `json:"failure,omitempty"`
	Reconcilers map[health.ReconcilerKey]health.Reconciler `json:"reconcilers,omitempty"`
	Creators    map[health.CreatorKey]health.Creator       `json:"creators,omitempty"`
	Roots       map[health.RootKey]health.Root             `json:"roots,omitempty"`
}

// Failure is an error as a value, which can be written and read back. What was read back has the
// problems and the text of the error, not its type.
type Failure struct {
	// Problems are what the error is about.
	Problems manifest.Problems `json:"problems,omitempty"`
	Message  string            `json:"message"`
	// Transient reports whether the same may well succeed later.
	Transient bool `json:"transient,omitempty"`

	err error
}

// Fail returns an error as a value; nil of nil.
func Fail(err error, transient bool) *Failure {
	if err == nil {
		return nil
	}
	return &Failure{Problems: manifest.ProblemsOf(err), Message: err.Error(), Transient: transient, err: err}
}

// Error returns what failed.
func (f *Failure) Error() string { return f.Message }

// Problem returns the first of its problems.
func (f *Failure) Problem() manifest.Problem {
	if len(f.Problems) == 0 {
		return manifest.Problem{Reason: v1alpha1.ReasonInternal, Message: f.Message}
	}
	return f.Problems[0]
}

// Unwrap returns the error that the failure was made of, or its problems where it was read back.
func (f *Failure) Unwrap() error {
	switch {
	case f.err != nil || len(f.Problems) == 0:
		return f.err
	case len(f.Problems) == 1: // as the error was: About adds to one problem, and not to several
		return f.Problems[0]
	}
	return f.Problems
}

// AsError is nil for nil.
func (f *Failure) AsError() error {
	if f == nil {
		return nil
	}
	return f
}
