package gitlab

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Enqueue adds a merge request to the merge train of base, by the method of the project.
func (s *Server) Enqueue(ctx context.Context, number int64, m pull.Merge) error {
	if on, err := s.onTrain(ctx, number); err != nil || on != nil {
		return err
	}
	err := s.change(ctx, op("add to the merge train", number), func(with gl.RequestOptionFunc) error {
		_, _, err := s.api.MergeTrains.AddMergeRequestToMergeTrain(s.path, number, &gl.AddMergeRequestToMergeTrainOptions{
			SHA: new(m.Head.String()), Squash: new(m.Method == pull.Squash),
		}, with)
		return err
	})
	failure, ok := errors.AsType[*rest.Failure](err)
	switch {
	case !ok:
		return err
	case failure.Status == http.StatusConflict:
		return forge.ErrGone
	case failure.Status == http.StatusBadRequest, failure.Status == http.StatusMethodNotAllowed, failure.Status == http.StatusForbidden && failure.Err.Kind == forge.FailedAuth:
		return s.refused(ctx, number, m, failure)
	}
	return err
}

// onTrain returns the entry of a merge request on the merge train; nil where it is not on it.
func (s *Server) onTrain(ctx context.Context, number int64) (*gl.MergeTrain, error) {
	var entry *gl.MergeTrain
	err := s.do(ctx, op("find on the merge train", number), func(with gl.RequestOptionFunc) (err error) {
		entry, _, err = s.api.MergeTrains.GetMergeRequestOnAMergeTrain(s.path, number, with)
		return err
	})
	if rest.Refused(err, http.StatusNotFound) {
		return nil, nil
	}
	return entry, err
}

// removed begins the note that GitLab leaves where a train did not merge; the reason follows.
const removed = "removed this merge request from the merge train"

// Queued reads the merge train or, if it does not have the merge request, the note of why.
func (s *Server) Queued(ctx context.Context, number int64) (pull.Queued, error) {
	entry, err := s.onTrain(ctx, number)
	if err != nil {
		return pull.Queued{}, err
	}
	if entry != nil {
		return pull.Queued{Is: true, Why: "which is " + entry.Status}, nil
	}
	var notes []*gl.Note
	err = s.do(ctx, op("read the notes of", number), func(with gl.RequestOptionFunc) (err error) {
		notes, _, err = s.api.Notes.ListMergeRequestNotes(s.path, number, &gl.ListMergeRequestNotesOptions{
			OrderBy: new("created_at"), Sort: new("desc"), ListOptions: gl.ListOptions{PerPage: perPage},
		}, with)
		return err
	})
	for _, note := range notes {
		if why, ok := strings.CutPrefix(note.Body, removed); ok && note.System {
			return pull.Queued{Why: strings.TrimPrefix(strings.TrimSpace(why), "because ")}, err
		}
	}
	return pull.Queued{}, err
}
