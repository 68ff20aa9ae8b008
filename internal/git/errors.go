package git

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/git/odb"
)

// kind is what went wrong, as far as a caller acts on it: wait, ask for credentials, or report.
type kind int

const (
	kindOther kind = iota
	kindAuth
	kindNotFound
	kindNetwork
	kindTrust
	kindCanceled
	kindUnknown
	kindTooLarge
)

// Error is a failure of this package, without credentials in its text. Predicates such as IsAuth
// distinguish failures.
type Error struct {
	op         string
	remote     string
	kind       kind
	text       string
	cause      error
	retryAfter time.Duration
}

// Error returns what failed, where and why.
func (e *Error) Error() string {
	if e.remote == "" {
		return e.op + ": " + e.text
	}
	return e.op + " " + e.remote + ": " + e.text
}

// Unwrap gives the context's error, if it ended the call.
func (e *Error) Unwrap() error { return e.cause }

// reasons of errors by their kind, as the list of reasons in the API has them.
var reasons = map[kind]string{
	kindAuth: "CredentialsRefused", kindNotFound: "RepositoryNotFound", kindNetwork: "RepositoryUnavailable", kindCanceled: "RepositoryUnavailable",
	kindTrust: "CertificateUntrusted", kindUnknown: "CommitNotFound", kindTooLarge: "TooLargeToRead", kindOther: "RepositoryFailed",
}

// Reason says in a word what failed.
func (e *Error) Reason() string { return reasons[e.kind] }

// failure is an error of another package with the same kinds, such as that of a forge. It is an
// interface with names instead of kinds, so the predicates here serve both.
type failure interface {
	error
	Failure() (kind string, wait time.Duration)
}

// kinds of failures, by the names that other packages know them by.
var kindNames = map[string]kind{"auth": kindAuth, "not found": kindNotFound, "network": kindNetwork, "trust": kindTrust, "unknown": kindUnknown, "too large": kindTooLarge}

// hasKind reports whether an error is a failure of one of these kinds, of Git or of another package
// that names its failures alike (Failure).
func hasKind(err error, kinds ...kind) bool {
	var e *Error
	if errors.As(err, &e) {
		return slices.Contains(kinds, e.kind)
	}
	var f failure
	if !errors.As(err, &f) {
		return false
	}
	name, _ := f.Failure()
	k, known := kindNames[name]
	return known && slices.Contains(kinds, k)
}

// IsAuth reports whether the server did not accept the credentials, or does not let them do this.
func IsAuth(err error) bool { return hasKind(err, kindAuth) }

// IsNotFound reports whether the repository does not exist, or the credentials may not read it.
func IsNotFound(err error) bool { return hasKind(err, kindNotFound) }

// IsNetwork reports whether the server could not be reached or did not answer properly, its
// certificate included.
func IsNetwork(err error) bool { return hasKind(err, kindNetwork, kindTrust) }

// IsTransient reports whether the same call may well succeed later: the network or the server
// failed, or asked to wait. A certificate that is not trusted is a network error, but does not
// become trusted by waiting.
func IsTransient(err error) bool {
	_, asked := RetryAfter(err)
	return asked || hasKind(err, kindNetwork)
}

// IsUntrusted reports whether the server's certificate is not trusted.
func IsUntrusted(err error) bool { return hasKind(err, kindTrust) }

// IsUnknown reports whether the mirror does not have the commit, tree or blob that was asked for.
func IsUnknown(err error) bool { return odb.IsUnknown(err) || hasKind(err, kindUnknown) }

// IsTooLarge reports whether a file, or a tree, is larger than what the caller reads.
func IsTooLarge(err error) bool { return odb.IsTooLarge(err) || hasKind(err, kindTooLarge) }

// IsForeign reports whether a directory holds something other than a mirror of ours.
func IsForeign(err error) bool { return odb.IsForeign(err) }

// RetryAfter returns how long the server asked to wait, if it did.
func RetryAfter(err error) (wait time.Duration, ok bool) {
	var e *Error
	var f failure
	switch {
	case errors.As(err, &e):
		wait = e.retryAfter
	case errors.As(err, &f):
		_, wait = f.Failure()
	}
	return wait, wait > 0
}

