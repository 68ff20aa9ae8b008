package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/state"
)

// kubeAbandon is kubectl furrow abandon. The clusters that are given up are in an annotation of
// each Seed, so the command writes to every Seed that is planted on the cluster, and reports on
// each.
type kubeAbandon struct {
	undo, yes bool
	who       whoFlags
	wait      waitFlags
}

func newKubeAbandon(f *kubeFlags) *cobra.Command {
	a := &kubeAbandon{}
	cmd := &cobra.Command{
		Use:   "abandon CLUSTER",
		Short: "Give up a cluster that never answers again, so removals go on without it",
		Long: `Abandon names a cluster of the fleet in the annotation furrow.dev/abandon of every Seed that is
planted on it: removals no longer wait for that cluster, and whatever still
runs there is left behind. It changes nothing but with --yes; without it, it says what it would do.

--undo takes the cluster out of the annotations again. What was given up meanwhile stays so.`,
		Example: `  kubectl furrow abandon site-b
  kubectl furrow abandon site-b --yes
  kubectl furrow abandon site-b --undo`,
		Args:              exactly(1, "the name of one cluster"),
		ValidArgsFunction: f.completeClusters,
		RunE: f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
			return a.run(cmd, c, args[0])
		}),
	}
	f.addAll(cmd)
	a.wait.add(cmd)
	a.who.addBy(cmd)
	cmd.Flags().BoolVar(&a.undo, "undo", false, "take it back")
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "confirm that what runs on the cluster is given up")
	return cmd
}

// run asks every Seed first and then waits for each: the controller acts on all of them in one
// pass.
func (a *kubeAbandon) run(cmd *cobra.Command, c *kubeCluster, cluster string) error {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	seeds, st, err := a.seeds(ctx, c, cluster)
	if err != nil {
		return err
	}
	if !a.undo && !a.yes {
		if err := abandonTable(w, fmt.Sprintf("Cluster %s would be given up by:", cluster), st.Seeds, cluster); err != nil {
			return err
		}
		return manifest.Problem{Reason: v1alpha1.ReasonNotConfirmed, Message: "nothing was changed. Whatever runs on the cluster is left behind if you go on: add --yes if that is meant"}
	}
	waiting := make([]asked, len(seeds))
	for i := range seeds {
		if waiting[i], err = a.ask(ctx, c, &seeds[i], cluster); err != nil {
			return fmt.Errorf("the list of Seed %s/%s: %w", seeds[i].Namespace, seeds[i].Name, err)
		}
	}
	does := "gives up"
	if a.undo {
		does = "no longer gives up"
	}
	if err := abandonTable(w, fmt.Sprintf("Requested: the controller %s cluster %s, for:", does, cluster), st.Seeds, cluster); err != nil {
		return err
	}
	for _, one := range waiting {
		if err := c.report(ctx, w, &a.wait, one); err != nil {
			return fmt.Errorf("the list of Seed %s: %w", one.seed, err)
		}
	}
	return nil
}

// seeds returns those that are to change, as resources and with their state: that are planted on
// the cluster and have not given it up, or that have, with --undo.
func (a *kubeAbandon) seeds(ctx context.Context, c *kubeCluster, cluster string) ([]v1alpha1.Seed, *state.State, error) {
	all, plantings, err := c.resources(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	planted, clusters := map[client.ObjectKey]bool{}, map[string]bool{}
	for i := range plantings {
		p := &plantings[i]
		clusters[p.Spec.Cluster] = true
		if p.Spec.Cluster == cluster {
			planted[client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.Seed}] = true
		}
	}
	out := slices.DeleteFunc(all, func(s v1alpha1.Seed) bool {
		given := slices.Contains(abandoned(&s), cluster)
		return given != a.undo || !a.undo && !planted[client.ObjectKeyFromObject(&s)]
	})
	problem := manifest.Problem{Reason: v1alpha1.ReasonNothingToDo}
	switch {
	case len(out) > 0:
		return out, state.FromResources(out, plantings), nil
	case a.undo:
		problem.Message = fmt.Sprintf("no Seed in %s has given up cluster %q", c.where(), cluster)
	case len(planted) > 0:
		problem.Message = fmt.Sprintf("cluster %q is given up already by every Seed in %s that is planted on it", cluster, c.where())
	case len(clusters) == 0:
		problem.Message = fmt.Sprintf("there is no Planting in %s; choose another namespace with -n, or all with -A", c.where())
	default:
		problem.Reason = v1alpha1.ReasonUnknownCluster
		problem.Message = fmt.Sprintf("no Seed in %s is planted on a cluster %q; there are: %s", c.where(), cluster, strings.Join(nearest(cluster, slices.Sorted(maps.Keys(clusters))), ", "))
	}
	return nil, nil, problem
}

// abandoned returns the clusters that a Seed has given up, by its annotation.
func abandoned(s *v1alpha1.Seed) []string {
	clusters, _ := v1alpha1.ParseAbandon(s.Annotations[v1alpha1.AnnotationAbandon])
	return clusters
}

// ask puts the cluster into a Seed's list, or takes it out, whatever others change meanwhile. The
// patch fails if the Seed has changed since it was read (optimistic lock), and is then made of the
// Seed as it is: without that, of two people who each give up a cluster at once, one would undo
// what the other asked for.
func (a *kubeAbandon) ask(ctx context.Context, c *kubeCluster, seed *v1alpha1.Seed, cluster string) (asked, error) {
	for {
		list := a.listed(ctx, seed, cluster)
		err := c.annotate(ctx, seed, abandonment.annotation, list, client.MergeFromWithOptimisticLock{})
		if !apierrors.IsConflict(err) {
			return askedOf(seed, abandonment, list), err
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(seed), seed); err != nil {
			return asked{}, err
		}
	}
}

// listed returns the Seed's list with the cluster, or without it, sorted and without repetitions; then
// who asks.
func (a *kubeAbandon) listed(ctx context.Context, seed *v1alpha1.Seed, cluster string) string {
	names := slices.DeleteFunc(abandoned(seed), func(n string) bool { return n == cluster })
	if !a.undo {
		names = append(names, cluster)
	}
	slices.Sort(names)
	list := strings.Join(slices.Compact(names), ",")
	if by := strings.Join(strings.Fields(a.who.who(ctx)), " "); by != "" && !a.undo {
		list += " by " + by
	}
	return list
}
