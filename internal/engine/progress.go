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
}

// The stages of a pass, in order.
const (
	stageReading    = "reading the repositories"
	stagePlanning   = "planning"
	stageProposing  = "pushing plans and proposals"
	stagePublishing = "publishing the status"
)

// String returns one line for people.
func (p Progress) String() string {
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
	if e.config.Progress != nil {
		e.config.Progress(Progress{Stage: stage, Done: done, Total: total, Took: e.config.Now().Sub(e.began)})
	}
}
