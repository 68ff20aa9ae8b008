package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
)

// pageSize is what servers give by default; one that gives less says how to go on.
const pageSize = 50

// Open reads all pages of the open pull requests.
func (s *Server) Open(ctx context.Context) ([]pull.Request, error) {
	var out []pull.Request
	for page := 1; ; page++ {
		list, more, err := s.page(ctx, "list open pull requests", sdk.StateOpen, "oldest", page)
		if out = append(out, list...); err != nil || !more {
			return out, err
		}
	}
}

// Recent reads the first page of the closed ones.
func (s *Server) Recent(ctx context.Context) ([]pull.Request, error) {
	list, _, err := s.page(ctx, "list closed pull requests", sdk.StateClosed, "recentupdate", 1)
	return list, err
}

// OfBranch searches those that were updated last.
func (s *Server) OfBranch(ctx context.Context, branch string) ([]pull.Request, error) {
	list, _, err := s.page(ctx, "list the pull requests of "+branch, sdk.StateAll, "recentupdate", 1)
	list = slices.DeleteFunc(list, func(r pull.Request) bool { return r.Branch != branch })
	slices.SortFunc(list, func(a, b pull.Request) int { return int(b.Number - a.Number) })
	return list, err
}

// page reads one page of pull requests to base.
func (s *Server) page(ctx context.Context, op string, state sdk.StateType, order string, number int) (out []pull.Request, more bool, err error) {
	err = s.api.do(ctx, op, url.Values{"base_branch": {s.base}}, func(c *sdk.Client) error {
		prs, response, err := c.ListRepoPullRequests(s.api.owner, s.api.name, sdk.ListPullRequestsOptions{
			ListOptions: sdk.ListOptions{Page: number, PageSize: pageSize}, State: state, Sort: order,
		})
		if err != nil {
			return err
		}
		for _, pr := range prs {
			if r, ok := s.request(pr); ok {
				out = append(out, r)
			}
		}
		more = response.NextPage > number && len(prs) > 0
		return nil
	})
	return out, more, err
}

// request returns a pull request to base from within the repository.
func (s *Server) request(pr *sdk.PullRequest) (pull.Request, bool) {
	if pr == nil || pr.Head == nil || pr.Base == nil || pr.Base.Ref != s.base || pr.Head.RepoID != pr.Base.RepoID {
		return pull.Request{}, false
	}
	r := pull.Request{
		Number: pr.Index, URL: pr.HTMLURL, Title: pr.Title, Body: pr.Body, Head: hash(pr.Head.Sha), State: pull.Closed, Draft: pr.Draft,
		Branch: pr.Head.Name, // Ref is that of the pull request once the branch is gone
	}
	switch {
	case pr.State == sdk.StateOpen:
		r.State, r.Unmergeable = pull.Open, !pr.Mergeable
	case pr.HasMerged:
		r.State = pull.Merged
	}
	if pr.Closed != nil {
		r.Closed = *pr.Closed
	}
	if pr.Created != nil {
		r.Created = *pr.Created
	}
	if pr.MergedCommitID != nil {
		r.Merge = hash(*pr.MergedCommitID)
	}
	return r, true
}

// hash is zero where the server does not know the commit.
func hash(s string) git.Hash {
	h, err := git.ParseHash(s)
	if err != nil {
		return git.Hash{}
	}
	return h
}

// one asks for something about one pull request, and returns it as it is then.
func (s *Server) one(ctx context.Context, op string, ask func(*sdk.Client) (*sdk.PullRequest, *sdk.Response, error)) (pull.Request, error) {
	var pr *sdk.PullRequest
	err := s.api.do(ctx, op, nil, func(c *sdk.Client) (err error) {
		pr, _, err = ask(c)
		return err
	})
	if err != nil {
		return pull.Request{}, err
	}
	r, ok := s.request(pr)
	if !ok {
		return r, forge.ErrGone
	}
	return r, nil
}

// Get makes Gitea check whether the pull request can be merged.
func (s *Server) Get(ctx context.Context, number int64) (pull.Request, error) {
	return s.one(ctx, fmt.Sprintf("read pull request #%d", number), func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.GetPullRequest(s.api.owner, s.api.name, number)
	})
}

// Create opens a pull request with the labels that there are.
func (s *Server) Create(ctx context.Context, n pull.NewRequest) (pull.Request, error) {
	labels, err := s.label.get(ctx, s.api)
	if err != nil {
		return pull.Request{}, err
	}
	o := sdk.CreatePullRequestOption{Head: n.Branch, Base: s.base, Title: n.Title, Body: n.Body, Labels: labels}
	r, err := s.one(ctx, "open a pull request of "+n.Branch, func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.CreatePullRequest(s.api.owner, s.api.name, o)
	})
	if refused(err, http.StatusConflict) {
		err = fmt.Errorf("%w: %w", pull.ErrExists, err)
	}
	return r, err
}

// Edit changes a pull request; Gitea writes the text before the state.
func (s *Server) Edit(ctx context.Context, number int64, e pull.Edit) (pull.Request, error) {
	o := sdk.EditPullRequestOption{Body: e.Body}
	op := fmt.Sprintf("update pull request #%d", number)
	if e.Title != nil {
		o.Title = *e.Title
	}
	if e.State != nil {
		state := sdk.StateOpen
		op = fmt.Sprintf("reopen pull request #%d", number)
		if *e.State == pull.Closed {
			state, op = sdk.StateClosed, fmt.Sprintf("close pull request #%d", number)
		}
		o.State = &state
	}
	return s.one(ctx, op, func(c *sdk.Client) (*sdk.PullRequest, *sdk.Response, error) {
		return c.EditPullRequest(s.api.owner, s.api.name, number, o)
	})
}

