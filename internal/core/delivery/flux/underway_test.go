package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

// The rows are states that kustomize-controller goes through: it sets Ready to
// Unknown when a reconciliation begins, lastAttemptedRevision once the artifact is
// fetched, and lastAppliedRevision and observedGeneration at a success.
func TestJudgeReconciliationsUnderWay(t *testing.T) {
	judge(t, map[string]judgement{
		"the first one is Progressing":                 {seen: ready(neverReady, at("", merged), reconciling), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"the first one of this content is Progressing": {seen: ready(reconciling, at(before, merged)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"one that has not fetched yet, after the old content, is Behind": {
			seen: ready(reconciling, at(before, before)), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"a periodic one after a success stays Ready":                     {seen: ready(reconciling), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"one at a commit that changes nothing here stays Ready":          {seen: ready(reconciling, at(merged, later)), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"one that waits for a dependency at a new commit stays Ready":    {seen: ready(saying("False", "DependencyNotReady", "dependency 'a/b' revision is not up to date")), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"one of a new spec is Progressing, whatever the old one came to": {seen: ready(reconciling, generations(3, 2, 3)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"one of a spec that was changed and changed back is Progressing": {seen: ready(reconciling, generations(4, 2, 4)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"a dependency that a new spec waits for is Progressing":          {seen: ready(saying("False", "DependencyNotReady", ""), generations(3, 2, 3)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"a retry after a failed health check is not Ready, though the content succeeded before": {
			seen: ready(reconciling, at(merged, later), ended("HealthCheckFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a retry at the very revision that had succeeded is not Ready": {seen: ready(reconciling, ended("HealthCheckFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"a retry after an apply error is not Ready":                    {seen: ready(reconciling, at(merged, later), ended("ReconciliationFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"a retry after a pruning error is not Ready":                   {seen: ready(reconciling, at(merged, later), ended("PruneFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"a wait for a dependency after a failure is not Ready": {
			seen: ready(at(merged, later), saying("False", "DependencyNotReady", ""), ended("HealthCheckFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a retry after a failure from before applying is not Ready": {
			seen: ready(reconciling, at(merged, later), ended("BuildFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a reconciliation after a health check that was canceled is not Ready": {
			seen: ready(reconciling, at(merged, later), ended("HealthCheckCanceled")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"one before which no conclusion was seen is not Ready: a retry cannot be distinguished from a first attempt": {
			seen: ready(reconciling, at(merged, later), ended("")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a health check that was canceled is Progressing": {
			seen: ready(at(merged, later), saying("False", "HealthCheckCanceled", "")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"one at a commit that took this away is Behind": {seen: ready(reconciling, at(merged, before)), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true},
		"one after a commit that took this away is Progressing, though it had this once": {
			seen: ready(reconciling, at(before, later)), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"one under a spec that is not base's is Behind": {
			seen: ready(reconciling, func(r *health.Reconciler) { r.Spec["path"] = "./planted/old" }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true,
		},
		"one that was suspended in its course is Behind": {seen: ready(reconciling, func(r *health.Reconciler) { r.Suspended = true }), want: health.Behind, reason: v1alpha1.ReasonReconcilerSuspended},
		"one of an object in deletion is Progressing":    {seen: ready(reconciling, func(r *health.Reconciler) { r.Deleting = true }), want: health.Progressing, reason: v1alpha1.ReasonReconcilerDeleting},
		"a failure at a commit that changes nothing here is Failed, though the content succeeded before": {
			seen: ready(at(merged, later), saying("False", "HealthCheckFailed", "failed early due to stalled resources"), ended("HealthCheckFailed")), want: health.Failed, reason: v1alpha1.ReasonHealthCheckFailed,
		},
		"a time that ran out at a commit that changes nothing here is Progressing": {
			seen: ready(at(merged, later), saying("False", "HealthCheckFailed", "timeout waiting for: [Deployment/default/a status: 'InProgress']"), ended("HealthCheckFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
	})
}
