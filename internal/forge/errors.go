package forge

import (
	"cmp"
	"errors"
	"time"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Kind is in which way a forge failed. The words are those that internal/git distinguishes its own
// failures by, so callers treat both servers alike.
type Kind string

// The kinds of failures of a forge.
const (
	// FailedOther needs a person; the message says what to do.
	FailedOther Kind = "other"
	// FailedAuth means that the forge did not accept the credentials, or does not let them do this.
	FailedAuth Kind = "auth"
	// FailedNotFound means that the repository does not exist, or that the credentials
	// may not read it.
	FailedNotFound Kind = "not found"
	// FailedNetwork means that the forge could not be reached, failed, or asked to
	// wait: the same call may well succeed later.
	FailedNetwork Kind = "network"
	// FailedTrust means that the forge's certificate is not trusted.
	FailedTrust Kind = "trust"
)

// Error is a failure of a forge, without credentials: it may be shown and logged as it is.
type Error struct {
	// Op is the operation that failed, with its object.
	Op string
	// Repository is its URL.
	Repository string
	Kind       Kind
	// Reason is more than Kind says; empty where it is not known.
	Reason manifest.Reason
	// Text says why, and what to do.
	Text string
	// Wait is how long the forge asked to wait; zero where it did not.
	Wait time.Duration
	// Cause is the context's error, if that ended the call.
	Cause error
}

// Error returns what failed, where and why.
func (e *Error) Error() string { return e.Op + " in " + e.Repository + ": " + e.Text }

// Unwrap gives the context's error, if that ended the call.
func (e *Error) Unwrap() error { return e.Cause }

// ReasonLimited is that of a failure because the server allows no more requests for a while.
const ReasonLimited manifest.Reason = "RateLimited"

// IsLimited reports whether the server allows no more requests for a time that is known. Git goes on,
// and it is the forge that knows when to ask again.
func IsLimited(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Reason == ReasonLimited && e.Wait > 0
}

// reasons of failures by their kind.
var reasons = map[Kind]manifest.Reason{
	FailedAuth: "CredentialsRefused", FailedNotFound: "RepositoryNotFound", FailedNetwork: "RepositoryUnavailable",
	FailedTrust: "CertificateUntrusted", FailedOther: "ForgeRefused",
}

// Problem says in which way the forge failed.
func (e *Error) Problem() manifest.Problem {
	return manifest.Problem{Reason: cmp.Or(e.Reason, reasons[e.Kind]), Repo: e.Repository, Message: e.Error()}
}

// Failure gives the kind and the wait to those who do not know forges.
func (e *Error) Failure() (kind string, wait time.Duration) { return string(e.Kind), e.Wait }

// IsFailure reports whether err is a failure of a forge of that kind.
func IsFailure(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}
