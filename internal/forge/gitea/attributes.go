package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

const labelColor = "#5b8c3e"

// labelPause is for how long labels are not asked for again after that failed.
var labelPause = backoff.Constant(10 * time.Minute)

// known are the ids of labels and of milestones, which Gitea wants instead of names.
type known struct {
	mu sync.Mutex
	// labels are those that the repository has, by name; nil until they were listed.
	labels map[string]int64
	// failure is why they cannot be used, as long as cooldown is active.
	failure  error
	cooldown backoff.Cooldown
	// milestones are those that were used, by title.
	milestones map[string]int64
}

// Attach makes one request for each of: new labels, each label that is taken off, assignees and the
// milestone together, and reviewers.
func (s *Server) Attach(ctx context.Context, at pull.Request, add pull.Attributes, off []string) (has pull.Attributes, err error) {
	path := fmt.Sprintf("/issues/%d/labels", at.Number)
	if len(add.Labels)+len(off) > 0 {
		ids, err := s.labelIDs(ctx, add.Labels)
		if err != nil {
			return has, err
		}
		for _, name := range off {
			if _, there := ids[name]; !there {
				continue
			}
			_, err := s.call(ctx, fmt.Sprintf("take a label off pull request #%d", at.Number), http.MethodDelete, fmt.Sprintf("%s/%d", path, ids[name]), nil, nil)
			if err != nil && !rest.Refused(err, http.StatusNotFound) {
				return has, err
			}
		}
		if len(add.Labels) > 0 {
			var now []*sdk.Label
			o := sdk.IssueLabelsOption{Labels: values(ids, add.Labels)}
			if _, err := s.call(ctx, fmt.Sprintf("label pull request #%d", at.Number), http.MethodPost, path, o, &now); err != nil {
				return has, err
			}
			has.Labels = names(now, func(l *sdk.Label) string { return l.Name })
		}
	}
	if len(add.Assignees) > 0 || add.Milestone != "" {
		if has.Assignees, has.Milestone, err = s.assign(ctx, at, add); err != nil {
			return has, err
		}
	}
	if len(add.Reviewers) > 0 {
		has.Reviewers, err = add.Reviewers, s.requestReviews(ctx, at.Number, add.Reviewers)
	}
	return has, err
}

// assign sets the milestone, and assignees as a whole.
func (s *Server) assign(ctx context.Context, at pull.Request, add pull.Attributes) (assignees []string, milestone string, err error) {
	var o sdk.EditPullRequestOption
	if len(add.Assignees) > 0 {
		o.Assignees = slices.Concat(at.Assignees, add.Assignees)
	}
	op := fmt.Sprintf("assign pull request #%d", at.Number)
	if add.Milestone != "" {
		s.forgetMilestone(add.Milestone) // a refusal may be because there is another one now
		if o.Milestone, err = s.milestoneID(ctx, op, add.Milestone); err != nil {
			return nil, "", err
		}
	}
	now, err := s.one(ctx, op, http.MethodPatch, fmt.Sprintf("/pulls/%d", at.Number), o)
	return now.Assignees, now.Milestone, err
}

// requestReviews requests reviews of users, and of teams of the organization.
func (s *Server) requestReviews(ctx context.Context, number int64, reviewers []string) error {
	op := fmt.Sprintf("request reviews of pull request #%d", number)
	var of sdk.PullReviewRequestOptions
	for _, name := range reviewers {
		owner, team, isTeam := strings.Cut(name, "/")
		switch {
		case !isTeam:
			of.Reviewers = append(of.Reviewers, name)
		case strings.EqualFold(owner, s.at.owner):
			of.TeamReviewers = append(of.TeamReviewers, team)
		default:
			return s.refused(op, fmt.Sprintf("the team %s is not one of %s", name, s.at.owner))
		}
	}
	_, err := s.call(ctx, op, http.MethodPost, fmt.Sprintf("/pulls/%d/requested_reviewers", number), of, nil)
	return err
}

