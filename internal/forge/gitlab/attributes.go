package gitlab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// known are the ids of users and milestones, which GitLab wants instead of names.
type known struct{ users, milestones sync.Map }

// ids are those of attributes.
type ids struct {
	reviewers, assignees []int64
	milestone            *int64
}

// idsOf returns the ids of all that there are. The error is the first one, for a name that does not
// exist of the kind forge.FailedOther.
func (s *Server) idsOf(ctx context.Context, op string, a pull.Attributes) (out ids, err error) {
	for _, list := range []struct {
		names []string
		ids   *[]int64
	}{{a.Reviewers, &out.reviewers}, {a.Assignees, &out.assignees}} {
		for _, name := range list.names {
			id, failed := s.userID(ctx, op, name)
			if failed == nil {
				*list.ids = append(*list.ids, id)
			} else if err = first(err, failed); !forge.IsFailure(failed, forge.FailedOther) {
				return out, failed
			}
		}
	}
	if a.Milestone != "" {
		id, failed := s.milestoneID(ctx, op, a.Milestone)
		if failed == nil {
			out.milestone = &id
		}
		err = first(err, failed)
	}
	return out, err
}

func first(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// userID returns the id of a user.
func (s *Server) userID(ctx context.Context, op, name string) (int64, error) {
	if strings.Contains(name, "/") {
		return 0, s.invalid(op, fmt.Sprintf("GitLab has no team %s: it requests reviews of users only", name))
	}
	if id, used := s.known.users.Load(name); used {
		return id.(int64), nil
	}
	var found []*gl.User
	err := s.do(ctx, op, func(with gl.RequestOptionFunc) (err error) {
		found, _, err = s.api.Users.ListUsers(&gl.ListUsersOptions{Username: &name}, with)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, u := range found {
		if strings.EqualFold(u.Username, name) {
			s.known.users.Store(name, u.ID)
			return u.ID, nil
		}
	}
	return 0, s.invalid(op, fmt.Sprintf("there is no user %q", name))
}

// milestoneID returns the id of an open milestone of the project, or of a group of it.
func (s *Server) milestoneID(ctx context.Context, op, title string) (int64, error) {
	if id, used := s.known.milestones.Load(title); used {
		return id.(int64), nil
	}
	var found []*gl.Milestone
	err := s.do(ctx, op, func(with gl.RequestOptionFunc) (err error) {
		found, _, err = s.api.Milestones.ListMilestones(s.path, &gl.ListMilestonesOptions{Title: &title, State: new("active"), IncludeAncestors: new(true)}, with)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, m := range found {
		if strings.EqualFold(m.Title, title) {
			s.known.milestones.Store(title, m.ID)
			return m.ID, nil
		}
	}
	return 0, s.invalid(op, fmt.Sprintf("there is no open milestone %q", title))
}

// invalid is the failure of what need not be sent.
func (s *Server) invalid(op, why string) error {
	return &forge.Error{Op: op, Repository: s.String(), Kind: forge.FailedOther, Text: why}
}

// Attach changes all in one request. It sets people as a whole, so it reads first who is there.
func (s *Server) Attach(ctx context.Context, at pull.Request, add pull.Attributes, off []string) (pull.Attributes, error) {
	operation := op("label and assign", at.Number)
	s.known.milestones.Delete(add.Milestone) // it may be another one by now
	ids, err := s.idsOf(ctx, operation, add)
	if err != nil {
		return pull.Attributes{}, err
	}
	o := gl.UpdateMergeRequestOptions{MilestoneID: ids.milestone}
	if len(add.Labels) > 0 {
		o.AddLabels = (*gl.LabelOptions)(&add.Labels)
	}
	if len(off) > 0 {
		o.RemoveLabels = (*gl.LabelOptions)(&off)
	}
	if len(ids.reviewers)+len(ids.assignees) > 0 {
		now, err := s.get(ctx, at.Number)
		if err != nil {
			return pull.Attributes{}, err
		}
		if len(ids.reviewers) > 0 {
			o.ReviewerIDs = new(slices.Concat(idsOfUsers(now.Reviewers), ids.reviewers))
		}
		if len(ids.assignees) > 0 {
			o.AssigneeIDs = new(slices.Concat(idsOfUsers(now.Assignees), ids.assignees))
		}
	}
	var m *gl.MergeRequest
	err = s.change(ctx, operation, func(with gl.RequestOptionFunc) (err error) {
		m, _, err = s.api.MergeRequests.UpdateMergeRequest(s.path, at.Number, &o, with)
		return err
	})
	if err != nil {
		return pull.Attributes{}, err
	}
	return attributes(&m.BasicMergeRequest), nil
}

func idsOfUsers(users []*gl.BasicUser) (out []int64) {
	for _, u := range users {
		out = append(out, u.ID)
	}
	return out
}

func usernames(users []*gl.BasicUser) (out []string) {
	for _, u := range users {
		out = append(out, u.Username)
	}
	return out
}

func attributes(m *gl.BasicMergeRequest) pull.Attributes {
	a := pull.Attributes{Labels: m.Labels, Reviewers: usernames(m.Reviewers), Assignees: usernames(m.Assignees)}
	if m.Milestone != nil {
		a.Milestone = m.Milestone.Title
	}
	return a
}
