package rest_test

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

const (
	secret     = "s3cr3t-t0ken"
	repository = "https://git.example.com/acme/fleet"
	api        = "https://git.example.com/api/v1"
)

var gitea = rest.Forge{Name: "Gitea", Rights: "the token needs the scope write:repository"}

// wire is a server without a network, so time can be skipped.
type wire struct {
	handle http.HandlerFunc
	// asked are the requests, as "METHOD path".
	asked []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.asked = append(w.asked, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1"))
	if w.handle == nil {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	out := httptest.NewRecorder()
	w.handle(out, r)
	return out.Result(), nil
}

func (w *wire) take() []string {
	asked := w.asked
	w.asked = nil
	return asked
}

func newSource(t *testing.T, l rest.Login, form rest.Form) rest.Source {
	t.Helper()
	s, err := rest.NewSource(l, form, repository)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newClient makes a client with a token, unless o has a source.
// options are what a test wants of a client.
type options struct {
	API       string
	Forge     rest.Forge
	Source    rest.Source
	CABundle  []byte
	Transport http.RoundTripper
	Limits    *rest.Limits
}

func newClient(t *testing.T, o options) *rest.Client {
	t.Helper()
	if o.API == "" {
		o.API = api
	}
	if o.Source == nil {
		o.Source = newSource(t, rest.Login{Token: secret}, rest.Bearer)
	}
	if o.Forge.Name == "" {
		o.Forge = gitea
	}
	c, err := rest.New(rest.Access{Source: o.Source, CABundle: o.CABundle, Transport: o.Transport, Limits: o.Limits}, repository, o.API, o.Forge)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get makes one request.
func get(ctx context.Context, c *rest.Client) error {
	_, err := c.Call(ctx, "list pull requests", http.MethodGet, "pulls", nil, nil)
	return err
}

// post makes a request that creates something.
func post(ctx context.Context, c *rest.Client) error {
	_, err := c.Call(ctx, "open a pull request", http.MethodPost, "pulls", map[string]string{"title": "t"}, nil)
	return err
}

// skip lets time pass.
func skip(t *testing.T, d time.Duration) {
	t.Helper()
	if err := backoff.Sleep(t.Context(), backoff.RealClock{}, d); err != nil {
		t.Fatal(err)
	}
}

// bubble runs a test in a bubble whose time begins in a year in which seconds since 1970 are not
// mistaken for seconds from now.
func bubble(t *testing.T, run func(*testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		skip(t, time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
		run(t)
	})
}

func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// failure is what the tests compare of a failure.
type failure struct {
	Kind     forge.Kind
	Text     string
	Wait     time.Duration
	Said     string
	Location string
	Limited  bool
}

func failureOf(t *testing.T, err error) failure {
	t.Helper()
	f, ok := errors.AsType[*rest.Failure](err)
	if !ok {
		t.Fatalf("got %v, want a failure", err)
	}
	return failure{f.Err.Kind, f.Err.Text, f.Err.Wait, f.Said, f.Location, f.Limited}
}

func TestAnswersAreExplained(t *testing.T) {
	t.Parallel()
	const (
		date     = "Mon, 02 Jan 2006 15:04:05 GMT"
		noAccess = "it does not exist, or the credentials may not read it; "
	)
	cases := map[string]struct {
		status  int
		body    string
		headers []string
		want    failure
	}{
		"a limit": {429, "", []string{"Retry-After", "7"},
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait", Wait: 7 * time.Second, Limited: true}},
		"a limit until a time": {503, "", []string{"Date", date, "Retry-After", "Mon, 02 Jan 2006 15:05:05 GMT"},
			failure{Kind: forge.FailedNetwork, Text: "the server failed with status 503", Wait: time.Minute, Limited: true}},
		"a limit that is called forbidden": {403, `{"message":"API rate limit exceeded"}`, nil,
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: API rate limit exceeded", Said: "API rate limit exceeded", Limited: true}},
		"GitHub's budget": {403, `{"message":"API rate limit exceeded for user alice."}`,
			[]string{"Date", date, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1136214845"},
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: API rate limit exceeded for user alice.", Said: "API rate limit exceeded for user alice.", Wait: 10 * time.Minute, Limited: true}},
		"GitHub's secondary limit": {403, `{"message":"You have exceeded a secondary rate limit."}`, []string{"Retry-After", "30"},
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: You have exceeded a secondary rate limit.", Said: "You have exceeded a secondary rate limit.", Wait: 30 * time.Second, Limited: true}},
		"GitHub's secondary limit without a time": {403, `{"message":"You have exceeded a secondary rate limit."}`, nil,
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: You have exceeded a secondary rate limit.", Said: "You have exceeded a secondary rate limit.", Wait: time.Minute, Limited: true}},
		"GitLab's budget": {429, "Retry later", []string{"RateLimit-Limit", "600", "RateLimit-Remaining", "0", "RateLimit-Reset", "1136214305", "Date", date, "Retry-After", "60"},
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: Retry later", Said: "Retry later", Wait: time.Minute, Limited: true}},
		"a wait of a day": {403, `{"message":"rate limit"}`, []string{"Retry-After", "86400"},
			failure{Kind: forge.FailedNetwork, Text: "the server asks to wait: rate limit", Said: "rate limit", Wait: 24 * time.Hour, Limited: true}},
		"a failing server": {502, "<html>\n<h1>Bad gateway</h1></html>", nil,
			failure{Kind: forge.FailedNetwork, Text: "the server failed with status 502: <html> <h1>Bad gateway</h1></html>", Said: "<html> <h1>Bad gateway</h1></html>"}},
		"a slow request": {408, "", nil, failure{Kind: forge.FailedNetwork, Text: "the server failed with status 408"}},
		"wrong credentials": {401, `{"message":"Bad credentials"}`, nil,
			failure{Kind: forge.FailedAuth, Text: "the server does not accept the credentials; check the token, or the user name and password: Bad credentials", Said: "Bad credentials"}},
		"credentials that may not": {403, `{"message":"no"}`, nil,
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope write:repository: no", Said: "no"}},
		"GitHub, a scope": {403, `{"message":"no"}`, []string{"X-OAuth-Scopes", "read:org, gist", "X-Accepted-OAuth-Scopes", "public_repo, repo"},
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope public_repo or repo and has read:org, gist: no", Said: "no"}},
		"GitHub, no scope": {403, `{"message":"no"}`, []string{"X-OAuth-Scopes", "", "X-Accepted-OAuth-Scopes", "repo"},
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope repo and has none: no", Said: "no"}},
		"GitHub, the scope is there": {403, `{"message":"no"}`, []string{"X-OAuth-Scopes", "repo", "X-Accepted-OAuth-Scopes", "repo"},
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope write:repository: no", Said: "no"}},
		"GitHub, a permission": {403, `{"message":"Resource not accessible by personal access token"}`, []string{"X-Accepted-GitHub-Permissions", "contents=write,workflows=write; administration=write"},
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the permission contents=write and workflows=write or administration=write: Resource not accessible by personal access token", Said: "Resource not accessible by personal access token"}},
		"GitHub, single sign-on": {403, `{"message":"Resource protected by organization SAML enforcement."}`, []string{"X-GitHub-SSO", "required; url=https://github.com/orgs/acme/sso?authorization_request=x"},
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; authorize the token for the single sign-on of the organization: Resource protected by organization SAML enforcement.", Said: "Resource protected by organization SAML enforcement."}},
		"GitHub, a repository that the scopes hide": {404, `{"message":"Not Found"}`, []string{"X-OAuth-Scopes", "", "X-Accepted-OAuth-Scopes", "repo"},
			failure{Kind: forge.FailedNotFound, Text: noAccess + "the token needs the scope repo and has none: Not Found", Said: "Not Found"}},
		"GitHub, nothing with this name": {404, `{"message":"Not Found"}`, []string{"X-Accepted-GitHub-Permissions", "pull_requests=read"},
			failure{Kind: forge.FailedNotFound, Text: noAccess + "check spec.url, and that the repository has pull requests enabled: Not Found", Said: "Not Found"}},
		"GitLab, a scope": {403, `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"api read_api"}`, nil,
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope api or read_api: insufficient_scope: The request requires higher privileges than provided by the access token.",
				Said: "insufficient_scope: The request requires higher privileges than provided by the access token."}},
		"Gitea, a scope": {403, `{"message":"token does not have at least one of required scope(s), required=[write:issue], token scope=write:repository"}`, nil,
			failure{Kind: forge.FailedAuth, Text: "the credentials may not do this; the token needs the scope write:issue: token does not have at least one of required scope(s), required=[write:issue], token scope=write:repository",
				Said: "token does not have at least one of required scope(s), required=[write:issue], token scope=write:repository"}},
		"an archived repository on Gitea": {423, `{"message":"archived"}`, nil,
			failure{Kind: forge.FailedOther, Text: "the repository is archived; unarchive it, or remove its GitOpsRepo: archived", Said: "archived"}},
		"an archived repository on GitHub": {403, `{"message":"Repository was archived so is read-only."}`, nil,
			failure{Kind: forge.FailedOther, Text: "the repository is archived; unarchive it, or remove its GitOpsRepo: Repository was archived so is read-only.", Said: "Repository was archived so is read-only."}},
		"a list of errors": {422, `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for acme:b."},{"resource":"Issue","code":"missing_field","field":"title"}]}`, nil,
			failure{Kind: forge.FailedOther, Text: "the server refused with status 422: Validation Failed: A pull request already exists for acme:b., code missing_field, field title, resource Issue",
				Said: "Validation Failed: A pull request already exists for acme:b., code missing_field, field title, resource Issue"}},
		"messages by field": {400, `{"message":{"source_branch":["is missing","is invalid"]}}`, nil,
			failure{Kind: forge.FailedOther, Text: "the server refused with status 400: source_branch is missing, is invalid", Said: "source_branch is missing, is invalid"}},
		"a list of messages": {409, `{"message":["Another open merge request already exists for this source branch: !5"]}`, nil,
			failure{Kind: forge.FailedOther, Text: "the server refused with status 409: Another open merge request already exists for this source branch: !5", Said: "Another open merge request already exists for this source branch: !5"}},
		"an answer of something else": {200, `{"number":`, nil,
			failure{Kind: forge.FailedNetwork, Text: "the server did not answer as Gitea does: unexpected EOF"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, options{Transport: &wire{handle: answering(tc.status, tc.body, tc.headers...)}})
			var out any
			_, err := c.Call(t.Context(), "list pull requests", http.MethodGet, "pulls", nil, &out)
			if diff := cmp.Diff(tc.want, failureOf(t, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want := "list pull requests in " + repository + ": " + tc.want.Text; err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
			if forge.IsLimited(err) != (strings.HasPrefix(tc.want.Text, "the server asks to wait") && tc.want.Wait > 0) {
				t.Errorf("limited: %v", err)
			}
			if !rest.Refused(err, tc.status) || rest.Refused(err, 418) || !forge.IsFailure(err, tc.want.Kind) {
				t.Errorf("it is another failure: %v", err)
			}
		})
	}
}

func TestARedirectIsNotFollowedAndNamed(t *testing.T) {
	t.Parallel()
	const moved = "http://git.example.com/acme/fleet-new/pulls"
	cases := map[string]struct{ location, want string }{
		"a location":             {moved, moved},
		"a location on the site": {"/acme/fleet-new", "/acme/fleet-new"},
		"a user":                 {"http://bot:hunter2@git.example.com/acme/fleet-new/pulls", moved},
		"a query":                {moved + "?access_token=hunter2#hunter2", moved},
		"our token":              {"http://git.example.com/" + secret + "/pulls", "http://git.example.com/REDACTED/pulls"},
		"our token in disguise":  {"http://git.example.com/%73" + secret[1:] + "/pulls", "http://git.example.com/REDACTED/pulls"},
		"more than one line":     {"http://git.example.com/a%0ab", "http://git.example.com/a b"},
		"nonsense":               {"http://bot:hunter2@%zz", "an address that cannot be shown"},
		"nothing":                {"", "an address that cannot be shown"},
	}
	for name, tc := range cases {
		for _, status := range []int{301, 302, 307, 308} {
			w := &wire{handle: answering(status, "", "Location", tc.location)}
			got := failureOf(t, post(t.Context(), newClient(t, options{Transport: w})))
			want := failure{Kind: forge.FailedNotFound, Text: "the repository was renamed or moved; correct spec.url. The server points to " + tc.want, Location: tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d (-want +got):\n%s", name, status, diff)
			}
			if len(w.asked) != 1 {
				t.Errorf("%s: asked for %q", name, w.asked)
			}
		}
	}
}

func TestNoErrorHoldsASecret(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]rest.Source{
		"a token":       newSource(t, rest.Login{Token: secret}, rest.Token),
		"GitLab's form": newSource(t, rest.Login{Token: secret}, rest.PrivateToken),
		"a password":    newSource(t, rest.Login{Username: "bot", Password: secret}, rest.Token),
	} {
		for how, filler := range map[string]string{"": "", "at the end of what is shown": strings.Repeat("x", 585)} {
			c := newClient(t, options{Source: s, Transport: &wire{handle: func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, filler+r.Header.Get("Authorization")+r.Header.Get("Private-Token")+" "+secret, http.StatusInternalServerError)
			}}})
			err := get(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), "R") || strings.Contains(err.Error(), secret[:6]) || strings.Contains(err.Error(), "Ym90OnMzY3IzdC10MGtlbg") || len(err.Error()) > 1000 {
				t.Errorf("%s %s: got %v", name, how, err)
			}
		}
	}
}

func TestCredentialsAreSentInTheFormOfTheServer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		login     rest.Login
		form      rest.Form
		want, git string
	}{
		"GitHub":               {rest.Login{Token: "t"}, rest.Bearer, "Bearer t|", "x-access-token:t"},
		"Gitea":                {rest.Login{Token: "t"}, rest.Token, "token t|", "x-access-token:t"},
		"GitLab":               {rest.Login{Token: "t"}, rest.PrivateToken, "|t", "x-access-token:t"},
		"with a user":          {rest.Login{Token: "t", Username: "bot"}, rest.PrivateToken, "|t", "bot:t"},
		"a password of GitHub": {rest.Login{Username: "bot", Password: "p"}, rest.Bearer, "Bearer p|", "bot:p"},
		"a password of Gitea":  {rest.Login{Username: "bot", Password: "p"}, rest.Token, "Basic Ym90OnA=|", "bot:p"},
		"a password of GitLab": {rest.Login{Username: "bot", Password: "p"}, rest.PrivateToken, "|p", "bot:p"},
	}
	for name, tc := range cases {
		s := newSource(t, tc.login, tc.form)
		got := ""
		c := newClient(t, options{Source: s, Transport: &wire{handle: func(_ http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization") + "|" + r.Header.Get("PRIVATE-TOKEN")
		}}})
		if err := get(t.Context(), c); err != nil || got != tc.want {
			t.Errorf("%s: sent %q, %v", name, got, err)
		}
		if username, password, err := s.Login(t.Context()); err != nil || username+":"+password != tc.git {
			t.Errorf("%s: for Git %s:%s, %v", name, username, password, err)
		}
	}
}

func TestCredentialsAreSentToNoOtherServer(t *testing.T) {
	t.Parallel()
	w := &wire{handle: answering(200, "{}")}
	c := newClient(t, options{Transport: w})
	for _, url := range []string{"https://evil.example.com/api/v1/pulls", "http://git.example.com/api/v1/pulls"} {
		err := c.Do(t.Context(), "list pull requests", func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
			if err != nil {
				return err
			}
			response, err := c.HTTP().Do(r)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		})
		if got := failureOf(t, err); got.Text != "the request leads to another server than git.example.com, and is not sent" || len(w.asked) > 0 {
			t.Errorf("%s: got %v, asked %q", url, got, w.asked)
		}
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	c := newClient(t, options{Transport: &wire{handle: func(w http.ResponseWriter, _ *http.Request) {
		for range 33 {
			_, _ = w.Write(make([]byte, 1<<20))
		}
	}}})
	if got := failureOf(t, get(t.Context(), c)); got.Text != "the answer is larger than 32 MiB" {
		t.Errorf("got %v", got)
	}
}

func TestAPrivateAuthorityIsTrustedByItsBundle(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(answering(200, "{}"))
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	t.Cleanup(web.Close)
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := get(t.Context(), newClient(t, options{API: web.URL, CABundle: bundle})); err != nil {
		t.Error(err)
	}
	got := failureOf(t, get(t.Context(), newClient(t, options{API: web.URL})))
	if got.Kind != forge.FailedTrust || got.Text != "the server's certificate is not trusted: give the CA bundle that signed it" {
		t.Errorf("got %v", got)
	}
	_, err := rest.New(rest.Access{CABundle: []byte("x"), Source: newSource(t, rest.Login{Token: "t"}, rest.Bearer)}, repository, web.URL, gitea)
	if err == nil || err.Error() != "the CA bundle for "+repository+": it has no PEM certificate" {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatHangsIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		c := newClient(t, options{Transport: w})
		began := time.Now()
		for range 50 {
			if got := failureOf(t, get(t.Context(), c)); got.Kind != forge.FailedNetwork || got.Text != "the server did not answer within 15 seconds" {
				t.Fatalf("got %v", got)
			}
		}
		if err := post(t.Context(), c); !strings.HasPrefix(err.Error(), "open a pull request in ") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 15*time.Second || len(w.asked) != 1 {
			t.Errorf("it took %s and %q", took, w.asked)
		}
		skip(t, 5*time.Second)
		w.handle = answering(200, "{}")
		if err := get(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
}

// stalls is a body that does not end.
type stalls struct{ http.RoundTripper }

type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (s stalls) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.RoundTripper.RoundTrip(r)
	response.Body = io.NopCloser(stalled{r.Context()})
	return response, err
}

func TestAnAnswerThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{handle: answering(200, "")}
		c := newClient(t, options{Transport: stalls{w}})
		began := time.Now()
		for range 2 {
			if got := failureOf(t, get(t.Context(), c)); got.Kind != forge.FailedNetwork {
				t.Errorf("got %v", got)
			}
		}
		if took := time.Since(began); took != 15*time.Second || len(w.asked) != 1 {
			t.Errorf("it took %s and %q", took, w.asked)
		}
	})
}

type lossy struct{ answers []string }

func (l *lossy) RoundTrip(*http.Request) (*http.Response, error) {
	now := l.answers[0]
	l.answers = l.answers[1:]
	if now == "lost" {
		return nil, errors.New("connection reset by peer")
	}
	out := httptest.NewRecorder()
	out.WriteHeader(map[string]int{"answered": 200, "fails": 502}[now])
	return out.Result(), nil
}

func TestLostAnswers(t *testing.T) {
	t.Parallel()
	const lost, answered, fails = "lost", "answered", "fails"
	cases := map[string]struct {
		answers []string
		// want is how many of them are requested before the next request fails at once.
		want int
	}{
		"one":                        {[]string{lost, answered}, 2},
		"two in a row":               {[]string{lost, lost, answered}, 2},
		"two with an answer between": {[]string{lost, answered, lost, answered}, 4},
		"two with a failure between": {[]string{lost, fails, lost, fails}, 4},
		"failures are answers":       {[]string{fails, fails, fails, answered}, 4},
	}
	for name, tc := range cases {
		l := &lossy{tc.answers}
		c := newClient(t, options{Transport: l})
		for range tc.answers {
			_ = get(t.Context(), c)
		}
		if got := len(tc.answers) - len(l.answers); got != tc.want {
			t.Errorf("%s: %d requests, want %d", name, got, tc.want)
		}
	}
}

func TestWhatTheCallerBreaksOffSaysNothingOfTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		c := newClient(t, options{Transport: w})
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			got := failureOf(t, get(ctx, c))
			cancel()
			if got.Kind != forge.FailedNetwork || got.Text != "took too long: context deadline exceeded" || len(w.take()) != 1 {
				t.Errorf("got %v", got)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := get(ctx, c)
		if got := failureOf(t, err); got.Kind != forge.FailedOther || got.Text != "stopped: context canceled" || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", got)
		}
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "git.example.com", "https://bot:" + secret + "@git.example.com", "https://%zz" + secret} {
		_, err := rest.New(rest.Access{Source: newSource(t, rest.Login{Token: "t"}, rest.Bearer)}, repository, bad, gitea)
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v", bad, err)
		}
	}
}

func TestCallsCarryJSON(t *testing.T) {
	t.Parallel()
	c := newClient(t, options{Transport: &wire{handle: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Total", "7")
		_, _ = io.WriteString(w, `{"said":`+strconv.Quote(r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+string(body))+`}`)
	}}})
	var out struct{ Said string }
	header, err := c.Call(t.Context(), "edit a pull request", http.MethodPatch, "/pulls/7?draft=true", map[string]int{"a": 1}, &out)
	if want := `PATCH https://git.example.com/api/v1/pulls/7?draft=true application/json {"a":1}`; err != nil || out.Said != want || header.Get("X-Total") != "7" {
		t.Errorf("got %q, %v, %v", out.Said, header, err)
	}
	_, err = c.Call(t.Context(), "edit a pull request", http.MethodPatch, "pulls/7", func() {}, nil)
	if got := failureOf(t, err); got.Kind != forge.FailedOther {
		t.Errorf("got %v", got)
	}
}
