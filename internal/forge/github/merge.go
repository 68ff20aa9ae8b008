package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// methods are GitHub's ways to merge.
var methods = []pull.Method{pull.MergeCommit, pull.Squash, pull.Rebase}

// Signing is documented: GitHub signs merge commits and squashes, and not what it rebases.
func (s *Server) Signing(context.Context) (pull.Signing, error) {
	return pull.Signing{Rebase: merging.ByNobody}, nil
}

// Merge merges a pull request. GitHub refuses with one status, and often the same words, what
// conflicts, what is closed, and what it has not checked yet; the pull request itself shows which.
func (s *Server) Merge(ctx context.Context, number int64, m pull.Merge) error {
	if !slices.Contains(methods, m.Method) {
		return &forge.Error{Op: op("merge", number), Repository: s.String(), Kind: forge.FailedOther, Text: "GitHub cannot merge by " + string(m.Method)}
	}
	err := s.do(ctx, op("merge", number), func(ctx context.Context, c *gh.Client) error {
		_, _, err := c.PullRequests.Merge(ctx, s.owner, s.name, int(number), m.Message, &gh.PullRequestOptions{
			CommitTitle: m.Title, SHA: m.Head.String(), MergeMethod: string(m.Method),
		})
		return err
	})
	failure, ok := errors.AsType[*rest.Failure](err)
	if !ok {
		return err
	}
	if strings.Contains(failure.Said, "merge queue") {
		return fmt.Errorf("%w: %w", pull.ErrMergeQueue, failure)
	}
	switch failure.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict:
		return s.refused(ctx, number, m, failure)
	}
	return err
}

// refused returns why GitHub refused a merge.
func (s *Server) refused(ctx context.Context, number int64, m pull.Merge, failure *rest.Failure) error {
	p, err := s.get(ctx, number)
	if err != nil {
		return err
	}
	r, err := s.ours(p)
	switch {
	case err != nil:
		return err
	case r.State != pull.Open || r.Head != m.Head:
		return forge.ErrGone
	case failure.Status == http.StatusNotFound:
		return failure // the credentials may read it, and not merge it
	case r.Unmergeable, p.GetMergeableState() == "behind", m.Method == pull.Rebase && p.Rebaseable != nil && !*p.Rebaseable:
		return forge.ErrConflict
	case p.Mergeable == nil, failure.Status == http.StatusConflict,
		strings.Contains(failure.Said, "Base branch was modified"), strings.Contains(failure.Said, "Pull Request is not mergeable"):
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, failure) // also where it has found out just now
	}
	failure.Err.Reason, failure.Err.Text = "MergeRefused", "the repository's rules do not let it be merged: "+failure.Said
	return failure
}