// PushError names the branches that the server, or the check of the leases before it, refused.
// Nothing was changed if the server pushes atomically.
type PushError struct {
	// Refs are the branches to blame, with the reason for each.
	Refs map[string]string

	// NotPushed are the other branches of the same request, which were acceptable themselves.
	NotPushed []string

	// Raced are the branches of Refs that somebody else moved, or is moving now.
	Raced map[string]bool

	// Text is what the server said besides: hooks speak here.
	Text string

	remote string
}

// Error names the branches to blame, with the server's words.
func (e *PushError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "push to %s refused:", e.remote)
	for i, ref := range slices.Sorted(maps.Keys(e.Refs)) {
		if i == 10 {
			fmt.Fprintf(&b, " and %d more", len(e.Refs)-i)
			break
		}
		fmt.Fprintf(&b, " %s (%s)", ref, e.Refs[ref])
	}
	if e.Text != "" && e.Next() == "" {
		fmt.Fprintf(&b, "; the server said: %s", e.Text)
	}
	return b.String()
}

// refusals are what Git refuses for a reason that is known, and what to do about it.
var refusals = []struct{ words, next string }{
	{"'refs/heads/furrow' exists", "Delete or rename branch furrow: Git cannot have it beside Furrow's branches furrow/**."},
	{"deletion prohibited", "Let the server delete branches furrow/**: set receive.denyDeletes to false there."},
	{"non-fast-forward", "Let the server move branches furrow/** back: set receive.denyNonFastForwards to false there; 'git init --shared' sets it."},
	{"branch is currently checked out", "The repository is not bare. Use a bare one, as 'git clone --bare' makes, or set receive.denyCurrentBranch to updateInstead there."},
	{".lock': File exists", "A push that was cut off may have left that lock: remove the file on the server while nothing is pushed there."},
}

// Next says what to do about a refusal whose cause is known; empty if it is not.
func (e *PushError) Next() string {
	for _, ref := range slices.Sorted(maps.Keys(e.Refs)) {
		for _, r := range refusals {
			if strings.Contains(e.Refs[ref], r.words) || len(e.Refs) == 1 && strings.Contains(e.Text, r.words) {
				return r.next
			}
		}
	}
	return ""
}

// Reason says in a word whether somebody was faster, or the server refuses the branch.
func (e *PushError) Reason() string {
	if IsRefRefused(e) {
		return "BranchRefused"
	}
	return "Raced"
}

// LeaseRefused reports whether ref was refused because somebody else moved it.
func (e *PushError) LeaseRefused(ref string) bool { return e.Raced[ref] }

// Locked reports whether the server could not lock ref. That is so while somebody else moves it, and
// for good where a push was cut off and left its lock.
func (e *PushError) Locked(ref string) bool { return fileExists.MatchString(e.Refs[ref]) }

// IsLeaseRefused reports whether a branch was not where the caller expected it: somebody else
// pushed. Observe the branches anew and decide again; the same push would fail again, or undo what
// they did.
func IsLeaseRefused(err error) bool {
	var e *PushError
	return errors.As(err, &e) && len(e.Raced) > 0
}

// IsRefRefused reports whether the server does not want a branch changed (a protected branch, a
// hook); its PushError names it.
func IsRefRefused(err error) bool {
	var e *PushError
	return errors.As(err, &e) && len(e.Refs) > len(e.Raced)
}

// IsFastForwardOnly reports whether the server lets branches only go forward.
func IsFastForwardOnly(err error) bool {
	e, ok := errors.AsType[*PushError](err)
	return ok && strings.Contains(strings.Join(slices.Collect(maps.Values(e.Refs)), " "), "non-fast-forward")
}

// maxText bounds what is repeated of a server's or a library's text.
const maxText = 600

// translate turns the error of a library or a server into one of ours. Nothing of the original is
// kept but its text, redacted: libraries put URLs with credentials into errors, and so may whoever
// wraps them. What ended the call comes first, since a canceled request fails in arbitrary ways.
func (ep *endpoint) translate(ctx context.Context, op string, err error) error {
	var own *Error
	var local *odb.Error
	if errors.As(err, &own) || errors.As(err, &local) {
		return err
	}
	out := &Error{op: op, remote: ep.url, text: ep.clean(err.Error())}
	if ctxErr := ctx.Err(); ctxErr != nil {
		out.cause, out.text, out.kind = ctxErr, "stopped: "+ctxErr.Error(), kindCanceled
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			out.kind, out.text = kindNetwork, "took too long: "+ctxErr.Error()
		}
		return out
	}
	var f failure
	if as(err, &f) { // of the source of the credentials
		name, wait := f.Failure()
		out.kind, out.text, out.retryAfter = kindNames[name], ep.clean(f.Error()), wait
		return out
	}
	for _, rule := range rules {
		if rule.matches(err) {
			out.kind, out.text = rule.kind, cmp.Or(rule.text, out.text)
			break
		}
	}
	out.retryAfter = retryAfter(err)
	return out
}

