package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

func TestTokensHaveScopesAndPermissions(t *testing.T) {
	s := world(t)
	_, _, err := client(t, s, "ghp_wrong").Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 401, "Bad credentials")
	_, _, err = client(t, s, "").Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 404, "Not Found")
	token := s.Token("alice", "repo", "workflow")
	_, r, err := client(t, s, token).Repositories.Get(ctx, "acme", "fleet")
	must(t, err)
	equal(t, r.Header.Get("X-OAuth-Scopes"), "repo, workflow")
	s.Revoke(token)
	_, _, err = client(t, s, token).Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 401, "Bad credentials")

	fine := client(t, s, s.FineGrained("alice", map[string]string{"pull_requests": "read"}, fleet))
	n := propose(t, s, as(t, s, "alice"), "a").GetNumber()
	_, _, err = fine.PullRequests.Get(ctx, "acme", "fleet", n)
	must(t, err)
	_, _, err = fine.PullRequests.Merge(ctx, "acme", "fleet", n, "", nil)
	refused(t, err, 403, "Resource not accessible by personal access token")
	var response *gh.ErrorResponse
	errors.As(err, &response)
	equal(t, response.Response.Header.Get("X-Accepted-GitHub-Permissions"), "contents=write")
	s.AddRepo("acme/other", RepoOptions{Private: true, Files: map[string]string{"a": "a\n"}, Roles: map[string]string{"alice": "push"}})
	_, _, err = fine.Repositories.Get(ctx, "acme", "other")
	refused(t, err, 404, "Not Found")
}

// sign makes a JWT for an app.
func sign(t *testing.T, a App, issued, expires time.Time) string {
	t.Helper()
	key, err := jwt.ParseRSAPrivateKeyFromPEM(a.PrivateKey)
	must(t, err)
	claims := jwt.RegisteredClaims{Issuer: fmt.Sprint(a.ID), IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(expires)}
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
	must(t, err)
	return text
}

func TestAnAppGetsTokensThatExpire(t *testing.T) {
	s := world(t)
	a := s.AddApp("furrow", map[string]string{"contents": "write", "pull_requests": "write", "checks": "write"})
	id := s.Install(a, "acme", fleet)
	now := s.Now()
	as := func(issued, expires time.Duration) *gh.Client {
		return client(t, s, sign(t, a, now.Add(issued), now.Add(expires)))
	}
	for _, bad := range []*gh.Client{as(time.Minute, 2*time.Minute), as(-time.Hour, -time.Minute), as(0, 20*time.Minute)} {
		_, _, err := bad.Apps.CreateInstallationToken(ctx, id, nil)
		refused(t, err, 401, "claim")
	}
	app := as(-time.Minute, 9*time.Minute)
	_, _, err := app.Apps.CreateInstallationToken(ctx, id, &gh.InstallationTokenOptions{Repositories: []string{"other"}})
	refused(t, err, 422, "not accessible to the parent installation")
	token, _, err := app.Apps.CreateInstallationToken(ctx, id, &gh.InstallationTokenOptions{Repositories: []string{"fleet"}})
	must(t, err)

	c := client(t, s, token.GetToken())
	p := propose(t, s, c, "a")
	equal(t, p.GetUser().GetLogin(), "furrow[bot]")
	_, _, err = c.Repositories.CreateStatus(ctx, "acme", "fleet", p.GetHead().GetSHA(), &gh.RepoStatus{State: gh.String("success")})
	refused(t, err, 403, "Resource not accessible by integration")
	s.Advance(61 * time.Minute)
	_, _, err = c.PullRequests.Get(ctx, "acme", "fleet", p.GetNumber())
	refused(t, err, 401, "Bad credentials")
}

func TestRatesAreLimited(t *testing.T) {
	s := world(t)
	s.LimitRate(3)
	token := s.Token("alice", "repo")
	for want := 2; want >= 0; want-- {
		_, r, err := client(t, s, token).Repositories.Get(ctx, "acme", "fleet")
		must(t, err)
		equal(t, r.Rate.Remaining, want)
	}
	_, _, err := client(t, s, token).Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 403, "API rate limit exceeded")
	s.Advance(time.Hour)
	_, _, err = client(t, s, token).Repositories.Get(ctx, "acme", "fleet")
	must(t, err)
}

