// Package condition writes the conditions of all kinds, in the form that kstatus expects: Ready
// always, and Reconciling or Stalled only if it is true, and never both. So "kubectl wait" and the
// health checks of Flux find out how an object is without knowing its kind.
package condition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// Writer writes the conditions of one object, with the generation and the time of one observation.
// A condition's time of transition changes only with its status, as meta.SetStatusCondition does
// it.
type Writer struct {
	list       *[]metav1.Condition
	generation int64
	now        time.Time
}

// Of returns a writer for a status that was observed at a generation.
func Of(status *v1alpha1.CommonStatus, generation int64, now time.Time) Writer {
	status.ObservedGeneration = generation
	return Writer{&status.Conditions, generation, now}
}

// Set writes one condition.
func (w Writer) Set(kind string, status metav1.ConditionStatus, reason v1alpha1.Reason, message string) {
	meta.SetStatusCondition(w.list, metav1.Condition{
		Type: kind, Status: status, Reason: string(reason), Message: message,
		ObservedGeneration: w.generation, LastTransitionTime: metav1.NewTime(w.now),
	})
}

// Clear removes conditions.
func (w Writer) Clear(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(w.list, kind)
	}
}

// Ready sets Ready to True.
func (w Writer) Ready(reason v1alpha1.Reason, message string) {
	w.Set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason, message)
	w.Clear(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
}

// NotReady sets Ready to False: the object is reconciling or, if stalled, needs a person.
func (w Writer) NotReady(reason v1alpha1.Reason, message string, stalled bool) {
	w.Set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	w.underWay(reason, message, stalled)
}

// Unknown sets Ready to Unknown: the object cannot be observed; if stalled, it needs a person.
func (w Writer) Unknown(reason v1alpha1.Reason, message string, stalled bool) {
	w.Set(v1alpha1.ConditionReady, metav1.ConditionUnknown, reason, message)
	w.underWay(reason, message, stalled)
}

// underWay sets Reconciling or Stalled, and removes the other one.
func (w Writer) underWay(reason v1alpha1.Reason, message string, stalled bool) {
	is, not := v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled
	if stalled {
		is, not = not, is
	}
	w.Set(is, metav1.ConditionTrue, reason, message)
	w.Clear(not)
}

// Cut makes a text fit for a status or an event: it has at most so many bytes, ends in "…" if it
// was cut, and has no control characters except line breaks. The API server would refuse the whole
// object for one text that is too long.
func Cut(text string, most int) string { return truncate.Text(manifest.PrintableLines(text), most) }
