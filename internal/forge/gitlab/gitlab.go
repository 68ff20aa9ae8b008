// Package gitlab is GitLab's REST API as a pull.Server, for gitlab.com and self-managed GitLab.
// Pull requests are merge requests there, and repositories are projects.
//
// A list is one request for every hundred merge requests; a new merge request is one request with
// all that it carries, and one more for each user and milestone that is used for the first time.
// Everything else is one. Recent and Closing are two. A merge that GitLab refuses costs one more,
// because the refusal does not say why.
//
// A commit status belongs to the first branch, by name, that has the commit. GitLab executes lines
// of texts that begin with a slash, as the user of the credentials; texts are sent with a backslash
// before it, which is not visible, and are returned without.
//
// Invariants: a Server keeps nothing between two calls but ids of users and milestones. It follows
// no redirect: a project that was renamed is an error with its new name, because anybody may take
// the old one.
//
// Concurrency: a Server may be used by several goroutines.
package gitlab

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Server is a project on GitLab.
type Server struct {
	project
	base   string
	client *rest.Client
	api    *gl.Client
	known  known
}

var _ pull.Server = (*Server)(nil)

// kind is what GitLab asks of clients.
var kind = rest.Forge{Name: "GitLab", Rights: "the token needs the scope api, and the role Developer, or Maintainer for a protected branch"}

// New makes the Server of a repository, for merge requests to its branch base. It sends no request.
// The URL is https://host/group/name[.git], git@host:group/name.git or
// ssh://git@host/group/name.git, with any number of groups; a GitLab below a path of its host is
// not supported. Personal, project and group access tokens have the form rest.PrivateToken or
// rest.Bearer, those of OAuth only the latter.
func New(base string, o rest.Access) (*Server, error) {
	at, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	client, err := rest.New(o, at.String(), at.site+"/api/v4", kind)
	if err != nil {
		return nil, err
	}
	// The shared HTTP layer adds the credentials, and decides what is sent when.
	api, err := gl.NewAuthSourceClient(gl.Unauthenticated{}, gl.WithBaseURL(at.site), gl.WithHTTPClient(client.HTTP()),
		gl.WithoutRetries(), gl.WithCustomLimiter(unlimited{}))
	if err != nil {
		return nil, err
	}
	return &Server{project: at, base: base, client: client, api: api}, nil
}

// unlimited replaces the limiter of the SDK.
type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// Budget returns what the server still allows.
func (s *Server) Budget() forge.Budget { return s.client.Budget() }

// do makes one call. The error is nil or a *rest.Failure.
func (s *Server) do(ctx context.Context, op string, ask func(gl.RequestOptionFunc) error) error {
	err := s.client.Do(ctx, op, func(ctx context.Context) error { return ask(gl.WithContext(ctx)) })
	// GitLab redirects only what reads, and refuses what writes.
	if failure, ok := errors.AsType[*rest.Failure](err); ok && (failure.Status/100 == 3 || says(err, http.StatusMethodNotAllowed, "moved project")) {
		failure.Err.Kind, failure.Err.Text = forge.FailedNotFound, "the repository was renamed or moved; correct spec.url"
		if now := s.moved(ctx); now != "" {
			failure.Err.Text += " to " + now
		}
	}
	return err
}

// change makes a call that changes something. GitLab refuses to change an archived project without
// saying that it is archived.
func (s *Server) change(ctx context.Context, op string, ask func(gl.RequestOptionFunc) error) error {
	err := s.do(ctx, op, ask)
	failure, ok := errors.AsType[*rest.Failure](err)
	if !ok || failure.Status != http.StatusForbidden || failure.Limited {
		return err
	}
	if now, readErr := s.Repository(ctx); readErr == nil && now.Archived {
		failure.Err.Kind, failure.Err.Text = forge.FailedOther, "the repository is archived; unarchive it, or remove its GitOpsRepo"
	}
	return err
}

// says reports whether GitLab refused with a status and these words.
func says(err error, status int, words string) bool {
	failure, ok := errors.AsType[*rest.Failure](err)
	return ok && failure.Status == status && strings.Contains(failure.Said, words)
}

// moved returns the URL that the project has now, if GitLab says so. Its redirects have only an id.
func (s *Server) moved(ctx context.Context) string {
	var now *gl.Project
	read := func(project any) error {
		return s.client.Do(ctx, "find the repository", func(ctx context.Context) (err error) {
			now, _, err = s.api.Projects.GetProject(project, nil, gl.WithContext(ctx))
			return err
		})
	}
	failure, ok := errors.AsType[*rest.Failure](read(s.path))
	if !ok || failure.Status/100 != 3 || read(path.Base(failure.Location)) != nil {
		return ""
	}
	return now.WebURL
}

// project is a repository as its URL names it; path has the groups and the name.
type project struct{ site, path string }

// String returns the URL of the repository's page.
func (p project) String() string { return p.site + "/" + p.path }

// parseURL reads the URL of a repository for Git. Errors have no credentials.
func parseURL(raw string) (project, error) {
	at, err := transport.NewEndpoint(raw)
	if err != nil {
		return project{}, errors.New("the URL of the GitOps repository cannot be parsed; use https://host/group/name")
	}
	name := strings.TrimSuffix(strings.Trim(at.Path, "/"), ".git")
	web := at.Protocol == "https" || at.Protocol == "http"
	if !web && at.Protocol != "ssh" || at.Host == "" || len(strings.Split(name, "/")) < 2 || slices.Contains(strings.Split(name, "/"), "") {
		at.User, at.Password = "", ""
		return project{}, fmt.Errorf("%s is not the URL of a repository on GitLab; use https://host/group/name or ssh://git@host/group/name.git", at)
	}
	site := url.URL{Scheme: "https", Host: strings.ToLower(at.Host)}
	switch {
	case site.Host == "altssh.gitlab.com" || site.Host == "www.gitlab.com":
		site.Host = "gitlab.com" // altssh is for networks that let only port 443 through
	case web && at.Port != 0 && at.Port != map[string]int{"http": 80, "https": 443}[at.Protocol]:
		site.Host = fmt.Sprintf("%s:%d", site.Host, at.Port)
	}
	if web {
		site.Scheme = at.Protocol
	}
	return project{site: site.String(), path: name}, nil
}

// perPage is the most that GitLab returns of a list at once.
const perPage = 100

// pages yields the rows of a list, the last first. It reads to the last page, and back to the first
// one: a row that leaves the list meanwhile moves others to pages that are still to be read, and
// none is missed, though some may come twice. Of a list of several pages the first one is read
// twice. GitLab does not say which page is the last where a list has more than 10,000 rows.
func pages[T any](read func(gl.ListOptions) ([]T, *gl.Response, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := int64(1)
		rows, answer, err := read(gl.ListOptions{PerPage: perPage, Page: page})
		for err == nil && answer.NextPage > page {
			page = max(answer.NextPage, answer.TotalPages)
			rows, answer, err = read(gl.ListOptions{PerPage: perPage, Page: page})
		}
		for ; ; rows, _, err = read(gl.ListOptions{PerPage: perPage, Page: page}) {
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
