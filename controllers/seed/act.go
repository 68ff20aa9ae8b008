package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// releaseSeeds removes the finalizer from the Seeds that are deleted while their plantings remain.
func (r *Reconciler) releaseSeeds(ctx context.Context, s *reconcileState) error {
	for i := range s.seeds {
		seed := &s.seeds[i]
		if why, released := s.Released[seed.Name]; released {
			if err := r.removeFinalizer(ctx, seed, orphaned(why)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFinalizers adds the finalizer to the Seeds that are about to be planted. A Seed whose control
// plane was never read has planted nothing, and needs no finalizer.
func (r *Reconciler) addFinalizers(ctx context.Context, s *reconcileState) error {
	for i := range s.Wanted {
		if err := r.addFinalizer(ctx, &s.Wanted[i]); err != nil {
			return err
		}
	}
	return nil
}

// addFinalizer adds the finalizer to one Seed. It must be there before anything is planted: a Seed
// that is deleted without it leaves everything behind.
func (r *Reconciler) addFinalizer(ctx context.Context, seed *v1alpha1.Seed) error {
	before := seed.DeepCopy()
	if !controllerutil.AddFinalizer(seed, v1alpha1.Finalizer) {
		return nil
	}
	return r.patchFinalizers(ctx, seed, before)
}

// removeFinalizer removes the finalizer from a Seed, and emits an event with the cause.
func (r *Reconciler) removeFinalizer(ctx context.Context, seed *v1alpha1.Seed, why notice) error {
	before := seed.DeepCopy()
	if !controllerutil.RemoveFinalizer(seed, v1alpha1.Finalizer) {
		return nil
	}
	if err := r.patchFinalizers(ctx, seed, before); err != nil {
		return err
	}
	why.emit(r.recorder, seed)
	return nil
}

// patchFinalizers writes the finalizers with a lock, because a merge patch replaces the whole list,
// and others may have added theirs.
func (r *Reconciler) patchFinalizers(ctx context.Context, seed, before *v1alpha1.Seed) error {
	err := r.client.Patch(ctx, seed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("the finalizer of Seed %s: %w", client.ObjectKeyFromObject(seed), err)
	}
	return nil
}

// pass runs one pass, after the requests of people.
func (r *Reconciler) pass(ctx context.Context, s *reconcileState) view {
	began := r.options.Clock.Now()
	v := view{now: began}
	if v.err = r.ready(ctx, s); v.err == nil {
		v.report, v.err = r.passAlone(ctx, s)
	}
	if s.session.open != nil {
		s.session.note(s.session.open.Repositories())
	}
	r.options.Meter.Pass(s.cp, v.report, v.err, r.options.Clock.Since(began))
	switch {
	case v.report == nil:
		r.options.Snapshots.Remove(s.cp)
	case v.report.Settings != s.settings.Version:
		r.options.Snapshots.Publish(s.cp, nil, v.report)
	default:
		r.options.Snapshots.Publish(s.cp, s.docs, v.report)
	}
	return v
}

// passAlone runs the pass while no other pass writes to the same repositories. Until these are
// known, it only reads, without locks: a source that does not respond does not block other control
// planes.
func (r *Reconciler) passAlone(ctx context.Context, s *reconcileState) (*engine.Report, error) {
	open := s.session.open
	if len(open.URLs()) == 0 {
		declared, err := open.Catalog(ctx)
		if err != nil {
			return nil, fmt.Errorf("the control-plane repository cannot be read: %w", err)
		}
		if err := open.OpenRepos(ctx, declared); err != nil && len(open.URLs()) == 0 {
			return open.Engine().DryRun(ctx)
		}
	}
	if err := r.addFinalizers(ctx, s); err != nil {
		return nil, err
	}
	release, err := r.writers.acquire(ctx, open.URLs())
	if err != nil {
		return nil, err
	}
	defer release()
	defer open.Collect(ctx)
	open.Wake(s.session.takeHints())
	return open.Engine().PassAfter(ctx, func(ctx context.Context, q *engine.Requests) { r.handleRequests(ctx, s, q) })
}

// observed adds the counters of requests to the repositories, and the limits of these.
func (r *Reconciler) observed(o controlplane.Options, cp fleet.ControlPlane) controlplane.Options {
	o.Observe = func(name string, repo engine.Repo) engine.Repo { return r.options.Meter.Repo(cp.Namespace, name, repo) }
	o.ForgeLimits = &r.limits
	o.ObserveTransport = func(name string, next http.RoundTripper) http.RoundTripper {
		return r.options.Meter.Transport(cp.Namespace, name, next)
	}
	return o
}

// request is a request of people, made with an annotation on a Seed.
type request struct {
	annotation, what string
	// handled is the field for the last handled value.
	handled func(*v1alpha1.HandledRequests) *string
	act     func(ctx context.Context, q *engine.Requests, seed, value string) error
	// most is how long the value may be.
	most int
}

// requests are those for one seed each; abandoned clusters are a list, and are handled apart.
var requests = []request{
	{v1alpha1.AnnotationRetry, "retry", func(h *v1alpha1.HandledRequests) *string { return &h.Retry }, retry, v1alpha1.MaxRequest},
	{v1alpha1.AnnotationConfirm, "confirm the removal", func(h *v1alpha1.HandledRequests) *string { return &h.Confirm }, confirm, v1alpha1.MaxRequest},
	{v1alpha1.AnnotationRollout, "change the rollout", func(h *v1alpha1.HandledRequests) *string { return &h.Rollout }, rollout, v1alpha1.MaxRequest},
}

func retry(ctx context.Context, q *engine.Requests, seed, value string) error {
	words, by, why := v1alpha1.ParseRequest(value)
	var tiers []layout.Tier
	for _, word := range words {
		if !strings.Contains(word, "/") {
			continue // the time, or anything else that people write
		}
		t, err := layout.ParseTier(seed, word)
		if err != nil {
			return manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Seed: seed, Message: fmt.Sprintf("annotation %s is %q: %v", v1alpha1.AnnotationRetry, manifest.Printable(value), err), Next: "Write the time, and then the tiers, if not all are meant"}
		}
		tiers = append(tiers, t)
	}
	if len(tiers) > 0 {
		return q.RetryTiers(ctx, seed, tiers, by, why)
	}
	return q.Retry(ctx, seed, by, why)
}

func confirm(ctx context.Context, q *engine.Requests, seed, value string) error {
	_, by, _ := v1alpha1.ParseRequest(value)
	_, err := q.Confirm(ctx, seed, by)
	return err
}

// handleRequests handles the requests since the last pass. The status has the value of each
// annotation that was handled, so any other value is a new request, and the same value asks only
// once. A request that fails because a server is unreachable is retried in the next pass; any other
// failure is reported, and not retried.
func (r *Reconciler) handleRequests(ctx context.Context, s *reconcileState, q *engine.Requests) {
	seeds := slices.Concat(s.Wanted, s.Removed)
	for i := range seeds {
		seed := &seeds[i]
		handled := seed.Status.Handled
		for _, ask := range requests {
			value, done := requested(seed, ask.annotation, ask.most), ask.handled(&handled)
			if value == *done {
				continue
			}
			if value == "" || r.do(ctx, seed, ask.what, func() error { return ask.act(ctx, q, seed.Name, value) }) {
				*done = value
			}
		}
		s.handled[seed.Name] = handled
	}
	r.handleAbandon(ctx, s, q, seeds)
}

// do handles one request, and reports whether it is finished.
func (r *Reconciler) do(ctx context.Context, seed *v1alpha1.Seed, what string, act func() error) bool {
	err := act()
	if git.IsNetwork(err) || git.IsAuth(err) || ctx.Err() != nil {
		return false
	}
	said := requestDone(what)
	if err != nil {
		said = requestFailed(what, err)
	}
	said.emit(r.recorder, seed)
	return true
}

// handleAbandon abandons the clusters that were added to the list of any Seed, and undoes that for
// those that are not in any list any more: a cluster is abandoned for all seeds. A Seed's list
// counts as handled when all that it asks for is done; else the next pass does the rest. before has
// what is abandoned by now, so two Seeds with one cluster ask for it once.
func (r *Reconciler) handleAbandon(ctx context.Context, s *reconcileState, q *engine.Requests, seeds []v1alpha1.Seed) {
	before, now := map[string]bool{}, map[string]bool{}
	for i := range seeds {
		handled, _ := v1alpha1.ParseAbandon(seeds[i].Status.Handled.Abandon)
		for _, cluster := range handled {
			before[cluster] = true
		}
		wanted, _ := v1alpha1.ParseAbandon(requested(&seeds[i], v1alpha1.AnnotationAbandon, v1alpha1.MaxAbandon))
		for _, cluster := range wanted {
			now[cluster] = true
		}
	}
	for i := range seeds {
		seed := &seeds[i]
		was, is := seed.Status.Handled.Abandon, requested(seed, v1alpha1.AnnotationAbandon, v1alpha1.MaxAbandon)
		if was == is {
			continue
		}
		done := true
		clusters, by := v1alpha1.ParseAbandon(is)
		for _, cluster := range clusters {
			if !before[cluster] {
				before[cluster] = r.do(ctx, seed, "abandon cluster "+cluster, func() error { return q.Abandon(ctx, cluster, by) })
			}
			done = done && before[cluster]
		}
		handled, _ := v1alpha1.ParseAbandon(was)
		for _, cluster := range handled {
			if !now[cluster] && before[cluster] {
				done = r.do(ctx, seed, "take the abandonment of cluster "+cluster+" back", func() error {
					err := q.UndoAbandon(ctx, cluster)
					if manifest.ReasonOf(err) == v1alpha1.ReasonNothingToDo {
						return nil // done before, and the status of the Seed was read too early to know
					}
					return err
				}) && done
				before[cluster] = false
			}
		}
		if done {
			requests := s.handled[seed.Name]
			requests.Abandon = is
			s.handled[seed.Name] = requests
		}
	}
}

// requested returns the value of an annotation, cut to the length that fits the status.
func requested(seed *v1alpha1.Seed, annotation string, most int) string {
	value := strings.TrimSpace(seed.Annotations[annotation])
	if len(value) <= most {
		return value
	}
	if end := strings.LastIndexAny(value[:most], ", "); end > 0 {
		return value[:end] // keep whole names of a list
	}
	return truncate.Prefix(value, most)
}

// finish reports the result of the pass: it writes each changed status once, and emits one event
// for each change.
func (r *Reconciler) finish(ctx context.Context, s *reconcileState, v view) error {
	plantings, err := r.plantings(ctx, s.cp.Namespace)
	if err != nil {
		return err
	}
	var failed error
	var shown []v1alpha1.Planting
	for _, seed := range slices.Concat(s.Wanted, s.Removed) {
		of := plantings[seed.Name]
		if of == nil {
			of = map[string]*v1alpha1.Planting{}
		}
		if err := r.finishSeed(ctx, s, &seed, v, of); err != nil {
			failed = cmp.Or(failed, err)
		}
		for _, p := range of {
			shown = append(shown, *p)
		}
	}
	r.options.Meter.Tiers(s.cp, shown)
	for i := range s.seeds {
		if by := s.duplicates[s.seeds[i].Name]; by != "" && s.seeds[i].DeletionTimestamp.IsZero() {
			failed = cmp.Or(failed, r.showSeed(ctx, &s.seeds[i], duplicateStatus(&s.seeds[i], by, v.now)))
		}
	}
	return failed
}

// finishSeed writes the Plantings of a Seed and its status or, if it is deleted and nothing is
// left, removes its finalizer.
func (r *Reconciler) finishSeed(ctx context.Context, s *reconcileState, seed *v1alpha1.Seed, v view, have map[string]*v1alpha1.Planting) error {
	failed := r.showPlantings(ctx, seed, v, have)
	if !seed.DeletionTimestamp.IsZero() && v.report == nil && seed.Status.Revision == "" && seed.Status.Plan == nil {
		return errors.Join(failed, r.removeFinalizer(ctx, seed, orphaned("its control plane was never read")))
	}
	if !seed.DeletionTimestamp.IsZero() && v.nothingLeft(seed) {
		return errors.Join(failed, r.removeFinalizer(ctx, seed, removed()))
	}
	status := seedStatus(seed, v)
	status.Handled = s.handled[seed.Name]
	return errors.Join(failed, r.showSeed(ctx, seed, status)) // also records the handled requests
}

// nothingLeft reports whether it is certain that nothing of a Seed is planted: its plan was
// removed, not just missed. All repositories must have been read, since the plan may be in any of
// them.
func (v view) nothingLeft(seed *v1alpha1.Seed) bool {
	if v.report == nil {
		return false
	}
	for _, repo := range v.report.Repos {
		if repo.Err != nil {
			return false
		}
	}
	_, seen := v.report.Seed(seed.Name)
	return !seen && !lost(seed.Status.Plan, v.report)
}

// lost reports whether a missing plan may not have been removed.
func lost(p *v1alpha1.PlanSummary, report *engine.Report) bool {
	return p != nil && (!p.Removal || slices.ContainsFunc(p.Repos, func(name string) bool {
		_, declared := report.Repos[name]
		return !declared
	}))
}

// showSeed writes a changed status, and emits an event if state or reason have changed.
func (r *Reconciler) showSeed(ctx context.Context, seed *v1alpha1.Seed, status v1alpha1.SeedStatus) error {
	was := seed.Status
	if equal(was, status) {
		return nil
	}
	before := seed.DeepCopy()
	seed.Status = status
	err := r.client.Status().Patch(ctx, seed, client.MergeFrom(before))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the status of Seed %s: %w", client.ObjectKeyFromObject(seed), err)
	}
	if h, ok := seedChange(&was, &status); ok {
		h.emit(r.recorder, seed)
		ctrl.LoggerFrom(ctx).Info("Seed changed", "seed", seed.Name, "state", status.State, "was", was.State, "reason", h.reason, "progress", status.Progress)
	}
	return nil
}