// rules are tried in order; the first that matches decides the kind of an error. The order matters:
// a certificate error is also an error of the network, and a rate limit may be reported as
// forbidden. The texts that says matches are those of git and its transports, which have no
// codes; "ermission" also matches "Permission".
var rules = []struct {
	matches func(error) bool
	kind    kind
	text    string
}{
	{IsUntrustedCertificate, kindTrust, "the server's certificate is not trusted: give the CA bundle that signed it"},
	{isUnknownHost, kindTrust, "the server's host key is not in known_hosts: add it, after you compared it with the one that the server's owner publishes"},
	{isOtherHost, kindTrust, "the server's host key is not the one in known_hosts: somebody may be between, or the server has a new key; compare it with the one that the server's owner publishes"},
	{isRateLimit, kindNetwork, ""},
	{is(transport.ErrAuthenticationRequired), kindAuth, "the server wants valid credentials: check the token, or the user name and password"},
	{is(transport.ErrAuthorizationFailed), kindAuth, ""},
	{is(transport.ErrRepositoryNotFound), kindNotFound, "the repository does not exist, or the credentials may not read it"},
	{isStatus(retryable), kindNetwork, ""},
	{says("dubious ownership"), kindAuth, "the directory belongs to another user: run Furrow as that user, or allow it with 'git config --global --add safe.directory' and its path"},
	{says("ermission denied"), kindAuth, ""},
	{says("ssh: unable to authenticate"), kindAuth, "the server does not accept the identity: add its public key, as a deploy key of the repository or a key of a user"},
	{is(fs.ErrPermission), kindAuth, ""},
	{isSHA256, kindOther, "the repository has SHA-256 objects, which Furrow does not support: use one that was made with 'git init --object-format=sha1'"},
	{isNetwork, kindNetwork, ""},
}

// longHash is what go-git says of a server whose list of branches has longer hashes than SHA-1.
var longHash = regexp.MustCompile(`no space after hash \([0-9a-f]{24}`)

func isSHA256(err error) bool { return longHash.MatchString(err.Error()) }

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func says(words string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), words) }
}

// IsUntrustedCertificate reports whether a library refused the certificate of a server. IsUntrusted
// is about our own errors.
func IsUntrustedCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return as(err, &verification) || as(err, &authority) || as(err, &host) || as(err, &invalid)
}

// isRateLimit also finds the limits that a forge reports as forbidden.
func isRateLimit(err error) bool {
	return errors.Is(err, transport.ErrAuthorizationFailed) && strings.Contains(strings.ToLower(err.Error()), "rate limit")
}

// isStatus returns a predicate of errors by the HTTP status that caused them.
func isStatus(wanted func(int) bool) func(error) bool {
	return func(err error) bool {
		var status *githttp.Err
		return as(err, &status) && wanted(status.Response.StatusCode)
	}
}

func retryable(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// isNetwork reports whether the connection failed. A pipe or file that is closed is one, too: it is
// what is left of a connection that another goroutine has hung up.
func isNetwork(err error) bool {
	var netErr net.Error
	var urlErr *url.Error
	if as(err, &netErr) || as(err, &urlErr) {
		return true
	}
	for _, target := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED, fs.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// as is errors.As that also unwraps go-git's wrappers, which have no Unwrap.
func as[T error](err error, target *T) bool {
	if errors.As(err, target) {
		return true
	}
	var unexpected *plumbing.UnexpectedError
	var permanent *plumbing.PermanentError
	switch {
	case errors.As(err, &unexpected):
		return as(unexpected.Err, target)
	case errors.As(err, &permanent):
		return as(permanent.Err, target)
	}
	return false
}

func retryAfter(err error) time.Duration {
	var status *githttp.Err
	if !as(err, &status) {
		return 0
	}
	return backoff.RetryAfter(status.Response.Header)
}
