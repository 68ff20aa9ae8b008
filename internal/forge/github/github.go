// Package github is GitHub's REST API as a pull.Server, for github.com, GHE.com and GitHub
// Enterprise Server.
//
// A list is one request for every hundred pull requests. A new pull request is one request; its
// labels, assignees and milestone are one more, and reviewers a third. Everything else is one. A
// merge that GitHub refuses costs one more, because the refusal does not say why.
//
// Invariants: a Server keeps nothing between two calls but the numbers of milestones. It follows no
// redirect: a repository that was renamed is an error with its new name, because anybody may take the
// old one.
//
// Concurrency: a Server may be used by several goroutines.
package github

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Server is a repository on GitHub.
type Server struct {
	repository
	base   string
	api    *url.URL
	client *rest.Client
	// milestones are the numbers of milestones by title.
	milestones sync.Map
}

var _ pull.Server = (*Server)(nil)

// kind is what GitHub asks of clients. It allows 80 requests a minute that create content, which
// people are notified of, and wants a second between two.
var kind = rest.Forge{
	Name:   "GitHub",
	Rights: "the token needs the scope repo, or the permissions to read and write contents, pull requests and commit statuses",
	Pace:   time.Second,
	Creates: func(r *http.Request) bool {
		return r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/pulls") ||
			strings.HasSuffix(r.URL.Path, "/requested_reviewers") || strings.HasSuffix(r.URL.Path, "/comments"))
	},
}

// New makes the Server of a repository, for pull requests to its branch base. It sends no request.
// The URL is https://host/owner/name[.git], git@host:owner/name.git or
// ssh://git@host/owner/name.git.
func New(base string, o rest.Access) (*Server, error) {
	at, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	s := &Server{repository: at, base: base}
	if s.api, err = url.Parse(rest.GitHubAPI(at.site) + "/"); err != nil {
		return nil, err
	}
	s.client, err = rest.New(o, at.String(), s.api.String(), kind)
	return s, err
}

// Budget returns what the server still allows.
func (s *Server) Budget() forge.Budget { return s.client.Budget() }

// do makes one call. The error is nil or a *rest.Failure. Each has a client of its own, because
// those of go-github remember limits, and refuse to ask.
func (s *Server) do(ctx context.Context, op string, ask func(ctx context.Context, c *gh.Client) error) error {
	err := s.client.Do(ctx, op, func(ctx context.Context) error { return ask(ctx, s.gh()) })
	if failure, ok := errors.AsType[*rest.Failure](err); ok && failure.Status/100 == 3 {
		if now := s.moved(ctx); now != "" {
			failure.Err.Text = "the repository was renamed or moved; correct spec.url to " + now
		}
	}
	return err
}

func (s *Server) gh() *gh.Client {
	c := gh.NewClient(s.client.HTTP())
	c.BaseURL = s.api
	return c
}

// moved returns where the repository is now, if GitHub says so. Its redirects have only an id.
func (s *Server) moved(ctx context.Context) string {
	const op = "find the repository"
	err := s.client.Do(ctx, op, func(ctx context.Context) error {
		_, _, err := s.gh().Repositories.Get(ctx, s.owner, s.name)
		return err
	})
	failure, ok := errors.AsType[*rest.Failure](err)
	if !ok || failure.Status/100 != 3 {
		return ""
	}
	var now gh.Repository
	if err := s.client.Do(ctx, op, func(ctx context.Context) error {
		c := s.gh()
		request, err := c.NewRequest(http.MethodGet, failure.Header.Get("Location"), nil)
		if err == nil {
			_, err = c.Do(ctx, request, &now)
		}
		return err
	}); err != nil {
		return ""
	}
	return now.GetHTMLURL()
}

// repository is a repository as its URL names it.
type repository struct {
	site, owner, name string
}

// String returns the URL of the repository's page.
func (r repository) String() string { return r.site + "/" + r.owner + "/" + r.name }

// parseURL reads the URL of a repository for Git. Errors have no credentials.
func parseURL(raw string) (repository, error) {
	at, err := transport.NewEndpoint(raw)
	if err != nil {
		return repository{}, errors.New("the URL of the GitOps repository cannot be parsed; use https://host/owner/name")
	}
	owner, name, ok := strings.Cut(strings.TrimSuffix(strings.Trim(at.Path, "/"), ".git"), "/")
	web := at.Protocol == "https" || at.Protocol == "http"
	if !web && at.Protocol != "ssh" || at.Host == "" || !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		at.User, at.Password = "", ""
		return repository{}, fmt.Errorf("%s is not the URL of a repository on GitHub; use https://host/owner/name or git@host:owner/name.git", at)
	}
	site := url.URL{Scheme: "https", Host: strings.ToLower(at.Host)}
	switch {
	case site.Host == "ssh.github.com" || site.Host == "www.github.com":
		site.Host = "github.com" // ssh.github.com is for networks that let only port 443 through
	case web && at.Port != 0 && at.Port != map[string]int{"http": 80, "https": 443}[at.Protocol]:
		site.Host = fmt.Sprintf("%s:%d", site.Host, at.Port)
	}
	if web {
		site.Scheme = at.Protocol
	}
	return repository{site: site.String(), owner: owner, name: name}, nil
}

// pages yields the rows of a list, the last first. It reads from the last page to the first: a row
// that leaves the list meanwhile moves others to pages that are still to be read, and none is
// missed, though some may come twice. Of a list of several pages the first one is read twice, once
// to learn how many there are; where GitHub does not say that, all are.
func pages[T any](read func(gh.ListOptions) ([]T, *gh.Response, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := 1
		rows, answer, err := read(gh.ListOptions{PerPage: perPage})
		for err == nil && answer.NextPage > page {
			page = max(answer.NextPage, answer.LastPage)
			rows, answer, err = read(gh.ListOptions{PerPage: perPage, Page: page})
		}
		for ; ; rows, _, err = read(gh.ListOptions{PerPage: perPage, Page: page}) {
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range slices.Backward(rows) {
				if !yield(row, nil) {
					return
				}
			}
			if page--; page == 0 {
				return
			}
		}
	}
}

// perPage is the most that GitHub returns of a list at once.
const perPage = 100
