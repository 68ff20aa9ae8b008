package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

const (
	// watchInterval is the pause after which a state is read again.
	watchInterval = 2 * time.Second
	// gatherTime is how long changes are gathered before they are shown.
	gatherTime = 100 * time.Millisecond
)

// statusWatch shows a state again and again. One goroutine reads (readStates) and one shows (run),
// so a reading that takes long, of a server that does not answer, does not hide
// what was read last, and how old it is by now. Only run changes the fields.
type statusWatch struct {
	stateSource
	screen *screen
	output *outputFlag
	// warnings gets errors if the state is not shown in place.
	warnings io.Writer
	interval time.Duration

	// state is what was read last; it stays when a later reading fails. failed is why that failed,
	// nil after a reading that succeeded.
	state  *state.State
	failed error
	// shown is what was shown last if it is not shown in place, with the warning that it is out of
	// date.
	shown   *state.State
	warning string
}

func newStatusWatch(cmd *cobra.Command, output *outputFlag, source stateSource) *statusWatch {
	v := &statusWatch{stateSource: source, screen: newScreen(cmd.OutOrStdout()), output: output, warnings: cmd.ErrOrStderr(), interval: watchInterval}
	if !output.text() {
		v.screen.w, v.screen.terminal, v.screen.between = bare(v.screen.w), false, ""
	}
	if output.format == "yaml" {
		v.screen.between = "---\n"
	}
	return v
}

// reading is the result of reading the state once.
type reading struct {
	state *state.State
	err   error
}

// run shows the state until the context ends, and then returns nil. The first reading must succeed,
// or fail with an error that passes by itself: a wrong name or missing permission is for the person
// who typed the command, and later ones are shown beside the state. On a terminal it is drawn every
// second, because ages change.
func (v *statusWatch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer v.screen.end()
	var changes <-chan struct{}
	if v.changes != nil {
		var err error
		if changes, err = v.changes(ctx); err != nil {
			return err
		}
	}
	readings := make(chan reading)
	go v.readStates(ctx, readings, changes)
	var redraw <-chan time.Time
	if v.screen.terminal {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		redraw = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-readings:
			switch {
			case ctx.Err() != nil:
				return nil
			case l.err != nil && v.state == nil && !passes(l.err):
				return l.err
			case l.err == nil:
				v.state = l.state
			}
			if err := v.show(l.err); err != nil {
				return err
			}
		case <-redraw:
			if v.state != nil || v.failed != nil {
				if err := v.show(v.failed); err != nil {
					return err
				}
			}
		}
	}
}

// passes reports whether an error may pass by itself: no status yet, or a server that does not
// answer.
func passes(err error) bool {
	return manifest.ReasonOf(err) == v1alpha1.ReasonNoStatus || git.IsTransient(err)
}

// readStates reads the state after every change, or after each interval if changes are not
// signalled or the last reading failed. Changes come in bursts, one for each resource that a pass
// writes, so it gathers them for a moment before it reads.
func (v *statusWatch) readStates(ctx context.Context, out chan<- reading, changes <-chan struct{}) {
	for ctx.Err() == nil {
		st, err := v.read(ctx)
		select {
		case <-ctx.Done():
		case out <- reading{st, err}:
		}
		var again <-chan time.Time
		if changes == nil || err != nil {
			again = time.After(v.interval)
		}
		select {
		case <-ctx.Done():
		case <-changes:
			_ = backoff.Sleep(ctx, backoff.RealClock{}, gatherTime)
		case <-again:
		}
	}
}

// show shows what was read last, and why it could not be read again. Not on a terminal, it shows a
// state that differs from the one shown last, and each error once.
func (v *statusWatch) show(failed error) error {
	news := failed != nil && (v.failed == nil || v.failed.Error() != failed.Error())
	v.failed = failed
	if v.screen.terminal {
		v.screen.show(v.draw)
		return nil
	}
	if news {
		fmt.Fprintf(v.warnings, "! %v\n", failed)
	}
	if v.state == nil || v.shown != nil && same(v.state, v.shown) && v.view().outdated() == v.warning {
		return nil
	}
	v.shown, v.warning = v.state, v.view().outdated()
	var err error
	v.screen.show(func(w io.Writer) {
		err = v.output.write(w, v.state, func(w io.Writer) {
			if v.warning != "" {
				paragraph(w, "  ", v.warning)
			}
			v.view().body(w)
		})
	})
	return err
}

// same reports whether two states are equal but for the time of the last pass, which changes with
// every pass.
func same(a, b *state.State) bool {
	x, y := *a, *b
	x.LastPass, y.LastPass = time.Time{}, time.Time{}
	x.Writer, y.Writer = "", ""
	return reflect.DeepEqual(x, y)
}

func (v *statusWatch) view() *statusView {
	return &statusView{State: v.state, now: v.now(), whole: v.output.wide(), none: v.none}
}

// draw is the picture on a terminal. Its end is seen even where it is too high.
func (v *statusWatch) draw(w io.Writer) {
	line := "Waiting for the first pass"
	if v.state != nil {
		view := v.view()
		view.body(w)
		fmt.Fprintln(w)
		paragraph(w, "  ", "Seeds: "+seedStates(v.state.Seeds))
		if text := view.outdated(); text != "" {
			paragraph(w, "  ", text)
		}
		line = ""
		if !v.state.LastPass.IsZero() {
			line = fmt.Sprintf("Last pass reported %s ago by %s", age(view.now, v.state.LastPass), v.state.Owner)
		}
	}
	if v.failed != nil {
		paragraph(w, "  ", fmt.Sprintf("! It cannot be read now, and is tried again every %s: %v", shortDuration(v.interval), v.failed))
	}
	paragraph(w, "          ", v.now().Format(time.TimeOnly)+"  "+line)
}
