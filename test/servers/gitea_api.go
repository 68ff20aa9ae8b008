package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// CreateUser makes a user and gives a token for all that the user may do; the token is also the
// password for Git.
func (g *Gitea) CreateUser(ctx context.Context, name string) (token string, err error) {
	err = g.post(ctx, "/admin/users", g.asAdmin, map[string]any{
		"username": name, "email": name + "@example.invalid", "password": passwordOf(name), "must_change_password": false,
	}, nil)
	if err != nil {
		return "", err
	}
	return g.CreateToken(ctx, name)
}

func passwordOf(user string) string { return "Pass-word-of-" + user }

// as lets a request be a user's.
func as(user string) func(*http.Request) {
	return func(request *http.Request) { request.SetBasicAuth(user, passwordOf(user)) }
}

// tokenName is that of the one token that a user has.
const tokenName = "furrow"

// CreateToken gives a user a token, who has none.
func (g *Gitea) CreateToken(ctx context.Context, user string) (token string, err error) {
	var made struct {
		Token string `json:"sha1"`
	}
	err = g.post(ctx, "/users/"+url.PathEscape(user)+"/tokens", as(user), map[string]any{"name": tokenName, "scopes": []string{"all"}}, &made)
	return made.Token, err
}

// AddPublicKey gives a user a public key, after which Gitea signs what the user merges.
func (g *Gitea) AddPublicKey(ctx context.Context, user, key string) error {
	return g.post(ctx, "/user/keys", as(user), map[string]any{"title": "key", "key": key}, nil)
}

// RevokeToken takes a user's token away: what comes with it is refused.
func (g *Gitea) RevokeToken(ctx context.Context, user string) error {
	return g.do(ctx, http.MethodDelete, "/users/"+url.PathEscape(user)+"/tokens/"+tokenName, as(user), nil, nil)
}

// CreateOrg makes an organisation that the administrator owns.
func (g *Gitea) CreateOrg(ctx context.Context, name string) error {
	return g.post(ctx, "/orgs", g.asAdmin, map[string]any{"username": name}, nil)
}

// CreateRepo makes a private repository of a user or an organisation, whose default branch is main,
// and gives its URL for Git, without credentials. With autoInit it has a first commit, with a
// README; else it is empty.
func (g *Gitea) CreateRepo(ctx context.Context, owner, name string, autoInit bool) (cloneURL string, err error) {
	var made struct {
		CloneURL string `json:"clone_url"`
	}
	err = g.post(ctx, "/admin/users/"+url.PathEscape(owner)+"/repos", g.asAdmin,
		map[string]any{"name": name, "private": true, "auto_init": autoInit, "default_branch": "main"}, &made)
	return made.CloneURL, err
}

// asAdmin lets a request be the administrator's.
func (g *Gitea) asAdmin(request *http.Request) {
	request.Header.Set("Authorization", "token "+g.AdminToken)
}

// post posts body to a path of the API and reads the answer into made, if that is not nil.
func (g *Gitea) post(ctx context.Context, path string, as func(*http.Request), body, made any) error {
	return g.do(ctx, http.MethodPost, path, as, body, made)
}

// do asks something of a path of the API.
func (g *Gitea) do(ctx context.Context, method, path string, as func(*http.Request), body, made any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write a request to Gitea: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, g.URL+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("make a request to Gitea: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	as(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s of Gitea: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read Gitea's answer to %s: %w", path, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s of Gitea: %s: %s", method, path, response.Status, strings.TrimSpace(string(answer)))
	}
	if made == nil {
		return nil
	}
	if err := json.Unmarshal(answer, made); err != nil {
		return fmt.Errorf("understand Gitea's answer to %s: %w", path, err)
	}
	return nil
}
