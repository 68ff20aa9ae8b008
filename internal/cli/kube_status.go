package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// kubeStatus is kubectl furrow status.
type kubeStatus struct {
	flags  *kubeFlags
	output outputFlag
	watch  bool
	// controllerNamespace is where the controller's Lease is.
	controllerNamespace string
}

func newKubeStatus(f *kubeFlags) *cobra.Command {
	s := &kubeStatus{flags: f, output: outputFlag{hasWide: true}}
	cmd := &cobra.Command{
		Use:   "status [SEED]",
		Short: "Show which tier is where, what it waits for, and what waits for you",
		Long: `Status shows the Seeds of a namespace, what needs a person first; or one Seed with all its
tiers, their proposals, and what you are asked to do. -o wide shows everything that a tier waits
for, and -o yaml the resources.

It says so when no controller seems to be at work.`,
		Example: `  kubectl furrow status -A
  kubectl furrow status edge-5g --watch`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("it takes the name of one Seed, or none")}
			}
			return nil
		},
		ValidArgsFunction: f.completeSeeds,
		RunE:              f.with(s.run),
	}
	s.output.add(cmd)
	f.addAll(cmd)
	cmd.Flags().BoolVarP(&s.watch, "watch", "w", false, "show it again whenever something changes, until interrupted")
	cmd.Flags().Var(textFlag(&s.controllerNamespace, "furrow-system", dnsLabel), "controller-namespace", "namespace that the controller runs in, where its Lease says whether it does")
	return cmd
}

func (s *kubeStatus) run(cmd *cobra.Command, c *kubeCluster, args []string) error {
	name := strings.Join(args, "")
	switch {
	case s.watch && !s.output.text():
		return usageError{errors.New("--watch shows text only; leave out -o, or use 'kubectl get seeds --watch -o yaml'")}
	case name != "" && c.namespace == "":
		return usageError{errors.New("one Seed is in one namespace: leave out --all-namespaces")}
	case s.watch:
		return s.follow(cmd.Context(), cmd.OutOrStdout(), c, name)
	}
	v, err := c.view(cmd.Context(), name)
	if err != nil {
		return err
	}
	v.controller = c.controllerSeen(cmd.Context(), s.controllerNamespace)
	return s.output.write(cmd.OutOrStdout(), v.resources(), func(w io.Writer) { s.table(w, v) })
}

// kubeView is what is shown: the Seeds of one or all namespaces, or one Seed with its Plantings.
type kubeView struct {
	seeds []v1alpha1.Seed
	// one says that it is about one Seed, of which these are the plantings.
	one       bool
	plantings []v1alpha1.Planting
	// everywhere says that the Seeds are those of all namespaces.
	everywhere bool
	// where says which namespaces were looked in.
	where      string
	controller controllerSeen
	now        time.Time
}

// view reads all Seeds, or the one of a name.
func (c *kubeCluster) view(ctx context.Context, name string) (*kubeView, error) {
	v := &kubeView{one: name != "", everywhere: c.namespace == "", where: c.where(), now: c.now()}
	if !v.one {
		var list v1alpha1.SeedList
		err := c.List(ctx, &list, c.in()...)
		v.seeds = list.Items
		v.sort()
		return v, err
	}
	seed, err := c.seed(ctx, name)
	if err != nil {
		return nil, err
	}
	v.seeds = []v1alpha1.Seed{*seed}
	v.plantings, err = c.plantings(ctx, seed)
	v.sort()
	return v, err
}

func (c *kubeCluster) plantings(ctx context.Context, seed *v1alpha1.Seed) ([]v1alpha1.Planting, error) {
	var list v1alpha1.PlantingList
	err := c.List(ctx, &list, client.InNamespace(seed.Namespace), client.MatchingLabels{v1alpha1.LabelSeed: seed.Name})
	return list.Items, err
}

