package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

var rolloutRequest = request{"rollout", "request about the rollout", "", v1alpha1.AnnotationRollout, func(s *v1alpha1.Seed) string { return s.Status.Handled.Rollout }}

func newKubeRollout(f *kubeFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Pause a rollout, let it go on, or go on without a wave",
		Long: `A Seed may go out in waves of clusters (spec.rollout.waves). These commands act on the rollout of
one Seed. They write the annotation furrow.dev/rollout, and wait until the controller has acted on
it. What is asked for is recorded in Git, with who asked and why.`,
		Example: `  kubectl furrow rollout pause web
  kubectl furrow rollout skip web canary`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newKubeRolloutAsk(f, "pause", &cobra.Command{
			Use:   "pause SEED",
			Short: "Stop the rollout of a Seed",
			Long: `Pause stops the rollout of a Seed, with waves or without: nothing of it is proposed or updated, and
the gates of its open proposals are shut, until 'kubectl furrow rollout resume'.`,
			Example: "  kubectl furrow rollout pause web --reason 'the shop is closed'",
		}),
		newKubeRolloutAsk(f, "resume", &cobra.Command{
			Use:     "resume SEED",
			Short:   "Let a paused rollout go on",
			Long:    `Resume lets the rollout of a Seed go on that 'kubectl furrow rollout pause' stopped.`,
			Example: "  kubectl furrow rollout resume web",
		}),
		newKubeRolloutAsk(f, "skip", &cobra.Command{
			Use:   "skip SEED [WAVE]",
			Short: "Go on without waiting for a wave, or for any",
			Long: `Skip lets the rollout of a Seed go on although a wave is not done, or has not soaked. With --now
there are no waves, windows, soaks or limits at all, as for a rollback that cannot wait. Both end
with the next plan.`,
			Example: `  kubectl furrow rollout skip web canary
  kubectl furrow rollout skip web --now --reason 'roll back 1.4'`,
		}),
	)
	return cmd
}

// newKubeRolloutAsk makes a command that asks something of the rollout of one Seed.
func newKubeRolloutAsk(f *kubeFlags, verb string, cmd *cobra.Command) *cobra.Command {
	var wait waitFlags
	var flags whoFlags
	now := false
	cmd.Args = exactly(1, "the name of one Seed")
	if verb == "skip" {
		cmd.Args = cobra.RangeArgs(1, 2)
		cmd.Flags().BoolVar(&now, "now", false, "go to all clusters at once, whatever the waves, windows and limits")
	}
	cmd.ValidArgsFunction = f.completeSeeds
	cmd.RunE = f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
		wave := strings.Join(args[1:], "")
		if verb == "skip" && (wave == "") != now {
			return usageError{errors.New("name the wave to go on without, or add --now for all of them")}
		}
		seed, err := c.seed(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		value := rolloutValue(cmd.Context(), verb, wave, c.now(), flags)
		if err := c.annotate(cmd.Context(), seed, rolloutRequest.annotation, value); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Requested: the controller changes the rollout of Seed %s.\n", seed.Name)
		return c.report(cmd.Context(), cmd.OutOrStdout(), &wait, askedOf(seed, rolloutRequest, value))
	})
	flags.add(cmd)
	wait.add(cmd)
	return cmd
}

// rolloutValue is the value of the annotation, which the time makes another one than before.
func rolloutValue(ctx context.Context, verb, wave string, at time.Time, flags whoFlags) string {
	words := []string{verb}
	switch {
	case wave != "":
		words = append(words, wave)
	case verb == "skip":
		words[0] = "now"
	}
	return requestValue(ctx, append(words, at.UTC().Format(time.RFC3339Nano)), flags)
}

// requestValue is the value of an annotation that says who asks, and why.
func requestValue(ctx context.Context, words []string, flags whoFlags) string {
	if by := strings.Join(strings.Fields(flags.who(ctx)), " "); by != "" {
		words = append(words, "by", by)
	}
	if why := strings.Join(strings.Fields(flags.why), " "); why != "" {
		words = append(words, "because", why)
	}
	return strings.TrimSpace(truncate.Prefix(strings.Join(words, " "), v1alpha1.MaxRequest))
}
