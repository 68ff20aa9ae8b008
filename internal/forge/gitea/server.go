package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
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

// page reads one page of pull requests to base. The SDK cannot filter by base.
func (s *Server) page(ctx context.Context, op string, state sdk.StateType, order string, number int) (out []pull.Request, more bool, err error) {
	query := url.Values{"base_branch": {s.base}, "state": {string(state)}, "sort": {order}, "page": {strconv.Itoa(number)}, "limit": {strconv.Itoa(pageSize)}}
	var prs []*sdk.PullRequest
	header, err := s.call(ctx, op, http.MethodGet, "/pulls?"+query.Encode(), nil, &prs)
	for _, pr := range prs {
		if r, ok := s.request(pr); ok {
			out = append(out, r)
		}
	}
	return out, strings.Contains(header.Get("Link"), `rel="next"`), err
}

// call makes one request about the repository.
func (s *Server) call(ctx context.Context, op, method, path string, in, out any) (http.Header, error) {
	return s.api.Call(ctx, op, method, "/repos/"+url.PathEscape(s.at.owner)+"/"+url.PathEscape(s.at.name)+path, in, out)
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
	r.Attributes = s.attributes(pr)
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

// one makes a request about one pull request, and returns it as it is then.
func (s *Server) one(ctx context.Context, op, method, path string, in any) (pull.Request, error) {
	var pr *sdk.PullRequest
	if _, err := s.call(ctx, op, method, path, in, &pr); err != nil {
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
	return s.one(ctx, fmt.Sprintf("read pull request #%d", number), http.MethodGet, fmt.Sprintf("/pulls/%d", number), nil)
}

// Create opens a pull request with its labels, assignees and milestone. Reviewers are requested later:
// where Gitea refuses one of them, it has opened the pull request, and answers that it failed.
func (s *Server) Create(ctx context.Context, n pull.NewRequest) (pull.Request, error) {
	op := "open a pull request of " + n.Branch
	o := sdk.CreatePullRequestOption{Head: n.Branch, Base: s.base, Title: n.Title, Body: n.Body, Assignees: n.Assignees}
	var ids map[string]int64
	var err error
	if len(n.Labels) > 0 {
		ids, err = s.labelIDs(ctx, n.Labels)
		if isLimited(err) {
			return pull.Request{}, err
		}
		o.Labels = values(ids, n.Labels)
	}
	if n.Milestone != "" {
		if o.Milestone, err = s.milestoneID(ctx, op, n.Milestone); isLimited(err) {
			return pull.Request{}, err
		}
	}
	r, err := s.one(ctx, op, http.MethodPost, "/pulls", o)
	if rest.Refused(err, http.StatusConflict) {
		err = fmt.Errorf("%w: %w", pull.ErrExists, err)
	}
	return r, err
}

// isLimited reports whether the server asks to wait.
func isLimited(err error) bool {
	failed, ok := errors.AsType[*rest.Failure](err)
	return ok && failed.Limited
}

// Edit changes a pull request; Gitea writes the text before the state.
func (s *Server) Edit(ctx context.Context, number int64, e pull.Edit) (pull.Request, error) {
	o, op := sdk.EditPullRequestOption{Body: e.Body}, "update"
	if e.Title != nil {
		o.Title = *e.Title
	}
	if e.State != nil {
		state := sdk.StateOpen
		if op = "reopen"; *e.State == pull.Closed {
			state, op = sdk.StateClosed, "close"
		}
		o.State = &state
	}
	return s.one(ctx, fmt.Sprintf("%s pull request #%d", op, number), http.MethodPatch, fmt.Sprintf("/pulls/%d", number), o)
}

// event is a line of a pull request's timeline.
type event struct {
	Type    string
	Body    string
	Created time.Time `json:"created_at"`
	User    struct{ Login string }
}

// Closing reads the timeline. The SDK takes the label of an event for a list of labels.
//
// A timeline begins with the oldest event, and has more than a page after many pushes.
func (s *Server) Closing(ctx context.Context, number int64, since time.Time) (pull.Closing, error) {
	var events []event
	path := fmt.Sprintf("/issues/%d/timeline?limit=%d&since=%s", number, pageSize, url.QueryEscape(since.UTC().Format(time.RFC3339)))
	_, err := s.call(ctx, fmt.Sprintf("read how pull request #%d was closed", number), http.MethodGet, path, nil, &events)
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
	_, err := s.call(ctx, fmt.Sprintf("comment on pull request #%d", number), http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), sdk.CreateIssueCommentOption{Body: text}, nil)
	return err
}

// SetStatus shows a commit status.
func (s *Server) SetStatus(ctx context.Context, commit git.Hash, status pull.Status) error {
	o := sdk.CreateStatusOption{State: sdk.StatusFailure, Context: status.Context, Description: status.Text}
	if status.Passed {
		o.State = sdk.StatusSuccess
	}
	_, err := s.call(ctx, "show the status of commit "+commit.String(), http.MethodPost, "/statuses/"+commit.String(), o, nil)
	return err
}

// Requires reads the base branch. Gitea's rules name statuses by glob patterns.
func (s *Server) Requires(ctx context.Context) (forge.Requirements, error) {
	var b sdk.Branch
	if _, err := s.call(ctx, "read the branch "+s.base, http.MethodGet, "/branches/"+url.PathEscape(s.base), nil, &b); err != nil {
		if forge.IsFailure(err, forge.FailedAuth) {
			return forge.Requirements{HidesChecks: true, HidesReviews: true}, nil
		}
		return forge.Requirements{}, err
	}
	out := forge.Requirements{Approvals: int(b.RequiredApprovals)}
	if b.EnableStatusCheck {
		out.Checks, out.AllChecks = b.StatusCheckContexts, len(b.StatusCheckContexts) == 0
	}
	return out, nil
}

// Checks reads the statuses of a commit, the last one of each context. A warning is not a success.
func (s *Server) Checks(ctx context.Context, commit git.Hash) ([]pull.Check, error) {
	var out []pull.Check
	for page := 1; ; page++ {
		query := url.Values{"page": {strconv.Itoa(page)}, "limit": {strconv.Itoa(pageSize)}}
		var combined sdk.CombinedStatus
		header, err := s.call(ctx, "read the statuses of commit "+commit.String(), http.MethodGet, "/commits/"+commit.String()+"/status?"+query.Encode(), nil, &combined)
		for _, status := range combined.Statuses {
			out = append(out, pull.Check{Name: status.Context, State: checkStates[status.State]})
		}
		if err != nil || len(combined.Statuses) == 0 || !strings.Contains(header.Get("Link"), `rel="next"`) {
			return out, err
		}
	}
}

// checkStates are the ends of checks; those that are missing have not ended.
var checkStates = map[sdk.StatusState]pull.CheckState{
	sdk.StatusSuccess: pull.CheckPassed, "skipped": pull.CheckPassed,
	sdk.StatusFailure: pull.CheckFailed, sdk.StatusError: pull.CheckFailed, sdk.StatusWarning: pull.CheckFailed,
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
	_, err := s.call(ctx, fmt.Sprintf("merge pull request #%d", number), http.MethodPost, fmt.Sprintf("/pulls/%d/merge", number), o, nil)
	return mergeError(err)
}

// mergeError returns what a refusal to merge means. Gitea's statuses have several meanings each, so
// its words decide; what they do not say stays the server's own error.
func mergeError(err error) error {
	f, ok := errors.AsType[*rest.Failure](err)
	if !ok {
		return err
	}
	said := strings.ToLower(f.Said)
	says := func(status int, words ...string) bool {
		return f.Status == status && slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
	}
	switch {
	case says(http.StatusMethodNotAllowed, "try again later"): // also where it has found a conflict
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, err)
	case says(http.StatusConflict, "head out of date"), f.Status == http.StatusNotFound:
		return forge.ErrGone
	case says(http.StatusConflict, "out of date", "cannot lock ref"):
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, err) // somebody else moved base
	case says(http.StatusConflict, "pushrejected"):
		f.Err.Reason, f.Err.Text = "MergeRefused", "the server's hooks refuse the merge: "+f.Said
	case f.Status == http.StatusConflict:
		return forge.ErrConflict
	case says(http.StatusMethodNotAllowed, "already merged"):
		return forge.ErrGone
	case f.Status == http.StatusMethodNotAllowed:
		f.Err.Reason, f.Err.Text = "MergeRefused", "the repository's rules do not let it be merged: "+f.Said
	}
	return err
}

