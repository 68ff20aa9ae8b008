// Package standalone is the front end that needs no Kubernetes: a control-plane repository in,
// proposals and a status branch out.
//
// Run repeats passes of a session's engine until its context ends. Simulate replaces the clusters
// by simulated ones, and Watch asks real ones. Everything else is that of the controller, so both
// front ends plan and propose the same.
package standalone

import (
	"context"
	"time"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Result is the result of one pass of a run.
type Result struct {
	// Report is nil when nothing could be observed.
	Report *engine.Report
	Err    error
	// Next is when the next pass comes.
	Next time.Duration
}

// Run makes passes until the context ends: at once after a pass that changed something, when the
// health channel reports a change or when a hint names a repository of the session, after interval
// otherwise, and with growing pauses, which nothing ends early, while something cannot be observed.
// hints has the URLs of a repository that may have changed; nil for none. A pass takes all hints that
// came before it. It calls each after every pass and ends when that returns false. Mirrors are collected between passes, when nothing that was read is in use.
func Run(ctx context.Context, s *controlplane.Session, interval time.Duration, hints <-chan []string, each func(Result) bool) {
	var pace controlplane.Pace
	var changed <-chan struct{}
	if w, ok := s.Channel().(probe.Watcher); ok {
		changed = w.Changed()
	}
	for ctx.Err() == nil {
		drain(hints, s.Wake)
		began := time.Now()
		report, err := s.Engine().Pass(ctx)
		took := time.Since(began)
		if ctx.Err() != nil {
			return
		}
		next, news := pace.Next(report, err, interval)
		if !each(Result{Report: report, Err: err, Next: next}) {
			return
		}
		s.Collect(ctx)
		if news {
			pause(ctx, next, max(minPause, took), changed, hints, s.Wake)
		} else {
			pause(ctx, next, next, nil, nil, nil)
		}
	}
}

// drain takes the hints that are waiting.
func drain(hints <-chan []string, uses func(urls []string) bool) {
	for {
		select {
		case urls := <-hints:
			uses(urls)
		default:
			return
		}
	}
}

const (
	// gather is how long a run waits after a change on the clusters, to handle the
	// changes that come with it in the same pass.
	gather = 100 * time.Millisecond
	// minPause is the least time between two passes, however much changes on the
	// clusters. After a longer pass it is as long as the pass took.
	minPause = 500 * time.Millisecond
)

// pause waits for d, or until shortly after wake or a hint about a repository that is used, but no
// less than rest: on a busy fleet something changes all the time, and passes would follow each other
// without a break.
func pause(ctx context.Context, d, rest time.Duration, wake <-chan struct{}, hints <-chan []string, uses func(urls []string) bool) {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-wake:
		case urls := <-hints:
			if !uses(urls) {
				continue
			}
		}
		timer.Reset(min(d-time.Since(began), max(gather, rest-time.Since(began))))
		wake, hints = nil, nil
	}
}
