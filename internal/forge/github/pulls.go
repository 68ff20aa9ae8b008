package github

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// Open lists the open pull requests to base. GitHub's lists do not show whether one can be merged.
func (s *Server) Open(ctx context.Context) ([]pull.Request, error) {
	open := map[int64]pull.Request{}
	for p, err := range pages(func(o gh.ListOptions) ([]*gh.PullRequest, *gh.Response, error) {
		return s.list(ctx, "list open pull requests", gh.PullRequestListOptions{State: "open", Sort: "created", Direction: "asc", ListOptions: o})
	}) {
		if err != nil {
			return nil, err
		}
		if r, ok := s.request(p); ok {
			open[r.Number] = r
		}
	}
	return slices.Collect(maps.Values(open)), nil
}

// OfBranch returns the newest hundred pull requests of a branch.
func (s *Server) OfBranch(ctx context.Context, branch string) ([]pull.Request, error) {
	out, err := s.newest(ctx, "list the pull requests of "+branch, gh.PullRequestListOptions{State: "all", Sort: "created", Head: s.owner + ":" + branch})
	return slices.DeleteFunc(out, func(r pull.Request) bool { return r.Branch != branch }), err
}

// Recent returns the hundred closed pull requests that were updated last.
func (s *Server) Recent(ctx context.Context) ([]pull.Request, error) {
	return s.newest(ctx, "list closed pull requests", gh.PullRequestListOptions{State: "closed", Sort: "updated"})
}

// newest reads the first page of a list, in descending order.
func (s *Server) newest(ctx context.Context, op string, o gh.PullRequestListOptions) (out []pull.Request, err error) {
	o.Direction, o.PerPage = "desc", perPage
	found, _, err := s.list(ctx, op, o)
	for _, p := range found {
		if r, ok := s.request(p); ok {
			out = append(out, r)
		}
	}
	return out, err
}

// list reads one page of the pull requests to base.
func (s *Server) list(ctx context.Context, op string, o gh.PullRequestListOptions) (found []*gh.PullRequest, answer *gh.Response, err error) {
	o.Base = s.base
	err = s.do(ctx, op, func(ctx context.Context, c *gh.Client) (err error) {
		found, answer, err = c.PullRequests.List(ctx, s.owner, s.name, &o)
		return err
	})
	return found, answer, err
}

// Get reads one pull request.
func (s *Server) Get(ctx context.Context, number int64) (pull.Request, error) {
	p, err := s.get(ctx, number)
	if err != nil {
		return pull.Request{}, err
	}
	return s.ours(p)
}

// get reads one pull request as GitHub has it. GitHub answers alike if it does not exist and if the
// credentials may not read the repository.
func (s *Server) get(ctx context.Context, number int64) (p *gh.PullRequest, err error) {
	err = s.do(ctx, op("read", number), func(ctx context.Context, c *gh.Client) (err error) {
		p, _, err = c.PullRequests.Get(ctx, s.owner, s.name, int(number))
		return err
	})
	if !rest.Refused(err, http.StatusNotFound) {
		return p, err
	}
	if _, err := s.Repository(ctx); err != nil {
		return nil, err
	}
	return nil, forge.ErrGone
}

// Create opens a pull request; GitHub takes no attributes with it.
func (s *Server) Create(ctx context.Context, n pull.NewRequest) (pull.Request, error) {
	var p *gh.PullRequest
	err := s.do(ctx, "open a pull request of "+n.Branch, func(ctx context.Context, c *gh.Client) (err error) {
		p, _, err = c.PullRequests.Create(ctx, s.owner, s.name, &gh.NewPullRequest{
			Title: &n.Title, Head: &n.Branch, Base: &s.base, Body: &n.Body, Draft: &n.Draft,
		})
		return err
	})
	if says(err, http.StatusUnprocessableEntity, "A pull request already exists") {
		return pull.Request{}, fmt.Errorf("%w: %w", pull.ErrExists, err)
	}
	if err != nil {
		return pull.Request{}, err
	}
	return s.ours(p)
}

