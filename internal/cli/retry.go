package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

func newRetry() *cobra.Command {
	var yes bool
	var who whoFlags
	cmd := newAsk(&cobra.Command{
		Use:   "retry SEED",
		Short: "Propose again what was rejected, reverted, or held by foreign content",
		Long: `Retry asks the run that owns the seed to propose again the tiers that a person rejected or
reverted, and those whose paths on the base branch have content of others. Merging such a
proposal replaces that content. It says which tiers these are; where there are none it does
nothing. Where people put files there, it lists those that the proposals delete or replace, and
changes nothing without --yes.

It pushes a branch, furrow/<base>/retry/<seed>, which the run acts on from its next pass on, and
deletes when nothing is left to do for it. Where no run is under way, it waits for one. The proposals
say who asked for them, and why: that is recorded on the branch furrow/<base>/rollout/<seed>.`,
		Example: "  furrow retry edge-5g\n  furrow retry edge-5g --reason 'the gateway is back'",
	}, func(ctx context.Context, a *asking) error {
		if err := mayOverwrite(ctx, a, yes); err != nil {
			return err
		}
		return retry(ctx, a, &who)
	})
	addOverwrite(cmd, &yes)
	who.add(cmd)
	return cmd
}

func addOverwrite(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do it also where it proposes to delete or replace files of people")
}

// errFilesOfPeople ends a retry that would propose to delete or replace files of people.
var errFilesOfPeople error = manifest.Problem{Reason: v1alpha1.ReasonNotConfirmed, Message: "nothing was changed. Move the files somewhere else; or, if they may go, add --yes: merging the proposals then deletes or replaces them"}

// mayOverwrite lists the files of people that the proposals delete or replace.
func mayOverwrite(ctx context.Context, a *asking, yes bool) error {
	o, err := a.Overwritten(ctx, a.seed)
	if err != nil || o.None() {
		return err
	}
	fmt.Fprintf(a.out, "The proposals of seed %s overwrite files on the base branch that Furrow did not put there:\n", a.seed)
	for _, at := range o.Deletes {
		fmt.Fprintf(a.out, "  deletes  %s\n", manifest.Printable(at))
	}
	for _, at := range o.Replaces {
		fmt.Fprintf(a.out, "  replaces %s\n", manifest.Printable(at))
	}
	if !yes {
		return errFilesOfPeople
	}
	return nil
}

func newConfirm() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:   "confirm SEED",
		Short: "Begin a removal that the deletion guard holds",
		Long: `Confirm asks the run that owns the seed to begin with a removal that the deletion guard holds:
that of the seed, or of objects that left it. It says what is removed. Each tier is still
proposed for review. Where no removal of the seed is held, confirm does nothing.

It pushes a branch, furrow/<base>/confirm/<seed> or furrow/<base>/confirm-leaving/<seed>, which the
run acts on from its next pass on, and deletes when the removal is done. Where no run is under way,
it waits for one.`,
		Example: "  furrow confirm edge-5g",
	}, confirm)
}

// asking is a request of a person about one seed: what the command needs to check whether there is
// anything to do, before it asks for it by a branch.
type asking struct {
	*engine.Requests
	seed string
	// report is what was reported last, and status what it says of the seed; nil where
	// nothing is known of it.
	report *state.State
	status *state.Seed
	out    io.Writer
}

// newAsk makes a command by which a person asks something about one seed. The last report says what
// there is to ask for; without one, ask has to do without, or say what is missing.
func newAsk(cmd *cobra.Command, ask func(context.Context, *asking) error) *cobra.Command {
	var session sessionFlags
	cmd.Args = exactly(1, "the name of one seed")
	cmd.ValidArgsFunction = session.completeSeeds
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
		return askOf(cmd, s, args[0], ask)
	})
	session.add(cmd)
	session.addSigning(cmd)
	return cmd
}