// refused is the failure of what need not be sent.
func (s *Server) refused(op, why string) error {
	return &forge.Error{Op: op, Repository: s.String(), Kind: forge.FailedOther, Text: why}
}

// milestoneID returns the id of an open milestone.
func (s *Server) milestoneID(ctx context.Context, op, title string) (int64, error) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	if id, used := s.known.milestones[title]; used {
		return id, nil
	}
	var list []sdk.Milestone
	query := url.Values{"state": {"open"}, "name": {title}, "limit": {fmt.Sprint(pageSize)}}
	if _, err := s.call(ctx, op, http.MethodGet, "/milestones?"+query.Encode(), nil, &list); err != nil {
		return 0, err
	}
	for _, m := range list {
		if strings.EqualFold(m.Title, title) {
			s.known.milestones[title] = m.ID
			return m.ID, nil
		}
	}
	return 0, s.refused(op, fmt.Sprintf("there is no open milestone %q", title))
}

func (s *Server) forgetMilestone(title string) {
	s.known.mu.Lock()
	defer s.known.mu.Unlock()
	delete(s.known.milestones, title)
}

// labelIDs returns the ids of labels. The server is asked for all of them once, and those that are
// missing are created. Both need a token scope of its own, and are given up for a while where they
// fail; the ids that are known are returned all the same.
func (s *Server) labelIDs(ctx context.Context, names []string) (map[string]int64, error) {
	k := &s.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cooldown.Active(s.clock.Now()) {
		return k.labels, k.failure
	}
	err := s.provideLabels(ctx, names)
	failed, _ := errors.AsType[*rest.Failure](err)
	if err != nil && ctx.Err() == nil && (failed == nil || !failed.Unasked && !failed.Limited) {
		k.failure = err
		k.cooldown.Fail(s.clock.Now(), err, 0)
	}
	return k.labels, err
}

// provideLabels lists the labels, the first time, and creates those that are missing.
func (s *Server) provideLabels(ctx context.Context, names []string) error {
	if s.known.labels == nil {
		ids, err := s.listLabels(ctx)
		if err != nil {
			return err
		}
		s.known.labels = ids
	}
	for _, name := range names {
		if _, there := s.known.labels[name]; there {
			continue
		}
		var made sdk.Label
		o := sdk.CreateLabelOption{Name: name, Color: labelColor, Description: "used by Furrow"}
		if _, err := s.call(ctx, "make the label "+name, http.MethodPost, "/labels", o, &made); err != nil {
			return err
		}
		s.known.labels[name] = made.ID
	}
	return nil
}

func (s *Server) listLabels(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	for page := 1; ; page++ {
		var list []sdk.Label
		header, err := s.call(ctx, "list labels", http.MethodGet, fmt.Sprintf("/labels?page=%d&limit=%d", page, pageSize), nil, &list)
		for _, label := range list {
			ids[label.Name] = label.ID
		}
		if err != nil || !strings.Contains(header.Get("Link"), `rel="next"`) {
			return ids, err
		}
	}
}

// values returns the values of the keys that there are.
func values(of map[string]int64, keys []string) (out []int64) {
	for _, key := range keys {
		if value, there := of[key]; there {
			out = append(out, value)
		}
	}
	return out
}

// attributes returns what Gitea shows of a pull request. Its lists leave out teams.
func (s *Server) attributes(pr *sdk.PullRequest) pull.Attributes {
	login := func(u *sdk.User) string { return u.UserName }
	a := pull.Attributes{
		Labels:    names(pr.Labels, func(l *sdk.Label) string { return l.Name }),
		Reviewers: append(names(pr.RequestedReviewers, login), names(pr.RequestedReviewersTeams, func(t *sdk.Team) string { return s.at.owner + "/" + t.Name })...),
		Assignees: names(pr.Assignees, login),
	}
	if pr.Milestone != nil {
		a.Milestone = pr.Milestone.Title
	}
	return a
}

func names[T any](list []*T, name func(*T) string) (out []string) {
	for _, of := range list {
		if of != nil {
			out = append(out, name(of))
		}
	}
	return out
}
