package rest_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/servers/github"
)

// TestAnAppOnGitHub uses one App for the API and for Git, at a server that checks every request.
func TestAnAppOnGitHub(t *testing.T) {
	t.Parallel()
	s := github.Start(t)
	s.AddOrganization("acme")
	s.AddRepo("acme/fleet", github.RepoOptions{Private: true, Files: map[string]string{"README.md": "hi\n"}})
	s.AddRepo("acme/other", github.RepoOptions{Private: true, Files: map[string]string{"README.md": "hi\n"}})
	a := s.AddApp("furrow", map[string]string{"contents": "write", "pull_requests": "write"})
	installation := strconv.FormatInt(s.Install(a, "acme", "acme/fleet"), 10)
	open := func(repo string) (*rest.App, *git.Mirror, *rest.Client) {
		url := s.GitURL(repo)
		app, err := rest.NewApp(rest.Access{URL: url}, rest.AppOptions{ID: strconv.FormatInt(a.ID, 10), Installation: installation, PrivateKey: a.PrivateKey})
		if err != nil {
			t.Fatal(err)
		}
		m, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"), git.Remote{URL: url, Source: app})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		c, err := rest.New(rest.Access{Source: app}, url, s.URL+"/api/v3", rest.Forge{Name: "GitHub"})
		if err != nil {
			t.Fatal(err)
		}
		return app, m, c
	}
	app, m, c := open("acme/fleet")
	ask := func() {
		t.Helper()
		if refs, err := m.Fetch(t.Context(), "main"); err != nil || refs["main"].String() != s.Branch("acme/fleet", "main") {
			t.Errorf("Git: %v, %v", refs, err)
		}
		var repo struct{ Private bool }
		if _, err := c.Call(t.Context(), "read the repository", http.MethodGet, "repos/acme/fleet", nil, &repo); err != nil || !repo.Private {
			t.Errorf("the API: %v, %v", repo, err)
		}
	}
	const mint = "POST /app/installations/{installation_id}/access_tokens"
	ask()
	ask()
	if got := s.Requests()[mint]; got != 1 {
		t.Errorf("there are %d tokens: %v", got, s.Requests())
	}
	if got := s.NotModified(); len(got) != 1 {
		t.Errorf("the repository was sent twice: %v", got)
	}
	if b := c.Budget(); b.Limit != 5000 || b.Left != 4999 {
		t.Errorf("the budget is %v", b)
	}
	_, token, err := app.Login(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Revoke(token)
	ask()
	if got := s.Requests()[mint]; got != 2 {
		t.Errorf("there are %d tokens: %v", got, s.Requests())
	}
	_, err = c.Call(t.Context(), "show a status", http.MethodPost, "repos/acme/fleet/statuses/"+s.Branch("acme/fleet", "main"), map[string]string{"state": "success"}, nil)
	if got := failureOf(t, err); got.Kind != forge.FailedAuth || got.Text != "the credentials may not do this; the token needs the permission statuses=write: Resource not accessible by integration" {
		t.Errorf("a permission: %v", err)
	}
	_, m, c = open("acme/other")
	_, err = m.Fetch(t.Context(), "main")
	_, apiErr := c.Call(t.Context(), "read the repository", http.MethodGet, "repos/acme/other", nil, nil)
	if !git.IsAuth(err) || !forge.IsFailure(apiErr, forge.FailedAuth) {
		t.Errorf("another repository: %v, %v", err, apiErr)
	}
}
