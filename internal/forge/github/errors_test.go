package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	list := func(api *github.Server, s site) error { _, err := api.Open(s.Context()); return err }
	comment := func(api *github.Server, s site) error { return api.Comment(s.Context(), 1, "x") }
	cases := map[string]struct {
		prepare func(s site) (token string)
		do      func(api *github.Server, s site) error
		kind    forge.Kind
		waits   bool
		says    string
	}{
		"a wrong token": {func(site) string { return "ghp_wrong" }, list, forge.FailedAuth, false, "check the token"},
		"a revoked token": {func(s site) string {
			token := s.Token("bot", "repo")
			s.Revoke(token)
			return token
		}, list, forge.FailedAuth, false, "Bad credentials"},
		"a repository that its user may not read": {func(s site) string { return s.Token("eve", "repo") }, list, forge.FailedNotFound, false, "it does not exist, or the credentials may not read it; check spec.url"},
		"a scope that is missing":                 {func(s site) string { return s.Token("bot", "gist") }, comment, forge.FailedNotFound, false, "the token needs the scope repo and has gist"},
		"a permission that is missing":            {func(s site) string { return s.FineGrained("bot", map[string]string{"contents": "write"}, fleet) }, list, forge.FailedAuth, false, "the token needs the permission pull_requests=read"},
		"one of two permissions that is missing":  {func(s site) string { return s.FineGrained("bot", map[string]string{"pull_requests": "read"}, fleet) }, comment, forge.FailedAuth, false, "issues=write or pull_requests=write"},
		"a right that is missing": {func(s site) string {
			s.AddRepo("acme/open", servers.RepoOptions{Files: map[string]string{"a": "a\n"}})
			return s.Token("eve", "repo")
		}, func(_ *github.Server, s site) error {
			api := newServer(s.T, s.GitURL("acme/open"), s.Token("eve", "repo"), http.DefaultTransport)
			return api.SetStatus(s.Context(), s.hash(s.Branch("acme/open", "main")), pull.Status{Context: "furrow/gate"})
		}, forge.FailedAuth, false, "the token needs the scope repo, or the permissions to read and write contents"},
		"an archived repository": {func(s site) string {
			s.Configure(fleet, func(o *servers.Settings) { o.Archived = true })
			return s.Token("bot", "repo")
		}, comment, forge.FailedOther, false, "unarchive it"},
		"a renamed repository": {func(s site) string {
			s.Rename(fleet, "ships")
			return s.Token("bot", "repo")
		}, list, forge.FailedNotFound, false, "/acme/ships"},
		"a renamed repository that is written to": {func(s site) string {
			s.Rename(fleet, "ships")
			return s.Token("bot", "repo")
		}, comment, forge.FailedNotFound, false, "/acme/ships"},
		"no requests left": {func(s site) string {
			s.LimitRate(0)
			return s.Token("bot", "repo")
		}, list, forge.FailedNetwork, true, "API rate limit exceeded"},
		"too much content": {func(s site) string {
			s.LimitContent(0)
			return s.Token("bot", "repo")
		}, comment, forge.FailedNetwork, true, "secondary rate limit"},
		"a server that fails": {func(s site) string {
			s.Fail(servers.Fault{Kind: servers.BadGateway})
			return s.Token("bot", "repo")
		}, list, forge.FailedNetwork, false, "status 502"},
		"an answer that is lost": {func(s site) string {
			s.Fail(servers.Fault{Kind: servers.Lost})
			return s.Token("bot", "repo")
		}, comment, forge.FailedNetwork, false, "EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.open("a")
			token := tc.prepare(s)
			err := tc.do(s.as(token), s)
			failure, ok := errors.AsType[*forge.Error](err)
			if !ok || failure.Kind != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got %v, want %s: %s", err, tc.kind, tc.says)
			}
			if (failure.Wait > 0) != tc.waits || failure.Wait > time.Hour {
				t.Errorf("it is to wait %s", failure.Wait)
			}
			if strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "/acme/") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestAPageOfSomethingElseIsNotGitHub(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	api := newServer(t, s.GitURL(fleet), "secret", instead{http.MethodGet, http.StatusOK, "<html>welcome</html>"})
	if _, err := api.Open(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) || !strings.Contains(err.Error(), "did not answer as GitHub does") {
		t.Error(err)
	}
}

