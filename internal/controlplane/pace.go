package controlplane

import (
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

// Pace chooses when the next pass comes: at once after one that changed something,
// after the interval otherwise, and with growing pauses while something cannot be
// looked at. Its zero value is ready for use.
type Pace struct{ backoff time.Duration }

// Next is the pause after a pass, and whether news from the clusters may cut it short.
func (p *Pace) Next(report *engine.Report, err error, interval time.Duration) (pause time.Duration, news bool) {
	if err != nil {
		p.backoff = min(max(2*p.backoff, firstBackoff), maxBackoff)
		pause = jitter(p.backoff)
		if after, asked := git.RetryAfter(err); asked {
			pause = max(pause, after)
		}
		return pause, false
	}
	p.backoff = 0
	switch {
	case report.RetryAfter > 0:
		return max(jitter(interval), min(report.RetryAfter, maxBackoff)), false
	case report.Changed:
		return 0, true
	case report.Raced:
		return jitter(min(interval, firstBackoff)), true
	}
	return jitter(interval), true
}

// jitter spreads passes of several engines over time: up to a tenth more or less.
func jitter(d time.Duration) time.Duration {
	return d*9/10 + time.Duration(rand.Int64N(int64(d)/5+1)) //nolint:gosec // G404: not for secrets
}
