package engine

import (
	"fmt"
	"time"
)

// Progress says how far a pass is. Large fleets take minutes.
type Progress struct {
	// Stage is what is done now, for people.
	Stage string
	// Done of Total seeds; Total is zero where they are not counted.
	Done, Total int
	// Took is how long the pass has taken so far.
	Took time.Duration
	// Waited is how long Stage has waited for a server's answer; zero while no step waits for long.
	Waited time.Duration
}

// firstNotice is after how long a step that waits for a server is reported. The next reports follow after
// pauses that double.
const firstNotice = 10 * time.Second

// The stages of a pass, in order.
const (
	stageReading    = "reading the repositories"
	stagePlanning   = "planning"
	stageProposing  = "pushing plans and proposals"
	stagePublishing = "publishing the status"
)

// String returns one line for people.
func (p Progress) String() string {
	if p.Waited > 0 {
		return fmt.Sprintf("%s for %s; the server has not answered yet", p.Stage, p.Waited.Round(time.Second))
	}
	if p.Total == 0 {
		return fmt.Sprintf("%s (%s)", p.Stage, p.Took.Round(time.Second))
	}
	return fmt.Sprintf("%s: %d of %d seeds (%s)", p.Stage, p.Done, p.Total, p.Took.Round(time.Second))
}

// Every returns a function that reports the progress of passes, but at most once in each interval,
// and not before a pass has taken as long as that.
func Every(interval time.Duration, report func(Progress)) func(Progress) {
	last := time.Duration(0)
	return func(p Progress) {
		if p.Took < last {
			last = 0 // another pass
		}
		if p.Took-last >= interval {
			last = p.Took
			report(p)
		}
	}
}

func (e *Engine) progress(stage string, done, total int) {
	e.say(Progress{Stage: stage, Done: done, Total: total})
}

// say reports progress. A push may be reported while the goroutine of the pass publishes.
func (e *Engine) say(p Progress) {
	if e.config.Progress == nil {
		return
	}
	e.saying.Lock()
	defer e.saying.Unlock()
	p.Took = e.config.Now().Sub(e.began)
	e.config.Progress(p)
}

// patiently does what may wait for a server for long, as for a hook that says nothing, and reports that
// it still does.
func (e *Engine) patiently(stage string, do func() error) error {
	if e.config.Progress == nil {
		return do()
	}
	done := make(chan error, 1)
	began, next := e.config.Now(), firstNotice
	tick := e.config.Clock.NewTicker(firstNotice)
	defer tick.Stop()
	go func() { done <- do() }()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C():
			if waited := e.config.Now().Sub(began); waited >= next {
				e.say(Progress{Stage: stage, Waited: waited})
				next *= 2
			}
		}
	}
}
