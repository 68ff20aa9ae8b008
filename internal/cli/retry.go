package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/engine"
)

func newRetry() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:   "retry SEED",
		Short: "Propose again what was rejected, reverted, or held by foreign content",
		Long: `Retry asks the run that owns the seed to propose again the tiers that a person turned down or
took back, and those that are held because the base branch has content of others on their
paths. Merging such a proposal replaces that content.

It pushes a branch, furrow/<base>/retry/<seed>, which the run acts on from its next pass on, and
deletes when nothing is left to do for it. Where no run is under way, it waits for one.`,
		Example: "  furrow retry edge-5g",
	}, (*engine.Engine).Retry, "Asked: the tiers of seed %s are proposed again on the next pass. See 'furrow status %[1]s'.\n")
}

func newConfirm() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:   "confirm SEED",
		Short: "Begin a removal that the deletion guard holds",
		Long: `Confirm asks the run that owns the seed to begin with its removal, which the deletion guard
holds. Each tier is still proposed for review.

It pushes a branch, furrow/<base>/confirm/<seed>, which the run acts on in its next pass and then
deletes. Where no run is under way, it waits for one.`,
		Example: "  furrow confirm edge-5g",
	}, (*engine.Engine).Confirm, "Asked: the removal of seed %s begins on the next pass. See 'furrow status %[1]s'.\n")
}

// newAsk makes a command by which a person asks something about one seed.
func newAsk(cmd *cobra.Command, ask func(*engine.Engine, context.Context, string) error, done string) *cobra.Command {
	var session sessionFlags
	cmd.Args = exactly(1, "the name of one seed")
	cmd.ValidArgsFunction = session.completeSeeds
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
		if err := ask(s.Engine(), cmd.Context(), args[0]); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), done, args[0])
		return nil
	})
	session.add(cmd)
	session.addOwner(cmd)
	return cmd
}
