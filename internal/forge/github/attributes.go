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
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Attach adds labels alone by one request, with assignees and milestone by another one; it needs one
// more for each label that it takes off, and one for reviewers. GitHub creates labels that are
// missing, and leaves out users whom nothing can be assigned to.
func (s *Server) Attach(ctx context.Context, at pull.Request, add pull.Attributes, off []string) (has pull.Attributes, err error) {
	for _, label := range off {
		if err := s.do(ctx, op("take a label off", at.Number), func(ctx context.Context, c *gh.Client) error {
			_, err := c.Issues.RemoveLabelForIssue(ctx, s.owner, s.name, int(at.Number), url.PathEscape(label))
			return err
		}); err != nil && !rest.Refused(err, http.StatusNotFound) {
			return has, err
		}
	}
	switch {
	case len(add.Assignees) > 0 || add.Milestone != "":
		has, err = s.editIssue(ctx, at, add, off)
	case len(add.Labels) > 0:
		err = s.do(ctx, op("label", at.Number), func(ctx context.Context, c *gh.Client) error {
			labels, _, err := c.Issues.AddLabelsToIssue(ctx, s.owner, s.name, int(at.Number), add.Labels)
			has.Labels = labelNames(labels)
			return err
		})
	}
	if err == nil && len(add.Reviewers) > 0 {
		has.Reviewers, err = s.requestReviews(ctx, at.Number, add.Reviewers)
	}
	return has, err
}

// editIssue sets what GitHub can set in one request. It sets lists as a whole.
func (s *Server) editIssue(ctx context.Context, at pull.Request, add pull.Attributes, off []string) (has pull.Attributes, err error) {
	change := &gh.IssueRequest{}
	if len(add.Labels) > 0 {
		stay := slices.DeleteFunc(slices.Clone(at.Labels), func(label string) bool { return slices.Contains(off, label) })
		change.Labels = new(slices.Concat(stay, add.Labels))
	}
	if len(add.Assignees) > 0 {
		change.Assignees = new(slices.Concat(at.Assignees, add.Assignees))
	}
	if add.Milestone != "" {
		if change.Milestone, err = s.milestone(ctx, at.Number, add.Milestone); err != nil {
			return has, err
		}
	}
	var issue *gh.Issue
	err = s.do(ctx, op("label and assign", at.Number), func(ctx context.Context, c *gh.Client) (err error) {
		issue, _, err = c.Issues.Edit(ctx, s.owner, s.name, int(at.Number), change)
		return err
	})
	if rest.Refused(err, http.StatusUnprocessableEntity) {
		s.milestones.Clear() // it may be another one by now
	}
	if err != nil {
		return has, err
	}
	return pull.Attributes{Labels: labelNames(issue.Labels), Assignees: logins(issue.Assignees), Milestone: issue.GetMilestone().GetTitle()}, nil
}

// milestone returns the number of an open milestone.
func (s *Server) milestone(ctx context.Context, request int64, title string) (*int, error) {
	if known, ok := s.milestones.Load(title); ok {
		return new(known.(int)), nil
	}
	operation := op("set the milestone of", request)
	for m, err := range pages(func(o gh.ListOptions) (list []*gh.Milestone, answer *gh.Response, err error) {
		err = s.do(ctx, operation, func(ctx context.Context, c *gh.Client) (err error) {
			list, answer, err = c.Issues.ListMilestones(ctx, s.owner, s.name, &gh.MilestoneListOptions{State: "open", ListOptions: o})
			return err
		})
		return list, answer, err
	}) {
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(m.GetTitle(), title) {
			s.milestones.Store(title, m.GetNumber())
			return m.Number, nil
		}
	}
	return nil, s.invalid(operation, fmt.Sprintf("there is no open milestone %q", title))
}

// requestReviews requests reviews of users and teams.
func (s *Server) requestReviews(ctx context.Context, number int64, names []string) ([]string, error) {
	operation := op("request reviews of", number)
	var of gh.ReviewersRequest
	for _, name := range names {
		owner, team, isTeam := strings.Cut(name, "/")
		switch {
		case !isTeam:
			of.Reviewers = append(of.Reviewers, name)
		case strings.EqualFold(owner, s.owner):
			of.TeamReviewers = append(of.TeamReviewers, team)
		default:
			return nil, s.invalid(operation, fmt.Sprintf("the team %s is not one of %s", name, s.owner))
		}
	}
	var p *gh.PullRequest
	err := s.do(ctx, operation, func(ctx context.Context, c *gh.Client) (err error) {
		p, _, err = c.PullRequests.RequestReviewers(ctx, s.owner, s.name, int(number), of)
		return err
	})
	return s.reviewers(p), err
}

// invalid is the failure of what need not be sent.
func (s *Server) invalid(op, why string) error {
	return &forge.Error{Op: op, Repository: s.String(), Kind: forge.FailedOther, Text: why}
}

// reviewers returns whose reviews are requested; teams have the owner before them.
func (s *Server) reviewers(p *gh.PullRequest) []string {
	if p == nil {
		return nil
	}
	out := logins(p.RequestedReviewers)
	for _, team := range p.RequestedTeams {
		out = append(out, s.owner+"/"+team.GetSlug())
	}
	return out
}

func logins(users []*gh.User) (out []string) {
	for _, u := range users {
		out = append(out, u.GetLogin())
	}
	return out
}

func labelNames(labels []*gh.Label) (out []string) {
	for _, l := range labels {
		out = append(out, l.GetName())
	}
	return out
}
