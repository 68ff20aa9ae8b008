package controlplane

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// The pauses after consecutive failed passes.
const (
	firstBackoff = time.Second
	maxBackoff   = 2 * time.Minute
)

// After restAfter without a change, the pause is restFactor times the interval, but not longer than
// maxRest because of that: at rest, servers are asked less.
const (
	restAfter  = time.Minute
	restFactor = 5
	maxRest    = 20 * time.Second
)

// Pace chooses when the next pass starts: at once after a pass that changed something,
// after a growing pause while something cannot be observed, when a window, a soak or the limits of
// a forge let something go on, and after the interval otherwise. The zero value is ready to use.
type Pace struct {
	failing bool
	pauses  wait.Backoff
	// changed is when a pass last changed something, or the first pass was made.
	changed time.Time
}

// Next returns the pause after a pass, and whether a change on the clusters may end it early. It
// may not after a failure: clusters change all the time, and the server that failed would be asked
// with each change.
func (p *Pace) Next(report *engine.Report, err error, interval time.Duration) (pause time.Duration, interruptible bool) {
	if err != nil {
		if !p.failing {
			p.failing, p.pauses = true, backoff.Doubling(firstBackoff, maxBackoff)
		}
		asked, _ := git.RetryAfter(err)
		return max(jitter(p.pauses.Step()), asked), false
	}
	p.failing = false
	if report.Changed || report.Raced || p.changed.IsZero() {
		p.changed = report.Now
	}
	switch {
	case report.RetryAfter > 0:
		return max(jitter(interval), min(report.RetryAfter, maxBackoff)), false
	case report.Changed:
		return 0, true
	case report.Raced:
		return jitter(min(interval, firstBackoff)), true
	}
	if report.Now.Sub(p.changed) > restAfter {
		interval = max(interval, min(restFactor*interval, maxRest))
	}
	pause = jitter(interval)
	if wait := report.Until.Sub(report.Now); !report.Until.IsZero() && wait < pause {
		pause = max(wait, firstBackoff)
	}
	return pause, true
}

// jitter spreads the passes of several engines over time: up to a tenth more or less.
func jitter(d time.Duration) time.Duration { return wait.Jitter(d*9/10, 2.0/9) }
