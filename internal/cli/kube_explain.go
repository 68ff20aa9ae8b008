package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// kubeExplain is kubectl furrow explain.
type kubeExplain struct {
	kubeSession
	output outputFlag
	seed   string
}

func newKubeExplain(f *kubeFlags) *cobra.Command {
	e := &kubeExplain{output: outputFlag{hasWide: true}}
	cmd := &cobra.Command{
		Use:   "explain OBJECT",
		Short: "Explain where an object goes and why, and what it waits for",
		Long: `Explain says of one object on which clusters it is placed and by which rule, which tier it is
in, the longest chain of what must be ready before it (each step with its tier, how far that is, and
the rule and field by which it waits for the step before), and what it waits for now, as the
resources have it. Of what the controller has not planned yet it says so, and of an object that is being removed, from where.

OBJECT is group/Kind/namespace/name, or any end of it that is unambiguous, such as
Deployment/app/web or web. The core group is written "core".

The repositories are read with the credentials in the Secrets that the resources name, as far
as you may read them; --credentials names a directory with your own.`,
		Example: `  kubectl furrow explain Deployment/core/upf
  kubectl furrow explain web --seed shop -o yaml`,
		Args: exactly(1, "one object"),
		RunE: f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
			explanation, err := e.explain(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			return e.output.write(cmd.OutOrStdout(), explanation, func(w io.Writer) { explanationTable(w, explanation, e.output.wide()) })
		}),
	}
	e.add(cmd)
	e.output.add(cmd)
	cmd.Flags().Var(textFlag(&e.seed, "", dnsLabel), "seed", "Seed to search, if several have such an object")
	mustComplete(cmd, "seed", f.completeSeeds)
	explainRules(cmd, &e.output)
	return cmd
}

// explain searches the plans of all control planes of the namespace, or that of one Seed, for the
// object. Control planes that cannot be opened count only where no other has the object: the user
// may not be able to read the credentials of each.
func (e *kubeExplain) explain(ctx context.Context, c *kubeCluster, object string) (*explanation, error) {
	planes, seeds, err := e.planes(ctx, c)
	if err != nil {
		return nil, err
	}
	var found []*explanation
	var failed []error
	for _, cp := range planes {
		one, err := e.explainIn(ctx, c, cp, seeds, object)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found = append(found, one)
	}
	switch len(found) {
	case 0:
		return nil, errors.Join(failed...)
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, one := range found {
		names[i] = one.Seed
	}
	return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownObject, Message: fmt.Sprintf("%q could be of any of these Seeds; choose one with --seed: %s", object, strings.Join(names, ", "))}
}

// planes returns the control planes to search, each once, and the Seeds by name. A name is in one
// namespace, so it is unique here.
func (e *kubeExplain) planes(ctx context.Context, c *kubeCluster) ([]fleet.ControlPlane, map[string]*v1alpha1.Seed, error) {
	if e.seed != "" {
		s, err := c.seed(ctx, e.seed)
		if err != nil {
			return nil, nil, err
		}
		return []fleet.ControlPlane{fleet.Of(s)}, map[string]*v1alpha1.Seed{s.Name: s}, nil
	}
	var list v1alpha1.SeedList
	if err := c.List(ctx, &list, c.in()...); err != nil {
		return nil, nil, err
	}
	var planes []fleet.ControlPlane
	seeds := map[string]*v1alpha1.Seed{}
	for i := range list.Items {
		s := &list.Items[i]
		seeds[s.Name] = s
		if cp := fleet.Of(s); !slices.Contains(planes, cp) {
			planes = append(planes, cp)
		}
	}
	if len(planes) == 0 {
		return nil, nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: fmt.Sprintf("there are no Seeds in %s; choose another namespace with -n", c.where())}
	}
	return planes, seeds, nil
}

// explainIn explains an object of one control plane. How far the tiers are comes from the resources.
func (e *kubeExplain) explainIn(ctx context.Context, c *kubeCluster, cp fleet.ControlPlane, seeds map[string]*v1alpha1.Seed, object string) (*explanation, error) {
	s, err := e.open(ctx, c, cp)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return explainIn(ctx, s, wanted{object, e.seed, "kubectl furrow plan SEED"}, func(name string) (*statusView, error) {
		seed := seeds[name]
		if seed == nil {
			return nil, manifest.Problem{Reason: v1alpha1.ReasonNoStatus, Seed: name, Message: fmt.Sprintf("there is no Seed %q in %s, so no controller reports on it", name, c.where())}
		}
		plantings, err := c.plantings(ctx, seed)
		if err != nil {
			return nil, err
		}
		return &statusView{State: c.state([]v1alpha1.Seed{*seed}, plantings, c.controllerSeen(ctx, controllerNamespace)), now: c.now()}, nil
	})
}
