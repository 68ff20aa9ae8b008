package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge"
)

// readRequirements describes the operation in errors.
const readRequirements = "read what is required of pull requests"

// Requires reads the base branch and the rules for it and, if it has branch protection, what of that
// administrators may see.
func (s *Server) Requires(ctx context.Context) (out forge.Requirements, err error) {
	protected, err := s.requiredChecks(ctx, &out)
	if hidden(err) {
		out.HidesChecks, err = true, nil
	}
	if err == nil && protected {
		err = s.addProtection(ctx, &out)
	}
	if err == nil {
		err = s.addRules(ctx, &out)
	}
	out.Checks = slices.Compact(slices.Sorted(slices.Values(out.Checks)))
	return out, err
}

// hidden reports whether the credentials may not see something.
func hidden(err error) bool {
	return forge.IsFailure(err, forge.FailedAuth) || forge.IsFailure(err, forge.FailedNotFound)
}

// requiredChecks adds the checks that branch protection asks for, and reports whether there is one.
// go-github leaves out what of it those may read who are not administrators.
func (s *Server) requiredChecks(ctx context.Context, out *forge.Requirements) (protected bool, err error) {
	var branch struct {
		Protection struct {
			Enabled bool
			Checks  struct{ Contexts []string } `json:"required_status_checks"`
		}
	}
	_, err = s.client.Call(ctx, readRequirements, http.MethodGet, fmt.Sprintf("repos/%s/%s/branches/%s", s.owner, s.name, url.PathEscape(s.base)), nil, &branch)
	out.Checks = branch.Protection.Checks.Contexts
	return branch.Protection.Enabled, err
}

// addProtection adds what else branch protection asks for.
func (s *Server) addProtection(ctx context.Context, out *forge.Requirements) error {
	err := s.do(ctx, readRequirements, func(ctx context.Context, c *gh.Client) error {
		p, _, err := c.Repositories.GetBranchProtection(ctx, s.owner, s.name, s.base)
		if err != nil {
			return err
		}
		if reviews := p.RequiredPullRequestReviews; reviews != nil {
			out.Approvals, out.CodeOwners = reviews.RequiredApprovingReviewCount, reviews.RequireCodeOwnerReviews
		}
		out.Linear = p.RequireLinearHistory != nil && p.RequireLinearHistory.Enabled
		out.Signed = p.RequiredSignatures.GetEnabled()
		out.Threads = p.RequiredConversationResolution != nil && p.RequiredConversationResolution.Enabled
		return nil
	})
	if hidden(err) {
		out.HidesReviews = true
		return nil
	}
	return err
}

// rule is one that a ruleset has for a branch. Those of go-github are not used: it refuses the kinds
// that it does not know, such as merge_queue.
type rule struct {
	Type       string
	Parameters struct {
		gh.RequiredStatusChecksRuleParameters
		gh.PullRequestRuleParameters
		Reviewers []struct {
			Files     []string `json:"file_patterns"`
			Approvals int      `json:"minimum_approvals"`
		} `json:"required_reviewers"`
	}
}

// addRules adds what rules of the repository, or of its organization, ask for. They are visible to
// everybody who may read the repository.
func (s *Server) addRules(ctx context.Context, out *forge.Requirements) error {
	var rules []rule
	path := fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=%d", s.owner, s.name, url.PathEscape(s.base), perPage)
	_, err := s.client.Call(ctx, readRequirements, http.MethodGet, path, nil, &rules)
	if hidden(err) {
		out.HidesChecks, out.HidesReviews = true, true
		return nil
	}
	for _, r := range rules {
		of := r.Parameters
		for _, check := range of.RequiredStatusChecks {
			out.Checks = append(out.Checks, check.Context)
		}
		for _, team := range of.Reviewers {
			if team.Approvals > 0 {
				out.Approvers = append(out.Approvers, fmt.Sprintf("%d of a team for %s", team.Approvals, strings.Join(team.Files, " ")))
			}
		}
		out.Approvals = max(out.Approvals, of.RequiredApprovingReviewCount)
		out.CodeOwners = out.CodeOwners || of.RequireCodeOwnerReview
		out.Threads = out.Threads || of.RequiredReviewThreadResolution
		out.Queue = out.Queue || r.Type == "merge_queue"
		out.Linear = out.Linear || r.Type == "required_linear_history"
		out.Signed = out.Signed || r.Type == "required_signatures"
	}
	return err
}
