package gitlab

import (
	"context"
	"strings"
	"time"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// together is how far apart a deletion and the close that it causes may be: one job does both.
const together = 10 * time.Second

// Closing reads the merge request and its newest hundred notes. GitLab writes a note about the
// deletion of a branch only on merge requests that were open then.
func (s *Server) Closing(ctx context.Context, number int64, _ time.Time) (pull.Closing, error) {
	m, err := s.get(ctx, number)
	if err != nil {
		return pull.Closing{}, err
	}
	by, closed, err := s.closer(ctx, number, m)
	if err != nil || closed.IsZero() {
		return pull.Closing{}, err
	}
	out := pull.Closing{By: by}
	var notes []*gl.Note
	err = s.do(ctx, op("read the notes of", number), func(with gl.RequestOptionFunc) (err error) {
		notes, _, err = s.api.Notes.ListMergeRequestNotes(s.path, number, &gl.ListMergeRequestNotesOptions{
			ListOptions: gl.ListOptions{PerPage: perPage}, OrderBy: new("created_at"), Sort: new("desc"),
		}, with)
		return err
	})
	for _, n := range notes {
		at := when(n.CreatedAt)
		switch {
		case n.System && strings.HasPrefix(n.Body, "deleted source branch"):
			out.BranchDeleted = out.BranchDeleted || at.Sub(closed).Abs() <= together
		case !n.System && !at.After(closed):
			out.Said = append(out.Said, pull.Comment{By: n.Author.Username, Text: n.Body, At: at})
		}
	}
	return out, err
}

// closer returns who closed a merge request, and when. GitLab may know that first from its events.
func (s *Server) closer(ctx context.Context, number int64, m *gl.MergeRequest) (by string, closed time.Time, err error) {
	if m.State != "closed" {
		return "", time.Time{}, nil
	}
	if m.ClosedBy != nil && m.ClosedAt != nil {
		return m.ClosedBy.Username, *m.ClosedAt, nil
	}
	for e, err := range pages(func(o gl.ListOptions) (events []*gl.StateEvent, answer *gl.Response, err error) {
		err = s.do(ctx, op("read the events of", number), func(with gl.RequestOptionFunc) (err error) {
			events, answer, err = s.api.ResourceStateEvents.ListMergeStateEvents(s.path, number, &gl.ListStateEventsOptions{ListOptions: o}, with)
			return err
		})
		return events, answer, err
	}) {
		if err != nil {
			return "", time.Time{}, err
		}
		if e.State == "closed" && e.User != nil {
			return e.User.Username, when(e.CreatedAt), nil
		}
	}
	return "", when(m.ClosedAt), nil
}
