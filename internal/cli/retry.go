package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/engine"
)

func newRetry() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:   "retry SEED",
		Short: "Propose again what was rejected, reverted, or held by foreign content",
		Long: `Retry proposes again the tiers of a seed that a person turned down or took back, and those
that are held because the base branch has content of others on their paths. Merging such a
proposal replaces that content.`,
		Example: "  furrow retry edge-5g",
	}, (*engine.Engine).Retry)
}

func newConfirm() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:     "confirm SEED",
		Short:   "Let the removal of a seed begin that the deletion guard holds",
		Long:    "Confirm begins the removal of one seed that is gone from the control plane. Each tier is still proposed for review.",
		Example: "  furrow confirm edge-5g",
	}, (*engine.Engine).Confirm)
}

// newAsk makes a command that asks the engine for one pass about one seed.
func newAsk(cmd *cobra.Command, pass func(*engine.Engine, context.Context, string) (*engine.Report, error)) *cobra.Command {
	var session sessionFlags
	var output outputFlag
	cmd.Args = exactly(1, "the name of one seed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		s, err := session.open()
		if err != nil {
			return err
		}
		defer s.Close()
		report, err := pass(s.Engine(), cmd.Context(), args[0])
		if err != nil {
			return err
		}
		one, ok := report.Seed(args[0])
		if !ok {
			return fmt.Errorf("there is no seed %q", args[0])
		}
		report.Seeds = []engine.SeedReport{*one}
		return output.write(cmd.OutOrStdout(), report, func(w io.Writer) { statusTable(w, report) })
	}
	session.add(cmd)
	output.add(cmd)
	return cmd
}
