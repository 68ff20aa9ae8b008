package rest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
)

// silence is how long a server that does not answer gets no requests.
var silence = backoff.Constant(5 * time.Second)

// maxUnanswered is how many requests in a row get lost before that; one that was waited for until
// its timeout is enough.
const maxUnanswered = 2

// breaker is a circuit breaker: it keeps requests from a server that does not answer, so the tiers
// of a pass do not wait for it one after the other.
type breaker struct {
	mu       sync.Mutex
	cooldown backoff.Cooldown
	// unanswered counts the requests in a row that got no answer; failure is that of the last.
	unanswered int
	failure    forge.Error
}

func newBreaker() breaker { return breaker{cooldown: backoff.NewCooldown(silence)} }

// refuse returns the last failure, while the server gets no requests.
func (b *breaker) refuse(op string, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.cooldown.Active(now) {
		return nil
	}
	e := b.failure
	e.Op = op
	return &Failure{Err: &e, Unasked: true}
}

// answered records an answer, whatever it is.
func (b *breaker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unanswered = 0
}

// lost records a request without an answer. What the caller broke off says nothing about the
// server. A lost connection may be an accident and is tried once more; a timeout is enough, since
// the next request would take as long.
func (b *breaker) lost(ctx context.Context, now time.Time, cause error, failure *Failure) {
	if ctx.Err() != nil || !forge.IsFailure(failure, forge.FailedNetwork) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unanswered++
	if timedOut(cause) || b.unanswered >= maxUnanswered {
		b.failure = *failure.Err
		b.cooldown.Fail(now, failure, 0)
	}
}

func timedOut(err error) bool {
	e, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && e.Timeout()
}
