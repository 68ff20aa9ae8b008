package rest_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// rotating is a source of tokens. The first is used until it is rejected.
type rotating struct{ tokens []string }

func (s *rotating) Authorize(_ context.Context, r *http.Request) error {
	r.Header.Set("Authorization", "Bearer "+s.tokens[0])
	return nil
}

func (s *rotating) Login(context.Context) (username, password string, err error) {
	return "x-access-token", s.tokens[0], nil
}

func (s *rotating) Rejected(*http.Request) bool {
	if len(s.tokens) == 1 {
		return false
	}
	s.tokens = s.tokens[1:]
	return true
}

func (s *rotating) Secrets() redact.Secrets { return redact.Password("", s.tokens[0]) }

func (s *rotating) Identity() string { return "rotating" }

func TestARequestWithRejectedCredentialsIsSentAgainWithOthers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tokens []string
		want   string
		fails  bool
	}{
		"others are accepted": {[]string{"old", "new"}, "Bearer old {\"title\":\"t\"}, Bearer new {\"title\":\"t\"}", false},
		"there are no others": {[]string{"old"}, "Bearer old {\"title\":\"t\"}", true},
		"one retry":           {[]string{"old", "old", "new"}, "Bearer old {\"title\":\"t\"}, Bearer old {\"title\":\"t\"}", true},
	}
	for name, tc := range cases {
		var sent []string
		c := newClient(t, options{Source: &rotating{tc.tokens}, Transport: &wire{handle: func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, r.ContentLength)
			_, _ = r.Body.Read(body)
			sent = append(sent, r.Header.Get("Authorization")+" "+string(body))
			if r.Header.Get("Authorization") != "Bearer new" {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}}})
		err := post(t.Context(), c)
		if got := strings.Join(sent, ", "); got != tc.want || tc.fails != forge.IsFailure(err, forge.FailedAuth) {
			t.Errorf("%s: sent %s, %v", name, got, err)
		}
	}
}

var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func keyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(appKey())})
}

// hub is GitHub as far as a GitHub App needs it.
type hub struct {
	t  *testing.T
	mu sync.Mutex
	// ahead is how far its clock is ahead.
	ahead time.Duration
	// refuse answers requests for tokens, if it is set.
	refuse http.HandlerFunc
	// hold makes requests for tokens wait until it is closed, if it is set.
	hold chan struct{}
	// minted counts the tokens; those up to revoked are not accepted.
	minted, revoked int
	// used are the tokens of the other requests.
	used []string
}

func (h *hub) now() time.Time { return time.Now().Add(h.ahead) }

func (h *hub) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.hold != nil && r.Method == http.MethodPost {
		<-h.hold
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := httptest.NewRecorder()
	out.Header().Set("Date", h.now().UTC().Format(http.TimeFormat))
	switch {
	case !strings.HasSuffix(r.URL.Path, "/access_tokens"):
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		h.used = append(h.used, token)
		if token != fmt.Sprintf("ghs_%d", h.minted) || h.minted <= h.revoked {
			http.Error(out, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		}
	case h.refuse != nil:
		h.refuse(out, r)
	default:
		h.mint(out, r)
	}
	return out.Result(), nil
}

func (h *hub) mint(w http.ResponseWriter, r *http.Request) {
	var claims jwt.RegisteredClaims
	keys := func(*jwt.Token) (any, error) { return appKey().Public(), nil }
	_, err := jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &claims, keys, jwt.WithValidMethods([]string{"RS256"}),
		jwt.WithTimeFunc(h.now), jwt.WithIssuedAt(), jwt.WithExpirationRequired(), jwt.WithIssuer("12"))
	if err == nil && claims.ExpiresAt.Sub(h.now()) > 10*time.Minute {
		err = errors.New("'Expiration time' claim ('exp') is too far in the future")
	}
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"message":%q}`, err), http.StatusUnauthorized)
		return
	}
	var asked struct{ Repositories []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.String() != "https://api.github.com/app/installations/34/access_tokens" {
		h.t.Errorf("asked for %s, %v", r.URL, err)
	}
	if diff := cmp.Diff([]string{"fleet"}, asked.Repositories); diff != "" {
		h.t.Errorf("repositories (-want +got):\n%s", diff)
	}
	h.minted++
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"token":"ghs_%d","expires_at":%q}`, h.minted, h.now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func newApp(t *testing.T, h *hub) (*rest.App, *rest.Client) {
	t.Helper()
	h.t = t
	app, err := rest.NewApp(rest.Access{URL: "https://github.com/acme/fleet.git", Transport: h}, rest.AppOptions{ID: "12", Installation: "34", PrivateKey: keyPEM()})
	if err != nil {
		t.Fatal(err)
	}
	return app, newClient(t, options{API: "https://api.github.com", Source: app, Transport: h})
}

