package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestJudgeTheObject(t *testing.T) {
	judge(t, map[string]judgement{
		"Ready when it is what base has, whatever the server added": {seen: ready(), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"a cluster that cannot be asked is Unknown, and says why": {
			seen: health.Reconciler{Message: "cluster edge cannot be asked: no route to host"}, want: health.Unknown, reason: v1alpha1.ReasonClusterSilent,
		},
		"no object is Absent, and the root has to bring it": {seen: health.Reconciler{Known: true}, want: health.Absent, reason: v1alpha1.ReasonReconcilerMissing, awaitsRoot: true},
		"an object in deletion is Progressing, although it appears successful": {
			seen: ready(func(r *health.Reconciler) { r.Deleting = true }), want: health.Progressing, reason: v1alpha1.ReasonReconcilerDeleting,
		},
		"an object in deletion whose pruning failed is Progressing": {
			seen: ready(func(r *health.Reconciler) { r.Deleting = true }, saying("True", "ReconciliationSucceeded", "pruning for deleted resource failed")), want: health.Progressing, reason: v1alpha1.ReasonReconcilerDeleting,
		},
		"a suspended object is Behind, Ready as it stays": {
			seen: ready(func(r *health.Reconciler) { r.Suspended = true }), want: health.Behind, reason: v1alpha1.ReasonReconcilerSuspended,
		},
		"a suspended object in deletion is Progressing": {
			seen: ready(func(r *health.Reconciler) { r.Suspended, r.Deleting = true, true }), want: health.Progressing, reason: v1alpha1.ReasonReconcilerDeleting,
		},
		"an old annotation furrow.dev/rendered is Behind, Ready or not: the root is stuck": {
			seen: ready(func(r *health.Reconciler) { r.Rendered = "sha256:old" }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true,
		},
		"no annotation furrow.dev/rendered is Behind": {
			seen: ready(func(r *health.Reconciler) { r.Rendered = "" }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true,
		},
		"an old spec behind a stuck root is Behind, though the annotation was carried over": {
			seen: ready(func(r *health.Reconciler) { r.Spec["path"] = "./planted/old" }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true,
		},
		"a spec that somebody changed is Behind":            {seen: ready(func(r *health.Reconciler) { r.Spec["wait"] = false }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true},
		"a spec from which somebody took a field is Behind": {seen: ready(func(r *health.Reconciler) { delete(r.Spec, "wait") }), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true},
		"an old spec that failed is Behind: its failure says nothing of the new one": {
			seen: ready(func(r *health.Reconciler) { r.Rendered = "sha256:old" }, saying("False", "BuildFailed", "yaml: line 2")), want: health.Behind, reason: v1alpha1.ReasonReconcilerOutdated, awaitsRoot: true,
		},
	})
}

func TestJudgeGenerations(t *testing.T) {
	judge(t, map[string]judgement{
		"Ready=True of an old generation is Progressing": {seen: ready(generations(2, 2, 1)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"an old observed generation is Progressing, though the condition is new: Flux writes it onto the newest object": {
			seen: ready(generations(3, 2, 3)), want: health.Progressing, reason: v1alpha1.ReasonNotReady,
		},
		"a new spec that was not observed yet is Progressing":             {seen: ready(generations(3, 2, 2)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"observedGeneration -1 is Progressing: nothing has succeeded yet": {seen: ready(generations(1, -1, 1)), want: health.Progressing, reason: v1alpha1.ReasonNotReady},
		"observedGeneration -1 without a condition is Behind: not begun": {
			seen: ready(neverReady, at("", ""), saying("", "", "")), want: health.Behind, reason: v1alpha1.ReasonNotFetched, awaitsRoot: true,
		},
		"no status at all is Behind": {
			seen: health.Reconciler{Known: true, Found: true, Rendered: want.Rendered, Spec: want.Spec, Generation: 1}, want: health.Behind, reason: v1alpha1.ReasonNotFetched, awaitsRoot: true,
		},
	})
}

func TestJudgeAnObjectWhoseHealthIsNotTheTiers(t *testing.T) {
	want := want
	want.Edited = "spec.wait must be true"
	tests := map[string]struct {
		seen health.Reconciler
		want health.Phase
	}{
		"Ready says nothing":                {ready(), health.Unknown},
		"nor does a success before":         {ready(reconciling), health.Unknown},
		"while it is deleted that is known": {ready(func(r *health.Reconciler) { r.Deleting = true }), health.Progressing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judged(tc.seen, want); got.Phase != tc.want || tc.want == health.Unknown && (got.Reason != v1alpha1.ReasonReconcilerEdited || got.Message != want.Edited) {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
}
