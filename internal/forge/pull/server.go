package pull

import (
	"context"
	"fmt"
	"time"

	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Server is one forge's API for one repository: values in, values out. It decides nothing and
// remembers nothing but what it may ask for again at any time. Its String is the URL of the
// repository, for messages.
//
// Errors are *forge.Error, or one of forge.ErrGone, forge.ErrConflict and ErrExists where the
// methods say so. Pull requests of forks, and to other branches than base, are never returned.
// Its methods may be used by several goroutines.
type Server interface {
	fmt.Stringer

	// Open returns all open pull requests to base, ours and those of others, in no order. One
	// that is opened or closed while pages are read may be missing.
	Open(ctx context.Context) ([]Request, error)
	// OfBranch returns the pull requests of a head branch to base in any state, newest first. A
	// server that cannot be asked about one branch returns those among the ones that were
	// updated last.
	OfBranch(ctx context.Context, branch string) ([]Request, error)
	// Recent returns the closed pull requests that were updated last, as many as one page has.
	Recent(ctx context.Context) ([]Request, error)
	// Get returns one pull request. Where it does not exist the error is forge.ErrGone or, as some
	// servers answer also where the credentials may not read the repository, forge.FailedNotFound.
	Get(ctx context.Context, number int64) (Request, error)
	// Create opens a pull request, with those of n.Attributes that it can set in the same request; the
	// result has them. The error is ErrExists where one of the branch is open.
	Create(ctx context.Context, n NewRequest) (Request, error)
	// Attach adds attributes to a pull request, and takes labels off it; at is how it is. What it has
	// besides stays. It returns what it has then, of the kinds that are added. With an error, some
	// of it may have been done.
	Attach(ctx context.Context, at Request, add Attributes, off []string) (Attributes, error)
	// Edit changes what is set in e, in one request where the server can.
	Edit(ctx context.Context, number int64, e Edit) (Request, error)
	// Closing returns how a closed pull request came to be closed, with what was said since a time.
	Closing(ctx context.Context, number int64, since time.Time) (Closing, error)
	// Comment adds a comment.
	Comment(ctx context.Context, number int64, text string) error
	// SetStatus shows a commit status.
	SetStatus(ctx context.Context, commit git.Hash, s Status) error
	// Requires returns what base asks of a merge.
	Requires(ctx context.Context) (forge.Requirements, error)
	// Pushers returns who may push to Furrow's own branches.
	Pushers(ctx context.Context) (forge.Pushers, error)
	// Checks returns the last result of each check of a commit, the statuses and what else the
	// server has of the kind, in no order.
	Checks(ctx context.Context, commit git.Hash) ([]Check, error)
	// Merge merges a pull request, at exactly the commit m.Head, and leaves its branch. The
	// error is forge.ErrGone where it was merged or closed, or its branch moved; ErrUnchecked
	// where the server has still to find out whether it can be merged, or base has just moved;
	// forge.ErrConflict where it cannot be merged; ErrMergeQueue where only a queue merges to base.
	Merge(ctx context.Context, number int64, m Merge) error
	// Enqueue adds a pull request to the merge queue or merge train of base, at exactly the commit
	// m.Head, unless it is there. The errors are those of Merge.
	Enqueue(ctx context.Context, number int64, m Merge) error
	// Queued returns whether the queue has an open pull request, and if not, why it was removed.
	Queued(ctx context.Context, number int64) (Queued, error)
	// Repository returns what the server says of the repository.
	Repository(ctx context.Context) (Repository, error)
	// Signing returns what merging does to signatures.
	Signing(ctx context.Context) (Signing, error)
	// Access returns what the credentials may do in the repository, as far as the server says.
	Access(ctx context.Context) (Access, error)
	// Budget returns what the server still allows, by its last answer, without asking it.
	Budget() forge.Budget
}

// State is whether a pull request is open, and what became of it.
type State string

// The states of pull requests.
const (
	Open   State = "open"
	Merged State = "merged"
	// Closed is closed and not merged.
	Closed State = "closed"
)

// Request is a pull request, or merge request, as the server has it now.
type Request struct {
	// Number is what people call it by in the repository.
	Number int64
	// URL is that of its page.
	URL string
	// Branch is the head branch, also after it was deleted.
	Branch      string
	Title, Body string
	// Head is where the branch is or, once closed, where it was, as far as the server knows.
	Head  git.Hash
	State State
	Draft bool
	// Unmergeable reports whether the server says that it cannot be merged as it is. Some say so
	// also as long as they have not checked.
	Unmergeable bool
	// Attributes are what it has now. A reviewer who has answered may be missing.
	Attributes
	// Created and Closed are by the server's clock; Closed is zero while it is open.
	Created, Closed time.Time
	// Merge is the commit of base by which it landed; zero where it did not, or where the server
	// does not know.
	Merge git.Hash
}

// NewRequest is a pull request to open. Base is the Server's.
type NewRequest struct {
	Branch, Title, Body string
	Draft               bool
	Attributes
}

// Edit is a change of a pull request. What is nil stays.
type Edit struct {
	Title, Body *string
	// State is Open or Closed.
	State *State
}

// Closing is how a pull request came to be closed.
type Closing struct {
	// By is who closed it; empty where the server does not know, or not yet.
	By string
	// BranchDeleted reports whether it was closed because its branch was deleted.
	BranchDeleted bool
	// Said are the last comments before that, the newest first; some are enough.
	Said []Comment
}

// Comment is what a person said on a pull request.
type Comment struct {
	By, Text string
	At       time.Time
}

// Status is a commit status.
type Status struct {
	// Context is its name, which a branch protection may require.
	Context string
	// Passed is success; else it is a failure.
	Passed bool
	// Text is one line, of at most 140 characters.
	Text string
}

// Check is the last result of a check of a commit.
type Check struct {
	// Name is the context of a commit status, or the name of a check run.
	Name  string
	State CheckState
}

// CheckState is how a check ended; empty while it has not.
type CheckState string

// The ends of checks. One that was skipped, or is neutral, has passed.
const (
	CheckPassed CheckState = "passed"
	CheckFailed CheckState = "failed"
)

// Method is a way to merge.
type Method string

// The ways to merge; not every server has all.
const (
	MergeCommit Method = "merge"
	// Squash makes one commit of all, with the message that is given.
	Squash Method = "squash"
	// Rebase puts the commits on top of base as they are.
	Rebase Method = "rebase"
	// RebaseMerge rebases, and adds a merge commit.
	RebaseMerge Method = "rebase-merge"
	FastForward Method = "fast-forward"
)

// Merge is how to merge a pull request.
type Merge struct {
	Method Method
	// Head is the commit that the branch must be at.
	Head git.Hash
	// Title and Message are those of the commit, where the method makes one. What is empty is the
	// server's choice.
	Title, Message string
}

// Queued says whether the merge queue has a pull request.
type Queued struct {
	// Is reports whether the queue has it.
	Is bool
	// Why says what the queue does with it or, once it was removed, why; empty if the server does
	// not say.
	Why string
}

// Repository is what a server says of a repository.
type Repository struct {
	// Methods are those that are allowed, the default one first.
	Methods []Method
	// Queue reports whether base is merged to by a merge train, which Merge would overtake.
	Queue bool
	// Empty reports whether the server has noticed no push yet; it answers with errors until then.
	Empty bool
	// Archived reports whether nothing can be changed.
	Archived bool
	// DefaultBranch is the server's.
	DefaultBranch string
}

// Signing is what a server does to signatures when it merges. A fast-forward keeps all; every other
// commit that a merge makes is the server's.
type Signing struct {
	// Keys are the public keys that the server signs with; empty if it does not say.
	Keys string
	// Unsigned reports whether the server has no key to sign with.
	Unsigned bool
	// Rebase says whose signature a rebase leaves: Furrow's if the branch is up to date, or nobody's.
	Rebase merging.Signer
	// Keeping is the setting that allows a way to merge that keeps signatures; empty if there is none.
	Keeping string
}

// Access is what credentials may do in a repository.
type Access struct {
	// Archived reports whether nothing can be changed.
	Archived bool
	// Missing is what the credentials need and do not have.
	Missing []Missing
}

// Missing is something that credentials do not have.
type Missing struct {
	// Name is what the server calls it: "the scope api".
	Name string
	// Next says how to get it.
	Next string
}
