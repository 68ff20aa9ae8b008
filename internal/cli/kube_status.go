package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/internal/state"
)

// controllerNamespace is where the controller runs by default.
const controllerNamespace = "furrow-system"

func newKubeStatus(f *kubeFlags) *cobra.Command {
	var status statusCommand
	var namespace string
	cmd := &cobra.Command{
		Use:   "status [SEED]",
		Short: "Show which tier is where, what it waits for, and what waits for you",
		Long: `Status shows the Seeds of a namespace, or one, with their tiers and proposals, and what you are
asked to do. Seeds that need a person come first. Clusters that are equal are shown as one;
-o wide shows each, and everything that a tier waits for.

It warns when no controller seems to be at work.

Exit codes: 0 shown, whatever the states; 1 it cannot be read; 2 wrong usage. With --exit-code also
3 where a Seed is Stalled or has a tier that is Held, Failed, Rejected or Reverted, and 4 where not
everything is Released. 'kubectl wait' waits for a state.`,
		Example: `  kubectl furrow status -A
  kubectl furrow status edge-5g --watch`,
		ValidArgsFunction: f.completeSeeds,
		RunE: f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
			name := strings.Join(args, "")
			if name != "" && c.namespace == "" {
				return usageError{errors.New("one Seed is in one namespace: leave out --all-namespaces")}
			}
			return status.run(cmd, c.source(name, namespace))
		}),
	}
	f.addAll(cmd)
	status.add(cmd, "Seed")
	cmd.Flags().Var(textFlag(&namespace, controllerNamespace, dnsLabel), "controller-namespace", "namespace that the controller runs in, where its Lease says whether it does")
	return cmd
}

// source returns where the state is read that the resources have of all Seeds, or of one. A Seed
// that was there once and is not any more is a state to show, and not an error: a watch shows that.
func (c *kubeCluster) source(name, namespace string) stateSource {
	found := false
	out := stateSource{now: c.now, none: fmt.Sprintf("There are no Seeds in %s.", c.where())}
	if name != "" {
		out.none = "The Seed is gone."
	}
	out.read = func(ctx context.Context) (*state.State, error) {
		seeds, plantings, err := c.resources(ctx, name)
		if err != nil {
			return nil, err
		}
		if name != "" && len(seeds) == 0 && !found {
			return nil, c.noSeed(ctx, name)
		}
		found = true
		return c.state(seeds, plantings, c.controllerSeen(ctx, namespace)), nil
	}
	out.changes = func(ctx context.Context) (<-chan struct{}, error) { return c.changes(ctx, name) }
	return out
}

// resources returns the Seeds, or one, with their Plantings. A Seed that does not exist is not an
// error, and without Plantings; an API server that does not know the kind is.
func (c *kubeCluster) resources(ctx context.Context, name string) ([]v1alpha1.Seed, []v1alpha1.Planting, error) {
	var seeds v1alpha1.SeedList
	var plantings v1alpha1.PlantingList
	options := []client.ListOption{}
	if name == "" {
		if err := c.List(ctx, &seeds, c.in()...); err != nil {
			return nil, nil, err
		}
	} else {
		seed := v1alpha1.Seed{}
		switch err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &seed); {
		case apierrors.IsNotFound(err) && apiDetails(err).Name != "":
			return nil, nil, nil
		case err != nil:
			return nil, nil, err
		}
		seeds.Items = []v1alpha1.Seed{seed}
		options = append(options, client.MatchingLabels{v1alpha1.LabelSeed: name})
	}
	err := c.List(ctx, &plantings, c.in(options...)...)
	return seeds.Items, plantings.Items, err
}

func (c *kubeCluster) plantings(ctx context.Context, seed *v1alpha1.Seed) ([]v1alpha1.Planting, error) {
	var list v1alpha1.PlantingList
	err := c.List(ctx, &list, client.InNamespace(seed.Namespace), client.MatchingLabels{v1alpha1.LabelSeed: seed.Name})
	return list.Items, err
}