// Repository returns how the repository merges, the default way first.
func (s *Server) Repository(ctx context.Context) (pull.Repository, error) {
	var r *sdk.Repository
	if _, err := s.call(ctx, "read the repository", http.MethodGet, "", nil, &r); err != nil {
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

// Signing reads the key of the server. Servers have it under different names, by its kind and their
// version; whether one signs a merge also depends on who merges.
func (s *Server) Signing(ctx context.Context) (pull.Signing, error) {
	out := pull.Signing{Rebase: merging.ByFurrow, Keeping: "fast-forward-only merges"}
	for _, name := range []string{"signing-key.gpg", "signing-key.pub", "signing-key.ssh"} {
		var key []byte
		_, err := s.call(ctx, "read the key that the server signs with", http.MethodGet, "/"+name, nil, &key)
		switch {
		case rest.Refused(err, http.StatusNotFound):
		case err != nil:
			return out, err
		default:
			out.Keys += strings.TrimSpace(string(key))
		}
	}
	out.Unsigned = out.Keys == ""
	return out, nil
}

// Access reads the repository, and then asks for a change of a pull request that never exists: Gitea
// shows the scopes of a token only where it refuses.
func (s *Server) Access(ctx context.Context) (pull.Access, error) {
	var r *sdk.Repository
	if _, err := s.call(ctx, "read the repository", http.MethodGet, "", nil, &r); err != nil {
		return pull.Access{}, err
	}
	out := pull.Access{Archived: r.Archived}
	if r.Permissions != nil && !r.Permissions.Push {
		out.Missing = append(out.Missing, pull.Missing{Name: "the access to write", Next: "add the user of the token to the repository with it"})
	}
	if out.Archived || len(out.Missing) > 0 {
		return out, nil
	}
	_, err := s.call(ctx, "find out the scopes of the token", http.MethodPatch, "/pulls/0", sdk.EditPullRequestOption{}, nil)
	failure, ok := errors.AsType[*rest.Failure](err)
	switch {
	case !ok || failure.Status == http.StatusNotFound:
	case failure.Missing != "":
		out.Missing = []pull.Missing{{Name: failure.Missing, Next: "make a token that has it"}}
	case failure.Limited || failure.Status/100 != 4:
		return pull.Access{}, err
	}
	return out, nil
}

// Enqueue fails: Gitea has no merge queue.
func (s *Server) Enqueue(_ context.Context, number int64, _ pull.Merge) error {
	return &forge.Error{Op: fmt.Sprintf("merge pull request #%d", number), Repository: s.String(), Kind: forge.FailedOther, Text: "Gitea has no merge queue"}
}

// Queued is never so: Gitea has no merge queue.
func (s *Server) Queued(context.Context, int64) (pull.Queued, error) { return pull.Queued{}, nil }