func TestAnAppRenewsItsTokenBeforeItExpires(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"equal clocks": 0, "a server that is behind": -40 * time.Second, "a server that is far behind": -3 * time.Hour, "a server that is far ahead": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			appKey() // takes longer than a bubble should
			synctest.Test(t, func(t *testing.T) {
				h := &hub{ahead: ahead}
				app, c := newApp(t, h)
				for _, step := range []struct {
					after time.Duration
					want  int
				}{{0, 1}, {53 * time.Minute, 1}, {time.Minute, 2}, {53 * time.Minute, 2}, {10 * time.Hour, 3}} {
					skip(t, step.after)
					if err := get(t.Context(), c); err != nil || h.minted != step.want {
						t.Errorf("after %s more there are %d tokens, want %d: %v", step.after, h.minted, step.want, err)
					}
				}
				if diff := cmp.Diff([]string{"ghs_1", "ghs_1", "ghs_2", "ghs_2", "ghs_3"}, h.used); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				username, password, err := app.Login(t.Context())
				if err != nil || username != "x-access-token" || password != "ghs_3" {
					t.Errorf("for Git %s:%s, %v", username, password, err)
				}
				if got := app.Secrets().In("a ghs_3, a ghs_2"); got != "a REDACTED, a REDACTED" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

func TestATokenThatIsRevokedIsReplaced(t *testing.T) {
	t.Parallel()
	h := &hub{}
	_, c := newApp(t, h)
	if err := get(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	h.revoked = 1
	if err := get(t.Context(), c); err != nil {
		t.Error(err)
	}
	h.revoked = 99
	err := get(t.Context(), c)
	if got := failureOf(t, err); got.Kind != forge.FailedAuth || got.Said != "Bad credentials" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"ghs_1", "ghs_1", "ghs_2", "ghs_2", "ghs_3"}, h.used); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTwoCallersAtOnceGetOneToken(t *testing.T) {
	t.Parallel()
	appKey()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{hold: make(chan struct{})}
		app, c := newApp(t, h)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := get(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if _, password, err := app.Login(t.Context()); err != nil || password != "ghs_1" {
					t.Errorf("for Git %s, %v", password, err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := failureOf(t, get(ctx, c)); got.Text != "stopped: context canceled" {
			t.Errorf("a caller that gives up: %v", got)
		}
		close(h.hold)
		all.Wait()
		if h.minted != 1 {
			t.Errorf("there are %d tokens", h.minted)
		}
	})
}

func TestAValidTokenIsUsedWhileItCannotBeRenewed(t *testing.T) {
	t.Parallel()
	appKey()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{}
		_, c := newApp(t, h)
		if err := get(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h.refuse = answering(502, "")
		skip(t, 55*time.Minute)
		if err := get(t.Context(), c); err != nil {
			t.Error(err)
		}
		skip(t, 5*time.Minute)
		if got := failureOf(t, get(t.Context(), c)); got.Kind != forge.FailedNetwork || got.Text != "the server failed with status 502" {
			t.Errorf("got %v", got)
		}
	})
}

func TestFailuresOfAnAppNameTheNextStep(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refuse http.HandlerFunc
		kind   forge.Kind
		want   string
	}{
		"a wrong key": {answering(401, `{"message":"A JSON web token could not be decoded"}`), forge.FailedAuth,
			"GitHub does not accept the key of the GitHub App 12; check githubAppID and githubAppPrivateKey, or generate another private key in the settings of the App: A JSON web token could not be decoded"},
		"an App that does not exist": {answering(404, `{"message":"Integration not found"}`), forge.FailedAuth,
			"there is no installation 34 of the GitHub App 12; install the App for the owner of the repository, and correct githubAppID and githubAppInstallationID: Integration not found"},
		"a suspended installation": {answering(403, `{"message":"This installation has been suspended"}`), forge.FailedAuth,
			"the installation 34 of the GitHub App 12 is suspended or may not be used; unsuspend it in the settings of its owner: This installation has been suspended"},
		"another repository": {answering(422, `{"message":"There is at least one repository that does not exist or is not accessible to the parent installation."}`), forge.FailedAuth,
			"the installation 34 of the GitHub App 12 does not include the repository fleet; add it in the settings of the installation: There is at least one repository that does not exist or is not accessible to the parent installation."},
		"a limit":          {answering(403, `{"message":"API rate limit exceeded"}`), forge.FailedNetwork, "the server asks to wait: API rate limit exceeded"},
		"a failing server": {answering(500, ""), forge.FailedNetwork, "the server failed with status 500"},
		"no token":         {answering(201, "{}"), forge.FailedNetwork, "the server did not answer as GitHub does: there is no token in the answer"},
		"a server that repeats what was sent to it": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusConflict)
		}, forge.FailedOther, "the server refused with status 409: Bearer REDACTED"},
	}
	for name, tc := range cases {
		h := &hub{refuse: tc.refuse}
		app, c := newApp(t, h)
		err := get(t.Context(), c)
		if got := failureOf(t, err); got.Kind != tc.kind || got.Text != tc.want || len(h.used) > 0 {
			t.Errorf("%s: got %v", name, got)
		}
		if want := "list pull requests in " + repository + ": " + tc.want; err.Error() != want {
			t.Errorf("%s: got %q, want %q", name, err, want)
		}
		if _, _, err := app.Login(t.Context()); !forge.IsFailure(err, tc.kind) || err.Error() != "get a token of the GitHub App 12 in https://github.com/acme/fleet.git: "+tc.want {
			t.Errorf("%s: for Git: %v", name, err)
		}
	}
}

