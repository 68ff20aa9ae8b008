package gitlab_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitlab"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestFailuresSayWhatToDo(t *testing.T) {
	t.Parallel()
	list := func(api *gitlab.Server, s site) error { return failed(api.Open(s.Context())) }
	comment := func(api *gitlab.Server, s site) error { return api.Comment(s.Context(), 1, "x") }
	own := func(s site) string { return s.Token("bot", "api") }
	cases := map[string]struct {
		prepare func(s site) (token string)
		do      func(api *gitlab.Server, s site) error
		kind    forge.Kind
		waits   bool
		says    string
	}{
		"a wrong token": {func(site) string { return "glpat-wrong" }, list, forge.FailedAuth, false, "check the token"},
		"a revoked token": {func(s site) string {
			token := own(s)
			s.Revoke(token)
			return token
		}, list, forge.FailedAuth, false, "Token was revoked"},
		"an expired token": {func(s site) string {
			token := own(s)
			s.Expire(token, time.Hour)
			s.Advance(2 * time.Hour)
			return token
		}, list, forge.FailedAuth, false, "Token is expired"},
		"an OAuth token in the form of an access token": {func(s site) string { return s.OAuth("bot", "api") }, list, forge.FailedAuth, false, "401 Unauthorized"},
		"a project that its user may not read":          {func(s site) string { return s.Token("eve", "api") }, list, forge.FailedNotFound, false, "it does not exist, or the credentials may not read it; check spec.url"},
		"a scope that is missing":                       {func(s site) string { return s.Token("bot", "read_repository") }, list, forge.FailedAuth, false, "the token needs the scope api or read_api"},
		"a scope that is missing for a change":          {func(s site) string { return s.Token("bot", "read_api") }, comment, forge.FailedAuth, false, "the token needs the scope api:"},
		"a role that is missing": {func(s site) string { return s.ProjectToken(fleet, servers.Reporter, "api") }, func(api *gitlab.Server, s site) error {
			return api.SetStatus(s.Context(), s.hash(s.Branch(fleet, "a")), pull.Status{Context: "furrow/gate"})
		}, forge.FailedAuth, false, "the role Developer"},
		"merge requests that are off": {func(s site) string {
			s.Configure(fleet, func(o *servers.Settings) { o.RequestsDisabled = true })
			return own(s)
		}, list, forge.FailedAuth, false, "403 Forbidden"},
		"an archived project": {func(s site) string {
			s.Configure(fleet, func(o *servers.Settings) { o.Archived = true })
			return own(s)
		}, comment, forge.FailedOther, false, "unarchive it"},
		"a renamed project": {func(s site) string {
			s.Rename(fleet, "acme/ships")
			return own(s)
		}, list, forge.FailedNotFound, false, "correct spec.url to http"},
		"a renamed project that is written to": {func(s site) string {
			s.Rename(fleet, "acme/ships")
			return own(s)
		}, comment, forge.FailedNotFound, false, "/acme/ships"},
		"a renamed project in which to merge": {func(s site) string {
			s.Rename(fleet, "acme/ships")
			return own(s)
		}, func(api *gitlab.Server, s site) error {
			return api.Merge(s.Context(), 1, pull.Merge{Method: pull.MergeCommit})
		}, forge.FailedNotFound, false, "/acme/ships"},
		"no requests left": {func(s site) string {
			s.LimitRate(0)
			return own(s)
		}, list, forge.FailedNetwork, true, "Retry later"},
		"a server that fails": {func(s site) string {
			s.Fail("", http.StatusBadGateway)
			return own(s)
		}, list, forge.FailedNetwork, false, "status 502"},
		"an answer that is lost": {func(s site) string {
			s.Fail("", 0)
			return own(s)
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
			if strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "/"+fleet) {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestTokensOfAllKindsWork(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	for form, tokens := range map[rest.Form][]string{
		rest.PrivateToken: {s.Token("bot", "api"), s.ProjectToken(fleet, servers.Developer, "api")},
		rest.Bearer:       {s.OAuth("bot", "api"), s.Token("bot", "api")},
	} {
		for _, token := range tokens {
			must(t, newServer(t, s.GitURL(fleet), token, form, http.DefaultTransport).Comment(t.Context(), 1, "x"))
		}
	}
}

// The API of GitLab has no basic authentication; the password for Git is a token.
func TestATokenMayBeGivenAsAPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	for _, form := range []rest.Form{rest.Bearer, rest.PrivateToken} {
		source, err := rest.NewSource(rest.Login{Username: "git", Password: s.Token("bot", "api")}, form, "it")
		must(t, err)
		api, err := gitlab.New("main", rest.Access{URL: s.GitURL(fleet), Source: source, Transport: http.DefaultTransport})
		must(t, err)
		must(t, api.Comment(t.Context(), 1, "x"))
	}
}

func TestALostAnswerIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.push("a", "a", "a\n")
	s.Fail("POST /projects/:id/merge_requests", 0)
	asked := s.asked(func() {
		_, err := s.api.Create(t.Context(), pull.NewRequest{Branch: "a", Title: "A"})
		if !forge.IsFailure(err, forge.FailedNetwork) {
			t.Error(err)
		}
	})
	if sum(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
	if open, err := s.api.Open(t.Context()); err != nil || numbers(open) != "[1]" {
		t.Errorf("%s, %v", numbers(open), err)
	}
}

func TestAPageOfSomethingElseIsNotGitLab(t *testing.T) {
	t.Parallel()
	api := newServer(t, "https://git.example.com/acme/fleet", "secret", rest.PrivateToken, instead{http.MethodGet, http.StatusOK, "<html>welcome</html>"})
	if _, err := api.Open(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) || !strings.Contains(err.Error(), "did not answer as GitLab does") {
		t.Error(err)
	}
}

// answers answers every request, and keeps the last one.
type answers struct {
	last *http.Request
	body func(*http.Request) (body string, header http.Header)
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.last = r
	body, header := a.body(r)
	response := respond(r, http.StatusOK, body)
	response.Header = header
	return response, nil
}

func TestTheAPIIsFoundFromTheURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct{ page, api string }{
		"https://gitlab.com/acme/fleet":                    {"https://gitlab.com/acme/fleet", "https://gitlab.com/api/v4/projects/acme%2Ffleet"},
		"https://bot:s3cret@GitLab.com/acme/web/fleet.git": {"https://gitlab.com/acme/web/fleet", "https://gitlab.com/api/v4/projects/acme%2Fweb%2Ffleet"},
		"git@gitlab.com:acme/a/b/c/fleet.git":              {"https://gitlab.com/acme/a/b/c/fleet", "https://gitlab.com/api/v4/projects/acme%2Fa%2Fb%2Fc%2Ffleet"},
		"ssh://git@altssh.gitlab.com:443/acme/fleet.git":   {"https://gitlab.com/acme/fleet", "https://gitlab.com/api/v4/projects/acme%2Ffleet"},
		"https://git.example.com/acme/my.fleet/":           {"https://git.example.com/acme/my.fleet", "https://git.example.com/api/v4/projects/acme%2Fmy%2Efleet"},
		"http://git.example.com:8080/acme/fleet.git":       {"http://git.example.com:8080/acme/fleet", "http://git.example.com:8080/api/v4/projects/acme%2Ffleet"},
		"ssh://git@git.example.com:122/acme/fleet.git":     {"https://git.example.com/acme/fleet", "https://git.example.com/api/v4/projects/acme%2Ffleet"},
	} {
		got := &answers{body: func(*http.Request) (string, http.Header) { return "{}", http.Header{} }}
		api := newServer(t, url, "secret", rest.PrivateToken, got)
		_, err := api.Repository(t.Context())
		must(t, err)
		if api.String() != want.page || got.last.URL.String() != want.api {
			t.Errorf("%s is %s, asked at %s", url, api, got.last.URL)
		}
	}
}

func TestAURLThatIsNotGitLabIsRefused(t *testing.T) {
	t.Parallel()
	source, err := rest.NewSource(rest.Login{Token: "secret"}, rest.PrivateToken, "it")
	must(t, err)
	for _, url := range []string{"", "/srv/fleet.git", "https://gitlab.com/fleet", "https://bot:s3cret@gitlab.com/a//c", "ftp://gitlab.com/acme/fleet", "https://bot:s3cret@%zz/acme/fleet"} {
		_, err := gitlab.New("main", rest.Access{URL: url, Source: source})
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "use https://host/group/name") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// The first of 250 is closed after each request.
func TestNoneIsMissedWhenAListShrinksMeanwhile(t *testing.T) {
	t.Parallel()
	for counted, requests := range map[bool]int{true: 4, false: 5} {
		asked := 0
		got := &answers{body: func(r *http.Request) (string, http.Header) {
			page, header := 1, http.Header{}
			_, _ = fmt.Sscan(r.URL.Query().Get("page"), &page)
			var rows []string
			for n := asked + (page-1)*100 + 1; n <= min(250, asked+page*100); n++ {
				rows = append(rows, fmt.Sprintf(`{"iid":%d,"state":"opened","source_branch":"b%d","target_branch":"main","source_project_id":7,"target_project_id":7}`, n, n))
			}
			if asked++; page < 3 {
				header.Set("X-Next-Page", fmt.Sprint(page+1))
			}
			if counted {
				header.Set("X-Total-Pages", "3")
			}
			return "[" + strings.Join(rows, ",") + "]", header
		}}
		found, err := newServer(t, "https://gitlab.com/acme/fleet", "secret", rest.PrivateToken, got).Open(t.Context())
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
