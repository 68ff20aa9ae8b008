package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/test/golden"
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
func ready(changes ...func(*health.Reconciler)) health.Reconciler {
	r := health.Reconciler{
		Known: true, Found: true, Rendered: "sha256:new", Generation: 2, ObservedGeneration: 2, Ready: "True", ReadyGeneration: 2,
		Spec:   map[string]any{"wait": true, "path": "./planted/a", "interval": float64(10), "force": false},
		Reason: "ReconciliationSucceeded", Revision: merged, AttemptedRevision: merged, LastResult: "ReconciliationSucceeded",
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

// at sets lastAppliedRevision and lastAttemptedRevision.
func at(applied, attempted string) func(*health.Reconciler) {
	return func(r *health.Reconciler) { r.Revision, r.AttemptedRevision = applied, attempted }
}

// saying sets condition Ready.
func saying(status, reason, message string) func(*health.Reconciler) {
	return func(r *health.Reconciler) { r.Ready, r.Reason, r.Message = status, reason, message }
}

// reconciling is what Flux sets when a reconciliation begins.
var reconciling = saying("Unknown", "Progressing", "Reconciliation in progress")

// ended sets what the channel observed concluded last.
func ended(reason string) func(*health.Reconciler) {
	return func(r *health.Reconciler) { r.LastResult = reason }
}

// generations sets metadata.generation, status.observedGeneration and that of condition Ready.
func generations(object, observed, ofReady int64) func(*health.Reconciler) {
	return func(r *health.Reconciler) {
		r.Generation, r.ObservedGeneration, r.ReadyGeneration = object, observed, ofReady
	}
}

// neverReady is a reconciler object that was created and has not succeeded yet.
func neverReady(r *health.Reconciler) {
	r.Generation, r.ObservedGeneration, r.ReadyGeneration, r.Revision, r.LastResult = 1, -1, 1, "", ""
}

type judgement struct {
	seen   health.Reconciler
	want   health.Phase
	reason v1alpha1.Reason
	// awaitsRoot reports whether the message must report what is wrong with the root too.
	awaitsRoot bool
}

func judge(t *testing.T, tests map[string]judgement) {
	t.Helper()
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := judged(tc.seen, want)
			texts.Add(name, got.Message)
			if got.Phase != tc.want || got.Reason != tc.reason || got.AwaitsRoot != tc.awaitsRoot {
				t.Errorf("got %s (%s, awaits its root: %v), want %s (%s, %v)", got.Phase, got.Reason, got.AwaitsRoot, tc.want, tc.reason, tc.awaitsRoot)
			}
		})
	}
}

// judged is the verdict on a tier that creates no cluster.
func judged(r health.Reconciler, want health.Want) health.Verdict {
	return health.Judge(kind.Judge(r, want), r, nil, want)
}
