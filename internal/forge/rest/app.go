package rest

import (
	"cmp"
	"context"
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/forge"
)

const (
	// skew is how far in the past a signed token begins, because clocks differ; it ends before the
	// ten minutes that GitHub allows.
	skew     = time.Minute
	lifetime = 9 * time.Minute
	// maxSkew is the difference between the clocks above which the server's is used.
	maxSkew = skew / 2
)

// AppOptions are a GitHub App and an installation of it.
type AppOptions struct {
	// API is the URL of the server's API. Where it is empty it is that of the repository's server:
	// https://api.github.com, or https://host/api/v3 of GitHub Enterprise Server.
	API string
	// ID and Installation are the numbers that GitHub shows; of ID also the client ID.
	ID, Installation string
	// PrivateKey is in PEM, as GitHub gives it out.
	PrivateKey []byte `json:"-"`
}

// String shows no secret.
func (o AppOptions) String() string { return "the GitHub App " + o.ID }

// GoString shows none either, for all verbs of fmt.
func (o AppOptions) GoString() string { return o.String() }

// App is the Source of an installation of a GitHub App. Its tokens are for one repository, last an
// hour, and are renewed before. One is made at a time, however many callers wait for it.
type App struct {
	options AppOptions
	// repository is the URL of the one that the tokens are for.
	repository string
	name       string
	client     *Client
	key        *signer
	clock      backoff.Clock
	// making is held by the caller that gets a token; a channel, because callers may give up.
	making chan struct{}

	mu sync.Mutex
	// token is valid until expires, and renewed from renew on; before is the one before it.
	token, before  string
	renew, expires time.Time
	// permissions are those of token.
	permissions map[string]string
}

var _ Source = (*App)(nil)

// NewApp makes the source of a GitHub App for a repository, to which there is access but for the
// source. It sends no request.
func NewApp(access Access, o AppOptions) (*App, error) {
	invalid := func(key, message, next string) error {
		return manifest.Problem{Reason: "CredentialsMissing", Field: key, Message: key + " " + message, Next: next}
	}
	const number = "Copy the number from the settings of the App or of its installation"
	switch key, err := jwt.ParseRSAPrivateKeyFromPEM(o.PrivateKey); {
	case o.ID == "":
		return nil, invalid("githubAppID", "is missing", number)
	case o.Installation == "" || strings.Trim(o.Installation, "0123456789") != "":
		return nil, invalid("githubAppInstallationID", "is not a number", number)
	case err != nil:
		return nil, invalid("githubAppPrivateKey", "is not an RSA key in PEM", "Generate a private key in the settings of the App, and use the file as it is")
	default:
		a := &App{options: o, repository: access.URL, name: o.String(), clock: cmp.Or[backoff.Clock](access.Clock, backoff.RealClock{}), making: make(chan struct{}, 1)}
		a.key = &signer{app: o.ID, key: key, clock: a.clock}
		access.Source = a.key
		a.client, err = New(access, access.URL, cmp.Or(o.API, GitHubAPI(access.URL)), Forge{Name: "GitHub"})
		return a, err
	}
}

// GitHubAPI returns the URL of the API of github.com, GHE.com or a GitHub Enterprise Server from that
// of a repository or page on it; empty if it cannot be read.
func GitHubAPI(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	if host := strings.ToLower(u.Hostname()); host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		return "https://api." + host
	}
	return u.Scheme + "://" + u.Host + "/api/v3"
}

// Authorize adds the token of the moment to a request.
func (a *App) Authorize(ctx context.Context, r *http.Request) error {
	token, err := a.current(ctx)
	if err == nil {
		Bearer.set(r, "", token)
	}
	return err
}

// Login returns the token of the moment for Git.
func (a *App) Login(ctx context.Context) (username, password string, err error) {
	token, err := a.current(ctx)
	return tokenUsername, token, err
}

// Rejected forgets the token of a request, so the next one gets another.
func (a *App) Rejected(r *http.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, password, _ := r.BasicAuth()
	if a.token != "" && (password == a.token || r.Header.Get("Authorization") == string(Bearer)+" "+a.token) {
		a.before, a.token = a.token, ""
	}
	return true
}

// Secrets are those of the last two tokens.
func (a *App) Secrets() redact.Secrets {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append(redact.Password(tokenUsername, a.token), redact.Password(tokenUsername, a.before)...)
}

// Permissions returns those of the last token, "read", "write" or "admin" by name; nil before the
// first one.
func (a *App) Permissions() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.permissions
}

// Identity is the installation: GitHub counts the requests of all its tokens together.
func (a *App) Identity() string { return "app " + a.options.ID + "/" + a.options.Installation }

// String shows no secret.
func (a *App) String() string { return a.name }

// valid returns the token, and whether it must be renewed. It is empty if it has expired.
func (a *App) valid() (token string, renew bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if a.token == "" || !now.Before(a.expires) {
		return "", true
	}
	return a.token, !now.Before(a.renew)
}

