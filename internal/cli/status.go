package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/state"
)

// statusCommand is what 'furrow status' and 'kubectl furrow status' have in common.
type statusCommand struct {
	output outputFlag
	watch  bool
	// exitCode has the exit code say how the seeds are.
	exitCode bool
}

func (c *statusCommand) add(cmd *cobra.Command, what string) {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("it takes the name of one %s, or none", what)}
		}
		return nil
	}
	c.output.hasWide = true
	c.output.add(cmd)
	cmd.Flags().BoolVar(&c.exitCode, "exit-code", false, "exit with 3 where a person is needed, and with 4 where not everything is Released")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "show it again whenever it changes, until interrupted")
}

// run shows a state once, or again and again. With --exit-code its error is the verdict on the
// state.
func (c *statusCommand) run(cmd *cobra.Command, source stateSource) error {
	if c.watch {
		return newStatusWatch(cmd, &c.output, source).run(cmd.Context())
	}
	st, err := source.read(cmd.Context())
	if err != nil {
		return err
	}
	if err := c.output.write(cmd.OutOrStdout(), st, func(w io.Writer) {
		v := statusView{State: st, now: source.now(), whole: c.output.wide(), none: source.none}
		v.head(w)
		v.body(w)
	}); err != nil || !c.exitCode {
		return err
	}
	return verdict(st)
}

// stateSource is where a state is read. It is what the two front ends differ in: furrow reads the
// status branch, kubectl furrow the resources.
type stateSource struct {
	read func(context.Context) (*state.State, error)
	now  func() time.Time
	// changes sends whenever the state may have changed, and returns an error that ends a watch at
	// its beginning; nil where it has to be read again to know.
	changes func(context.Context) (<-chan struct{}, error)
	// none is the line where there are no seeds; by default what to do about it.
	none string
}

func newStatus() *cobra.Command {
	var session sessionFlags
	var status statusCommand
	cmd := &cobra.Command{
		Use:   "status [SEED]",
		Short: "Show which tier is where, what blocks it, and which proposals wait for you",
		Long: `Status shows what 'furrow run' reported last, from the branch
furrow/<base>/status/<id>/<environment> of the GitOps repository, and how long ago that was. It
warns when that is more than three intervals ago, because then no run seems to be active. Seeds that
need a person come first. Clusters that are equal are shown as one; -o wide shows each.

With --watch it shows that again whenever it changes: in place on a terminal, one below the other
elsewhere. What was read last stays while the repositories cannot be read.

Exit codes: 0 shown, whatever the states; 1 it cannot be read; 2 wrong usage. With --exit-code also
3 where a seed is Stalled or has a tier that is Held, Failed, Rejected or Reverted, or a repository
has a problem, and 4 where not everything is Released.`,
		Example: `  furrow status
  furrow status edge-5g --watch`,
		ValidArgsFunction: session.completeSeeds,
		RunE: func(cmd *cobra.Command, args []string) error {
			return status.run(cmd, stateSource{now: time.Now, read: func(ctx context.Context) (*state.State, error) {
				return publishedState(ctx, &session, strings.Join(args, ""))
			}})
		},
	}
	session.add(cmd)
	status.add(cmd, "seed")
	return cmd
}

// publishedState returns what was reported last, of all seeds or of one. It opens and closes the
// session, so a watch holds nothing between two readings.
func publishedState(ctx context.Context, session *sessionFlags, seed string) (*state.State, error) {
	s, err := session.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	st, err := s.Status(ctx)
	if err != nil || seed == "" {
		return st, err
	}
	one, ok := st.Seed(seed)
	if !ok {
		names := make([]string, len(st.Seeds))
		for i, s := range st.Seeds {
			names[i] = s.Name
		}
		return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: fmt.Sprintf("there is no seed %q in the status; there are: %s", seed, strings.Join(names, ", "))}
	}
	st.Seeds = []state.Seed{*one}
	return st, nil
}