// askOf asks something about a seed, with what was reported of it last.
func askOf(cmd *cobra.Command, s *controlplane.Session, seed string, ask func(context.Context, *asking) error) error {
	a := &asking{seed: seed, out: cmd.OutOrStdout()}
	if report, err := s.Status(cmd.Context()); err == nil { // else the question says what is the matter
		a.report = report
		a.status, _ = report.Seed(a.seed)
		if text := (&statusView{State: report, now: time.Now()}).outdated(); text != "" {
			paragraph(cmd.ErrOrStderr(), "  ", text)
		}
	}
	var err error
	if a.Requests, err = s.Engine().Requests(cmd.Context()); err != nil {
		return err
	}
	return ask(cmd.Context(), a)
}

// retry asks for the tiers that were reported as such that can be retried, and for those that were
// rejected since: a person who rejects and retries at once does not wait for a pass between. It
// asks for nothing where nothing can be retried, so no branch is left to be acted on much
// later.
func retry(ctx context.Context, a *asking, who *whoFlags) error {
	var tiers []string
	if a.status != nil {
		tiers = retriable(a.status)
	}
	if a.status == nil || len(tiers) > 0 {
		if err := a.Retry(ctx, a.seed, who.who(ctx), who.why); err != nil {
			return err
		}
	} else {
		rejected, err := a.RetryRejected(ctx, a.seed, who.who(ctx), who.why)
		if err != nil {
			return err
		}
		for _, t := range rejected {
			tiers = append(tiers, t.Name()+" (Rejected)")
		}
		if len(tiers) == 0 {
			fmt.Fprintf(a.out, "Nothing to retry: no tier of seed %s is rejected, reverted or held by foreign content. %s\n", a.seed, a.asOf())
			return nil
		}
	}
	if len(tiers) == 0 {
		tiers = []string{anyRetriable}
	}
	fmt.Fprintf(a.out, "Requested: the next pass proposes again, of seed %s: %s. See 'furrow status %[1]s'.\n", a.seed, strings.Join(tiers, ", "))
	return nil
}

// anyRetriable are the tiers of a retry where it is not known which these are.
const anyRetriable = "what is rejected, reverted or held by foreign content"

// retriable lists the tiers that a retry has proposed again.
func retriable(s *state.Seed) []string {
	var tiers []string
	for _, t := range inOrder(s.Tiers) {
		if t.Retry {
			tiers = append(tiers, fmt.Sprintf("%s (%s)", t.Name(), stateLabel(t)))
		}
	}
	return tiers
}

// confirm asks for the removal that waits for it, also if no pass has reported it yet. What it
// prints follows from what the request found, which is newer than the report.
func confirm(ctx context.Context, a *asking) error {
	removed, err := a.Confirm(ctx, a.seed)
	nothing, done := engine.IsNothingToConfirm(err)
	switch {
	case done:
		fmt.Fprintf(a.out, "Nothing to do: the removal of seed %s is confirmed already, and the next pass goes on with it. See 'furrow status %[1]s'.\n", a.seed)
		return nil
	case nothing && a.status != nil:
		fmt.Fprintf(a.out, "Nothing to confirm: no removal of seed %s waits for it. %s\n", a.seed, a.asOf())
		return nil
	case err != nil:
		return err
	case len(removed) == 0:
		fmt.Fprintf(a.out, "Requested: the removal of seed %s has begun, and from the next pass on it no longer holds up other removals. See 'furrow status %[1]s'.\n", a.seed)
		return nil
	}
	fmt.Fprintf(a.out, "Requested: the next pass begins to remove, of seed %s: %s. Each tier is proposed first, and deleted when you merge that. See 'furrow status %[1]s'.\n", a.seed, strings.Join(removed, ", "))
	return nil
}

// asOf returns how the seed is, and when that was found out.
func (a *asking) asOf() string {
	return fmt.Sprintf("It is %s, as of the last pass, reported %s ago.", a.status.State, age(time.Now(), a.report.LastPass))
}
