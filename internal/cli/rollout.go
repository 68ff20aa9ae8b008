package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
)

func newRollout() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Pause a rollout, let it go on, or go on without a wave",
		Long: `A seed may go out in waves of clusters (spec.rollout.waves of the Seed). These commands act on the
rollout of one seed. What is asked for is recorded, with who asked and why, on the branch
furrow/<base>/rollout/<seed>, and counts from the next pass on.`,
		Example: `  furrow rollout pause web
  furrow rollout resume web
  furrow rollout skip web canary`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPause(), newResume(), newSkip())
	return cmd
}

// whoFlags are who asks, and why.
type whoFlags struct{ by, why string }

func (f *whoFlags) add(cmd *cobra.Command) {
	f.addBy(cmd)
	cmd.Flags().StringVar(&f.why, "reason", "", "why, for the record")
}

func (f *whoFlags) addBy(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.by, "by", "", "who asks, for the record; by default the user.name of git, or the user at this machine")
}

// who returns who asks; empty where nobody says, and neither git nor the machine has a name.
func (f *whoFlags) who(ctx context.Context) string {
	if f.by != "" {
		return f.by
	}
	if name := gitSetting(ctx, "user.name"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func newPause() *cobra.Command {
	var flags whoFlags
	cmd := newAsk(&cobra.Command{
		Use:   "pause SEED",
		Short: "Stop the rollout of a seed",
		Long: `Pause stops the rollout of a seed, with waves or without: nothing of it is proposed or updated, and
the gates of its open proposals are shut, until 'furrow rollout resume'. What was merged goes on.`,
		Example: "  furrow rollout pause web --reason 'the shop is closed'",
	}, func(ctx context.Context, a *asking) error {
		changed, err := a.Pause(ctx, a.seed, flags.who(ctx), flags.why)
		return a.answer(changed, err, "is paused", "is paused already")
	})
	flags.add(cmd)
	return cmd
}

func newResume() *cobra.Command {
	return newAsk(&cobra.Command{
		Use:     "resume SEED",
		Short:   "Let a paused rollout go on",
		Long:    `Resume lets the rollout of a seed go on that 'furrow rollout pause' stopped.`,
		Example: "  furrow rollout resume web",
	}, func(ctx context.Context, a *asking) error {
		changed, err := a.Resume(ctx, a.seed)
		return a.answer(changed, err, "goes on", "is not paused")
	})
}

func newSkip() *cobra.Command {
	var flags whoFlags
	var now bool
	var wave string
	var session sessionFlags
	cmd := &cobra.Command{
		Use:   "skip SEED [WAVE]",
		Short: "Go on without waiting for a wave, or for any",
		Long: `Skip lets the rollout of a seed go on although a wave is not done, or has not soaked: the next wave
opens. With --now there are no waves, windows, soaks or limits at all, as for a rollback that
cannot wait; tiers still wait for what they depend on, and people still merge. Both count for the
plan that the control plane asks for now, and end with the next one.`,
		Example: `  furrow rollout skip web canary --reason 'its cluster is being rebuilt'
  furrow rollout skip web --now --reason 'roll back 1.4'`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: session.completeSeeds,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if wave = strings.Join(args[1:], ""); (wave == "") != now {
			return usageError{errors.New("name the wave to go on without, or add --now for all of them")}
		}
		return session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
			return askOf(cmd, s, args[0], func(ctx context.Context, a *asking) error {
				changed, err := a.Skip(ctx, a.seed, wave, flags.who(ctx), flags.why)
				what := fmt.Sprintf("goes on without wave %s", wave)
				if now {
					what = "goes to all clusters at once"
				}
				return a.answer(changed, err, what+", as long as its plan stays", what+" already")
			})
		})(cmd, args)
	}
	session.addAsking(cmd)
	flags.add(cmd)
	cmd.Flags().BoolVar(&now, "now", false, "go to all clusters at once, whatever the waves, windows and limits")
	return cmd
}

// answer says what became of a request about a rollout.
func (a *asking) answer(changed bool, err error, done, already string) error {
	switch {
	case err != nil:
		return err
	case !changed:
		fmt.Fprintf(a.out, "Nothing to do: the rollout of seed %s %s. See 'furrow status %[1]s'.\n", a.seed, already)
	default:
		fmt.Fprintf(a.out, "Requested: from the next pass on, the rollout of seed %s %s. See 'furrow status %[1]s'.\n", a.seed, done)
	}
	return nil
}