func TestContentIsPaced(t *testing.T) {
	s := world(t)
	s.LimitContent(2)
	token := s.Token("alice", "repo")
	propose(t, s, client(t, s, token), "a")
	propose(t, s, client(t, s, token), "b")
	_, _, err := client(t, s, token).Issues.CreateComment(ctx, "acme", "fleet", 1, &gh.IssueComment{Body: gh.String("x")})
	refused(t, err, 403, "secondary rate limit")
	var response *gh.ErrorResponse // this client knows an older address of the documentation, and no special error for this one
	errors.As(err, &response)
	equal(t, response.Response.Header.Get("Retry-After") != "", true)
	equal(t, strings.HasSuffix(response.DocumentationURL, "secondary-rate-limits"), true)
	s.Advance(time.Minute)
	_, _, err = client(t, s, token).Issues.CreateComment(ctx, "acme", "fleet", 1, &gh.IssueComment{Body: gh.String("x")})
	must(t, err)
}

func TestListsLagBehind(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	count := func() int {
		found, _, err := c.PullRequests.List(ctx, "acme", "fleet", nil)
		must(t, err)
		return len(found)
	}
	s.LagLists(3)
	n := propose(t, s, c, "a").GetNumber()
	equal(t, fmt.Sprint(count(), count(), count()), "0 0 1")
	must(t, s.As("bob").Close(fleet, n))
	equal(t, get(t, c, n).GetState(), "closed")
	equal(t, fmt.Sprint(count(), count(), count()), "1 1 0")
}

func TestAnswersFailAndAreLost(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	s.As("alice").PushCommit(fleet, "a", "A\n", map[string]string{"a": "a\n"})
	const create = "POST /repos/{owner}/{repo}/pulls"
	try := func() error {
		_, _, err := c.PullRequests.Create(ctx, "acme", "fleet", &gh.NewPullRequest{Title: gh.String("x"), Head: gh.String("a"), Base: gh.String("main")})
		return err
	}
	s.Fail(Fault{Route: create, Kind: BadGateway})
	refused(t, try(), 502, "")
	s.Fail(Fault{Route: create, Kind: Lost})
	if err := try(); err == nil {
		t.Fatal("the answer was not lost")
	}
	refused(t, try(), 422, "already exists")
}

// recording is a testing.TB that keeps what fails.
type recording struct {
	testing.TB
	failures []string
}

