package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// maxMerging is how often merging is tried while Gitea says to try again: it finds
	// out by and by whether something can be merged.
	maxMerging = 20
	// tryAgain is what it says then, and also where it has found a conflict.
	tryAgain = "try again later"
)

// observation is a proposal as it is now.
type observation struct {
	forge.Branch
	row
	base git.Hash
}

// rejected reports whether a person has rejected what the caller has in mind.
func (s observation) rejected(p forge.Proposal) bool {
	return !s.open && !s.merged && s.Digest == p.Digest && !forge.ReadDescription(s.body).Superseded
}

// observe reads a proposal's branch and pull request as they are now.
func (f *Forge) observe(ctx context.Context, p forge.Proposal) (observation, error) {
	b, base, err := f.reader.Observe(ctx, p)
	if err != nil {
		return observation{}, err
	}
	n := number(p)
	if n == 0 {
		rows, err := f.listOpen(ctx)
		if err != nil {
			return observation{}, err
		}
		n = rows[p.Branch].number
	}
	if n == 0 {
		return observation{}, forge.ErrGone
	}
	at, err := f.get(ctx, n)
	if err == nil && at.branch != p.Branch {
		err = forge.ErrGone
	}
	return observation{b, at, base}, err
}

// Merge accepts a proposal through the server, with the repository's merge style, at
// exactly the commit that was read. The server knows only the user of our credentials
// and nobody can be impersonated, so the message names by.
func (f *Forge) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	style, err := f.style(ctx)
	if err != nil {
		return err
	}
	pauses := retries
	for try := 1; ; try++ {
		s, err := f.observe(ctx, p)
		if err == nil {
			err = s.mayMerge(p)
		}
		if err != nil {
			return fmt.Errorf("merge %s: %w", p.Branch, err)
		}
		err = f.merge(ctx, s, style, by)
		again, err := mergeError(err)
		switch {
		case err == nil:
			s.open, s.merged = false, true
			f.have(s.row)
			return nil
		case !again:
			return fmt.Errorf("merge %s: %w", p.Branch, err)
		case try == maxMerging:
			return fmt.Errorf("merge %s: %w (the server says: %w)", p.Branch, forge.ErrConflict, err)
		}
		if err := backoff.Sleep(ctx, f.api.clock, pauses.Step()); err != nil {
			return fmt.Errorf("merge %s: %w", p.Branch, err)
		}
	}
}

// mayMerge says why a proposal must not be merged as the caller has read it.
func (s observation) mayMerge(p forge.Proposal) error {
	switch {
	case s.rejected(p):
		return forge.ErrRejected
	case s.Head != p.Head || !s.open:
		return forge.ErrGone
	case s.Stale:
		return forge.ErrConflict
	}
	return nil
}

// merge asks the server to merge exactly the commit that was read.
func (f *Forge) merge(ctx context.Context, s observation, style sdk.MergeStyle, by git.Person) error {
	// The engine deletes the branch. Gitea would do so by and by, and close what is
	// opened from a new branch of that name meanwhile.
	remove := false
	o := sdk.MergePullRequestOption{Style: style, HeadCommitId: s.Head.String(), DeleteBranchAfterMerge: &remove}
	accepted := forge.Trailer{Key: "Accepted-by", Value: fmt.Sprintf("%s <%s>", by.Name, by.Email)}
	switch style {
	case sdk.MergeStyleSquash:
		// With Furrow's trailers base itself shows what landed.
		message := forge.AddTrailers(s.Title+"\n\n"+s.Branch.Body, append(s.Trailers(), accepted))
		_, o.Message, _ = strings.Cut(message, "\n")
		o.Title = fmt.Sprintf("%s (#%d)", s.Title, s.number)
	case sdk.MergeStyleMerge, sdk.MergeStyleRebaseMerge:
		o.Message = accepted.Key + ": " + accepted.Value
	}
	return f.api.do(ctx, fmt.Sprintf("merge pull request #%d", s.number), nil, func(c *sdk.Client) error {
		_, _, err := c.MergePullRequest(f.api.owner, f.api.name, s.number, o)
		return err
	})
}

