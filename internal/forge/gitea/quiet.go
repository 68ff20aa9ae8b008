package gitea

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
)

const (
	// silence is for how long a server that does not answer is not asked again.
	silence = 5 * time.Second
	// maxUnanswered is how many questions in a row get lost before that; one that
	// was waited for until requestTimeout is enough.
	maxUnanswered = 2
)

// hourglass runs for a while after it was turned. The zero value has run out.
type hourglass struct {
	sand context.Context
	stop context.CancelFunc
}

func (h *hourglass) turn(d time.Duration) {
	if h.stop != nil {
		h.stop()
	}
	h.sand, h.stop = context.WithTimeout(context.Background(), d)
}

func (h *hourglass) runs() bool { return h.sand != nil && h.sand.Err() == nil }

// quiet keeps questions from a server that does not answer, so that the tiers of a
// pass do not wait for it one after the other.
type quiet struct {
	mu   sync.Mutex
	rest hourglass
	// unanswered counts the questions in a row that got no answer; failure is the last's.
	unanswered int
	failure    forge.Error
}

// refuse gives the failure of the question before, while the server is not to be asked.
func (q *quiet) refuse(op string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.rest.runs() {
		return nil
	}
	e := q.failure
	e.Op = op
	return &answer{failure: &e, unasked: true}
}

// note takes in how a question ended. What the caller broke off says nothing.
func (q *quiet) note(ctx context.Context, c *call, cause error, out *answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	late := cause != nil && timedOut(cause)
	switch {
	case cause != nil && ctx.Err() != nil:
	case c.status != 0 && !late:
		q.unanswered = 0
	case forge.IsFailure(out, forge.FailedNetwork):
		q.unanswered++
		if late || q.unanswered >= maxUnanswered {
			q.failure = *out.failure
			q.rest.turn(silence)
		}
	}
}

func timedOut(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout()
}
