package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

// failing is a first reconciliation of what base has that ended so.
func failing(reason, message string) health.Reconciler {
	return ready(at(before, merged), saying("False", reason, message), ended(reason))
}

func TestJudgeFailures(t *testing.T) {
	judge(t, map[string]judgement{
		"a health check that ran out of time is Progressing: slow is not failed": {
			seen: failing("HealthCheckFailed", "health check failed after 30s: timeout waiting for: [Deployment/default/a status: 'InProgress']"), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a health check that ran out of time while an object had failed is Failed": {
			seen: failing("HealthCheckFailed", "timeout waiting for: [Widget/default/w1 status: 'Failed', Deployment/default/a status: 'InProgress']"), want: health.Failed, reason: v1alpha1.ReasonHealthCheckFailed,
		},
		"an object that failed early is Failed": {
			seen: failing("HealthCheckFailed", "failed early due to stalled resources: [Widget/default/w1 status: 'Failed']"), want: health.Failed, reason: v1alpha1.ReasonHealthCheckFailed,
		},
		"a build error is Failed":   {seen: failing("BuildFailed", "yaml: line 2"), want: health.Failed, reason: v1alpha1.ReasonBuildFailed},
		"an apply error is Failed":  {seen: failing("ReconciliationFailed", "ConfigMap/nonesuch/n not found: namespaces \"nonesuch\" not found"), want: health.Failed, reason: v1alpha1.ReasonApplyFailed},
		"a pruning error is Failed": {seen: failing("PruneFailed", "admission webhook denied the request"), want: health.Failed, reason: v1alpha1.ReasonPruneFailed},
		"a kubeconfig Secret that is missing is Failed, with observedGeneration -1": {
			seen: ready(neverReady, at("", merged), saying("False", "ReconciliationFailed", `unable to read KubeConfig secret 'flux-system/kc-r1' error: secrets "kc-r1" not found`)),
			want: health.Failed, reason: v1alpha1.ReasonApplyFailed,
		},
		"a kubeconfig that is garbage is Failed": {
			seen: ready(neverReady, at("", merged), saying("False", "ReconciliationFailed", "invalid KubeConfig in secret: couldn't get version/kind")), want: health.Failed, reason: v1alpha1.ReasonApplyFailed,
		},
		"an API server that is away at a push is Failed, whatever condition Healthy still says": {
			seen: ready(at(merged, later), saying("False", "ReconciliationFailed", "dry-run failed: failed to get server groups: connection refused"), ended("ReconciliationFailed")),
			want: health.Failed, reason: v1alpha1.ReasonApplyFailed,
		},
		"an API server that is away without a push stays Ready until the next reconciliation": {seen: ready(), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"a source without an artifact, at what base has, is Failed": {
			seen: ready(saying("False", "ArtifactFailed", "Source artifact not found, retrying in 30s")), want: health.Failed, reason: v1alpha1.ReasonArtifactFailed,
		},
		"a health check that was canceled is Progressing": {
			seen: failing("HealthCheckCanceled", "New reconciliation triggered by GitRepository/flux-system/flux-system"), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a dependency that is not ready, before the first success, is Progressing": {
			seen: failing("DependencyNotReady", "dependency 'flux-system/a' is not ready"), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a dependency that is not ready, before the first attempt, is Behind": {
			seen: ready(neverReady, at("", ""), saying("False", "DependencyNotReady", "dependency 'flux-system/a' revision is not up to date")),
			want: health.Behind, reason: v1alpha1.ReasonNotFetched, awaitsRoot: true,
		},
		"a failure after which the fix is fetched is Progressing": {seen: ready(reconciling, at(before, later), ended("HealthCheckFailed")), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"the fix is Ready at its own revision":                    {seen: ready(at(later, later)), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"an expression that Flux refuses is Failed, though no revision is ever attempted with it": {
			seen: ready(generations(2, 2, 2), at(before, before), saying("False", "InvalidCELExpression", "failed to compile")), want: health.Failed, reason: v1alpha1.ReasonInvalidExpression,
		},
		"an expression that Flux refuses from the beginning is Failed": {
			seen: ready(generations(1, 1, 1), at("", ""), saying("False", "InvalidCELExpression", "failed to compile"), ended("")), want: health.Failed, reason: v1alpha1.ReasonInvalidExpression,
		},
		"an expression that was refused before the spec changed is not Failed": {
			seen: ready(generations(3, 2, 2), at(before, before), saying("False", "InvalidCELExpression", "failed to compile")), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"a source that may not be read is Failed": {
			seen: ready(neverReady, at("", ""), saying("False", "AccessDenied", "cross-namespace references have been blocked")), want: health.Failed, reason: v1alpha1.ReasonAccessDenied,
		},
		"a feature that is switched off is Failed": {
			seen: ready(neverReady, at("", ""), saying("False", "FeatureGateDisabled", "enable the feature gate")), want: health.Failed, reason: v1alpha1.ReasonFeatureDisabled,
		},
	})
}
