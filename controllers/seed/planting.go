package seed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/state"
)

// equal compares statuses as the API server does.
func equal[T any](a, b T) bool { return equality.Semantic.DeepEqual(a, b) }

func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}

// reason returns the reason of the condition Ready.
func reason(conditions []metav1.Condition) string {
	if ready := conditionOf(conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

// plantings returns the Plantings of a namespace, by seed and cluster.
func (r *Reconciler) plantings(ctx context.Context, namespace string) (map[string]map[string]*v1alpha1.Planting, error) {
	var list v1alpha1.PlantingList
	if err := r.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the Plantings of namespace %s: %w", namespace, err)
	}
	out := map[string]map[string]*v1alpha1.Planting{}
	for i := range list.Items {
		p := &list.Items[i]
		if out[p.Spec.Seed] == nil {
			out[p.Spec.Seed] = map[string]*v1alpha1.Planting{}
		}
		out[p.Spec.Seed][p.Spec.Cluster] = p
	}
	return out, nil
}

// atOnce is the number of Plantings that are written at once.
const atOnce = 8

// showPlantings creates, updates and deletes the Plantings of a Seed according to its plan, and
// updates have. If the plan is unknown, it changes nothing: a pass that failed must not make the
// tiers of a fleet appear gone.
func (r *Reconciler) showPlantings(ctx context.Context, seed *v1alpha1.Seed, v view, have map[string]*v1alpha1.Planting) error {
	if v.report == nil {
		return nil
	}
	found, ok := v.report.Seed(seed.Name)
	if ok && v.report.Plans[seed.Name] == nil || !ok && !v.nothingLeft(seed) {
		return nil
	}
	var tiers map[string][]state.Tier
	if ok {
		tiers = byCluster(found.Tiers)
	}
	clusters := slices.Sorted(maps.Keys(tiers))
	shown := make([]*v1alpha1.Planting, len(clusters))
	var jobs []func() error
	for i, cluster := range clusters {
		jobs = append(jobs, func() (err error) {
			shown[i], err = r.showPlanting(ctx, seed, cluster, tiers[cluster], v, have[cluster])
			return err
		})
	}
	for cluster, planting := range have {
		if _, planted := tiers[cluster]; !planted {
			jobs = append(jobs, func() error { return client.IgnoreNotFound(r.client.Delete(ctx, planting)) })
		}
	}
	err := inParallel(jobs)
	clear(have)
	for i, cluster := range clusters {
		if shown[i] != nil {
			have[cluster] = shown[i]
		}
	}
	return err
}

// inParallel does all jobs, some at a time, and joins their errors.
func inParallel(jobs []func() error) error {
	var all errgroup.Group
	all.SetLimit(atOnce)
	errs := make([]error, len(jobs))
	for i, job := range jobs {
		all.Go(func() error {
			errs[i] = job()
			return nil
		})
	}
	return errors.Join(append(errs, all.Wait())...)
}

// showPlanting writes one Planting, and returns it as it is now; nil if it cannot exist at present.
// It writes the status only if that changes, and events only after it: a status that could not be
// written is not announced.
func (r *Reconciler) showPlanting(ctx context.Context, seed *v1alpha1.Seed, cluster string, tiers []state.Tier, v view, have *v1alpha1.Planting) (*v1alpha1.Planting, error) {
	if have == nil {
		if controllerutil.ContainsFinalizer(seed, metav1.FinalizerDeleteDependents) {
			return nil, nil // foreground deletion would delete a new Planting at once
		}
		var err error
		if have, err = r.newPlanting(ctx, seed, cluster); err != nil || have == nil {
			return nil, err
		}
	}
	is := have.DeepCopy()
	is.Status = plantingStatus(have, tiers, v.now)
	if equal(have.Status, is.Status) {
		return have, nil
	}
	status := is.Status
	err := r.client.Status().Patch(ctx, is, client.MergeFrom(have))
	if apierrors.IsNotFound(err) {
		return nil, nil // deleted meanwhile; the next pass creates it again
	}
	if err != nil {
		return have, fmt.Errorf("the status of Planting %s: %w", client.ObjectKeyFromObject(have), err)
	}
	for _, h := range plantingChanges(&have.Status, &status) {
		h.emitForPlanting(r.recorder, is)
		ctrl.LoggerFrom(ctx).Info("Tier changed", "seed", seed.Name, "cluster", cluster, "state", h.reason, "note", h.note)
	}
	return is, nil
}

// newPlanting creates a Planting that goes with its Seed, or returns the one that is there; nil if
// none can be created at present. Its name follows from the Seed and the cluster, so two passes
// never make two.
func (r *Reconciler) newPlanting(ctx context.Context, seed *v1alpha1.Seed, cluster string) (*v1alpha1.Planting, error) {
	p := &v1alpha1.Planting{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: seed.Namespace, Name: v1alpha1.PlantingName(seed.Name, cluster),
			Labels: map[string]string{v1alpha1.LabelSeed: seed.Name, v1alpha1.LabelCluster: cluster},
		},
		Spec: v1alpha1.PlantingSpec{Seed: seed.Name, Cluster: cluster},
	}
	if err := controllerutil.SetControllerReference(seed, p, r.client.Scheme()); err != nil {
		return nil, err
	}
	err := r.client.Create(ctx, p)
	if apierrors.IsAlreadyExists(err) { // it is not in the cache yet
		err = r.client.Get(ctx, client.ObjectKeyFromObject(p), p)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, nil // nothing can be created in a terminating namespace
	case err != nil:
		return nil, fmt.Errorf("making Planting %s: %w", client.ObjectKeyFromObject(p), err)
	}
	return p, nil
}
