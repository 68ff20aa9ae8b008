package gitlab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// methods returns the ways to merge that a project allows. It has one method, and may let squash
// the commits first. A merge commit of a linear history needs a branch that is not behind, as a
// fast-forward does: GitLab does not rebase while it merges.
func methods(p *gl.Project) []pull.Method {
	own := cmp.Or(map[gl.MergeMethodValue]pull.Method{gl.RebaseMerge: pull.RebaseMerge, gl.FastForwardMerge: pull.FastForward}[p.MergeMethod], pull.MergeCommit)
	switch p.SquashOption {
	case gl.SquashOptionAlways:
		return []pull.Method{pull.Squash}
	case gl.SquashOptionDefaultOn:
		return []pull.Method{pull.Squash, own}
	case gl.SquashOptionDefaultOff:
		return []pull.Method{own, pull.Squash}
	}
	return []pull.Method{own}
}

// Signing reads the key of the server. GitLab has this since 17.4; an older one does not say whether it
// signs, and neither does a newer one that answers that there is nothing.
func (s *Server) Signing(ctx context.Context) (pull.Signing, error) {
	out := pull.Signing{Keeping: "fast-forward merges"}
	var answer json.RawMessage
	_, err := s.client.Call(ctx, "read the key that the server signs with", http.MethodGet, "web_commits/public_key", nil, &answer)
	if unanswered(err) {
		return out, nil
	}
	type key struct {
		PublicKey string `json:"public_key"`
	}
	var one key
	var keys []key
	if json.Unmarshal(answer, &one) == nil {
		keys = []key{one}
	} else if err == nil { // the documentation shows a list
		err = json.Unmarshal(answer, &keys)
	}
	for _, k := range keys {
		out.Keys += k.PublicKey + "\n"
	}
	out.Keys = strings.TrimSpace(out.Keys)
	return out, err
}

// Merge merges a merge request by the method of the project; only whether the commits are squashed
// is chosen. GitLab refuses with one status what conflicts, what its rules do not allow, and what
// it has not checked yet; the merge request itself shows which.
func (s *Server) Merge(ctx context.Context, number int64, m pull.Merge) error {
	if m.Method == pull.Rebase {
		return &forge.Error{Op: op("merge", number), Repository: s.String(), Kind: forge.FailedOther, Text: "GitLab cannot merge by " + string(m.Method)}
	}
	o := gl.AcceptMergeRequestOptions{SHA: new(m.Head.String()), Squash: new(m.Method == pull.Squash), ShouldRemoveSourceBranch: new(false)}
	if m.Title != "" || m.Message != "" {
		title := cmp.Or(m.Title, fmt.Sprintf("Merge !%d into %s", number, s.base))
		text := new(strings.TrimSpace(title + "\n\n" + strings.Trim(m.Message, "\n")))
		if m.Method == pull.Squash {
			o.SquashCommitMessage = text
		} else {
			o.MergeCommitMessage = text
		}
	}
	err := s.change(ctx, op("merge", number), func(with gl.RequestOptionFunc) error {
		_, _, err := s.api.MergeRequests.AcceptMergeRequest(s.path, number, &o, with)
		return err
	})
	failure, ok := errors.AsType[*rest.Failure](err)
	if !ok {
		return err
	}
	switch failure.Status {
	case http.StatusConflict: // GitLab knows of a push before the merge request shows it
		return forge.ErrGone
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		if failure.Err.Kind != forge.FailedNotFound || failure.Status == http.StatusNotFound {
			return s.refused(ctx, number, m, failure)
		}
	}
	return err
}

// refused returns why GitLab refused a merge.
func (s *Server) refused(ctx context.Context, number int64, m pull.Merge, failure *rest.Failure) error {
	now, err := s.get(ctx, number)
	if err != nil {
		return err
	}
	r, err := s.ours(now)
	status := now.DetailedMergeStatus
	switch {
	case err != nil:
		return err
	case r.State != pull.Open || r.Head != m.Head || status == "commits_status":
		return forge.ErrGone
	case failure.Status == http.StatusUnauthorized:
		failure.Err.Kind = forge.FailedAuth
		failure.Err.Text = "the credentials may not merge into " + s.base + "; allow their user to merge into the protected branch: " + failure.Said
		return failure
	case failure.Status == http.StatusNotFound:
		return failure // the credentials may read it, and not merge it
	case now.State == "locked" || status == "mergeable" || unchecked(status):
		return fmt.Errorf("%w: %w", pull.ErrUnchecked, failure)
	case r.Unmergeable || status == "need_rebase":
		return forge.ErrConflict
	}
	failure.Err.Reason = "MergeRefused"
	failure.Err.Text = "the project's rules do not let it be merged: " + strings.ReplaceAll(status, "_", " ")
	return failure
}

// unchecked reports whether GitLab has still to find out whether something can be merged.
func unchecked(status string) bool {
	return slices.Contains([]string{"", "checking", "unchecked", "preparing", "approvals_syncing"}, status)
}

// conflicts reports whether GitLab has found a conflict. A draft that conflicts has the status of a
// draft.
func conflicts(m *gl.BasicMergeRequest) bool {
	return m.DetailedMergeStatus == "conflict" || m.HasConflicts && !unchecked(m.DetailedMergeStatus)
}
