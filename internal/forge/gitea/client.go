package gitea

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// requestTimeout bounds one request; a server that hangs must not hold a pass.
	requestTimeout = 15 * time.Second
	// maxText bounds what a message repeats of an answer.
	maxText = 600
	// maxSaid bounds what is read of an answer into memory as a whole.
	maxSaid = 1 << 20
)

// api asks the server about one repository. Its transport is shared by all requests; a client of
// the library is made for each, because it is made with a context.
type api struct {
	repository
	transport http.RoundTripper
	signIn    sdk.ClientOption
	secrets   redact.Secrets
	clock     backoff.Clock
	breaker   breaker
}

// newAPI makes the client of one repository. Nothing is connected yet.
func newAPI(o Options) (*api, error) {
	at, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	a := &api{repository: at, transport: o.Transport, clock: cmp.Or[backoff.Clock](o.Clock, backoff.RealClock{}), breaker: breaker{cooldown: backoff.NewCooldown(silence)}}
	if a.signIn, a.secrets, err = signIn(o, at); err != nil {
		return nil, err
	}
	if a.transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.ResponseHeaderTimeout = requestTimeout
		if len(o.CABundle) > 0 {
			pool, err := git.CertPool(o.CABundle)
			if err != nil {
				return nil, fmt.Errorf("the CA bundle for %s: %w", at, err)
			}
			own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		}
		a.transport = own
	}
	if o.Observe != nil {
		a.transport = o.Observe(a.transport)
	}
	return a, nil
}

// signIn chooses the credentials: a token, a user name and password, and last those in the URL,
// whose user name alone is a token. Without any there is an error, because nobody can open a pull
// request anonymously.
func signIn(o Options, at repository) (option sdk.ClientOption, secrets redact.Secrets, err error) {
	username, password := o.Username, o.Password
	if at.user != nil && o.Token == "" && password == "" {
		username = at.user.Username()
		password, _ = at.user.Password()
		if password == "" {
			o.Token = username
		}
	}
	switch {
	case o.Token != "":
		return sdk.SetToken(o.Token), redact.Password("", o.Token), nil
	case username != "" && password != "":
		return sdk.SetBasicAuth(username, password), redact.Password(username, password), nil
	}
	return nil, nil, manifest.Problem{Reason: "CredentialsMissing", Message: fmt.Sprintf("there are no credentials for %s, and pull requests need them", at), Next: "Give an access token that may write the repository, or a user name and password"}
}

// call is one question to the server. The SDK has no context for one question, hides
// what a refused merge says, and cannot filter by base branch or author; so each
// call has a client and a transport of its own, which cost nothing.
type call struct {
	next   http.RoundTripper
	query  url.Values
	status int
	header http.Header
	// said is the text of a refusal, or the whole answer if that is kept.
	said []byte
	keep bool
}

// RoundTrip adds the call's query, and keeps what the server refuses with: the client library
// returns little of either. What it keeps is bounded, and given on to the library as if it were
// unread.
func (c *call) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(c.query) > 0 {
		r = r.Clone(r.Context())
		query := r.URL.Query()
		for key, values := range c.query {
			query[key] = values
		}
		r.URL.RawQuery = query.Encode()
	}
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	c.status, c.header = response.StatusCode, response.Header
	if c.keep || !c.fine() {
		said, err := io.ReadAll(io.LimitReader(response.Body, maxSaid))
		if closeErr := response.Body.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
		c.said, response.Body = said, io.NopCloser(bytes.NewReader(said))
	}
	return response, nil
}

func (c *call) fine() bool { return c.status/100 == 2 }

// do asks one question. What comes back is nil or an *answer.
func (a *api) do(ctx context.Context, op string, query url.Values, ask func(*sdk.Client) error) error {
	return a.make(ctx, op, &call{next: a.transport, query: query}, ask)
}

// read asks one question whose answer the SDK cannot read, and reads it into out.
func (a *api) read(ctx context.Context, op string, out any, ask func(*sdk.Client) error) error {
	c := &call{next: a.transport, keep: true}
	return a.make(ctx, op, c, func(client *sdk.Client) error {
		if err := ask(client); !c.fine() {
			return err
		}
		return json.Unmarshal(c.said, out)
	})
}