// sort puts what needs a person first.
func (v *kubeView) sort() {
	slices.SortFunc(v.seeds, func(a, b v1alpha1.Seed) int {
		return cmp.Or(
			cmp.Compare(state.Urgency(a.Status.State), state.Urgency(b.Status.State)),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(v.plantings, func(a, b v1alpha1.Planting) int {
		return cmp.Or(
			cmp.Compare(state.Urgency(a.Status.State), state.Urgency(b.Status.State)),
			cmp.Compare(a.Spec.Cluster, b.Spec.Cluster))
	})
}

// resources are the objects that are shown, as kubectl has them.
func (v *kubeView) resources() any {
	items := []any{}
	for i := range v.seeds {
		s := v.seeds[i].DeepCopy()
		s.APIVersion, s.Kind, s.ManagedFields = v1alpha1.APIVersion, "Seed", nil
		items = append(items, s)
	}
	for i := range v.plantings {
		p := v.plantings[i].DeepCopy()
		p.APIVersion, p.Kind, p.ManagedFields = v1alpha1.APIVersion, "Planting", nil
		items = append(items, p)
	}
	return map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
}

// controllerSeen is what the controller's Lease tells. The zero value tells nothing.
type controllerSeen struct {
	// known says that there is a Lease that may be read.
	known bool
	// silent is how long it was not renewed, where that is too long.
	silent time.Duration
	// lease is its namespace and name.
	lease client.ObjectKey
}

// missedRenewals is how many durations of a Lease may pass before its holder is taken for gone.
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
	// quiet is how long a status may stay as it is before that is worth a word.
	quiet = time.Hour
)

// doubts are the signs that no controller looks after a Seed.
func (v *kubeView) doubts(s *v1alpha1.Seed) []string {
	const check = "See that 'furrow controller' runs and watches namespace "
	var out []string
	if len(s.Status.Conditions) == 0 {
		return []string{fmt.Sprintf("no controller has looked at it since it was made, %s ago. %s%s", age(v.now, s.CreationTimestamp.Time), check, s.Namespace)}
	}
	if s.Status.ObservedGeneration < s.Generation {
		text := "the controller has not looked at its last change yet"
		if changed := lastWrite(s, ""); changed.IsZero() || v.now.Sub(changed) > patience {
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
			text += fmt.Sprintf(", which was asked for %s ago", age(v.now, at))
		}
		out = append(out, text)
	}
	if written := lastWrite(s, "status"); !v.controller.known && !ready(s) && !written.IsZero() && v.now.Sub(written) > quiet {
		out = append(out, fmt.Sprintf("its status was written %s ago: since then nothing has changed, or no controller has looked", age(v.now, written)))
	}
	return out
}

func ready(s *v1alpha1.Seed) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}

// lastWrite is when a Seed, or a subresource of it, was written last; zero where that is not recorded.
func lastWrite(s *v1alpha1.Seed, subresource string) time.Time {
	var last time.Time
	for _, m := range s.ManagedFields {
		if m.Subresource == subresource && m.Time != nil && m.Time.After(last) {
			last = m.Time.Time
		}
	}
	return last
}

// reportOf is how far a Seed is, as the engine reports it.
func reportOf(s *v1alpha1.Seed, plantings []v1alpha1.Planting) *state.Seed {
	out := &state.Seed{Name: s.Name, State: s.Status.State, Removal: s.Status.Plan != nil && s.Status.Plan.Removal}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil && out.State == state.Stalled {
		out.Reason, out.Message = v1alpha1.Reason(c.Reason), c.Message
	}
	for i := range plantings {
		for j := range plantings[i].Status.Tiers {
			out.Tiers = append(out.Tiers, tierReport(plantings[i].Spec.Cluster, &plantings[i].Status.Tiers[j]))
		}
	}
	return out
}

func tierReport(cluster string, t *v1alpha1.PlantingTier) state.Tier {
	out := state.Tier{
		Cluster: cluster, Ordinal: int(t.Ordinal), State: release.State(t.State), Reason: t.Reason, Message: t.Message,
		Since: t.Since.UTC(), Amended: t.Amended, Objects: int(t.Objects), Wants: t.Wants, Foreign: t.Foreign, Retry: t.Retry,
	}
	for _, w := range t.Waits {
		out.Waits = append(out.Waits, state.Edge{Tier: w.Tier, State: release.State(w.State), Reason: w.Reason, Why: w.Why})
	}
	if p := t.Proposal; p != nil {
		out.Proposal = &state.Proposal{Repo: p.Repo, Branch: p.Branch, Title: p.Title, URL: p.URL, Gate: p.Gate}
	}
	return out
}

// conditionStatus is True, False or Unknown.
func conditionStatus(list []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(list, kind); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}
