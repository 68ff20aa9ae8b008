package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// readRequirements describes the operation in errors.
const readRequirements = "read what is required of merge requests"

// Requires reads the project and, where its edition has them, the rules for approvals, the
// protection of base and the external checks. A commit status is a part of the pipeline; GitLab
// cannot require one by its name.
func (s *Server) Requires(ctx context.Context) (out forge.Requirements, err error) {
	var p struct {
		gl.Project
		ExternalChecks bool `json:"only_allow_merge_if_all_status_checks_passed"`
	}
	_, err = s.client.Call(ctx, readRequirements, http.MethodGet, "projects/"+url.PathEscape(s.path), nil, &p)
	if forge.IsFailure(err, forge.FailedAuth) || forge.IsFailure(err, forge.FailedNotFound) {
		return forge.Requirements{HidesChecks: true, HidesReviews: true}, nil
	}
	out = forge.Requirements{AllChecks: p.OnlyAllowMergeIfPipelineSucceeds, Threads: p.OnlyAllowMergeIfAllDiscussionsAreResolved, Queue: p.MergeTrainsEnabled}
	if err == nil {
		err = s.addApprovals(ctx, &out)
	}
	if err == nil && p.ExternalChecks {
		err = s.addExternalChecks(ctx, &out)
	}
	return out, err
}

// addApprovals adds who has to approve. The free edition has neither rules nor owners that have to.
func (s *Server) addApprovals(ctx context.Context, out *forge.Requirements) error {
	var rules []*gl.ProjectApprovalRule
	err := s.do(ctx, readRequirements, func(with gl.RequestOptionFunc) (err error) {
		rules, _, err = s.api.Projects.GetProjectApprovalRules(s.path, &gl.GetProjectApprovalRulesListsOptions{ListOptions: gl.ListOptions{PerPage: perPage}}, with)
		return err
	})
	switch {
	case rest.Refused(err, http.StatusNotFound):
		return nil
	case rest.Refused(err, http.StatusForbidden), rest.Refused(err, http.StatusUnauthorized):
		out.HidesReviews = true
		return nil
	case err != nil:
		return err
	}
	for _, r := range rules {
		switch {
		case r.ApprovalsRequired == 0 || !s.concerns(r):
		case r.RuleType == "any_approver":
			out.Approvals = max(out.Approvals, int(r.ApprovalsRequired))
		default:
			out.Approvers = append(out.Approvers, fmt.Sprintf("%d of %s", r.ApprovalsRequired, r.Name))
		}
	}
	return s.addCodeOwners(ctx, out)
}

// concerns reports whether a rule is for base.
func (s *Server) concerns(r *gl.ProjectApprovalRule) bool {
	return len(r.ProtectedBranches) == 0 || slices.ContainsFunc(r.ProtectedBranches, func(b *gl.ProtectedBranch) bool { return b.Name == s.base })
}

// addCodeOwners adds whether the owners of changed files have to approve.
func (s *Server) addCodeOwners(ctx context.Context, out *forge.Requirements) error {
	err := s.do(ctx, readRequirements, func(with gl.RequestOptionFunc) error {
		b, _, err := s.api.ProtectedBranches.GetProtectedBranch(s.path, s.base, with)
		out.CodeOwners = err == nil && b.CodeOwnerApprovalRequired
		return err
	})
	switch {
	case rest.Refused(err, http.StatusNotFound): // it is not protected
		return nil
	case rest.Refused(err, http.StatusForbidden), rest.Refused(err, http.StatusUnauthorized):
		out.HidesReviews = true
		return nil
	}
	return err
}

// addExternalChecks adds the names of the external checks.
func (s *Server) addExternalChecks(ctx context.Context, out *forge.Requirements) error {
	err := s.do(ctx, readRequirements, func(with gl.RequestOptionFunc) error {
		checks, _, err := s.api.ExternalStatusChecks.ListProjectExternalStatusChecks(s.path, nil, with)
		for _, c := range checks {
			out.Checks = append(out.Checks, c.Name)
		}
		return err
	})
	if unanswered(err) {
		out.HidesReviews = true
		return nil
	}
	return err
}
