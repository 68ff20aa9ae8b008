package standalone

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// firstBackoff is the wait after the first failed pass; each further one doubles it.
	firstBackoff = time.Second
	// maxBackoff bounds the wait between failed passes.
	maxBackoff = 2 * time.Minute
)

// Seen is what one pass of a run came to.
type Seen struct {
	// Report is nil when nothing could be looked at.
	Report *engine.Report
	Err    error
	// Next is when the next pass comes.
	Next time.Duration
}

// Run makes passes until the context ends: at once after a pass that changed
// something, after interval otherwise, and with growing pauses while nothing can
// be looked at. see is called after each pass; when it returns false the run ends.
func (s *Session) Run(ctx context.Context, interval time.Duration, see func(Seen) bool) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		report, err := s.engine.Pass(ctx)
		if ctx.Err() != nil {
			return
		}
		seen := Seen{Report: report, Err: err, Next: interval}
		switch {
		case err != nil:
			seen.Next = jitter(backoff)
			if after, asked := git.RetryAfter(err); asked {
				seen.Next = max(seen.Next, after)
			}
			backoff = min(2*backoff, maxBackoff)
		case len(report.Problems) > 0:
			seen.Next = max(jitter(max(interval, backoff)), report.RetryAfter)
			backoff = min(2*backoff, maxBackoff)
		case report.Changed:
			seen.Next, backoff = 0, firstBackoff
		case report.Raced:
			seen.Next, backoff = jitter(min(interval, firstBackoff)), firstBackoff
		default:
			seen.Next, backoff = jitter(interval), firstBackoff
		}
		if !see(seen) {
			return
		}
		pause(ctx, seen.Next)
	}
}

// jitter spreads passes of several engines over time: up to a tenth more or less.
func jitter(d time.Duration) time.Duration {
	return d*9/10 + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // G404: not for secrets
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