// answers answers every request, and keeps the last one.
type answers struct {
	last *http.Request
	body func(*http.Request) (body, link string)
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	body, link := a.body(r)
	response := respond(r, http.StatusOK, body)
	response.Header.Set("Link", link)
	return response, nil
}

func TestTheAPIIsFoundFromTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct{ page, api string }{
		"https://github.com/acme/fleet":                {"https://github.com/acme/fleet", "https://api.github.com/repos/acme/fleet"},
		"https://bot:s3cret@GitHub.com/acme/fleet.git": {"https://github.com/acme/fleet", "https://api.github.com/repos/acme/fleet"},
		"git@github.com:acme/fleet.git":                {"https://github.com/acme/fleet", "https://api.github.com/repos/acme/fleet"},
		"ssh://git@ssh.github.com:443/acme/fleet.git":  {"https://github.com/acme/fleet", "https://api.github.com/repos/acme/fleet"},
		"https://acme.ghe.com/acme/fleet":              {"https://acme.ghe.com/acme/fleet", "https://api.acme.ghe.com/repos/acme/fleet"},
		"https://git.example.com/acme/fleet/":          {"https://git.example.com/acme/fleet", "https://git.example.com/api/v3/repos/acme/fleet"},
		"http://git.example.com:8080/acme/fleet.git":   {"http://git.example.com:8080/acme/fleet", "http://git.example.com:8080/api/v3/repos/acme/fleet"},
		"ssh://git@git.example.com:122/acme/fleet.git": {"https://git.example.com/acme/fleet", "https://git.example.com/api/v3/repos/acme/fleet"},
	} {
		got := &answers{body: func(*http.Request) (body, link string) { return "{}", "" }}
		api := newServer(t, url, "secret", got)
		_, err := api.Repository(t.Context())
		must(t, err)
		if api.String() != want.page || got.last.URL.String() != want.api {
			t.Errorf("%s is %s, asked at %s", url, api, got.last.URL)
		}
	}
}

func TestAURLThatIsNotGitHubIsRefused(t *testing.T) {
	t.Parallel()
	source, err := rest.NewSource(rest.Login{Token: "secret"}, rest.Bearer, "it")
	must(t, err)
	for _, url := range []string{"", "/srv/fleet.git", "https://github.com/fleet", "https://bot:s3cret@github.com/a/b/c", "ftp://github.com/acme/fleet", "https://bot:s3cret@%zz/acme/fleet"} {
		_, err := github.New("main", rest.Access{URL: url, Source: source})
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "use https://host/owner/name") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// The first of 250 is closed after each request.
func TestNoneIsMissedWhenAListShrinksMeanwhile(t *testing.T) {
	t.Parallel()
	for links, requests := range map[string]int{`<https://api.github.com/x?page=%d>; rel="next", <https://api.github.com/x?page=3>; rel="last"`: 4, `<https://api.github.com/x?page=%d>; rel="next"`: 5} {
		asked := 0
		got := &answers{body: func(r *http.Request) (body, link string) {
			page := 1
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
			var rows []string
			for n := asked + (page-1)*100 + 1; n <= min(250, asked+page*100); n++ {
				rows = append(rows, fmt.Sprintf(`{"number":%d,"state":"open","head":{"ref":"b%d","repo":{"id":7}},"base":{"ref":"main","repo":{"id":7}}}`, n, n))
			}
			if asked++; page < 3 {
				link = strings.ReplaceAll(links, "%d", fmt.Sprint(page+1))
			}
			return "[" + strings.Join(rows, ",") + "]", link
		}}
		found, err := newServer(t, "https://github.com/acme/fleet", "secret", got).Open(t.Context())
		must(t, err)
		missing := map[int64]bool{}
		for n := int64(asked); n <= 250; n++ {
			missing[n] = true
		}
		for _, r := range found {
			delete(missing, r.Number)
		}
		if len(missing) > 0 || asked != requests {
			t.Errorf("missing %v after %d requests", missing, asked)
		}
	}
}

func TestATokenMayBeGivenAsAPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	source, err := rest.NewSource(rest.Login{Username: "git", Password: s.Token("bot", "repo")}, rest.Bearer, "it")
	must(t, err)
	api, err := github.New("main", rest.Access{URL: s.GitURL(fleet), Source: source, Transport: http.DefaultTransport})
	must(t, err)
	_, err = api.Open(t.Context())
	must(t, err)
}
