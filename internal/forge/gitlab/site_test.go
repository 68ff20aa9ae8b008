package gitlab_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge/gitlab"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

const (
	fleet       = "acme/web.apps/fleet"
	listPath    = "GET /projects/:id/merge_requests"
	requestPath = "/projects/:id/merge_requests/:merge_request_iid"
)

// site is a strict GitLab with a project, and bot and ann as its developers.
type site struct {
	*testing.T
	*servers.Server
	api *gitlab.Server
}

func newSite(t *testing.T) site {
	t.Helper()
	s := servers.Start(t)
	for _, username := range []string{"bot", "ann", "eve"} {
		s.AddUser(username)
	}
	s.AddProject(fleet, servers.ProjectOptions{
		Files: map[string]string{"README.md": "fleet\n"}, Roles: map[string]servers.Role{"bot": servers.Developer, "ann": servers.Developer},
	})
	out := site{T: t, Server: s}
	out.api = out.as(s.Token("bot", "api"))
	return out
}

// as returns the repository for another token.
func (s site) as(token string) *gitlab.Server {
	s.Helper()
	return newServer(s.T, s.GitURL(fleet), token, rest.PrivateToken, http.DefaultTransport)
}

func newServer(t *testing.T, url, token string, form rest.Form, transport http.RoundTripper) *gitlab.Server {
	t.Helper()
	source, err := rest.NewSource(rest.Login{Token: token}, form, url)
	must(t, err)
	api, err := gitlab.New("main", rest.Access{URL: url, Source: source, Transport: transport})
	must(t, err)
	return api
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

// open pushes a branch and opens its merge request.
func (s site) open(branch string) pull.Request {
	s.Helper()
	s.push(branch, branch+".yaml", branch+"\n")
	r, err := s.api.Create(s.Context(), pull.NewRequest{Branch: branch, Title: "Change " + branch, Body: "text"})
	must(s.T, err)
	return r
}

// asked returns how many requests are made in do, by operation.
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

func failed[T any](_ T, err error) error { return err }

// numbers returns those of merge requests, as text.
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
