package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/redact"
)

// Source provides credentials, for the API of a forge and for Git. Its methods may be used by
// several goroutines.
type Source interface {
	// Authorize adds the credentials to a request.
	Authorize(ctx context.Context, r *http.Request) error
	// Login returns the credentials of the moment for Git, as user name and password.
	Login(ctx context.Context) (username, password string, err error)
	// Rejected takes note of a request whose credentials the server did not accept, and reports
	// whether the next Authorize may use others.
	Rejected(r *http.Request) bool
	// Secrets are the spellings of what was given out, to remove it from texts.
	Secrets() redact.Secrets
	// Identity is equal for sources whose requests a server counts together. It is not a secret.
	Identity() string
}

// Form is how a server wants a token in a request.
type Form string

// The forms of tokens.
const (
	// Bearer is for GitHub, and for OAuth tokens of all forges.
	Bearer Form = "Bearer"
	// Token is for Gitea and Forgejo.
	Token Form = "token"
	// PrivateToken is for GitLab's personal, project and group tokens.
	PrivateToken Form = privateToken

	privateToken = "Private-Token"
)

// tokenUsername is the user name for a token, where people give none; GitHub, GitLab, Gitea and
// Forgejo accept it.
const tokenUsername = "x-access-token"

// Login are credentials as people give them. String shows none.
type Login struct {
	// Token, or Username and Password.
	Token              string `json:"-"`
	Username, Password string `json:"-"`
	// User is that of the repository's URL, which is used last. Without a password it is a token.
	User *url.Userinfo `json:"-"`
}

// String shows no secret.
func (Login) String() string { return "credentials" }

// GoString shows none either, for all verbs of fmt.
func (l Login) GoString() string { return l.String() }

// NewSource returns the source of credentials that do not change. It refuses to be without any,
// because nobody can open a pull request anonymously. at is the repository.
func NewSource(l Login, form Form, at string) (Source, error) {
	if l.User != nil && l.Token == "" && l.Password == "" {
		l.Username = l.User.Username()
		if l.Password, _ = l.User.Password(); l.Password == "" {
			l.Token, l.Username = l.Username, ""
		}
	}
	switch {
	case l.Token != "":
		if l.Username == "" {
			l.Username = tokenUsername
		}
		return static{username: l.Username, password: l.Token, form: form}, nil
	case l.Username != "" && l.Password != "":
		if form == Token {
			form = "" // Gitea takes passwords; with the others the password for Git is a token
		}
		return static{username: l.Username, password: l.Password, form: form}, nil
	}
	return nil, manifest.Problem{Reason: "CredentialsMissing", Message: fmt.Sprintf("there are no credentials for %s, and pull requests need them", at), Next: "Give an access token that may write the repository, or a user name and password"}
}

// static is a token, or without a form a password that the API takes.
type static struct {
	username, password string
	form               Form
}

func (s static) Authorize(_ context.Context, r *http.Request) error {
	s.form.set(r, s.username, s.password)
	return nil
}

// set adds a token, or without a form a password.
func (f Form) set(r *http.Request, username, password string) {
	switch f {
	case "":
		r.SetBasicAuth(username, password)
	case PrivateToken:
		r.Header.Set(privateToken, password)
	default:
		r.Header.Set("Authorization", string(f)+" "+password)
	}
}

func (s static) Login(context.Context) (username, password string, err error) {
	return s.username, s.password, nil
}

func (static) Rejected(*http.Request) bool { return false }

func (s static) Secrets() redact.Secrets { return redact.Password(s.username, s.password) }

func (s static) Identity() string { return digest(s.username, s.password) }

// String shows no secret.
func (static) String() string { return "credentials" }

// GoString shows none either, for all verbs of fmt.
func (s static) GoString() string { return s.String() }

func digest(parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:])
}
