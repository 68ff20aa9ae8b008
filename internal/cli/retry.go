package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

func newRetry() *cobra.Command {
	var session sessionFlags
	var yes bool
	var who whoFlags
	var which retryFlags
	cmd := &cobra.Command{
		Use:   "retry SEED",
		Short: "Propose again what was rejected, reverted, or held by foreign content",
		Long: `Retry asks the run that owns the seed to propose again the tiers that a person rejected or
reverted, and those whose paths on the base branch have content of others. Merging such a
proposal replaces that content. It says which tiers these are; where there are none it does
nothing. Where people put files there, it lists those that the proposals delete or replace, and
changes nothing without --yes. --tier asks for some tiers only, and --all for all seeds.

It pushes a branch, furrow/<base>/retry/<seed> or furrow/<base>/retry-tier/<seed>/<cluster>/<tier>,
which the run acts on from its next pass on, and deletes when nothing is left to do for it. Where no
run is under way, it waits for one. The proposals say who asked for them, and why: that is recorded on
the branch furrow/<base>/rollout/<seed>.`,
		Example: "  furrow retry edge-5g\n  furrow retry edge-5g --tier edge-1/01 --reason 'the gateway is back'\n  furrow retry --all",
		Args:    which.args, ValidArgsFunction: session.completeSeeds,
	}
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
		seed := strings.Join(args, "")
		tiers, err := which.of(seed)
		if err != nil {
			return err
		}
		return askOf(cmd, s, seed, func(ctx context.Context, a *asking) error {
			if which.all {
				return retryAll(ctx, a, &who, yes)
			}
			if err := mayOverwrite(ctx, a, yes, tiers...); err != nil {
				return err
			}
			return retry(ctx, a, &who, tiers...)
		})
	})
	session.addAsking(cmd)
	addOverwrite(cmd, &yes)
	which.add(cmd)
	who.add(cmd)
	return cmd
}

// retryFlags say what a retry is for.
type retryFlags struct {
	tiers []string
	all   bool
}

func (f *retryFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(listFlag(&f.tiers, tierName), "tier", "retry this tier only, as in edge-1/01; several with commas between them")
	cmd.Flags().BoolVar(&f.all, "all", false, "retry all seeds that have something to retry")
}

// maxRetriedTiers bounds --tier: the annotation of a Seed has room for as many.
const maxRetriedTiers = 5

// args checks what is named against the flags.
func (f *retryFlags) args(cmd *cobra.Command, args []string) error {
	switch {
	case f.all && (len(args) > 0 || len(f.tiers) > 0):
		return usageError{errors.New("--all is for all seeds: name no seed and no --tier")}
	case f.all:
		return nil
	case len(f.tiers) > maxRetriedTiers:
		return usageError{fmt.Errorf("--tier is given %d times, and %d are the most: leave it out to retry the whole seed", len(f.tiers), maxRetriedTiers)}
	}
	return exactly(1, "the name of one seed, or --all")(cmd, args)
}

// of returns the tiers of a seed that are named.
func (f *retryFlags) of(seed string) (tiers []layout.Tier, err error) {
	for _, text := range f.tiers {
		t, err := layout.ParseTier(seed, text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--tier: %w", err)}
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// retryAll retries the seeds that have something to retry. Nothing is asked for before it is known
// that nothing of people is lost, or that it may be.
func retryAll(ctx context.Context, a *asking, who *whoFlags, yes bool) error {
	if a.report == nil {
		return controlplane.ErrNoStatus
	}
	var seeds []*asking
	for i := range a.report.Seeds {
		one := *a
		one.status = &a.report.Seeds[i]
		if one.seed = one.status.Name; len(retriable(one.status)) == 0 {
			continue
		}
		if err := mayOverwrite(ctx, &one, yes); err != nil {
			return err
		}
		seeds = append(seeds, &one)
	}
	if len(seeds) == 0 {
		fmt.Fprintf(a.out, "Nothing to retry: no tier is rejected, reverted or held by foreign content, as of the last pass, reported %s ago.\n", age(time.Now(), a.report.LastPass))
	}
	for _, one := range seeds {
		if err := retry(ctx, one, who); err != nil {
			return err
		}
	}
	return nil
}

func addOverwrite(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do it also where it proposes to delete or replace files of people")
}

// errFilesOfPeople ends a retry that would propose to delete or replace files of people.
var errFilesOfPeople error = manifest.Problem{Reason: v1alpha1.ReasonNotConfirmed, Message: "nothing was changed. Move the files somewhere else; or, if they may go, add --yes: merging the proposals then deletes or replaces them"}

// mayOverwrite lists the files of people that the proposals delete or replace.
func mayOverwrite(ctx context.Context, a *asking, yes bool, tiers ...layout.Tier) error {
	o, err := a.Overwritten(ctx, a.seed, tiers...)
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
	var who whoFlags
	cmd := newAsk(&cobra.Command{
		Use:   "confirm SEED",
		Short: "Begin a removal that the deletion guard holds",
		Long: `Confirm asks the run that owns the seed to begin with a removal that the deletion guard holds:
that of the seed, or of objects that left it. It says what is removed. Each tier is still
proposed for review. Where no removal of the seed is held, confirm does nothing.

It pushes a branch, furrow/<base>/confirm/<seed> or furrow/<base>/confirm-leaving/<seed>, which the
run acts on from its next pass on, and deletes when the removal is done. Where no run is under way,
it waits for one.`,
		Example: "  furrow confirm edge-5g",
	}, func(ctx context.Context, a *asking) error { return confirm(ctx, a, who.by) })
	who.addBy(cmd)
	return cmd
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
	session.addAsking(cmd)
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
func retry(ctx context.Context, a *asking, who *whoFlags, only ...layout.Tier) error {
	if len(only) > 0 {
		if err := a.RetryTiers(ctx, a.seed, only, who.who(ctx), who.why); err != nil {
			return err
		}
		names := make([]string, len(only))
		for i, t := range only {
			names[i] = t.Name()
		}
		fmt.Fprintf(a.out, "Requested: the next pass proposes again, of seed %s: %s, as far as it was rejected, reverted or held by foreign content. See 'furrow status %[1]s'.\n", a.seed, some(names))
		return nil
	}
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
func confirm(ctx context.Context, a *asking, by string) error {
	removed, err := a.Confirm(ctx, a.seed, by)
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
	if beyond := a.Beyond(a.seed); len(beyond) > 0 {
		fmt.Fprintln(a.out, "With them goes what is not of the seed:")
		for _, line := range beyond {
			fmt.Fprintf(a.out, "  %s\n", manifest.Printable(line))
		}
	}
	return nil
}

// asOf returns how the seed is, and when that was found out.
func (a *asking) asOf() string {
	return fmt.Sprintf("It is %s, as of the last pass, reported %s ago.", a.status.State, age(time.Now(), a.report.LastPass))
}