// mergeError returns what a refusal to merge means, and whether to try again. Gitea's statuses have
// several meanings each, so its words decide; what they do not say stays the server's own error.
func mergeError(err error) (again bool, _ error) {
	a, ok := errors.AsType[*answer](err)
	if !ok {
		return false, err
	}
	said := strings.ToLower(a.said)
	switch {
	case a.status == http.StatusMethodNotAllowed && strings.Contains(said, tryAgain):
		return true, err
	case a.status == http.StatusConflict && strings.Contains(said, "head out of date"), a.status == http.StatusNotFound:
		return false, forge.ErrGone
	case a.status == http.StatusConflict && (strings.Contains(said, "out of date") || strings.Contains(said, "cannot lock ref")):
		return true, err // somebody else moved base
	case a.status == http.StatusConflict && strings.Contains(said, "pushrejected"):
		a.failure.Reason, a.failure.Text = "MergeRefused", "the server's hooks refuse the merge: "+a.said
	case a.status == http.StatusConflict:
		return false, forge.ErrConflict
	case a.status == http.StatusMethodNotAllowed && strings.Contains(said, "already merged"):
		return false, forge.ErrGone
	case a.status == http.StatusMethodNotAllowed:
		a.failure.Reason, a.failure.Text = "MergeRefused", "the repository's rules do not let it be merged: "+a.said
	}
	return false, err
}

// style returns how the repository merges by default, or else the first way that it allows.
func (f *Forge) style(ctx context.Context) (sdk.MergeStyle, error) {
	var r *sdk.Repository
	err := f.api.do(ctx, "read how to merge", nil, func(c *sdk.Client) (err error) {
		r, _, err = c.GetRepo(f.api.owner, f.api.name)
		return err
	})
	if err != nil {
		return "", err
	}
	ways := []struct {
		style   sdk.MergeStyle
		allowed bool
	}{
		{sdk.MergeStyleMerge, r.AllowMerge}, {sdk.MergeStyleSquash, r.AllowSquash}, {sdk.MergeStyleRebaseMerge, r.AllowRebaseMerge},
		{sdk.MergeStyleRebase, r.AllowRebase}, {sdk.MergeStyleFastForwardOnly, r.AllowFastForwardOnlyMerge},
	}
	first := sdk.MergeStyleMerge
	for _, way := range slices.Backward(ways) {
		if way.allowed {
			first = way.style
		}
	}
	for _, way := range ways {
		// A fast-forward fails where base has moved on at all.
		if way.allowed && way.style == r.DefaultMergeStyle && way.style != sdk.MergeStyleFastForwardOnly {
			return way.style, nil
		}
	}
	return first, nil
}

// Reject closes a pull request for a person, with the reason in its text, from which
// Furrow reads it, and in a comment, which people read.
func (f *Forge) Reject(ctx context.Context, p forge.Proposal, by git.Person, reason string) error {
	s, err := f.observe(ctx, p)
	switch {
	case err != nil:
	case s.rejected(p):
		return nil
	case s.Head != p.Head || !s.open:
		err = forge.ErrGone
	}
	if err != nil {
		return fmt.Errorf("reject %s: %w", p.Branch, err)
	}
	reason = strings.Join(strings.Fields(reason), " ")
	op := fmt.Sprintf("close pull request #%d of %s", s.number, p.Branch)
	if err := f.close(ctx, s.row, op, forge.MarkRejected(s.body, s.Digest, reason)); err != nil {
		return err
	}
	comment := "Rejected by " + by.Name
	if reason != "" {
		comment += ": " + reason
	}
	// Credentials need not be allowed to comment, and it is rejected all the same.
	_ = f.api.do(ctx, fmt.Sprintf("comment on pull request #%d", s.number), nil, func(c *sdk.Client) error {
		_, _, err := c.CreateIssueComment(f.api.owner, f.api.name, s.number, sdk.CreateIssueCommentOption{Body: comment})
		return err
	})
	return nil
}

// Reopen opens a rejected pull request again. Where the branch has another content
// by now, or another pull request is open, it is marked as superseded instead: the
// server would reopen it all the same, and the engine opens a new one.
func (f *Forge) Reopen(ctx context.Context, p forge.Proposal) error {
	s, err := f.observe(ctx, p)
	switch {
	case err == nil && !s.rejected(p) && s.open && s.Digest == p.Digest:
		return nil
	case err == nil && (!s.rejected(p) || s.Head != p.Head):
		err = forge.ErrGone
	}
	if err != nil {
		return fmt.Errorf("reopen %s: %w", p.Branch, err)
	}
	op := fmt.Sprintf("reopen pull request #%d of %s", s.number, p.Branch)
	rows, err := f.listOpen(ctx)
	if err != nil {
		return err
	}
	state, body := sdk.StateOpen, forge.Unmark(s.body)
	if _, other := rows[p.Branch]; other || s.row.head != s.Head {
		state, body = sdk.StateClosed, forge.MarkSuperseded(s.body, "a person took the rejection back")
	}
	_, err = f.edit(ctx, op, s.number, sdk.EditPullRequestOption{Body: &body, State: &state})
	return err
}
