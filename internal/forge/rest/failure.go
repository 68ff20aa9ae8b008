package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// maxText bounds what a message repeats of an answer.
const maxText = 600

// Failure is a call that failed, with what only a server may use; all others use the *forge.Error
// that it wraps.
type Failure struct {
	// Err is what others get. A server may set its reason and text where it knows better.
	Err *forge.Error
	// Status and Header are those of the answer; 0 and nil without one.
	Status int
	Header http.Header
	// Said is what the server says, as one bounded line without secrets.
	Said string
	// Missing names the scopes or permissions that the server says are missing; empty if it names
	// none.
	Missing string
	// Location is where a redirect leads, without what may be secret in it.
	Location string
	// Unasked reports whether no request was sent: the server has just failed to answer, or wants
	// no requests.
	Unasked bool
	// Limited reports whether the server asks to wait.
	Limited bool
}

// Error returns what failed, where and why.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what other packages use.
func (f *Failure) Unwrap() error { return f.Err }

// Refused reports whether the server answered with the status.
func Refused(err error, status int) bool {
	f, ok := errors.AsType[*Failure](err)
	return ok && f.Status == status
}

func (c *Client) failed(op string, kind forge.Kind, text string) *Failure {
	return &Failure{Err: &forge.Error{Op: op, Repository: c.repository, Kind: kind, Text: text}}
}

// Refusal is the failure of a call whose answer was a success in form only.
func (c *Client) Refusal(op string, kind forge.Kind, said string) *Failure {
	f := c.failed(op, kind, "the server refused: "+c.clean(said))
	f.Said = c.clean(said)
	return f
}

// unasked is the failure of a request that was not sent.
func (c *Client) unasked(op string, r refusal) *Failure {
	f := c.failed(op, forge.FailedOther, r.text)
	f.Unasked = true
	if r.wait > 0 {
		f.Err.Kind, f.Err.Reason, f.Err.Wait, f.Limited = forge.FailedNetwork, forge.ReasonLimited, r.wait, true
	}
	return f
}

// unauthorized is the failure of a request for which there are no credentials.
func (c *Client) unauthorized(ctx context.Context, op string, err error) *Failure {
	if ctx.Err() != nil {
		return c.stopped(ctx, op)
	}
	var of *forge.Error
	if !errors.As(err, &of) {
		return c.failed(op, forge.FailedAuth, c.clean(err.Error()))
	}
	e := *of
	e.Op, e.Repository = op, c.repository
	return &Failure{Err: &e, Unasked: true}
}

// stopped is the failure of a call that its caller ended.
func (c *Client) stopped(ctx context.Context, op string) *Failure {
	f := c.failed(op, forge.FailedOther, "stopped: "+ctx.Err().Error())
	f.Err.Cause = ctx.Err()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f.Err.Kind, f.Err.Text = forge.FailedNetwork, "took too long: "+ctx.Err().Error()
	}
	return f
}

// lost is the failure of a request that got no answer.
func (c *Client) lost(ctx context.Context, op string, err error) *Failure {
	switch {
	case ctx.Err() != nil:
		return c.stopped(ctx, op)
	case git.IsUntrustedCertificate(err):
		return c.failed(op, forge.FailedTrust, "the server's certificate is not trusted: give the CA bundle that signed it")
	}
	return c.failed(op, forge.FailedNetwork, c.clean(err.Error()))
}

// translate returns what the failure of a call means. The SDK's own errors are used only where the
// server's answer was a success.
func (c *Client) translate(ctx context.Context, made *call, err error) *Failure {
	failure, ours := errors.AsType[*Failure](err)
	switch {
	case ctx.Err() != nil:
		return c.stopped(ctx, made.op)
	case ours:
		return failure
	case made.status == 0:
		return c.failed(made.op, forge.FailedOther, c.clean(err.Error()))
	case made.fine():
		failure = c.failed(made.op, forge.FailedNetwork, fmt.Sprintf("the server did not answer as %s does: %s", c.forge.Name, c.clean(err.Error())))
		failure.Status, failure.Header = made.status, made.header
		return failure
	}
	return c.explain(made)
}

// explain says what a status means, and what to do. Statuses that may pass by themselves are
// failures of the network, after which callers wait and try again; the rest needs a person.
func (c *Client) explain(made *call) *Failure {
	got := &answer{made.status, made.header, made.body}
	f := c.failed(made.op, forge.FailedOther, "")
	f.Status, f.Header, f.Said, f.Limited = got.status, got.header, c.clean(words(got.body)), got.throttled()
	f.Missing = c.clean(missing(got))
	e := f.Err
	e.Wait = c.wait(got)
	switch {
	case f.Limited:
		e.Kind, e.Reason, e.Text = forge.FailedNetwork, forge.ReasonLimited, "the server asks to wait: "+f.Said
	case f.Status >= 500 || f.Status == http.StatusRequestTimeout:
		e.Kind, e.Text = forge.FailedNetwork, fmt.Sprintf("the server failed with status %d: %s", f.Status, f.Said)
	case f.Status == http.StatusUnauthorized:
		e.Kind, e.Text = forge.FailedAuth, "the server does not accept the credentials; check the token, or the user name and password: "+f.Said
	case f.Status == http.StatusLocked, f.Status == http.StatusForbidden && strings.Contains(strings.ToLower(f.Said), "archived"):
		e.Text = "the repository is archived; unarchive it, or remove its GitOpsRepo: " + f.Said
	case f.Status == http.StatusForbidden:
		e.Kind, e.Text = forge.FailedAuth, "the credentials may not do this; "+c.rights(f)+": "+f.Said
	case f.Status == http.StatusNotFound:
		e.Kind, e.Text = forge.FailedNotFound, "it does not exist, or the credentials may not read it; check spec.url, and that the repository has pull requests enabled: "+f.Said
		if f.Missing != "" {
			e.Text = "it does not exist, or the credentials may not read it; the token needs " + f.Missing + ": " + f.Said
		}
	case f.Status/100 == 3:
		f.Location = c.location(got.header)
		e.Kind, e.Text = forge.FailedNotFound, "the repository was renamed or moved; correct spec.url. The server points to "+f.Location
	default:
		e.Text = fmt.Sprintf("the server refused with status %d: %s", f.Status, f.Said)
	}
	e.Text = strings.TrimSuffix(e.Text, ": ")
	f.Limited = f.Limited || e.Wait > 0
	return f
}