// says reports whether GitHub refused with a status and these words.
func says(err error, status int, words string) bool {
	failure, ok := errors.AsType[*rest.Failure](err)
	return ok && failure.Status == status && strings.Contains(failure.Said, words)
}

// Edit changes title, text and state.
func (s *Server) Edit(ctx context.Context, number int64, e pull.Edit) (pull.Request, error) {
	verb := "update"
	if e.State != nil {
		verb = map[pull.State]string{pull.Open: "reopen", pull.Closed: "close"}[*e.State]
	}
	var p *gh.PullRequest
	err := s.do(ctx, op(verb, number), func(ctx context.Context, c *gh.Client) (err error) {
		change := &gh.PullRequest{Title: e.Title, Body: e.Body, State: (*string)(e.State)}
		p, _, err = c.PullRequests.Edit(ctx, s.owner, s.name, int(number), change)
		return err
	})
	if err != nil {
		return pull.Request{}, err
	}
	return s.ours(p)
}

// Comment adds a comment.
func (s *Server) Comment(ctx context.Context, number int64, text string) error {
	return s.do(ctx, op("comment on", number), func(ctx context.Context, c *gh.Client) error {
		_, _, err := c.Issues.CreateComment(ctx, s.owner, s.name, int(number), &gh.IssueComment{Body: &text})
		return err
	})
}

// Repository reads the repository. GitHub has no default method, and shows the allowed ones only to
// those who may write; it knows of a push at once.
func (s *Server) Repository(ctx context.Context) (pull.Repository, error) {
	var r *gh.Repository
	err := s.do(ctx, "read the repository", func(ctx context.Context, c *gh.Client) (err error) {
		r, _, err = c.Repositories.Get(ctx, s.owner, s.name)
		return err
	})
	if err != nil {
		return pull.Repository{}, err
	}
	out := pull.Repository{Archived: r.GetArchived(), DefaultBranch: r.GetDefaultBranch()}
	for i, allowed := range []*bool{r.AllowMergeCommit, r.AllowSquashMerge, r.AllowRebaseMerge} {
		if allowed == nil || *allowed {
			out.Methods = append(out.Methods, methods[i])
		}
	}
	return out, nil
}

// op names an operation on a pull request.
func op(verb string, number int64) string { return fmt.Sprintf("%s pull request #%d", verb, number) }

// ours returns a pull request of one of the repository's own branches to base; ErrGone for another.
func (s *Server) ours(p *gh.PullRequest) (pull.Request, error) {
	if r, ok := s.request(p); ok {
		return r, nil
	}
	return pull.Request{}, forge.ErrGone
}

// request translates a pull request. It is not ok for one of a fork or to another branch than base.
func (s *Server) request(p *gh.PullRequest) (r pull.Request, ok bool) {
	head, base := p.GetHead(), p.GetBase()
	if base.GetRef() != s.base || head.Repo == nil || head.Repo.GetID() != base.GetRepo().GetID() {
		return pull.Request{}, false
	}
	r = pull.Request{
		Number: int64(p.GetNumber()), URL: p.GetHTMLURL(), Branch: head.GetRef(), Title: p.GetTitle(), Body: p.GetBody(),
		Head: hash(head.GetSHA()), State: pull.Open, Draft: p.GetDraft(), Unmergeable: p.Mergeable != nil && !*p.Mergeable,
		Created: p.GetCreatedAt().Time, Closed: p.GetClosedAt().Time,
	}
	r.Labels, r.Assignees, r.Milestone = labelNames(p.Labels), logins(p.Assignees), p.GetMilestone().GetTitle()
	r.Reviewers = s.reviewers(p)
	switch {
	case p.MergedAt != nil:
		r.State, r.Merge = pull.Merged, hash(p.GetMergeCommitSHA())
	case p.GetState() == "closed":
		r.State = pull.Closed
	}
	return r, true
}

// hash reads the id of a commit; zero if there is none.
func hash(sha string) git.Hash {
	h, err := git.ParseHash(sha)
	if err != nil {
		return git.Hash{}
	}
	return h
}
