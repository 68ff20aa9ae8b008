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

// CreateUser makes a user and gives a token for all that the user may do; the token is also the password for Git.
func (g *Gitea) CreateUser(ctx context.Context, name string) (token string, err error) {
	password := "Pass-word-of-" + name
	err = g.post(ctx, "/admin/users", g.asAdmin, map[string]any{
		"username": name, "email": name + "@example.invalid", "password": password, "must_change_password": false,
	}, nil)
	if err != nil {
		return "", err
	}
	var made struct {
		Token string `json:"sha1"`
	}
	asUser := func(request *http.Request) { request.SetBasicAuth(name, password) }
	err = g.post(ctx, "/users/"+url.PathEscape(name)+"/tokens", asUser,
		map[string]any{"name": "furrow", "scopes": []string{"all"}}, &made)
	return made.Token, err
}

// CreateOrg makes an organisation that the administrator owns.
func (g *Gitea) CreateOrg(ctx context.Context, name string) error {
	return g.post(ctx, "/orgs", g.asAdmin, map[string]any{"username": name}, nil)
}

// CreateRepo makes a private repository of a user or an organisation, whose default branch is main, and gives its URL
// for Git, without credentials. With autoInit it has a first commit, with a README; else it is empty.
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
	content, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("write a request to Gitea: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/api/v1"+path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("make a request to Gitea: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	as(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("post %s to Gitea: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read Gitea's answer to %s: %w", path, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("post %s to Gitea: %s: %s", path, response.Status, strings.TrimSpace(string(answer)))
	}
	if made == nil {
		return nil
	}
	if err := json.Unmarshal(answer, made); err != nil {
		return fmt.Errorf("understand Gitea's answer to %s: %w", path, err)
	}
	return nil
}
