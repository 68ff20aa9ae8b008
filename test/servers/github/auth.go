package github

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

type tokenKind int

const (
	classic tokenKind = iota
	fineGrained
	installationToken
)

// token is a credential. A classic one has scopes; the others have permissions and may be limited
// to repositories.
type token struct {
	kind         tokenKind
	value        string
	user         *user
	scopes       []string
	permissions  map[string]string
	repos        []*repo // nil: all that the user has
	expires      time.Time
	installation *installation
}

// app is a GitHub App; bot is the user that its installations act as.
type app struct {
	id            int64
	slug          string
	bot           *user
	key           *rsa.PublicKey
	permissions   map[string]string
	installations []*installation
}

type installation struct {
	id    int64
	app   *app
	owner *user
	repos []*repo // nil: all of the owner's
}

func (i *installation) has(r *repo) bool {
	return r.owner == i.owner && (i.repos == nil || slices.Contains(i.repos, r))
}

// caller is who sends a request: a token's user, or an app with its JWT. Nil is nobody.
type caller struct {
	user  *user
	token *token
	app   *app
}

func (c *caller) authorized() bool { return c != nil }

func (c *caller) login() string {
	if c == nil || c.user == nil {
		return ""
	}
	return c.user.login
}

// roleIn is what the caller may do in a repository, within what its token covers.
func (c *caller) roleIn(r *repo) role {
	switch {
	case c == nil || c.token == nil:
		return r.roleOf(nil)
	case c.token.kind == installationToken:
		if !c.token.covers(r) {
			return r.roleOf(nil)
		}
		return rolePush
	case !c.token.covers(r):
		return r.roleOf(nil)
	}
	return r.roleOf(c.user)
}

// covers is whether the token reaches a repository at all.
func (t *token) covers(r *repo) bool {
	switch t.kind {
	case classic:
		return slices.Contains(t.scopes, "repo") || !r.private && slices.Contains(t.scopes, "public_repo")
	case installationToken:
		return t.installation.has(r) && (t.repos == nil || slices.Contains(t.repos, r))
	}
	return t.repos == nil || slices.Contains(t.repos, r)
}

// permits is whether the permissions grant one of alternatives, as "issues=write; contents=read".
func (t *token) permits(alternatives string) bool {
	if t.kind == classic || alternatives == "" {
		return true
	}
	for alternative := range strings.SplitSeq(alternatives, "; ") {
		name, level, _ := strings.Cut(alternative, "=")
		granted := t.permissions[name]
		if name == "metadata" || granted == "write" || granted == "admin" || granted == "read" && level == "read" {
			return true
		}
	}
	return false
}

func (s *Server) authenticate(r *http.Request) (*caller, *answer) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return nil, nil
	}
	scheme, value, _ := strings.Cut(header, " ")
	switch strings.ToLower(scheme) {
	case "bearer", "token":
	case "basic":
		_, value, _ = r.BasicAuth()
	default:
		return nil, refuse(http.StatusUnauthorized, "Bad credentials")
	}
	if strings.Count(value, ".") == 2 {
		return s.authenticateApp(value)
	}
	if t := s.validToken(value); t != nil {
		return &caller{user: t.user, token: t}, nil
	}
	return nil, refuse(http.StatusUnauthorized, "Bad credentials")
}

func (s *Server) validToken(value string) *token {
	t := s.tokens[value]
	if t == nil || !t.expires.IsZero() && !s.now().Before(t.expires) {
		return nil
	}
	return t
}

// authenticateApp checks a JWT: signed with the app's key by RS256, issued in the past, and valid
// for ten minutes at most.
func (s *Server) authenticateApp(text string) (*caller, *answer) {
	var found *app
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		if found = s.apps[id]; found == nil {
			return nil, errors.Join(err, jwt.ErrTokenInvalidIssuer)
		}
		return found.key, nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(s.now), jwt.WithIssuedAt(), jwt.WithExpirationRequired(), jwt.WithLeeway(time.Second))
	switch {
	case errors.Is(err, jwt.ErrTokenInvalidIssuer):
		return nil, refuse(http.StatusNotFound, "Integration not found")
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued), err == nil && claims.IssuedAt == nil:
		return nil, refuse(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case errors.Is(err, jwt.ErrTokenInvalidClaims):
		return nil, refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case err != nil:
		return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case claims.ExpiresAt.After(s.now().Add(10*time.Minute + time.Second)):
		return nil, refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	return &caller{app: found}, nil
}

// authorize finds the repository of a call and refuses what its caller may not do.
func (c *call) authorize() *answer {
	isApp := c.asker != nil && c.asker.app != nil
	switch {
	case c.route.need.app && !isApp:
		return refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case isApp && !c.route.need.app:
		return refuse(http.StatusForbidden, "Resource not accessible by integration")
	case c.params["repo"] != "":
		return c.authorizeRepo()
	}
	return nil
}

func (c *call) authorizeRepo() *answer {
	r, renamed := c.s.findRepo(c.params["owner"] + "/" + c.params["repo"])
	if r == nil {
		return notFound()
	}
	role := c.asker.roleIn(r)
	write := c.request.Method != http.MethodGet
	switch {
	case role == roleNone:
		return notFound()
	case renamed:
		return c.moved(r, write)
	case c.asker == nil && write:
		return refuse(http.StatusUnauthorized, "Requires authentication")
	case r.archived && write:
		return refuse(http.StatusForbidden, "Repository was archived so is read-only.")
	}
	if refused := c.permitted(r, role); refused != nil {
		return refused
	}
	c.repo = r
	return nil
}

func (c *call) permitted(r *repo, has role) *answer {
	need := c.route.need
	if c.asker != nil && c.asker.token != nil {
		t := c.asker.token
		reachable := t.covers(r) || c.request.Method == http.MethodGet && need.role <= rolePull
		if reachable && t.covers(r) && !t.permits(need.permissions) || !reachable && t.kind != classic {
			by := "personal access token"
			if t.kind == installationToken {
				by = "integration"
			}
			a := refuse(http.StatusForbidden, "Resource not accessible by %s", by)
			a.header = map[string]string{"X-Accepted-GitHub-Permissions": need.permissions}
			return a
		}
		if !reachable {
			return notFound()
		}
	}
	if has >= need.role {
		return nil
	}
	return refuse(http.StatusForbidden, "Must have %s access to Repository.", roleNames[need.role])
}

// moved redirects to the repository by its id, which no renaming changes.
func (c *call) moved(r *repo, write bool) *answer {
	status := http.StatusMovedPermanently
	if write {
		status = http.StatusTemporaryRedirect
	}
	old := "/repos/" + c.params["owner"] + "/" + c.params["repo"]
	_, rest, _ := strings.Cut(c.request.URL.Path, old)
	to := fmt.Sprintf("%s/repositories/%d%s", c.api, r.id, rest)
	if query := c.request.URL.RawQuery; query != "" {
		to += "?" + query
	}
	a := &answer{status: status, header: map[string]string{"Location": to}}
	a.body = object{"message": "Moved Permanently", "url": to, "documentation_url": docs}
	return a
}