// wait returns how long an answer asks to wait: by Retry-After, and by the reset if the budget is
// used up.
func (c *Client) wait(got *answer) time.Duration {
	wait := backoff.RetryAfter(got.header)
	if rate, ok := backoff.RateOf(got.header, c.clock.Now()); ok && got.throttled() && rate.Remaining != nil && *rate.Remaining == 0 {
		wait = max(wait, min(rate.Reset, maxBlock))
	}
	return wait
}

// rights says what the credentials lack, by the answer or else by the kind of forge.
func (c *Client) rights(f *Failure) string {
	switch {
	case strings.HasPrefix(f.Header.Get("X-Github-Sso"), "required"):
		return "authorize the token for the single sign-on of the organization"
	case f.Missing != "":
		return "the token needs " + f.Missing
	}
	return c.forge.Rights
}

// giteaScopes are the scopes in the text of a refusal by Gitea or Forgejo; one of them is enough.
var giteaScopes = regexp.MustCompile(`required=\[([a-z:, ]+)\]`)

// missing names the scopes or permissions that an answer says are missing; empty if it names none.
func missing(got *answer) string {
	h := got.header
	if accepted := list(h.Get("X-Accepted-Oauth-Scopes")); len(accepted) > 0 && h["X-Oauth-Scopes"] != nil {
		granted := list(h.Get("X-Oauth-Scopes"))
		if slices.ContainsFunc(accepted, func(scope string) bool { return slices.Contains(granted, scope) }) {
			return ""
		}
		has := "none"
		if len(granted) > 0 {
			has = strings.Join(granted, ", ")
		}
		return "the scope " + strings.Join(accepted, " or ") + " and has " + has
	}
	if accepted := h.Get("X-Accepted-Github-Permissions"); accepted != "" && got.status == http.StatusForbidden {
		return "the permission " + strings.NewReplacer("; ", " or ", ";", " or ", ", ", " and ", ",", " and ").Replace(accepted)
	}
	var gitlab struct{ Error, Scope string }
	if json.Unmarshal(got.body, &gitlab) == nil && gitlab.Error == "insufficient_scope" && gitlab.Scope != "" {
		return "the scope " + strings.Join(strings.Fields(gitlab.Scope), " or ")
	}
	if found := giteaScopes.FindStringSubmatch(words(got.body)); found != nil {
		return "the scope " + strings.Join(list(found[1]), " or ")
	}
	return ""
}

// list splits a list by commas or spaces.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// words returns what an answer says for people, from the fields that forges have for that.
func words(body []byte) string {
	var said struct {
		Message     any `json:"message"`
		Error       any `json:"error"`
		Description any `json:"error_description"`
		Errors      any `json:"errors"`
	}
	if json.Unmarshal(body, &said) != nil {
		return string(body)
	}
	var parts []string
	for _, value := range []any{said.Message, said.Error, said.Description, said.Errors} {
		if text := flat(value); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return string(body)
	}
	return strings.Join(parts, ": ")
}

// flat returns the texts in a JSON value. Of an object with a message it is the message.
func flat(value any) string {
	var parts []string
	switch value := value.(type) {
	case string:
		return value
	case []any:
		for _, part := range value {
			parts = append(parts, flat(part))
		}
	case map[string]any:
		if message, ok := value["message"].(string); ok {
			return message
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, key+" "+flat(value[key]))
		}
	}
	return strings.Join(parts, ", ")
}

// location returns where a redirect leads, without what may be secret in it.
func (c *Client) location(header http.Header) string {
	u, err := url.Parse(header.Get("Location"))
	if err != nil || u.Host == "" && u.Path == "" {
		return "an address that cannot be shown"
	}
	if u.Host == "" {
		return c.clean(u.Path)
	}
	return c.clean(u.Scheme + "://" + u.Host + u.Path) // decoded, so no secret is in disguise
}

// clean makes one line of bounded length without secrets: neither a part of one at its end, nor one
// that was on two lines.
func (c *Client) clean(text string) string {
	secrets := c.source.Secrets()
	return truncate.Line(secrets.In(truncate.Line(secrets.In(text), 2*maxText)), maxText)
}
