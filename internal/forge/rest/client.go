package rest

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

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// requestTimeout bounds one request; a server that hangs must not block a pass.
	requestTimeout = 15 * time.Second
	// maxAnswer bounds an answer: a page of a hundred pull requests with long texts is 10 MB.
	maxAnswer = 32 << 20
)

// Forge is what a kind of forge is called, and what its servers ask of clients.
type Forge struct {
	// Name is that of the software.
	Name string
	// Rights says what the credentials need, for refusals that do not name what is missing: "the
	// token needs the scope write:repository".
	Rights string
	// Pace is the time between two requests that create something; zero for no pace.
	Pace time.Duration
	// Creates reports whether a request creates something; nil for all with the method POST.
	Creates func(*http.Request) bool
}

// Access says where a repository is, and how to get access.
type Access struct {
	// URL is that of the Git repository. Credentials in it are not used.
	URL string
	// Source provides the credentials.
	Source Source
	// CABundle has PEM certificates that are trusted in addition to the system's.
	CABundle []byte
	// Transport sends the requests; nil for one that trusts CABundle.
	Transport http.RoundTripper
	// Observe may wrap the transport, to count requests and read rates.
	Observe func(http.RoundTripper) http.RoundTripper
	// Clock is the real one if it is nil.
	Clock backoff.Clock
	// Limits are those of all clients of a process; nil for a client that is alone.
	Limits *Limits
}

// Client makes requests to the API of one server about one repository.
type Client struct {
	repository, api string
	base            *url.URL
	forge           Forge
	source          Source
	next            http.RoundTripper
	clock           backoff.Clock
	limit           *limit
	breaker         breaker
	cache           cache
	http            *http.Client
}

