package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
)

func newAdopt() *cobra.Command {
	var session sessionFlags
	var which engine.AdoptSelection
	cmd := &cobra.Command{
		Use:   "adopt [SEED...]",
		Short: "Take over plans of another control plane, as after a repository was moved or renamed",
		Long: `Adopt makes plans of another control plane those of this one. A plan belongs to the control
plane that made it: to its id and environment, and to its origin, which is its repository, branch
and path. No other one overwrites or removes it; a seed of the same name is Stalled there. When a
repository is moved, or a control plane gets another name, its plans are adopted on purpose.

Without arguments it lists the plans of others in the GitOps repositories of this control plane,
and changes nothing. With names of seeds it adopts their plans; with --from all plans of one
control plane, with its status and the clusters that it gave up.

From the next pass on this control plane cares for what it adopted: it updates those seeds that it
has, and proposes the removal of those that it does not have, as far as the deletion guard lets it.
A plan that cannot be read, or that a newer Furrow wrote, is reported, with exit code 3; the others
are adopted.
Stop whatever runs for the other control plane first, or it reports those seeds as Stalled.`,
		Example: `  furrow adopt
  furrow adopt web shop
  furrow adopt --from control-plane/default --origin 3f2a91bc04de`,
	}
	cmd.ValidArgsFunction = session.completeSeeds
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, args []string) error {
		if len(args) == 0 && which.Owner == "" {
			foreign, problems, err := s.Engine().Foreign(cmd.Context())
			if err != nil {
				return err
			}
			if len(foreign) > 0 || len(problems) == 0 {
				foreignTable(cmd.OutOrStdout(), foreign)
			}
			return reportUnadopted(cmd, problems)
		}
		which.Seeds = args
		adopted, problems, err := s.Engine().Adopt(cmd.Context(), which)
		for _, f := range adopted {
			fmt.Fprintf(cmd.OutOrStdout(), "Adopted the plan of seed %s in %s, of control plane %s.\n", f.Seed, f.Repo, f.Of)
			if !f.Held {
				fmt.Fprintf(cmd.OutOrStdout(), "  This control plane has no seed %s: its removal is proposed from the next pass on.\n", f.Seed)
			}
		}
		return cmp.Or(err, reportUnadopted(cmd, problems))
	})
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case which.Owner != "" && len(args) > 0:
			return usageError{errors.New("name seeds or use --from, not both")}
		case which.Origin != "" && which.Owner == "" && len(args) == 0:
			return usageError{errors.New("--origin needs --from, or the names of seeds")}
		}
		return nil
	}
	session.add(cmd)
	cmd.Flags().Var(textFlag(&which.Owner, "", ownerOfPlans), "from", "adopt all plans of this control plane, <id>/<environment>")
	cmd.Flags().Var(textFlag(&which.Origin, "", originDigits), "origin", "only plans of this origin, or what begins so, where several control planes have the same id and environment")
	return cmd
}

// reportUnadopted prints the plans that cannot be adopted, with exit code 3.
func reportUnadopted(cmd *cobra.Command, problems manifest.Problems) error {
	if len(problems) == 0 {
		return nil
	}
	printErrors(cmd.ErrOrStderr(), problems)
	return errProblems
}

// foreignTable lists plans of other control planes, and whether this one has a seed of the name:
// without, adopting a plan leads to its removal.
func foreignTable(w io.Writer, foreign []engine.ForeignPlan) {
	if len(foreign) == 0 {
		fmt.Fprintln(w, "No other control plane has a plan in the GitOps repositories of this one.")
		return
	}
	lines := [][]string{{"SEED", "REPOSITORY", "OWNER", "ORIGIN", "REVISION", "HERE"}}
	for _, f := range foreign {
		here := "no such seed"
		if f.Held {
			here = "has the seed"
		}
		lines = append(lines, []string{f.Seed, f.Repo, f.Of.Owner, f.Of.ShortOrigin(), f.Revision, here})
	}
	rows(w, lines)
}
