package github_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestAccessNamesWhatCredentialsLack(t *testing.T) {
	t.Parallel()
	all := map[string]string{"contents": "write", "pull_requests": "write", "statuses": "write"}
	without := func(name string) map[string]string {
		out := map[string]string{"checks": "read"}
		for key, value := range all {
			if key != name {
				out[key] = value
			}
		}
		return out
	}
	const open = "acme/open"
	token := func(login string, scopes ...string) func(site) *github.Server {
		return func(s site) *github.Server { return s.as(s.Token(login, scopes...)) }
	}
	public := func(scopes ...string) func(site) *github.Server {
		return func(s site) *github.Server {
			return newServer(s.T, s.GitURL(open), s.Token("bot", scopes...), http.DefaultTransport)
		}
	}
	app := func(permissions map[string]string) func(site) *github.Server {
		return func(s site) *github.Server { return s.app(permissions) }
	}
	for name, tc := range map[string]struct {
		of   func(site) *github.Server
		want []string
	}{
		"a classic token":                               {token("bot", "repo", "workflow"), nil},
		"one of somebody who may only read":             {token("eve", "repo"), []string{"the role Write"}},
		"one for a public repository":                   {public("gist", "public_repo"), nil},
		"one without scopes":                            {public(), []string{"the scope repo or public_repo"}},
		"a fine-grained token":                          {func(s site) *github.Server { return s.as(s.FineGrained("bot", all, fleet)) }, nil},
		"a fine-grained token that shows what it lacks": {func(s site) *github.Server { return s.as(s.FineGrained("eve", all, fleet)) }, []string{"the role Write"}},
		"an App":                                {app(all), nil},
		"an App that shows gates as check runs": {app(map[string]string{"contents": "write", "pull_requests": "write", "checks": "write"}), nil},
		"an App that may not push":              {app(without("contents")), []string{"the permission contents=write"}},
		"an App that may not open":              {app(without("pull_requests")), []string{"the permission pull_requests=write"}},
		"an App that may not show gates":        {app(without("statuses")), []string{"the permission checks=write or statuses=write"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.AddUser("carl")
			s.AddRepo(open, servers.RepoOptions{Files: map[string]string{"a": "a\n"}, Roles: map[string]string{"bot": "push"}})
			s.AddRole(fleet, "eve", "pull")
			api, got := tc.of(s), pull.Access{}
			asked := s.asked(func() {
				var err error
				got, err = api.Access(t.Context())
				must(t, err)
			})
			var names []string
			for _, m := range got.Missing {
				names = append(names, m.Name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" || got.Archived {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if asked["GET /repos/{owner}/{repo}"] != sum(asked)-asked["POST /app/installations/{installation_id}/access_tokens"] || asked["GET /repos/{owner}/{repo}"] != 1 {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// app returns the repository for an installation of an App.
func (s site) app(permissions map[string]string) *github.Server {
	s.Helper()
	a := s.AddApp("furrow", permissions)
	source, err := rest.NewApp(rest.Access{URL: strings.TrimSuffix(s.GitURL(fleet), ".git")}, rest.AppOptions{
		ID: fmt.Sprint(a.ID), Installation: fmt.Sprint(s.Install(a, "acme", fleet)), PrivateKey: a.PrivateKey,
	})
	must(s.T, err)
	api, err := github.New("main", rest.Access{URL: s.GitURL(fleet), Source: source})
	must(s.T, err)
	return api
}

func TestAccessShowsAnArchivedRepository(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Configure(fleet, func(o *servers.Settings) { o.Archived = true })
	if got, err := s.api.Access(t.Context()); err != nil || !got.Archived {
		t.Errorf("%+v, %v", got, err)
	}
}