// New makes a client for a repository, as errors show its URL, on a server with this API. It sends no
// request.
func New(o Access, repository, api string, f Forge) (*Client, error) {
	base, err := url.Parse(api)
	if err != nil || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("the URL of the API for %s is not valid: write it as https://host/path", repository)
	}
	c := &Client{
		repository: repository, api: strings.TrimSuffix(api, "/"), base: base, forge: f, source: o.Source, next: o.Transport,
		clock: cmp.Or[backoff.Clock](o.Clock, backoff.RealClock{}), breaker: newBreaker(),
	}
	if c.next == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		if len(o.CABundle) > 0 {
			pool, err := git.CertPool(o.CABundle)
			if err != nil {
				return nil, fmt.Errorf("the CA bundle for %s: %w", repository, err)
			}
			own.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		}
		c.next = own
	}
	if o.Observe != nil {
		c.next = o.Observe(c.next)
	}
	c.limit = o.Limits.of(base.Host + " " + o.Source.Identity())
	c.http = &http.Client{
		Transport: transport{c},
		// A redirected POST becomes a GET, whose answer means nothing.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// HTTP returns the client for the forge's SDK.
func (c *Client) HTTP() *http.Client { return c.http }

// Budget returns what the server still allows; the zero value if that is unknown.
func (c *Client) Budget() forge.Budget { return c.limit.left(c.clock.Now()) }

// Permissions returns those that the credentials have, by name, as far as the source knows them; nil
// if it does not. A GitHub App gets them with each token, so after a first request.
func (c *Client) Permissions() map[string]string {
	if known, ok := c.source.(interface{ Permissions() map[string]string }); ok {
		return known.Permissions()
	}
	return nil
}

// call is what is known of the last request of a call of Do.
type call struct {
	op     string
	sent   bool
	status int
	header http.Header
	body   []byte
}

type callKey struct{}

// fine reports whether the last answer is a success.
func (c *call) fine() bool { return c.status/100 == 2 }

// Do makes one call of an SDK. op describes it in errors: a verb and its object. All requests need
// the context that ask gets. The error is nil or a *Failure.
func (c *Client) Do(ctx context.Context, op string, ask func(context.Context) error) error {
	made := &call{op: op}
	err := ask(context.WithValue(ctx, callKey{}, made))
	if err == nil && (made.fine() || !made.sent) {
		return nil
	}
	return c.translate(ctx, made, err)
}

// Call makes one request to a path below the API, which may have a query. in is sent as JSON unless
// it is nil. The answer is read into out unless that is nil: as JSON or, into a *[]byte, as it is. The
// error is nil or a *Failure.
func (c *Client) Call(ctx context.Context, op, method, path string, in, out any) (header http.Header, err error) {
	err = c.Do(ctx, op, func(ctx context.Context) error {
		body, err := json.Marshal(in)
		if err != nil {
			return err
		}
		if in == nil {
			body = nil
		}
		request, err := http.NewRequestWithContext(ctx, method, c.api+"/"+strings.TrimPrefix(path, "/"), bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "application/json")
		if in != nil {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := c.http.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		header = response.Header
		if out == nil || response.StatusCode/100 != 2 {
			return nil
		}
		if text, raw := out.(*[]byte); raw {
			*text, err = io.ReadAll(response.Body)
			return err
		}
		return json.NewDecoder(response.Body).Decode(out)
	})
	return header, err
}

// transport is the http.RoundTripper of a Client. Its errors are *Failure.
type transport struct{ *Client }

// RoundTrip sends a request, unless the server must not get it now.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	made, ok := r.Context().Value(callKey{}).(*call)
	if !ok {
		made = &call{op: r.Method + " " + r.URL.Path}
	}
	made.sent, made.status, made.header, made.body = true, 0, nil, nil
	if r.URL.Host != t.base.Host || r.URL.Scheme != t.base.Scheme {
		return nil, t.unasked(made.op, refusal{text: "the request leads to another server than " + t.base.Host + ", and is not sent"})
	}
	if err := t.admit(r, made.op); err != nil {
		return nil, err
	}
	response, err := t.authorized(r, made.op)
	if err != nil {
		return nil, err
	}
	made.status, made.header, made.body = response.status, response.header, response.body
	return &http.Response{
		Status: http.StatusText(response.status), StatusCode: response.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: response.header.Clone(), Body: io.NopCloser(bytes.NewReader(response.body)), ContentLength: int64(len(response.body)), Request: r,
	}, nil
}

// admit refuses a request while the server does not answer or wants none, and waits for its turn.
func (t transport) admit(r *http.Request, op string) error {
	if err := t.breaker.refuse(op, t.clock.Now()); err != nil && r.Context().Err() == nil {
		return err
	}
	wait, refused := t.limit.admit(t.clock.Now(), t.demand(r))
	if refused.text != "" {
		return t.unasked(op, refused)
	}
	if wait > 0 {
		return backoff.Sleep(r.Context(), t.clock, wait)
	}
	return nil
}

// demand is what a request asks of the limits.
func (c *Client) demand(r *http.Request) demand {
	creates := r.Method == http.MethodPost
	if c.forge.Creates != nil {
		creates = c.forge.Creates(r)
	}
	d := demand{writes: r.Method != http.MethodGet && r.Method != http.MethodHead}
	if creates {
		d.pace = c.forge.Pace
	}
	return d
}

// authorized sends a request with credentials. Where the server refuses them, and the source gets
// others, the request is sent again: the refused one did nothing.
func (t transport) authorized(r *http.Request, op string) (*answer, error) {
	body := r.Body
	for again := true; ; again = false {
		sent := r.Clone(r.Context())
		sent.Body = body
		if err := t.source.Authorize(r.Context(), sent); err != nil {
			return nil, t.unauthorized(r.Context(), op, err)
		}
		got, err := t.conditional(sent)
		if err != nil {
			failure := t.lost(r.Context(), op, err)
			t.breaker.lost(r.Context(), t.clock.Now(), err, failure)
			return nil, failure
		}
		t.breaker.answered()
		replayable := r.Body == nil || r.Body == http.NoBody || r.GetBody != nil
		if got.status != http.StatusUnauthorized || !again || !replayable || !t.source.Rejected(sent) {
			return got, nil
		}
		if r.GetBody != nil {
			if body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// conditional sends a request; what the server has not changed since is taken from the cache.
func (t transport) conditional(r *http.Request) (*answer, error) {
	key, kept := t.cache.find(r)
	if kept != nil {
		r.Header.Set("If-None-Match", kept.header.Get("Etag"))
	}
	got, err := t.send(r)
	if err != nil {
		return nil, err
	}
	t.limit.note(t.clock.Now(), t.demand(r), got)
	switch {
	case kept != nil && got.status == http.StatusNotModified:
		return kept.renewed(got.header), nil
	case key != "" && got.status == http.StatusOK:
		t.cache.keep(key, got)
	}
	return got, nil
}

var errTooLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)

// send sends a request and reads the whole answer in time.
func (t transport) send(r *http.Request) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, late(r.Context(), ctx, err)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && len(body) > maxAnswer {
		err = errTooLarge
	}
	if err != nil {
		return nil, late(r.Context(), ctx, err)
	}
	return &answer{response.StatusCode, response.Header, body}, nil
}

// answer is an answer that was read as a whole.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// timeout is a server that did not answer in time.
type timeout struct{}

func (timeout) Error() string {
	return fmt.Sprintf("the server did not answer within %d seconds", int(requestTimeout.Seconds()))
}

func (timeout) Timeout() bool { return true }

// late returns a timeout if the time of the request is why it failed, and not its caller.
func late(caller, own context.Context, err error) error {
	if caller.Err() == nil && errors.Is(own.Err(), context.DeadlineExceeded) {
		return timeout{}
	}
	return err
}
