package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
)

// kubePlan is kubectl furrow plan.
type kubePlan struct {
	kubeSession
	output outputFlag
}

func newKubePlan(f *kubeFlags) *cobra.Command {
	p := &kubePlan{}
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
	cmd.Flags().Var(textFlag(&p.ref, "", branchName), "ref", "branch of the control-plane repository to look at instead of the Seed's")
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
	preview, err := s.Engine().Preview(ctx, name)
	if err != nil {
		return err
	}
	for _, problem := range preview.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "error: "+problem.Error())
	}
	view, err := previewViewOf(name, preview)
	if err != nil {
		return err
	}
	if err := p.output.write(cmd.OutOrStdout(), view, func(w io.Writer) { previewTable(w, preview, view, p.ref == "") }); err != nil {
		return err
	}
	if preview.Message != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "error: "+preview.Message)
		return errProblems
	}
	return nil
}

// previewView is what -o yaml shows.
type previewView struct {
	Seed string `json:"seed"`
	// Revision of the control plane that was looked at.
	Revision string `json:"revision"`
	Message  string `json:"message,omitempty"`
	// InForce is the plan in force, and Next the one that takes its place, as plan.yaml has it.
	InForce any          `json:"inForce,omitempty"`
	Next    any          `json:"next,omitempty"`
	Changes []tierChange `json:"changes"`
}

type tierChange struct {
	Cluster string   `json:"cluster"`
	Ordinal int      `json:"ordinal"`
	Change  string   `json:"change"`
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	// Contents and Reconciler say what of the tier changes.
	Contents   bool `json:"contents,omitempty"`
	Reconciler bool `json:"reconciler,omitempty"`
}

func previewViewOf(seed string, p *engine.Preview) (*previewView, error) {
	v := &previewView{Seed: seed, Revision: p.Revision, Message: p.Message, Changes: []tierChange{}}
	for _, half := range []struct {
		of *plan.Plan
		to *any
	}{{p.InForce, &v.InForce}, {p.Next, &v.Next}} {
		if half.of == nil {
			continue
		}
		var err error
		if *half.to, err = planView(half.of); err != nil {
			return nil, err
		}
	}
	for _, c := range plan.Compare(p.InForce, p.Next) {
		v.Changes = append(v.Changes, tierChange{
			Cluster: c.Cluster, Ordinal: c.Ordinal, Change: string(c.Difference), Added: idStrings(c.Added), Removed: idStrings(c.Removed),
			Contents: c.Contents, Reconciler: c.Reconciler,
		})
	}
	return v, nil
}

func idStrings(ids []manifest.ID) []string {
	var out []string
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

// signs stand before the tiers that change.
var signs = map[plan.Difference]string{plan.TierNew: "+", plan.TierChanges: "~", plan.TierLeaves: "-"}

// previewTable shows the plan in force, if it is wanted, and what becomes of it.
func previewTable(w io.Writer, p *engine.Preview, v *previewView, whole bool) {
	switch {
	case p.InForce == nil && p.Next == nil:
		fmt.Fprintf(w, "Seed %s has no plan.\n", v.Seed)
		return
	case p.InForce == nil && whole:
		fmt.Fprintf(w, "No plan of seed %s is in force yet. This one is to be:\n\n", v.Seed)
		planTable(w, p.Next)
		return
	case whole:
		planTable(w, p.InForce)
	}
	counts := map[plan.Difference]int{}
	for _, c := range v.Changes {
		counts[plan.Difference(c.Change)]++
	}
	var parts []string
	for _, d := range []struct {
		kind plan.Difference
		text string
	}{{plan.TierNew, "new"}, {plan.TierChanges, "to change"}, {plan.TierLeaves, "to leave"}, {plan.TierStays, "to stay"}} {
		if n := counts[d.kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural(n, "tier"), d.text))
		}
	}
	if counts[plan.TierStays] == len(v.Changes) {
		fmt.Fprintf(w, "With %s nothing changes.\n", v.Revision)
		return
	}
	fmt.Fprintf(w, "With %s: %s\n", v.Revision, strings.Join(parts, ", "))
	for _, c := range v.Changes {
		changeLines(w, c)
	}
}

func changeLines(w io.Writer, c tierChange) {
	sign, changes := signs[plan.Difference(c.Change)]
	if !changes {
		return
	}
	fmt.Fprintf(w, "\n%s %s tier %02d", sign, c.Cluster, c.Ordinal)
	switch {
	case c.Change != string(plan.TierChanges) || len(c.Added)+len(c.Removed) > 0:
	case !c.Contents:
		fmt.Fprint(w, " (its reconciler object)")
	default:
		fmt.Fprint(w, " (the content of its objects)")
	}
	fmt.Fprintln(w)
	for _, id := range c.Added {
		fmt.Fprintln(w, "    + "+id)
	}
	for _, id := range c.Removed {
		fmt.Fprintln(w, "    - "+id)
	}
}
