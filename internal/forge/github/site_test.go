package github_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

const fleet = "acme/fleet"

// site is a strict GitHub with a repository to which bot and ann may write.
type site struct {
	*testing.T
	*servers.Server
	api *github.Server
	// head is the commit of the only pull request.
	head string
}

func newSite(t *testing.T) site {
	t.Helper()
	s := servers.Start(t)
	s.AddOrganization("acme")
	for _, login := range []string{"bot", "ann", "eve"} {
		s.AddUser(login)
	}
	s.AddApp("ci", nil)
	s.AddRepo(fleet, servers.RepoOptions{
		Private: true, Files: map[string]string{"README.md": "fleet\n"}, Roles: map[string]string{"bot": "push", "ann": "push", "ci[bot]": "push"},
	})
	out := site{T: t, Server: s}
	out.api = out.as(s.Token("bot", "repo"))
	return out
}

// as returns the repository for another token.
func (s site) as(token string) *github.Server {
	s.Helper()
	return newServer(s.T, s.GitURL(fleet), token, http.DefaultTransport)
}

func newServer(t *testing.T, url, token string, transport http.RoundTripper) *github.Server {
	t.Helper()
	source, err := rest.NewSource(rest.Login{Token: token}, rest.Bearer, url)
	must(t, err)
	api, err := github.New("main", rest.Access{URL: url, Source: source, Transport: transport, Clock: hurried{ahead: &atomic.Int64{}}})
	must(t, err)
	return api
}

// hurried is a clock by which no turn is waited for: it is later by two seconds at each reading.
type hurried struct {
	backoff.RealClock
	ahead *atomic.Int64
}

func (h hurried) Now() time.Time {
	return h.RealClock.Now().Add(2 * time.Second * time.Duration(h.ahead.Add(1)))
}

// instead answers one method itself.
type instead struct {
	method string
	status int
	body   string
}

func (i instead) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != i.method {
		return http.DefaultTransport.RoundTrip(r)
	}
	return respond(r, i.status, i.body), nil
}

func respond(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// push commits a file to a branch and returns the commit.
func (s site) push(branch, file, text string) git.Hash {
	s.Helper()
	return s.hash(s.As("bot").PushCommit(fleet, branch, "Change "+file+"\n", map[string]string{file: text}))
}

func (s site) hash(sha string) git.Hash {
	s.Helper()
	h, err := git.ParseHash(sha)
	must(s.T, err)
	return h
}

// open pushes a branch and opens its pull request.
func (s site) open(branch string) pull.Request {
	s.Helper()
	s.push(branch, branch+".yaml", branch+"\n")
	r, err := s.api.Create(s.Context(), pull.NewRequest{Branch: branch, Title: "Change " + branch, Body: "text"})
	must(s.T, err)
	return r
}

// asked returns how many requests are made in do, by route.
func (s site) asked(do func()) map[string]int {
	s.Helper()
	s.ResetRequests()
	do()
	return s.Requests()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// numbers returns those of pull requests, as text.
func numbers(requests []pull.Request) string {
	var out []int64
	for _, r := range requests {
		out = append(out, r.Number)
	}
	return fmt.Sprint(out)
}

func sum(counts map[string]int) (all int) {
	for n := range maps.Values(counts) {
		all += n
	}
	return all
}

func sorted(requests []pull.Request) []pull.Request {
	return slices.SortedFunc(slices.Values(requests), func(a, b pull.Request) int { return int(a.Number - b.Number) })
}
