package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// notReachedError ends a command with exit code 4: seeds are not in the state that was asked for.
// Unlike errUnderWay, it is printed.
type notReachedError struct{ manifest.Problem }

// waiting is furrow wait.
type waiting struct {
	// seed to wait for; empty for all.
	seed    string
	until   string
	timeout time.Duration
	// read returns the published state, and whether it is that of the control plane as it is now.
	read     func(context.Context) (st *state.State, current bool, err error)
	interval time.Duration
	out      io.Writer
	// notes gets what a reader must know before the end.
	notes io.Writer
}

func newWait() *cobra.Command {
	var session sessionFlags
	w := &waiting{interval: watchInterval}
	states := []string{state.Stalled}
	for _, s := range release.States {
		states = append(states, string(s))
	}
	cmd := &cobra.Command{
		Use:   "wait [SEED]",
		Short: "Wait until a seed, or all, are Released or in another state",
		Long: `Wait reads what 'furrow run' reports until the seed, or without a name every seed, is in the state
of --for. A report counts once it is of the control plane as it is now, so a commit right
before is waited for as well. --for Gone waits until nothing of the seed is left.

With custom resources, use kubectl wait:
  kubectl wait seed/edge-5g --for=jsonpath='{.status.state}'=Released --timeout=10m

Exit codes: 0 reached, 1 failed, 2 wrong usage, 4 not reached in time.`,
		Example: `  furrow wait edge-5g
  furrow wait --for Released --timeout 1h
  furrow wait edge-5g --for Gone`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("it takes the name of one seed, or none")}
			}
			return nil
		},
		ValidArgsFunction: session.completeSeeds,
		RunE: session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
			w.seed, w.out, w.notes = strings.Join(args, ""), cmd.OutOrStdout(), cmd.ErrOrStderr()
			w.read = func(ctx context.Context) (*state.State, bool, error) {
				st, err := s.Status(ctx)
				return st, err == nil && st.Revision == s.Revision(), err
			}
			return w.run(cmd.Context())
		}),
	}
	session.add(cmd)
	cmd.Flags().Var(textFlag(&w.until, string(release.Released), oneOf(states...)), "for", "state to wait for: "+alternatives(states))
	mustComplete(cmd, "for", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Var(durationFlag(&w.timeout, 10*time.Minute, time.Second, 7*24*time.Hour), "timeout", "how long to wait")
	return cmd
}

// run reads the state until it is reached, or time is up. Errors that may pass by themselves are
// reasons to wait on: the first is printed at once, and the last one is in the message when time is
// up.
func (w *waiting) run(ctx context.Context) error {
	timeUp, noted := time.After(w.timeout), false
	for {
		st, current, err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passes(err):
			return err
		}
		var missing string
		if err != nil {
			if missing = err.Error(); !noted {
				noted = true
				fmt.Fprintf(w.notes, "Waiting up to %s: %s\n", shortDuration(w.timeout), missing)
			}
		} else if missing, err = w.missing(st, current); err != nil {
			return err
		}
		if missing == "" {
			fmt.Fprintln(w.out, w.reached(st))
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeUp:
			return notReachedError{manifest.Problem{Reason: v1alpha1.ReasonTimedOut, Message: fmt.Sprintf("not %s after %s: %s", w.until, shortDuration(w.timeout), missing), Next: "See 'furrow status'"}}
		case <-time.After(w.interval):
		}
	}
}

// missing returns what is not reached yet; empty when all is. A report counts only if it is
// current: right after a commit the last one says Released, of the commit before.
func (w *waiting) missing(st *state.State, current bool) (string, error) {
	if !current {
		return "no pass has reported on the control plane as it is now", nil
	}
	seeds := st.Seeds
	if w.seed != "" {
		one, ok := st.Seed(w.seed)
		switch {
		case !ok && w.until == string(release.Gone):
			return "", nil
		case !ok:
			return "", manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Seed: w.seed, Message: fmt.Sprintf("the control plane has no seed %q", w.seed), Next: "See 'furrow status' for the existing ones"}
		}
		seeds = []state.Seed{*one}
	}
	var not []string
	for i := range seeds {
		if s := &seeds[i]; s.State != w.until {
			not = append(not, fmt.Sprintf("seed %s is %s", s.Name, seedLine(s, progress(s))))
		}
	}
	return strings.Join(not, "; "), nil
}

// reached returns what was waited for.
func (w *waiting) reached(st *state.State) string {
	if w.seed != "" {
		return fmt.Sprintf("Seed %s is %s.", w.seed, w.until)
	}
	return fmt.Sprintf("%s: %s.", plural(len(st.Seeds), "seed"), w.until)
}

// verdict is what --exit-code makes of a state: an error with the exit code 3 if a person is
// needed, and 4 if not everything is Released. A person comes first, because waiting does not help
// there.
func verdict(st *state.State) error {
	needed := len(st.Problems) > 0
	for i := range st.Seeds {
		s := &st.Seeds[i]
		needed = needed || s.State == state.Stalled || slices.ContainsFunc(s.Tiers, func(t state.Tier) bool {
			return t.State == release.Failed || t.NeedsDecision()
		})
	}
	switch {
	case needed:
		return errProblems
	case !st.Done():
		return errUnderWay
	}
	return nil
}

// errUnderWay ends a command with exit code 4, which has said why.
var errUnderWay = errors.New("not everything is Released")
