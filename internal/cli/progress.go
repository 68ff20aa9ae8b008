package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/furrow-dev/furrow/internal/engine"
)

// progressLine shows how far a pass is, on one line of a terminal that is written again and again.
// It shows nothing where there is not a terminal. A short pass ends before the first line.
type progressLine struct {
	w io.Writer
	// show takes note of progress, during a pass.
	show  func(engine.Progress)
	shown bool
}

func newProgressLine(w io.Writer) *progressLine {
	l := &progressLine{w: bare(w), show: func(engine.Progress) {}}
	if isTerminal(w) {
		l.show = engine.Every(time.Second/4, l.write)
	}
	return l
}

// andLog also logs progress where the log is not on a terminal: once a minute, and whatever waits for a
// server that does not answer.
func (l *progressLine) andLog(log *transitions) func(engine.Progress) {
	if isTerminal(log.w) {
		return l.show
	}
	minutes := engine.Every(time.Minute, func(p engine.Progress) { log.say("the pass goes on: %s", p) })
	return func(p engine.Progress) {
		l.show(p)
		if p.Waited > 0 {
			log.say("still %s", p)
			return
		}
		minutes(p)
	}
}

func (l *progressLine) write(p engine.Progress) {
	l.shown = true
	fmt.Fprint(l.w, "\r"+clearLine, printable(p.String()))
}

// clear removes the line, once the pass is over.
func (l *progressLine) clear() {
	if l.shown {
		fmt.Fprint(l.w, "\r"+clearLine)
	}
	l.shown = false
}
