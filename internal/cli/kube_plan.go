package cli

import (
	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/controllers/fleet"
)

// kubePlan is kubectl furrow plan.
type kubePlan struct {
	kubeSession
	output outputFlag
}

func newKubePlan(f *kubeFlags) *cobra.Command {
	p := &kubePlan{output: outputFlag{hasWide: true}}
	cmd := &cobra.Command{
		Use:   "plan SEED",
		Short: "Show the plan in force, and what the control plane would change about it",
		Long: `Plan shows the plan in force of a Seed, and what becomes of it with the control-plane
repository as it is now. With --ref it shows what another branch of that repository would
change, such as that of a pull request: which tiers are new, which change and which leave.
It changes nothing.

The repositories are read with the credentials in the Secrets that the resources name, as far
as you may read them; --credentials names a directory with your own. It exits with 3 when the
seed cannot be planned.`,
		Example: `  kubectl furrow plan edge-5g
  kubectl furrow plan edge-5g --ref add-slice -o yaml`,
		Args:              exactly(1, "the name of one Seed"),
		ValidArgsFunction: f.completeSeeds,
		RunE: f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
			return p.run(cmd, c, args[0])
		}),
	}
	p.add(cmd)
	p.output.add(cmd)
	cmd.Flags().Var(textFlag(&p.ref, "", branchName), "ref", "branch of the control-plane repository to read instead of the Seed's")
	return cmd
}

func (p *kubePlan) run(cmd *cobra.Command, c *kubeCluster, name string) error {
	ctx := cmd.Context()
	seed, err := c.seed(ctx, name)
	if err != nil {
		return err
	}
	s, err := p.open(ctx, c, fleet.Of(seed))
	if err != nil {
		return err
	}
	defer s.Close()
	previews, problems, err := s.Engine().Previews(ctx, name)
	if err != nil {
		return err
	}
	return showDiffs(cmd.OutOrStdout(), cmd.ErrOrStderr(), &p.output, previews, problems, p.ref == "")
}
