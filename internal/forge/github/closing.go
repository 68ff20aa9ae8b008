package github

import (
	"context"
	"time"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge/pull"
)

const (
	// together is how far apart a deletion and the close that it causes may be, in GitHub's whole
	// seconds.
	together = time.Second
	// enough is how many events before the close are searched for comments.
	enough = 100
)

// Closing reads the timeline back to the last time that the pull request was closed, and on to the
// comments and reviews before that. Those of bots are left out.
func (s *Server) Closing(ctx context.Context, number int64, _ time.Time) (pull.Closing, error) {
	var out pull.Closing
	var closed, deleted time.Time
	before := 0
	for e, err := range pages(func(o gh.ListOptions) ([]*gh.Timeline, *gh.Response, error) {
		return s.timeline(ctx, number, o)
	}) {
		if err != nil {
			return pull.Closing{}, err
		}
		switch at := e.GetCreatedAt().Time; e.GetEvent() {
		case "head_ref_deleted":
			if closed.IsZero() || closed.Sub(at) <= together {
				deleted = at
			}
		case "closed":
			if closed.IsZero() {
				closed, out.By = at, e.GetActor().GetLogin()
			}
		case "commented", "reviewed":
			if c := said(e); !closed.IsZero() && c.Text != "" {
				out.Said = append(out.Said, c)
			}
		}
		if before++; closed.IsZero() {
			before = 0
		} else if before > enough {
			break
		}
	}
	out.BranchDeleted = !closed.IsZero() && !deleted.IsZero() && deleted.Sub(closed).Abs() <= together
	return out, nil
}

// timeline reads one page of the timeline.
func (s *Server) timeline(ctx context.Context, number int64, o gh.ListOptions) (events []*gh.Timeline, answer *gh.Response, err error) {
	err = s.do(ctx, op("read the timeline of", number), func(ctx context.Context, c *gh.Client) (err error) {
		events, answer, err = c.Issues.ListIssueTimeline(ctx, s.owner, s.name, int(number), &o)
		return err
	})
	return events, answer, err
}

// said returns what a person wrote in a comment or a review.
func said(e *gh.Timeline) pull.Comment {
	if e.GetUser().GetType() == "Bot" {
		return pull.Comment{}
	}
	at := e.GetCreatedAt().Time
	if e.SubmittedAt != nil {
		at = e.GetSubmittedAt().Time
	}
	return pull.Comment{By: e.GetUser().GetLogin(), Text: e.GetBody(), At: at}
}