// event is a line of a pull request's timeline.
type event struct {
	Type    string
	Body    string
	Created time.Time `json:"created_at"`
	User    struct{ Login string }
}

// Closing reads the timeline.
func (s *Server) Closing(ctx context.Context, number int64) (pull.Closing, error) {
	var events []event
	err := s.api.read(ctx, fmt.Sprintf("read how pull request #%d was closed", number), &events, func(c *sdk.Client) error {
		// The SDK takes the label of an event for a list of labels.
		_, _, err := c.ListIssueTimeline(s.api.owner, s.api.name, number, sdk.ListIssueCommentOptions{ListOptions: sdk.ListOptions{Page: 1, PageSize: pageSize}})
		return err
	})
	var out pull.Closing
	for _, e := range slices.Backward(events) {
		switch e.Type {
		case "close":
			if out.By == "" {
				out.By = e.User.Login
			}
		case "delete_branch":
			out.BranchDeleted = true
		case "comment":
			out.Said = append(out.Said, pull.Comment{By: e.User.Login, Text: e.Body, At: e.Created})
		}
	}
	return out, err
}

// Comment adds a comment.
func (s *Server) Comment(ctx context.Context, number int64, text string) error {
	return s.api.do(ctx, fmt.Sprintf("comment on pull request #%d", number), nil, func(c *sdk.Client) error {
		_, _, err := c.CreateIssueComment(s.api.owner, s.api.name, number, sdk.CreateIssueCommentOption{Body: text})
		return err
	})
}

// SetStatus shows a commit status.
func (s *Server) SetStatus(ctx context.Context, commit git.Hash, status pull.Status) error {
	state := sdk.StatusFailure
	if status.Passed {
		state = sdk.StatusSuccess
	}
	return s.api.do(ctx, "show the status of commit "+commit.String(), nil, func(c *sdk.Client) error {
		_, _, err := c.CreateStatus(s.api.owner, s.api.name, commit.String(), sdk.CreateStatusOption{State: state, Context: status.Context, Description: status.Text})
		return err
	})
}

// methods are Gitea's names of the ways to merge.
var methods = map[pull.Method]sdk.MergeStyle{
	pull.MergeCommit: sdk.MergeStyleMerge, pull.Squash: sdk.MergeStyleSquash, pull.Rebase: sdk.MergeStyleRebase,
	pull.RebaseMerge: sdk.MergeStyleRebaseMerge, pull.FastForward: sdk.MergeStyleFastForwardOnly,
}

// Merge merges a pull request and leaves its branch: Gitea would delete it by and by, and close what
// is opened from a new branch of that name meanwhile.
func (s *Server) Merge(ctx context.Context, number int64, m pull.Merge) error {
	remove := false
	o := sdk.MergePullRequestOption{Style: methods[m.Method], HeadCommitId: m.Head.String(), Title: m.Title, Message: m.Message, DeleteBranchAfterMerge: &remove}
	err := s.api.do(ctx, fmt.Sprintf("merge pull request #%d", number), nil, func(c *sdk.Client) error {
		_, _, err := c.MergePullRequest(s.api.owner, s.api.name, number, o)
		return err
	})
	return mergeError(err)
}

// mergeError returns what a refusal to merge means. Gitea's statuses have several meanings each, so
// its words decide; what they do not say stays the server's own error.
func mergeError(err error) error {
	a, ok := errors.AsType[*answer](err)
	if !ok {
		return err
	}
	said := strings.ToLower(a.said)
	says := func(status int, words ...string) bool {
		return a.status == status && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case says(http.StatusMethodNotAllowed, "try again later"): // also where it has found a conflict
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, err)
	case says(http.StatusConflict, "head out of date"), a.status == http.StatusNotFound:
		return forge.ErrGone
	case says(http.StatusConflict, "out of date", "cannot lock ref"):
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, err) // somebody else moved base
	case says(http.StatusConflict, "pushrejected"):
		a.failure.Reason, a.failure.Text = "MergeRefused", "the server's hooks refuse the merge: "+a.said
	case a.status == http.StatusConflict:
		return forge.ErrConflict
	case says(http.StatusMethodNotAllowed, "already merged"):
		return forge.ErrGone
	case a.status == http.StatusMethodNotAllowed:
		a.failure.Reason, a.failure.Text = "MergeRefused", "the repository's rules do not let it be merged: "+a.said
	}
	return err
}

// Repository returns how the repository merges, the default way first.
func (s *Server) Repository(ctx context.Context) (pull.Repository, error) {
	var r *sdk.Repository
	err := s.api.do(ctx, "read the repository", nil, func(c *sdk.Client) (err error) {
		r, _, err = c.GetRepo(s.api.owner, s.api.name)
		return err
	})
	if err != nil {
		return pull.Repository{}, err
	}
	out := pull.Repository{Empty: r.Empty, Archived: r.Archived, DefaultBranch: r.DefaultBranch}
	for _, way := range []struct {
		method  pull.Method
		allowed bool
	}{
		{pull.MergeCommit, r.AllowMerge}, {pull.Squash, r.AllowSquash}, {pull.RebaseMerge, r.AllowRebaseMerge},
		{pull.Rebase, r.AllowRebase}, {pull.FastForward, r.AllowFastForwardOnlyMerge},
	} {
		switch {
		case !way.allowed:
		case methods[way.method] == r.DefaultMergeStyle:
			out.Methods = append([]pull.Method{way.method}, out.Methods...)
		default:
			out.Methods = append(out.Methods, way.method)
		}
	}
	return out, nil
}