func (r *recording) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestWhatGitHubDoesNotAllowFailsTheTest(t *testing.T) {
	s := world(t)
	kept := &recording{TB: t}
	s.t = kept
	token := s.Token("alice", "repo")
	for _, request := range []struct{ method, path, body, want string }{
		{"GET", "/repos/acme/fleet/nothing", "", "no such path"},
		{"GET", "/repos/acme/fleet/pulls?statee=open", "", "statee"},
		{"GET", "/repos/acme/fleet/pulls?state=opened", "", "state"},
		{"POST", "/repos/acme/fleet/pulls", `{"title":"x","head":"a"}`, "base"},
		{"PATCH", "/api/v3/repos/acme/fleet/pulls/1", `{"titel":"x"}`, "titel"},
	} {
		kept.failures = nil
		r, err := http.NewRequest(request.method, s.URL+request.path, strings.NewReader(request.body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if len(kept.failures) != 1 || !strings.Contains(kept.failures[0], request.want) || answer.StatusCode < 400 || !bytes.Contains(body, []byte("message")) {
			t.Errorf("%s %s: %v; %d %s", request.method, request.path, kept.failures, answer.StatusCode, body)
		}
	}
}

func TestAWrongAnswerFailsTheTest(t *testing.T) {
	s := world(t)
	request := httptest.NewRequest(http.MethodGet, "/repos/acme/fleet", nil)
	rt, params := match(request, "/repos/acme/fleet")
	err := s.checker.answer(request, rt, params, 200, http.Header{"Content-Type": {"application/json"}}, []byte(`{}`))
	if err == nil || !strings.Contains(err.Error(), "full_name") {
		t.Fatal(err)
	}
}

func TestEveryDescribedOperationIsServed(t *testing.T) {
	check, err := newChecker()
	must(t, err)
	served := map[string]bool{}
	for _, rt := range routes {
		served[rt.method+" "+rt.path] = true
		if check.operation(&rt) == nil {
			t.Errorf("%s %s is not described", rt.method, rt.path)
		}
	}
	for path, item := range check.doc.Paths.Map() {
		for method := range item.Operations() {
			if !served[method+" "+path] {
				t.Errorf("%s %s is not served", method, path)
			}
		}
	}
}

// git runs Git in a folder as a client with a token.
func git(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(bare.Env("Somebody"), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func cloneURL(s *Server, token string) string {
	return strings.Replace(s.GitURL(fleet), "http://", "http://anybody:"+token+"@", 1)
}

func TestPullRequestsFollowPushes(t *testing.T) {
	s := world(t)
	token := s.Token("alice", "repo")
	c := client(t, s, token)
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		out, err := git(t, dir, args...)
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	run("clone", "-q", cloneURL(s, token), ".")
	run("checkout", "-q", "-b", "a")
	run("commit", "-q", "--allow-empty", "-m", "one")
	run("push", "-q", "origin", "a")
	n := open(t, c, "a", "main").GetNumber()
	run("commit", "-q", "--allow-empty", "-m", "two")
	run("push", "-q", "origin", "a")
	equal(t, get(t, c, n).GetHead().GetSHA(), run("rev-parse", "HEAD"))
	run("commit", "-q", "--amend", "--allow-empty", "-m", "other")
	run("push", "-q", "-f", "origin", "a")
	equal(t, get(t, c, n).GetHead().GetSHA(), run("rev-parse", "HEAD"))
	run("fetch", "-q", "origin", "refs/pull/1/head")
	run("push", "-q", "origin", "a:main")
	p := get(t, c, n)
	equal(t, p.GetMerged(), true)
	equal(t, kinds(t, c, n), "head_ref_force_pushed merged closed")

	run("checkout", "-q", "-b", "b")
	run("commit", "-q", "--allow-empty", "-m", "three")
	run("push", "-q", "origin", "b")
	n = open(t, c, "b", "main").GetNumber()
	run("push", "-q", "origin", ":b")
	equal(t, get(t, c, n).GetState(), "closed")
	equal(t, kinds(t, c, n), "closed head_ref_deleted")
	equal(t, s.Requests()["git receive-pack"], 6)
}

func TestPushesNeedAccess(t *testing.T) {
	s := world(t)
	push := func(token string) string {
		t.Helper()
		dir := t.TempDir()
		if out, err := git(t, dir, "clone", "-q", cloneURL(s, token), "."); err != nil {
			return out
		}
		git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
		out, err := git(t, dir, "push", "origin", "HEAD:main")
		return fmt.Sprint(err == nil, out)
	}
	for name, test := range map[string]struct{ token, want string }{
		"a wrong token":       {"wrong", "Authentication failed"},
		"nobody with access":  {s.Token("eve", "repo"), "not found"},
		"a token that reads":  {s.FineGrained("alice", map[string]string{"contents": "read"}, fleet), "403"},
		"a token that writes": {s.Token("alice", "repo"), "true"},
	} {
		if got := push(test.token); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s; want %s", name, got, test.want)
		}
	}
	s.Configure(fleet, func(o *Settings) { o.Archived = true })
	if got := push(s.Token("root", "repo")); !strings.Contains(got, "403") && !strings.Contains(got, "archived") {
		t.Errorf("archived: %s", got)
	}
	s.Rename(fleet, "ships")
	if out, err := git(t, t.TempDir(), "clone", "-q", cloneURL(s, s.Token("alice", "repo")), "."); err != nil {
		t.Errorf("renamed: %v %s", err, out)
	}
}
