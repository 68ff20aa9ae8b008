package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/state"
)

// request is something that a person asks of the controller by an annotation. The controller notes
// the annotation's value in the status once it has acted on it (status.handled), so a value is
// acted on once, also after a restart, and the status shows whether it was.
type request struct {
	// command is how a person asks for it, noun what messages call it.
	command, noun string
	// about is what it is asked for, of a Seed that is named; without it, it is always asked.
	about      string
	annotation string
	// handled is the value that the controller acted on last.
	handled func(*v1alpha1.Seed) string
}

var (
	retryRequest = request{"retry", "retry", "tier of %s that is rejected, reverted or held by foreign content", v1alpha1.AnnotationRetry, func(s *v1alpha1.Seed) string { return s.Status.Handled.Retry }}
	confirmation = request{"confirm", "confirmation", "removal of %s that waits for it", v1alpha1.AnnotationConfirm, func(s *v1alpha1.Seed) string { return s.Status.Handled.Confirm }}
	abandonment  = request{"abandon", "list of abandoned clusters", "", v1alpha1.AnnotationAbandon, func(s *v1alpha1.Seed) string { return s.Status.Handled.Abandon }}
	requests     = []request{retryRequest, confirmation, rolloutRequest, abandonment}
)

// waitFlags set whether, and for how long, a command waits for the controller.
type waitFlags struct {
	wait    bool
	timeout time.Duration
}

func (f *waitFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait until the controller has acted on it")
	cmd.Flags().Var(durationFlag(&f.timeout, 30*time.Second, time.Millisecond, 24*time.Hour), "timeout", "how long to wait")
}

func newKubeRetry(f *kubeFlags) *cobra.Command {
	var yes bool
	var who whoFlags
	var which retryFlags
	cmd := newKubeAsk(f, retryRequest, &who, &cobra.Command{
		Use:   "retry SEED",
		Short: "Propose again what was rejected, reverted, or held by foreign content",
		Long: `Retry asks the controller to propose again the tiers that a person rejected or reverted,
and those whose paths on the base branch have content of others. Merging such a proposal replaces
that content. It says which tiers these are; where the Plantings show none it does nothing. Where
people put files there, it lists those that the Plantings name, and changes nothing without --yes.
--tier asks for some tiers only, and --all for all Seeds of the namespace that have something to retry.

It writes the annotation furrow.dev/retry, waits until the controller has acted on it, and
shows what became of it. The proposals say who asked for them, and why.`,
		Example: "  kubectl furrow retry edge-5g\n  kubectl furrow retry edge-5g --tier edge-1/01\n  kubectl furrow retry --all",
	}, func(cmd *cobra.Command, c *kubeCluster, seed *v1alpha1.Seed) (string, error) {
		only, err := which.of(seed.Name)
		if err != nil {
			return "", err
		}
		plantings, err := c.plantings(cmd.Context(), seed)
		if err != nil {
			return "", err
		}
		plantings = withTiers(plantings, only)
		tiers := toRetry(seed, plantings)
		if len(tiers) == 0 {
			return "", nil
		}
		if listOverwritten(cmd.OutOrStdout(), plantings) && !yes {
			return "", errFilesOfPeople
		}
		return fmt.Sprintf("proposes again, of Seed %s: %s.", seed.Name, strings.Join(tiers, ", ")), nil
	}, func() []string { return which.tiers })
	cmd.Args = which.args
	addOverwrite(cmd, &yes)
	which.add(cmd)
	who.add(cmd)
	return cmd
}

// withTiers returns Plantings with some of their tiers only; with all of them where none is named.
func withTiers(plantings []v1alpha1.Planting, only []layout.Tier) []v1alpha1.Planting {
	if len(only) == 0 {
		return plantings
	}
	var out []v1alpha1.Planting
	for i := range plantings {
		p := plantings[i].DeepCopy()
		p.Status.Tiers = slices.DeleteFunc(p.Status.Tiers, func(t v1alpha1.PlantingTier) bool {
			return !slices.ContainsFunc(only, func(name layout.Tier) bool { return name.Cluster == p.Spec.Cluster && name.Ordinal == int(t.Ordinal) })
		})
		out = append(out, *p)
	}
	return out
}

// toRetry returns what a retry proposes again, as far as the status knows; nil where it knows that
// there is nothing. A status that is not of the Seed as it is now knows nothing: the request is
// then made all the same.
func toRetry(seed *v1alpha1.Seed, plantings []v1alpha1.Planting) []string {
	if !upToDate(seed) {
		return []string{anyRetriable}
	}
	of := state.FromResources([]v1alpha1.Seed{*seed}, plantings).Seeds[0]
	tiers := retriable(&of)
	if of.Omitted > 0 {
		tiers = append(tiers, fmt.Sprintf("%s of %s that the Plantings do not show", anyRetriable, plural(of.Omitted, "tier")))
	}
	return tiers
}

