package gitea

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
)

// silence is for how long a server that does not answer is not asked again.
var silence = backoff.Constant(5 * time.Second)

// maxUnanswered is how many questions in a row get lost before that; one that was
// waited for until requestTimeout is enough.
const maxUnanswered = 2

// breaker is a circuit breaker: it keeps questions from a server that does not answer,
// so the tiers of a pass do not wait for it one after the other.
type breaker struct {
	mu       sync.Mutex
	cooldown backoff.Cooldown
	// unanswered counts the questions in a row that got no answer; failure is the last's.
	unanswered int
	failure    forge.Error
}

// refuse gives the failure of the question before, while the server is not to be asked.
func (b *breaker) refuse(op string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.cooldown.Active(now) {
		return nil
	}
	e := b.failure
	e.Op = op
	return &answer{failure: &e, unasked: true}
}

// note takes in how a question ended. What the caller broke off says nothing. A lost connection may
// be an accident and is tried once more; a question that was waited for until its timeout is
// enough, since the next would take as long.
func (b *breaker) note(ctx context.Context, now time.Time, c *call, cause error, out *answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	late := cause != nil && timedOut(cause)
	switch {
	case cause != nil && ctx.Err() != nil:
	case c.status != 0 && !late:
		b.unanswered = 0
	case forge.IsFailure(out, forge.FailedNetwork):
		b.unanswered++
		if late || b.unanswered >= maxUnanswered {
			b.failure = *out.failure
			b.cooldown.Fail(now, out, 0)
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
