// Package standalone owns the front end that needs no Kubernetes: a
// control-plane repository in, proposals and a status branch out.
//
// Run repeats passes of a session's engine until its context ends.
package standalone

import (
	"context"
	"time"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
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
// something or when the health channel tells of a change, after interval otherwise,
// and with growing pauses while something cannot be looked at. see is called after
// each pass; when it returns false the run ends.
func Run(ctx context.Context, s *controlplane.Session, interval time.Duration, see func(Seen) bool) {
	var pace controlplane.Pace
	var changed <-chan struct{}
	if w, ok := s.Channel().(probe.Watcher); ok {
		changed = w.Changed()
	}
	for ctx.Err() == nil {
		began := time.Now()
		report, err := s.Engine().Pass(ctx)
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		next, news := pace.Next(report, err, interval)
		if !see(Seen{Report: report, Err: err, Next: next}) {
			return
		}
		s.Collect(ctx)
		wake := changed
		if !news {
			wake = nil
		}
		pause(ctx, next, max(breath, took), wake)
	}
}

const (
	// gather is how long a run waits, after it was told of a change on the clusters,
	// for others that come with it.
	gather = 100 * time.Millisecond
	// breath is what at least lies between two passes, or else as long as the last one
	// took, however much changes on the clusters.
	breath = 500 * time.Millisecond
)

// pause waits for d, or until shortly after wake, but no less than rest.
func pause(ctx context.Context, d, rest time.Duration, wake <-chan struct{}) {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		soon := max(gather, rest-time.Since(began))
		pause(ctx, min(d-time.Since(began), soon), 0, nil)
	}
}
