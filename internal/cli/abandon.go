package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/state"
)

func newAbandon() *cobra.Command {
	var session sessionFlags
	var undo bool
	var who whoFlags
	cmd := &cobra.Command{
		Use:   "abandon CLUSTER",
		Short: "Give up a cluster that never answers again, so seeds can leave it",
		Long: `Abandon reports to the run that a cluster is gone for good. What is to go from the cluster, with its
seed or because the cluster left the control plane, then counts as gone although nobody answers
there. Where a hub reconciles the cluster and does answer, each tier is proposed twice: first so
that the hub leaves on the cluster what it applied there and does not wait for it, then to be
removed. Nothing else changes: what is to stay on the cluster stays unknown, and a cluster that
answers after all counts as it is.

It pushes a branch, furrow/<base>/abandon/<id>/<environment>/<origin>/<cluster>, to every GitOps
repository that has something of the cluster. The run acts on it from its next pass on, and deletes it when no
plan has anything on the cluster any more. --undo deletes it at once, as when the cluster is back;
what was orphaned by then stays so.`,
		Example: `  furrow abandon edge-17
  furrow abandon edge-17 --undo`,
		Args: exactly(1, "the name of one cluster"),
	}
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
		requests, err := s.Engine().Requests(cmd.Context())
		if err != nil {
			return err
		}
		ask := func(ctx context.Context, cluster string) error { return requests.Abandon(ctx, cluster, who.by) }
		done := "Requested: from the next pass on, no removal waits for cluster %s. See 'furrow status'; to take it back, 'furrow abandon %[1]s --undo'."
		if undo {
			ask, done = requests.UndoAbandon, "Undone: from the next pass on, removals from cluster %s wait for it again. See 'furrow status'."
		}
		if err := ask(cmd.Context(), args[0]); err != nil {
			return err
		}
		var seeds []state.Seed
		if st, err := s.Status(cmd.Context()); err == nil { // else nobody has reported what is there
			seeds = seedsOn(st, args[0])
		}
		return abandonTable(cmd.OutOrStdout(), fmt.Sprintf(done, args[0]), seeds, args[0])
	})
	session.addAsking(cmd)
	who.addBy(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "take it back: wait for the cluster again")
	return cmd
}