// toConfirm returns what a confirmation begins to remove, like toRetry.
func toConfirm(seed *v1alpha1.Seed) string {
	s := &seed.Status
	switch {
	case !upToDate(seed):
		return "what the deletion guard holds"
	case s.OmittedUnconfirmed > 0:
		return fmt.Sprintf("%s and %d more", strings.Join(s.Unconfirmed, ", "), s.OmittedUnconfirmed)
	case len(s.Unconfirmed) == 0 && s.Plan != nil && s.Plan.Removal: // the status does not say whether anybody confirmed it
		return "what is left of it (this has begun)"
	}
	return strings.Join(s.Unconfirmed, ", ")
}

// upToDate reports whether the status is that of the Seed as it is now.
func upToDate(seed *v1alpha1.Seed) bool {
	ready := meta.FindStatusCondition(seed.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status != metav1.ConditionUnknown && seed.Status.ObservedGeneration >= seed.Generation
}

// listOverwritten lists what people made at the paths of tiers, and reports whether there is any.
func listOverwritten(w io.Writer, plantings []v1alpha1.Planting) bool {
	var lines []string
	for i := range plantings {
		for _, t := range state.FromPlanting(&plantings[i]) {
			for _, at := range t.Foreign {
				lines = append(lines, "  "+at)
			}
			if t.OmittedForeign > 0 {
				lines = append(lines, fmt.Sprintf("  %s more of %s", plural(t.OmittedForeign, "file"), t.Name()))
			}
			if t.Amended != "" {
				lines = append(lines, fmt.Sprintf("  those of %s: %s", t.Name(), t.Amended))
			}
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "The proposals delete or replace files on the base branch that Furrow did not put there:\n%s\n", strings.Join(lines, "\n"))
	}
	return len(lines) > 0
}

func newKubeConfirm(f *kubeFlags) *cobra.Command {
	var who whoFlags
	cmd := newKubeAsk(f, confirmation, &who, &cobra.Command{
		Use:   "confirm SEED",
		Short: "Begin a removal that the deletion guard holds",
		Long: `Confirm asks the controller to begin with a removal that the deletion guard holds: that of the
seed, or of objects that left it or its clusters. It says what is removed. Each tier is still
proposed for review. Where the status shows no removal that is held, confirm does nothing.

It writes the annotation furrow.dev/confirm-removal, waits until the controller has acted on
it, and shows what became of it.`,
		Example: "  kubectl furrow confirm edge-5g",
	}, func(_ *cobra.Command, _ *kubeCluster, seed *v1alpha1.Seed) (string, error) {
		removed := toConfirm(seed)
		if removed == "" {
			return "", nil
		}
		return fmt.Sprintf("begins to remove, of Seed %s: %s. Each tier is proposed first, and deleted when you merge that. What a Namespace, a CustomResourceDefinition, a PersistentVolumeClaim or a cluster holds or defines goes with it, whoever made it.", seed.Name, removed), nil
	})
	who.addBy(cmd)
	return cmd
}

// newKubeAsk makes a command by which a person requests something for one Seed, or for all of the
// namespace if its arguments may name none. preview says what the controller will do; empty if there
// is nothing to do, and then nothing is written, because the annotation would be acted on whenever
// there is something later. Nothing is written for any Seed before preview lets all of them. The value
// is the time: any other than the last one asks anew. It says who asks as well, and has words.
func newKubeAsk(f *kubeFlags, r request, who *whoFlags, cmd *cobra.Command, preview func(*cobra.Command, *kubeCluster, *v1alpha1.Seed) (string, error), words ...func() []string) *cobra.Command {
	var wait waitFlags
	cmd.Args = exactly(1, "the name of one Seed")
	cmd.ValidArgsFunction = f.completeSeeds
	cmd.RunE = f.with(func(cmd *cobra.Command, c *kubeCluster, args []string) error {
		ctx, w := cmd.Context(), cmd.OutOrStdout()
		seeds, err := c.seedsOrAll(ctx, args)
		if err != nil {
			return err
		}
		will := make([]string, len(seeds))
		for i, seed := range seeds {
			if will[i], err = preview(cmd, c, seed); err != nil {
				return err
			}
		}
		value := c.now().UTC().Format(time.RFC3339Nano)
		said := []string{value}
		for _, more := range words {
			said = append(said, more()...)
		}
		value = requestValue(ctx, said, *who)
		var requested []asked
		for i, seed := range seeds {
			if will[i] == "" {
				continue
			}
			if err := c.annotate(ctx, seed, r.annotation, value); err != nil {
				return err
			}
			fmt.Fprintf(w, "Requested: the controller %s\n", will[i])
			requested = append(requested, askedOf(seed, r, value))
		}
		if len(requested) == 0 {
			about := "any Seed of " + c.where()
			if len(args) > 0 {
				about = "Seed " + args[0]
			}
			fmt.Fprintf(w, "Nothing to %s: the last pass found no %s. If that has changed since, ask again after the next pass.\n", r.command, fmt.Sprintf(r.about, about))
			if len(args) > 0 {
				return c.outcome(ctx, w, seeds[0])
			}
		}
		for _, a := range requested {
			if err := c.report(ctx, w, &wait, a); err != nil {
				return err
			}
		}
		return nil
	})
	wait.add(cmd)
	return cmd
}

// seedsOrAll returns the Seed that arguments name, or all of the namespace where they name none.
func (c *kubeCluster) seedsOrAll(ctx context.Context, args []string) ([]*v1alpha1.Seed, error) {
	if len(args) > 0 {
		seed, err := c.seed(ctx, args[0])
		return []*v1alpha1.Seed{seed}, err
	}
	var list v1alpha1.SeedList
	err := c.List(ctx, &list, client.InNamespace(c.namespace))
	seeds := make([]*v1alpha1.Seed, len(list.Items))
	for i := range list.Items {
		seeds[i] = &list.Items[i]
	}
	return seeds, err
}

// annotate writes an annotation, or removes it if the value is empty, and nothing else of the Seed.
// It changes seed to what the API server returns. The options are those of the patch.
func (c *kubeCluster) annotate(ctx context.Context, seed *v1alpha1.Seed, name, value string, options ...client.MergeFromOption) error {
	was := seed.DeepCopy()
	if seed.Annotations == nil {
		seed.Annotations = map[string]string{}
	}
	seed.Annotations[name] = value
	if value == "" {
		delete(seed.Annotations, name)
	}
	return c.Patch(ctx, seed, client.MergeFromWithOptions(was, options...), client.FieldOwner(kubeManager))
}

// asked is a request that was made of a Seed, with the value that the controller notes once it has
// acted. It is compared for equality: a value that somebody else wrote meanwhile does not count.
type asked struct {
	seed    client.ObjectKey
	request request
	value   string
	// since is when it was asked, by the API server's clock.
	since time.Time
}

// askedOf notes a request that was just written.
func askedOf(seed *v1alpha1.Seed, r request, value string) asked {
	return asked{client.ObjectKeyFromObject(seed), r, value, lastWrite(seed, "")}
}

// errNotHandled ends a command whose request nobody has acted on in time.
var errNotHandled error = manifest.Problem{Reason: v1alpha1.ReasonTimedOut, Message: "timed out waiting for the controller. It acts on the request in its next pass; 'kubectl furrow status' shows whether one runs"}

// report waits until the controller has acted on a request, and reports the outcome. That it has
// acted does not mean that it could: a failure is an event, because a request that fails is noted
// as handled as well and not tried again for ever.
func (c *kubeCluster) report(ctx context.Context, w io.Writer, wait *waitFlags, a asked) error {
	if !wait.wait {
		fmt.Fprintf(w, "See 'kubectl furrow status %s'.\n", a.seed.Name)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait.timeout)
	defer cancel()
	seed, err := c.awaitSeed(ctx, a.seed, func(s *v1alpha1.Seed) bool { return a.request.handled(s) == a.value })
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errNotHandled
	case err != nil:
		return fmt.Errorf("the request was recorded, but its progress cannot be watched: %w", err)
	case seed == nil:
		fmt.Fprintf(w, "Seed %s is gone.\n", a.seed.Name)
		return nil
	}
	if why := c.failure(ctx, seed, a.since); why != "" {
		return manifest.Problem{Reason: v1alpha1.ReasonRequestFailed, Message: fmt.Sprintf("the controller could not do it: %s", why)}
	}
	fmt.Fprintf(w, "The controller has acted on the %s of Seed %s.\n", a.request.noun, a.seed.Name)
	return c.outcome(ctx, w, seed)
}