// state returns what the resources say, with the signs that it is out of date. Resources keep what
// was written to them last, so a fleet without a controller appears as healthy as it was when that
// ended.
func (c *kubeCluster) state(seeds []v1alpha1.Seed, plantings []v1alpha1.Planting, controller controllerSeen) *state.State {
	st := state.FromResources(seeds, plantings)
	if controller.silent > 0 {
		st.Notes = append(st.Notes, fmt.Sprintf("no controller seems to run: Lease %s was renewed %s ago", controller.lease, duration.HumanDuration(controller.silent)))
	}
	notes := map[client.ObjectKey][]string{}
	for i := range seeds {
		notes[client.ObjectKeyFromObject(&seeds[i])] = staleSigns(&seeds[i], controller, c.now())
	}
	for i := range st.Seeds {
		s := &st.Seeds[i]
		s.Notes = notes[client.ObjectKey{Namespace: s.Namespace, Name: s.Name}]
	}
	return st
}

// controllerSeen is what the controller's Lease says. The zero value says nothing: there need not
// be a Lease, and not everybody may read it.
type controllerSeen struct {
	// known reports whether there is a Lease that may be read.
	known bool
	// silent is how long it was not renewed, where that is too long.
	silent time.Duration
	// lease is its namespace and name.
	lease client.ObjectKey
}

// missedRenewals is how many durations of a Lease may pass before its holder counts as gone.
// Another replica takes over after one; clocks of this machine and the holder may differ by some of
// the rest.
const missedRenewals = 4

func (c *kubeCluster) controllerSeen(ctx context.Context, namespace string) controllerSeen {
	seen := controllerSeen{lease: client.ObjectKey{Namespace: namespace, Name: controllers.LeaderElectionID}}
	var lease coordinationv1.Lease
	if c.Get(ctx, seen.lease, &lease) != nil || lease.Spec.RenewTime == nil || lease.Spec.LeaseDurationSeconds == nil {
		return seen // there need not be one, and not everybody may read it
	}
	seen.known = true
	limit := missedRenewals * time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	if silent := c.now().Sub(lease.Spec.RenewTime.Time); silent > limit {
		seen.silent = silent
	}
	return seen
}

const (
	// patience is how long a controller may take to act on something.
	patience = time.Minute
	// longUnchanged is how long a status may stay unchanged before that is reported.
	longUnchanged = time.Hour
)

// staleSigns returns the signs that no controller handles a Seed: it has no conditions, its last
// change is not observed, a request is not acted on, or, where no Lease says more, nothing was
// written for long although there is something to do. A Seed that is Ready may stay unchanged for
// months.
func staleSigns(s *v1alpha1.Seed, controller controllerSeen, now time.Time) []string {
	const check = "Check that 'furrow controller' runs and watches namespace "
	var out []string
	if len(s.Status.Conditions) == 0 {
		return []string{fmt.Sprintf("no controller has observed it since it was created, %s ago. %s%s", age(now, s.CreationTimestamp.Time), check, s.Namespace)}
	}
	if s.Status.ObservedGeneration < s.Generation {
		text := "the controller has not observed its last change yet"
		if changed := lastWrite(s, ""); changed.IsZero() || now.Sub(changed) > patience {
			text += ". " + check + s.Namespace
		}
		out = append(out, text)
	}
	for _, r := range requests {
		asked := s.Annotations[r.annotation]
		if asked == "" || asked == r.handled(s) {
			continue
		}
		text := fmt.Sprintf("the controller has not acted on '%s' yet", r.command)
		if at, err := time.Parse(time.RFC3339Nano, asked); err == nil {
			text += fmt.Sprintf(", which was asked for %s ago", age(now, at))
		}
		out = append(out, text)
	}
	if written := lastWrite(s, "status"); !controller.known && !ready(s) && !written.IsZero() && now.Sub(written) > longUnchanged {
		out = append(out, fmt.Sprintf("its status was written %s ago: since then nothing has changed, or no controller is running", age(now, written)))
	}
	return out
}

func ready(s *v1alpha1.Seed) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}

// lastWrite returns when a Seed, or a subresource of it, was written last, by the API server's
// clock; zero if that is not recorded. Managed fields record it for each manager.
func lastWrite(s *v1alpha1.Seed, subresource string) time.Time {
	var last time.Time
	for _, m := range s.ManagedFields {
		if m.Subresource == subresource && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}
