package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// Open lists the open merge requests to base, and makes GitLab check again which of them conflict.
func (s *Server) Open(ctx context.Context) ([]pull.Request, error) {
	open := map[int64]pull.Request{}
	for m, err := range pages(func(o gl.ListOptions) ([]*gl.BasicMergeRequest, *gl.Response, error) {
		o.OrderBy, o.Sort = "created_at", "asc"
		return s.list(ctx, "list open merge requests", gl.ListProjectMergeRequestsOptions{State: new("opened"), WithMergeStatusRecheck: new(true), ListOptions: o})
	}) {
		if err != nil {
			return nil, err
		}
		if r, ok := s.request(m); ok {
			open[r.Number] = r
		}
	}
	return slices.Collect(maps.Values(open)), nil
}

// OfBranch returns the newest hundred merge requests of a branch.
func (s *Server) OfBranch(ctx context.Context, branch string) ([]pull.Request, error) {
	found, _, err := s.list(ctx, "list the merge requests of "+branch, gl.ListProjectMergeRequestsOptions{
		State: new("all"), SourceBranch: &branch, ListOptions: gl.ListOptions{PerPage: perPage, OrderBy: "created_at", Sort: "desc"},
	})
	return s.requests(found), err
}

// Recent returns the hundred closed and the hundred merged ones that were updated last: GitLab
// lists them apart.
func (s *Server) Recent(ctx context.Context) ([]pull.Request, error) {
	var all []*gl.BasicMergeRequest
	for _, state := range []string{"closed", "merged"} {
		found, _, err := s.list(ctx, "list "+state+" merge requests", gl.ListProjectMergeRequestsOptions{
			State: &state, ListOptions: gl.ListOptions{PerPage: perPage, OrderBy: "updated_at", Sort: "desc"},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b *gl.BasicMergeRequest) int { return when(b.UpdatedAt).Compare(when(a.UpdatedAt)) })
	return s.requests(all), nil
}

// list reads one page of the merge requests to base.
func (s *Server) list(ctx context.Context, op string, o gl.ListProjectMergeRequestsOptions) (found []*gl.BasicMergeRequest, answer *gl.Response, err error) {
	o.TargetBranch = &s.base
	// The order is twice in the options, and would be twice in the request.
	o.OrderBy, o.Sort = new(o.ListOptions.OrderBy), new(o.ListOptions.Sort)
	o.ListOptions.OrderBy, o.ListOptions.Sort = "", ""
	err = s.do(ctx, op, func(with gl.RequestOptionFunc) (err error) {
		found, answer, err = s.api.MergeRequests.ListProjectMergeRequests(s.path, &o, with)
		return err
	})
	return found, answer, err
}

// requests translates those of the repository's own branches to base.
func (s *Server) requests(found []*gl.BasicMergeRequest) (out []pull.Request) {
	for _, m := range found {
		if r, ok := s.request(m); ok {
			out = append(out, r)
		}
	}
	return out
}

// Get reads one merge request.
func (s *Server) Get(ctx context.Context, number int64) (pull.Request, error) {
	m, err := s.get(ctx, number)
	if err != nil {
		return pull.Request{}, err
	}
	return s.ours(m)
}

// get reads one merge request as GitLab has it. GitLab answers alike if it does not exist and if
// the credentials may not read the repository.
func (s *Server) get(ctx context.Context, number int64) (m *gl.MergeRequest, err error) {
	err = s.do(ctx, op("read", number), func(with gl.RequestOptionFunc) (err error) {
		m, _, err = s.api.MergeRequests.GetMergeRequest(s.path, number, nil, with)
		return err
	})
	if !rest.Refused(err, http.StatusNotFound) {
		return m, err
	}
	if _, err := s.Repository(ctx); err != nil {
		return nil, err
	}
	return nil, forge.ErrGone
}

// Create opens a merge request with its attributes, but for names that GitLab does not know. GitLab
// leaves out what the credentials may not set, and what its edition does not have, without an error.
func (s *Server) Create(ctx context.Context, n pull.NewRequest) (pull.Request, error) {
	ids, err := s.idsOf(ctx, "open a merge request of "+n.Branch, n.Attributes)
	if err != nil && !forge.IsFailure(err, forge.FailedOther) {
		return pull.Request{}, err
	}
	o := gl.CreateMergeRequestOptions{Title: &n.Title, Description: new(escape(n.Body)), SourceBranch: &n.Branch, TargetBranch: &s.base}
	if n.Draft && !strings.HasPrefix(n.Title, draft) {
		o.Title = new(draft + n.Title)
	}
	if len(n.Labels) > 0 {
		o.Labels = (*gl.LabelOptions)(&n.Labels)
	}
	if len(ids.reviewers) > 0 {
		o.ReviewerIDs = &ids.reviewers
	}
	if len(ids.assignees) > 0 {
		o.AssigneeIDs = &ids.assignees
	}
	o.MilestoneID = ids.milestone
	var m *gl.MergeRequest
	err = s.change(ctx, "open a merge request of "+n.Branch, func(with gl.RequestOptionFunc) (err error) {
		m, _, err = s.api.MergeRequests.CreateMergeRequest(s.path, &o, with)
		return err
	})
	switch {
	case says(err, http.StatusConflict, "already exists"):
		return pull.Request{}, fmt.Errorf("%w: %w", pull.ErrExists, err)
	case err != nil:
		return pull.Request{}, err
	}
	return s.ours(m)
}

// draft begins the title of a draft.
const draft = "Draft: "

// Edit changes all in one request.
func (s *Server) Edit(ctx context.Context, number int64, e pull.Edit) (pull.Request, error) {
	verb, o := "update", gl.UpdateMergeRequestOptions{Title: e.Title}
	if e.Body != nil {
		o.Description = new(escape(*e.Body))
	}
	if e.State != nil {
		verb = map[pull.State]string{pull.Open: "reopen", pull.Closed: "close"}[*e.State]
		o.StateEvent = &verb
	}
	var m *gl.MergeRequest
	err := s.change(ctx, op(verb, number), func(with gl.RequestOptionFunc) (err error) {
		m, _, err = s.api.MergeRequests.UpdateMergeRequest(s.path, number, &o, with)
		return err
	})
	if err != nil {
		return pull.Request{}, err
	}
	return s.ours(m)
}

// Comment adds a comment.
func (s *Server) Comment(ctx context.Context, number int64, text string) error {
	return s.change(ctx, op("comment on", number), func(with gl.RequestOptionFunc) error {
		_, _, err := s.api.Notes.CreateMergeRequestNote(s.path, number, &gl.CreateMergeRequestNoteOptions{Body: new(escape(text))}, with)
		return err
	})
}

// SetStatus shows a commit status. GitLab refuses the state that a status has already.
func (s *Server) SetStatus(ctx context.Context, commit git.Hash, status pull.Status) error {
	state := gl.Failed
	if status.Passed {
		state = gl.Success
	}
	err := s.change(ctx, "show the status of commit "+commit.String(), func(with gl.RequestOptionFunc) error {
		_, _, err := s.api.Commits.SetCommitStatus(s.path, commit.String(), &gl.SetCommitStatusOptions{
			State: state, Name: &status.Context, Description: &status.Text,
		}, with)
		return err
	})
	if says(err, http.StatusBadRequest, "Cannot transition status") {
		return nil
	}
	return err
}

// Checks reads the last status of each name, which jobs of pipelines have, too.
func (s *Server) Checks(ctx context.Context, commit git.Hash) ([]pull.Check, error) {
	var out []pull.Check
	for st, err := range pages(func(o gl.ListOptions) (statuses []*gl.CommitStatus, answer *gl.Response, err error) {
		err = s.do(ctx, "read the statuses of commit "+commit.String(), func(with gl.RequestOptionFunc) (err error) {
			statuses, answer, err = s.api.Commits.GetCommitStatuses(s.path, commit.String(), &gl.GetCommitStatusesOptions{ListOptions: o}, with)
			return err
		})
		return statuses, answer, err
	}) {
		if err != nil {
			return nil, err
		}
		out = append(out, pull.Check{Name: st.Name, State: checkState(st)})
	}
	return out, nil
}

// checkState returns how a status ended. One that is allowed to fail holds nothing, and neither
// does one that waits for a person if it is optional.
func checkState(st *gl.CommitStatus) pull.CheckState {
	switch st.Status {
	case "success", "skipped":
		return pull.CheckPassed
	case "failed", "canceled":
		if !st.AllowFailure {
			return pull.CheckFailed
		}
		return pull.CheckPassed
	case "manual":
		if st.AllowFailure {
			return pull.CheckPassed
		}
	}
	return ""
}

// Repository reads the project.
func (s *Server) Repository(ctx context.Context) (pull.Repository, error) {
	p, err := s.read(ctx)
	if err != nil {
		return pull.Repository{}, err
	}
	return pull.Repository{Methods: methods(p), Empty: p.EmptyRepo, Archived: p.Archived, Queue: p.MergeTrainsEnabled, DefaultBranch: p.DefaultBranch}, nil
}

// read reads the project as GitLab has it.
func (s *Server) read(ctx context.Context) (p *gl.Project, err error) {
	err = s.do(ctx, "read the repository", func(with gl.RequestOptionFunc) (err error) {
		p, _, err = s.api.Projects.GetProject(s.path, nil, with)
		return err
	})
	return p, err
}

// op names an operation on a merge request.
func op(verb string, number int64) string { return fmt.Sprintf("%s merge request !%d", verb, number) }

// ours returns a merge request of one of the repository's own branches to base; ErrGone for
// another.
func (s *Server) ours(m *gl.MergeRequest) (pull.Request, error) {
	if r, ok := s.request(&m.BasicMergeRequest); ok {
		return r, nil
	}
	return pull.Request{}, forge.ErrGone
}

// request translates a merge request. It is not ok for one of a fork or to another branch than
// base.
func (s *Server) request(m *gl.BasicMergeRequest) (r pull.Request, ok bool) {
	if m.TargetBranch != s.base || m.SourceProjectID != m.TargetProjectID {
		return pull.Request{}, false
	}
	r = pull.Request{
		Number: m.IID, URL: m.WebURL, Branch: m.SourceBranch, Title: m.Title, Body: unescape(m.Description), Attributes: attributes(m),
		Head: hash(m.SHA), State: pull.Open, Draft: m.Draft, Unmergeable: conflicts(m), Created: when(m.CreatedAt),
	}
	switch m.State { // also "locked": while it is merged
	case "merged":
		r.State, r.Closed = pull.Merged, when(cmp.Or(m.MergedAt, m.UpdatedAt))
		// A fast-forward makes no commit.
		r.Merge = hash(cmp.Or(m.MergeCommitSHA, m.SquashCommitSHA, m.SHA))
	case "closed":
		r.State, r.Closed = pull.Closed, when(cmp.Or(m.ClosedAt, m.UpdatedAt))
	}
	return r, true
}

// when returns a time; zero if there is none.
func when(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}

// hash reads the id of a commit; zero if there is none.
func hash(sha string) git.Hash {
	h, err := git.ParseHash(sha)
	if err != nil {
		return git.Hash{}
	}
	return h
}

var (
	// action is the beginning of a line that GitLab executes, or would if it were not escaped.
	action  = regexp.MustCompile(`(?m)^([ \t]*)(\\*/)`)
	escaped = regexp.MustCompile(`(?m)^([ \t]*)\\(\\*/)`)
)

// escape keeps GitLab from executing lines of a text that begin with a slash.
func escape(text string) string { return action.ReplaceAllString(text, `$1\$2`) }

// unescape returns what escape was given.
func unescape(text string) string { return escaped.ReplaceAllString(text, "$1$2") }