// current returns a token, a new one if it is time. Where that fails, the present one is used for as
// long as it is valid.
func (a *App) current(ctx context.Context) (string, error) {
	if token, renew := a.valid(); !renew {
		return token, nil
	}
	select {
	case a.making <- struct{}{}:
		defer func() { <-a.making }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	token, renew := a.valid()
	if !renew {
		return token, nil // another caller got it meanwhile
	}
	made, err := a.mint(ctx)
	if err != nil && token != "" {
		return token, nil
	}
	return made, err
}

// mint gets a new token. If GitHub does not accept the signature because its clock is another, it
// is asked again by that clock.
func (a *App) mint(ctx context.Context) (string, error) {
	var got struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
		// Permissions are levels by name.
		Permissions map[string]string
	}
	ask := func() (http.Header, error) {
		return a.client.Call(ctx, "get a token of "+a.name, http.MethodPost, "app/installations/"+a.options.Installation+"/access_tokens",
			map[string][]string{"repositories": {a.repositoryName()}}, &got)
	}
	header, err := ask()
	if Refused(err, http.StatusUnauthorized) && a.key.correct(header) {
		header, err = ask()
	}
	if err == nil && got.Token == "" {
		err = a.client.failed("get a token of "+a.name, forge.FailedNetwork, "the server did not answer as GitHub does: there is no token in the answer")
	}
	if err != nil {
		return "", a.explain(err)
	}
	now := a.clock.Now()
	life := got.Expires.Sub(dated(header, now)) // by the server's clock, which need not be ours
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before, a.token, a.permissions = cmp.Or(a.token, a.before), got.Token, got.Permissions
	a.renew, a.expires = now.Add(life*9/10), now.Add(life)
	return a.token, nil
}

// repositoryName is the name of the repository, without its owner.
func (a *App) repositoryName() string {
	path := a.repository
	if u, err := url.Parse(path); err == nil {
		path = u.Path
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// explain says what a refused token means, and what to do.
func (a *App) explain(err error) error {
	f, ok := err.(*Failure) //nolint:errorlint // that of Call, which wraps nothing
	if !ok || f.Limited || f.Status < 400 || f.Status >= 500 {
		return err
	}
	installation := "the installation " + a.options.Installation + " of " + a.name
	switch f.Status {
	case http.StatusUnauthorized:
		f.Err.Text = "GitHub does not accept the key of " + a.name + "; check githubAppID and githubAppPrivateKey, or generate another private key in the settings of the App"
	case http.StatusForbidden:
		f.Err.Text = installation + " is suspended or may not be used; unsuspend it in the settings of its owner"
	case http.StatusNotFound:
		f.Err.Text = "there is no " + strings.TrimPrefix(installation, "the ") + "; install the App for the owner of the repository, and correct githubAppID and githubAppInstallationID"
	case http.StatusUnprocessableEntity:
		f.Err.Text = installation + " does not include the repository " + a.repositoryName() + "; add it in the settings of the installation"
	default:
		return err
	}
	f.Err.Kind = forge.FailedAuth
	if f.Said != "" {
		f.Err.Text += ": " + f.Said
	}
	return f
}

// signer is the Source of an App itself, which only gets tokens: a signed token for each request.
type signer struct {
	app   string
	key   *rsa.PrivateKey
	clock backoff.Clock

	mu sync.Mutex
	// ahead is how far the server's clock is ahead of ours, if that is much.
	ahead time.Duration
	last  string
}

// Authorize signs a token. It begins in the past, for a server whose clock is behind.
func (s *signer) Authorize(_ context.Context, r *http.Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now().Add(s.ahead)
	claims := jwt.RegisteredClaims{Issuer: s.app, IssuedAt: jwt.NewNumericDate(now.Add(-skew)), ExpiresAt: jwt.NewNumericDate(now.Add(lifetime))}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(s.key)
	if err != nil {
		return fmt.Errorf("the private key of the GitHub App %s cannot sign", s.app)
	}
	s.last = signed
	Bearer.set(r, "", signed)
	return nil
}

// correct takes over the server's clock from an answer, and reports whether that makes a difference.
func (s *signer) correct(header http.Header) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	ahead := dated(header, now).Sub(now)
	if (ahead - s.ahead).Abs() < maxSkew {
		return false
	}
	s.ahead = ahead
	return true
}

// dated returns when the server sent an answer, or now if it does not say.
func dated(header http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		return date
	}
	return now
}

func (s *signer) Login(context.Context) (username, password string, err error) {
	return "", "", fmt.Errorf("the GitHub App %s has no credentials for Git without an installation", s.app)
}

func (*signer) Rejected(*http.Request) bool { return false }

func (s *signer) Secrets() redact.Secrets {
	s.mu.Lock()
	defer s.mu.Unlock()
	return redact.Password("", s.last)
}

func (s *signer) Identity() string { return "app " + s.app }