// make asks one question, unless the server has just failed to answer another one.
func (a *api) make(ctx context.Context, op string, c *call, ask func(*sdk.Client) error) error {
	if err := a.breaker.refuse(op, a.clock.Now()); err != nil && ctx.Err() == nil {
		return err
	}
	client, err := sdk.NewClient(a.server, sdk.SetGiteaVersion(""), sdk.SetContext(ctx), a.signIn, sdk.SetHTTPClient(&http.Client{
		Transport: c, Timeout: requestTimeout,
		// A redirect makes a question of what was to change something, and gets a fine answer.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if err == nil {
		err = ask(client)
	}
	if err == nil && c.fine() {
		a.breaker.note(ctx, a.clock.Now(), c, nil, nil)
		return nil
	}
	out := a.translate(ctx, op, c, err)
	a.breaker.note(ctx, a.clock.Now(), c, err, out)
	return out
}

// answer is a failure with what only this package uses.
type answer struct {
	failure *forge.Error
	status  int
	said    string
	// unasked reports whether the server was not asked, having just failed to answer.
	unasked bool
	// limited reports whether the server asks to wait.
	limited bool
}

func (a *answer) Error() string { return a.failure.Error() }

// Unwrap returns what other packages use.
func (a *answer) Unwrap() error { return a.failure }

// refused reports whether the server answered with the status.
func refused(err error, status int) bool {
	a, ok := errors.AsType[*answer](err)
	return ok && a.status == status
}

// translate returns what a failure means. The SDK's own errors are used only where the server gave
// no status.
func (a *api) translate(ctx context.Context, op string, c *call, err error) *answer {
	e := &forge.Error{Op: op, Repository: a.String(), Kind: forge.FailedOther}
	out := &answer{failure: e, status: c.status, said: a.clean(message(c.said))}
	switch {
	case ctx.Err() != nil:
		e.Cause, e.Text = ctx.Err(), "stopped: "+ctx.Err().Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			e.Kind, e.Text = forge.FailedNetwork, "took too long: "+ctx.Err().Error()
		}
	case c.status == 0 && git.IsUntrustedCertificate(err):
		e.Kind, e.Text = forge.FailedTrust, "the server's certificate is not trusted: give the CA bundle that signed it"
	case c.status == 0:
		e.Kind, e.Text = forge.FailedNetwork, a.clean(err.Error())
	case c.fine():
		e.Kind, e.Text = forge.FailedNetwork, "the server did not answer as Gitea does: "+a.clean(err.Error())
	default:
		out.explain(c.header, a.location(c.header))
	}
	return out
}

// explain sets what a status means, and what to do. Statuses that may pass by themselves are
// failures of the network, by which callers wait and try again; the rest needs a person.
func (a *answer) explain(header http.Header, location string) {
	e := a.failure
	e.Wait = backoff.RetryAfter(header)
	forbidden := a.status == http.StatusForbidden && strings.Contains(strings.ToLower(a.said), "rate limit")
	throttled := a.status == http.StatusTooManyRequests || forbidden
	a.limited = throttled || e.Wait > 0
	switch {
	case throttled:
		e.Kind, e.Text = forge.FailedNetwork, "the server asks to wait: "+a.said
	case a.status >= 500 || a.status == http.StatusRequestTimeout:
		e.Kind, e.Text = forge.FailedNetwork, fmt.Sprintf("the server failed with status %d: %s", a.status, a.said)
	case a.status == http.StatusUnauthorized:
		e.Kind, e.Text = forge.FailedAuth, "the server does not accept the credentials; check the token, or the user name and password: "+a.said
	case a.status == http.StatusForbidden:
		e.Kind, e.Text = forge.FailedAuth, "the credentials may not do this; the token needs the scope write:repository, and its user must be able to write the repository: "+a.said
	case a.status == http.StatusNotFound:
		e.Kind, e.Text = forge.FailedNotFound, "it does not exist, or the credentials may not read it; check spec.url, and that the repository has pull requests enabled: "+a.said
	case a.status == http.StatusLocked:
		e.Text = "the repository is archived; unarchive it, or remove its GitOpsRepo: " + a.said
	case a.status/100 == 3:
		e.Kind, e.Text = forge.FailedNotFound, "the repository was renamed or moved; correct spec.url. The server points to "+location
	default:
		e.Text = fmt.Sprintf("the server refused with status %d: %s", a.status, a.said)
	}
	e.Text = strings.TrimSuffix(e.Text, ": ")
}

// message returns what a refusal says for people.
func message(said []byte) string {
	var m struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(said, &m) == nil && m.Message != "" {
		return m.Message
	}
	return string(said)
}

// location returns where a redirect leads, without what may be secret in it.
func (a *api) location(header http.Header) string {
	u, err := url.Parse(header.Get("Location"))
	if err != nil || u.Host == "" && u.Path == "" {
		return "an address that cannot be shown"
	}
	if u.Host == "" {
		return a.clean(u.Path)
	}
	return a.clean(u.Scheme + "://" + u.Host + u.Path) // decoded, so no secret is in disguise
}

// clean makes one line of bounded length without secrets.
func (a *api) clean(text string) string { return a.secrets.In(truncate.Line(text, maxText)) }