// failure returns the controller's message about a request that it could not carry out; empty where
// its events cannot be read, or have not arrived yet. Events of the same text are one that is
// counted up, so its last time counts. Both times are of servers, never of this machine, whose
// clock may be another.
func (c *kubeCluster) failure(ctx context.Context, seed *v1alpha1.Seed, since time.Time) string {
	var list corev1.EventList
	if c.List(ctx, &list, client.InNamespace(seed.Namespace), client.MatchingFields{"involvedObject.uid": string(seed.UID)}) != nil {
		return ""
	}
	for _, e := range list.Items {
		last := e.CreationTimestamp.Time
		if e.Series != nil && e.Series.LastObservedTime.After(last) {
			last = e.Series.LastObservedTime.Time
		}
		if e.Reason == requestFailed && !last.Before(since) {
			return e.Message
		}
	}
	return ""
}

// requestFailed is the reason of the event by which the controller reports that.
const requestFailed = string(v1alpha1.ReasonRequestFailed)

// outcome shows how a Seed is.
func (c *kubeCluster) outcome(ctx context.Context, w io.Writer, s *v1alpha1.Seed) error {
	plantings, err := c.plantings(ctx, s)
	if err != nil {
		return err
	}
	v := &statusView{State: c.state([]v1alpha1.Seed{*s}, plantings, controllerSeen{known: true}), now: c.now()}
	return show(w, v.body)
}