func TestNewApp(t *testing.T) {
	t.Parallel()
	pkcs8, err := x509.MarshalPKCS8PrivateKey(appKey())
	if err != nil {
		t.Fatal(err)
	}
	const number = ". Copy the number from the settings of the App or of its installation"
	cases := map[string]struct {
		change func(*rest.AppOptions)
		want   string
	}{
		"an App": {func(*rest.AppOptions) {}, ""},
		"a key in PKCS #8": {func(o *rest.AppOptions) {
			o.PrivateKey = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
		}, ""},
		"no ID":                     {func(o *rest.AppOptions) { o.ID = "" }, "githubAppID is missing" + number},
		"no installation":           {func(o *rest.AppOptions) { o.Installation = "" }, "githubAppInstallationID is not a number" + number},
		"a path as an installation": {func(o *rest.AppOptions) { o.Installation = "../1" }, "githubAppInstallationID is not a number" + number},
		"no key":                    {func(o *rest.AppOptions) { o.PrivateKey = nil }, "githubAppPrivateKey is not an RSA key in PEM. Generate a private key in the settings of the App, and use the file as it is"},
		"an API without a scheme":   {func(o *rest.AppOptions) { o.API = "github.example.com" }, "the URL of the API for " + repository + " is not valid: write it as https://host/path"},
	}
	for name, tc := range cases {
		o := rest.AppOptions{ID: "12", Installation: "34", PrivateKey: keyPEM()}
		tc.change(&o)
		_, err := rest.NewApp(rest.Access{URL: repository}, o)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestNewSource(t *testing.T) {
	t.Parallel()
	cases := map[string]rest.Login{"nothing": {}, "a user without a password": {Username: "bot"}}
	for name, l := range cases {
		_, err := rest.NewSource(l, rest.Bearer, repository)
		if want := "there are no credentials for " + repository + ", and pull requests need them. Give an access token that may write the repository, or a user name and password"; err == nil || err.Error() != want {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, s := range []rest.Source{newSource(t, rest.Login{Token: secret}, rest.Bearer), newSource(t, rest.Login{Username: "bot", Password: secret}, rest.Bearer)} {
		if got := fmt.Sprintf("%v %+v %#v %s", s, s, s, s.Identity()); strings.Contains(got, secret) {
			t.Errorf("it shows %s", got)
		}
	}
}
