package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// watchInterval is the pause between two looks at the status.
const watchInterval = 2 * time.Second

// statusWatch shows the status again and again.
type statusWatch struct {
	screen *screen
	output *outputFlag
	// warnings has what goes wrong where the status is not shown in place.
	warnings io.Writer
	look     func(context.Context) (*state.State, error)
	now      func() time.Time
	interval time.Duration

	// report is what was read last, and failed why it could not be read since.
	report *state.State
	failed error
}

func newStatusWatch(cmd *cobra.Command, output *outputFlag, look func(context.Context) (*state.State, error)) *statusWatch {
	v := &statusWatch{screen: newScreen(cmd.OutOrStdout()), output: output, warnings: cmd.ErrOrStderr(), look: look, now: time.Now, interval: watchInterval}
	if !output.text() {
		v.screen.w, v.screen.terminal, v.screen.between = bare(v.screen.w), false, ""
	}
	if output.format == "yaml" {
		v.screen.between = "---\n"
	}
	return v
}

// looked is what one look came to.
type looked struct {
	report *state.State
	err    error
}

// run shows the status until the context ends. The first look must succeed, or fail in
// a way that passes.
func (v *statusWatch) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer v.screen.end()
	looks := make(chan looked)
	go v.lookOn(ctx, looks)
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
		case l := <-looks:
			switch {
			case ctx.Err() != nil:
				return nil
			case l.err != nil && v.report == nil && !passes(l.err):
				return l.err
			case l.err == nil:
				v.report = l.report
			}
			if err := v.show(l.err); err != nil {
				return err
			}
		case <-redraw:
			if v.report != nil || v.failed != nil {
				if err := v.show(v.failed); err != nil {
					return err
				}
			}
		}
	}
}

// passes says that an error may be gone at the next look.
func passes(err error) bool {
	return errors.Is(err, controlplane.ErrNoStatus) || git.IsTransient(err)
}

func (v *statusWatch) lookOn(ctx context.Context, out chan<- looked) {
	for ctx.Err() == nil {
		report, err := v.look(ctx)
		select {
		case <-ctx.Done():
		case out <- looked{report, err}:
		}
		select {
		case <-ctx.Done():
		case <-time.After(v.interval):
		}
	}
}

// show shows what was read last, and why it could not be read again.
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
	if v.report == nil {
		return nil
	}
	var err error
	v.screen.show(func(w io.Writer) {
		err = v.output.write(w, v.report, func(w io.Writer) {
			staleLine(w, v.report, v.now())
			statusTable(w, v.report)
		})
	})
	return err
}

// seedStates counts the seeds by their state, and names some of those that are not Released:
// of a long status only the end is seen.
func seedStates(r *state.State) string {
	const most = 5
	names := map[string][]string{}
	for _, s := range r.Seeds {
		names[s.State] = append(names[s.State], s.Name)
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(names)) {
		part := fmt.Sprintf("%d %s", len(names[state]), state)
		if state != string(release.Released) {
			part += " (" + strings.Join(names[state][:min(most, len(names[state]))], ", ")
			if len(names[state]) > most {
				part += ", …"
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// draw is the picture on a terminal. Its end is seen even where it is too high.
func (v *statusWatch) draw(w io.Writer) {
	now := v.now()
	if v.report != nil {
		statusTable(w, v.report)
		fmt.Fprintln(w)
		paragraph(w, "  ", "Seeds: "+seedStates(v.report))
		staleLine(w, v.report, now)
	}
	if v.failed != nil {
		paragraph(w, "  ", fmt.Sprintf("! It cannot be read now, and is tried again every %s: %v", shortDuration(v.interval), v.failed))
	}
	state := "Waiting for the first pass"
	if v.report != nil {
		state = fmt.Sprintf("Last pass reported %s by %s", ageOf(v.report, now), v.report.Owner)
	}
	paragraph(w, "          ", now.Format(time.TimeOnly)+"  "+state)
}
