package flux

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

// Judge implements delivery.Kind. The order matters: each question makes sense only if those before it are answered.
// Did it refuse the spec, is what it finished what base has, and what is it working on now? Two revisions count:
// the one that was applied last, which makes a tier ready, and the one that is being attempted,
// which makes a failure the tier's own. A failure at a revision that does not have the tier yet is
// about what was there before.
func (Kind) Judge(r health.Reconciler, want health.Want) health.Verdict {
	v := judge(r, want)
	unhealthy := r.Ready == "False" && r.Reason == reasonUnhealthy && r.ReadyGeneration == r.Generation
	v.Applied = v.Phase == health.Ready || unhealthy && (v.Phase == health.Failed || v.Phase == health.Progressing)
	return v
}

func judge(r health.Reconciler, want health.Want) health.Verdict {
	if refused(r) {
		return health.Say(health.Failed, failures[r.Reason], "%s: %s", r.Reason, r.Message)
	}
	if r.Ready == "True" && r.ObservedGeneration == r.Generation && r.ReadyGeneration == r.Generation {
		switch want.At[r.Revision] {
		case health.Matches:
			return health.Verdict{Phase: health.Ready}
		case health.MatchUnknown:
			return health.Say(health.Unknown, v1alpha1.ReasonRevisionUnknown, "the reconciler reports revision %q, which is not known here", r.Revision)
		}
	}
	if stillReady(r, want) {
		return health.Verdict{Phase: health.Ready}
	}
	switch want.At[r.AttemptedRevision] {
	case health.MatchUnknown:
		if r.AttemptedRevision != "" {
			return health.Say(health.Unknown, v1alpha1.ReasonRevisionUnknown, "the reconciler works on revision %q, which is not known here", r.AttemptedRevision)
		}
		return health.Say(health.Behind, v1alpha1.ReasonNotFetched, "the reconciler has not fetched anything yet%s", because(r)).Awaiting()
	case health.Differs:
		return health.Say(health.Behind, v1alpha1.ReasonRevisionBehind, "the reconciler is at %s, which does not have this yet%s", r.AttemptedRevision, because(r)).Awaiting()
	}
	if r.Ready == "False" && failed(r) {
		return health.Say(health.Failed, failures[r.Reason], "%s: %s", r.Reason, r.Message)
	}
	return health.Say(health.Progressing, v1alpha1.ReasonNotReady, "applied, not ready yet%s", because(r))
}

// stillReady reports whether the last finished reconciliation succeeded, with this spec
// and content, while another one runs at a commit that changes nothing here. Flux does
// this with every tier at each commit, one dependency after the other; it says nothing
// about their health. A retry after a failure differs only in LastResult: Flux sets Ready
// to Unknown again, and observedGeneration and Revision are still those of the success
// before.
func stillReady(r health.Reconciler, want health.Want) bool {
	undecided := r.Ready == "Unknown" || r.Ready == "False" && r.Reason == reasonDependency
	return undecided && r.LastResult == reasonSucceeded && r.ObservedGeneration == r.Generation &&
		want.At[r.Revision] == health.Matches && want.At[r.AttemptedRevision] == health.Matches
}

const (
	// reasonDependency is Flux's reason while a dependency is not ready at the new commit.
	reasonDependency = "DependencyNotReady"
	// reasonUnhealthy is Flux's reason where it has applied and pruned, and objects are not healthy.
	reasonUnhealthy = "HealthCheckFailed"
	// reasonSucceeded is Flux's reason for a success.
	reasonSucceeded = "ReconciliationSucceeded"
)

// because returns Flux's own reason and message, in parentheses; "" while Ready is True.
func because(r health.Reconciler) string {
	if r.Reason == "" || r.Ready == "True" {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", r.Reason, r.Message)
}

// failures are Flux's reasons for which waiting alone does not help, as reasons of ours.
var failures = map[string]v1alpha1.Reason{
	"ArtifactFailed":       v1alpha1.ReasonArtifactFailed,
	"BuildFailed":          v1alpha1.ReasonBuildFailed,
	"ReconciliationFailed": v1alpha1.ReasonApplyFailed,
	"PruneFailed":          v1alpha1.ReasonPruneFailed,
	"HealthCheckFailed":    v1alpha1.ReasonHealthCheckFailed,
	"InvalidCELExpression": v1alpha1.ReasonInvalidExpression,
	"FeatureGateDisabled":  v1alpha1.ReasonFeatureDisabled,
	"AccessDenied":         v1alpha1.ReasonAccessDenied,
}

// refusals are those of them not to begin with a spec at all, so no revision
// is ever attempted with it.
var refusals = []string{"InvalidCELExpression", "FeatureGateDisabled", "AccessDenied"}

func refused(r health.Reconciler) bool {
	return r.Ready == "False" && r.ReadyGeneration == r.Generation && slices.Contains(refusals, r.Reason)
}

// Flux's words in the message of a health check that failed.
const (
	// OutOfTime comes before the objects that were not ready when the time was over.
	OutOfTime = "timeout waiting for"
	// ObjectFailed marks, of such objects, one that said so itself.
	ObjectFailed = "status: 'Failed'"
)

// failed reports whether a reconciliation failed, in contrast to a health check that only
// timed out while no object had failed.
func failed(r health.Reconciler) bool {
	slow := strings.Contains(r.Message, OutOfTime) && !strings.Contains(r.Message, ObjectFailed)
	return failures[r.Reason] != "" && !slow
}
