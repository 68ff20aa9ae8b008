package health_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

const (
	merged = "main@sha1:1111111111111111111111111111111111111111"
	later  = "main@sha1:2222222222222222222222222222222222222222"
	before = "main@sha1:0000000000000000000000000000000000000000"
	alien  = "main@sha1:9999999999999999999999999999999999999999"
)

// want is base at merged; later has the same at the tier's paths, before does not, alien is not known.
var want = health.Want{
	Rendered: "sha256:new", Spec: map[string]any{"wait": true, "path": "./planted/a", "interval": int64(10)},
	At: map[string]health.Match{merged: health.Matches, later: health.Matches, before: health.Differs},
}

// ready is a reconciler object that has everything; the tests change what they are about.
func ready(change func(*health.Reconciler)) health.Reconciler {
	r := health.Reconciler{
		Known: true, Found: true, Rendered: "sha256:new", Generation: 2, ObservedGeneration: 2, Ready: "True", ReadyGeneration: 2,
		Spec:   map[string]any{"wait": true, "path": "./planted/a", "interval": float64(10), "force": false},
		Reason: "ReconciliationSucceeded", Revision: merged, AttemptedRevision: merged,
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestJudge(t *testing.T) {
	failed := func(reason, message string) func(*health.Reconciler) {
		return func(r *health.Reconciler) {
			r.Ready, r.Reason, r.Message, r.Revision = "False", reason, message, before
		}
	}
	tests := map[string]struct {
		seen health.Reconciler
		want health.Phase
	}{
		"Ready at the merged revision, whatever the server added": {ready(nil), health.Ready},
		"Ready at a later revision that has the same": {
			ready(func(r *health.Reconciler) { r.Revision, r.AttemptedRevision = later, later }), health.Ready,
		},
		"a cluster that cannot be asked is Unknown": {health.Reconciler{}, health.Unknown},
		"no object is Absent":                       {health.Reconciler{Known: true}, health.Absent},
		"an old rendering is Behind, ready or not":  {ready(func(r *health.Reconciler) { r.Rendered = "sha256:old" }), health.Behind},
		"a spec that somebody changed is Behind":    {ready(func(r *health.Reconciler) { r.Spec = map[string]any{"wait": false} }), health.Behind},
		"a stale Ready=True of an old revision is Behind": {
			ready(func(r *health.Reconciler) { r.Revision, r.AttemptedRevision = before, before }), health.Behind,
		},
		"a Ready=True of an old generation is Progressing": {ready(func(r *health.Reconciler) { r.ReadyGeneration = 1 }), health.Progressing},
		"an object of an old observed generation is Progressing": {
			ready(func(r *health.Reconciler) { r.ObservedGeneration = 1 }), health.Progressing,
		},
		"a revision that is not known is Unknown": {
			ready(func(r *health.Reconciler) { r.Revision, r.AttemptedRevision = alien, alien }), health.Unknown,
		},
		"an attempt at what is not known is Unknown": {
			ready(func(r *health.Reconciler) { r.Ready, r.Revision, r.AttemptedRevision = "Unknown", before, alien }), health.Unknown,
		},
		"nothing fetched yet is Behind": {
			ready(func(r *health.Reconciler) { r.Ready, r.Revision, r.AttemptedRevision = "Unknown", "", "" }), health.Behind,
		},
		"a suspended object is Behind": {ready(func(r *health.Reconciler) { r.Suspended = true }), health.Behind},
		"an object in deletion is Progressing, successful as it looks": {
			ready(func(r *health.Reconciler) { r.Deleting = true }), health.Progressing,
		},
		"a health check under way is Progressing": {
			ready(func(r *health.Reconciler) { r.Ready, r.Reason, r.Revision = "Unknown", "Progressing", before }), health.Progressing,
		},
		"a health check that ran out of time is Progressing": {
			ready(failed("HealthCheckFailed", "health check failed after 30s: timeout waiting for: [Deployment/default/a]")), health.Progressing,
		},
		"an object that failed is Failed": {
			ready(failed("HealthCheckFailed", "failed early due to stalled resources: [Widget/default/w1]")), health.Failed,
		},
		"a build error is Failed":  {ready(failed("BuildFailed", "yaml: line 2")), health.Failed},
		"an apply error is Failed": {ready(failed("ReconciliationFailed", "dry-run failed")), health.Failed},
		"a dependency that is not ready is Progressing": {
			ready(failed("DependencyNotReady", "Dependencies do not meet ready condition")), health.Progressing,
		},
		"a failure at an old revision says nothing of the merged one": {
			ready(func(r *health.Reconciler) {
				r.Ready, r.Reason, r.Revision, r.AttemptedRevision = "False", "BuildFailed", before, before
			}), health.Behind,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := health.Judge(tc.seen, nil, want); got.Phase != tc.want {
				t.Errorf("got %s (%s), want %s", got.Phase, got.Message, tc.want)
			}
		})
	}
}

func TestJudgeCreators(t *testing.T) {
	tests := map[string]struct {
		creator health.Creator
		want    health.Phase
	}{
		"current and answering is Ready":               {health.Creator{Known: true, Found: true, Current: true, Answers: true}, health.Ready},
		"current and silent is Progressing":            {health.Creator{Known: true, Found: true, Current: true}, health.Progressing},
		"answering and not current is Progressing":     {health.Creator{Known: true, Found: true, Answers: true}, health.Progressing},
		"not there is Progressing":                     {health.Creator{Known: true}, health.Progressing},
		"a management cluster that is away is Unknown": {health.Creator{}, health.Unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := health.Judge(ready(nil), []health.Creator{tc.creator}, want); got.Phase != tc.want {
				t.Errorf("got %s (%s), want %s", got.Phase, got.Message, tc.want)
			}
		})
	}
}

func TestJudgeGone(t *testing.T) {
	tests := map[string]struct {
		seen    health.Reconciler
		creator health.Creator
		want    health.Phase
	}{
		"gone when the object and the creator are": {health.Reconciler{Known: true}, health.Creator{Known: true}, health.Absent},
		"not while the object is there":            {ready(nil), health.Creator{Known: true}, health.Behind},
		"not while it is being deleted": {
			ready(func(r *health.Reconciler) { r.Deleting = true }), health.Creator{Known: true}, health.Progressing,
		},
		"not while the creator is there":            {health.Reconciler{Known: true}, health.Creator{Known: true, Found: true}, health.Progressing},
		"not while the cluster is silent":           {health.Reconciler{}, health.Creator{Known: true}, health.Unknown},
		"not while nothing is known of the creator": {health.Reconciler{Known: true}, health.Creator{}, health.Unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := health.Judge(tc.seen, []health.Creator{tc.creator}, health.Want{Gone: true}); got.Phase != tc.want {
				t.Errorf("got %s (%s), want %s", got.Phase, got.Message, tc.want)
			}
		})
	}
}
