package flux

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// heldFor is for how long a conclusion stands while Flux draws it anew.
const heldFor = 15 * time.Second

// reasonProgressing is Flux's for a reconciliation under way.
const reasonProgressing = "Progressing"

// reconcilerRow is a tier's Kustomization.
type reconcilerRow struct {
	// live is what the object says.
	live health.Reconciler
	// held is what it said before Flux began to look at the same thing again, as it
	// does at every interval; nil when it does not.
	held    *health.Reconciler
	release func()
}

// shown is what is answered of the object.
func (r *reconcilerRow) shown() health.Reconciler {
	if r.held != nil {
		return *r.held
	}
	return r.live
}

func readKustomization(u *unstructured.Unstructured) health.Reconciler {
	spec, _ := u.Object["spec"].(map[string]any)
	ready := conditionOf(u.Object, "Ready")
	return health.Reconciler{
		Known: true, Found: true,
		Deleting: u.GetDeletionTimestamp() != nil, Suspended: truth(spec, "suspend"),
		Rendered: u.GetAnnotations()[renderedAnnotation], Spec: spec,
		Generation: u.GetGeneration(), ObservedGeneration: number(u.Object, "status", "observedGeneration"),
		Ready: ready.status, ReadyGeneration: ready.generation, Reason: ready.reason, Message: ready.message, Since: ready.since,
		Revision:          text(u.Object, "status", "lastAppliedRevision"),
		AttemptedRevision: text(u.Object, "status", "lastAttemptedRevision"),
		LastResult:        lastResult(u),
	}
}

// lastResult is the status of the newest entry of status.history, which is the first.
func lastResult(u *unstructured.Unstructured) string {
	history, _, _ := unstructured.NestedSlice(u.Object, "status", "history")
	if len(history) == 0 {
		return ""
	}
	newest, _ := history[0].(map[string]any)
	result, _ := newest["lastReconciledStatus"].(string)
	return result
}

// readReconciler makes a row of an object. Flux sets Ready to Unknown whenever it
// begins to look at the same thing again, for a second or so: what it concluded
// before stands until it has concluded anew, and the time since when with it.
func (s *session) readReconciler(u *unstructured.Unstructured, before *reconcilerRow) *reconcilerRow {
	row := &reconcilerRow{live: readKustomization(u), release: func() {}}
	if before == nil {
		return row
	}
	last := before.shown()
	switch {
	case lookingAgain(last, row.live) && before.held == nil && before.live.Ready != "Unknown":
		row.held, row.release = &last, s.releaseLater(nameOf(u))
	case lookingAgain(last, row.live) && before.held != nil:
		row.held, row.release = before.held, before.release
	default:
		before.release()
		if sameConclusion(last, row.live) {
			row.live.Since = last.Since
		}
	}
	return row
}

// lookingAgain says that an object is what it was when its conclusion was drawn,
// and Flux is drawing it anew.
func lookingAgain(last, now health.Reconciler) bool {
	if last.Ready == "Unknown" || now.Ready != "Unknown" || now.Reason != reasonProgressing {
		return false
	}
	return sameSubject(last, now)
}

func sameConclusion(last, now health.Reconciler) bool {
	return last.Ready == now.Ready && last.Reason == now.Reason && sameSubject(last, now)
}

// sameSubject says that what is reconciled is the same.
func sameSubject(last, now health.Reconciler) bool {
	return last.ReadyGeneration == last.Generation && last.Generation == now.Generation &&
		last.Deleting == now.Deleting && last.Rendered == now.Rendered &&
		last.Revision == now.Revision && last.AttemptedRevision == now.AttemptedRevision
}

// releaseLater lets what is held go after a while, and returns how to do without;
// cluster.mu is held.
func (s *session) releaseLater(n name) (cancel func()) {
	var timer clock.Timer
	c := s.cluster
	timer = c.channel.clock.AfterFunc(heldFor, func() {
		c.mu.Lock()
		row := s.reconcilers.rows[n]
		changed := row != nil && row.held != nil && s.ctx.Err() == nil
		if changed {
			row.held = nil
		}
		c.tell(changed)
		c.mu.Unlock()
	})
	return func() { timer.Stop() }
}

func (s *session) reconcilerChanged(n name, before, now *reconcilerRow) bool {
	if now == nil {
		before.release()
	} else {
		s.cluster.unwatch(kustomizationKey(n)) // should it leave the feed, it is read by name anew
	}
	_, asked := s.cluster.reconcilers[n]
	return asked && (before == nil || now == nil || !reflect.DeepEqual(before.shown(), now.shown()))
}

// kustomizationKey names a tier's Kustomization that is not in the feed. The feed
// holds what has our label, and somebody may have taken that off, or made a template
// without it: only a question by name tells that an object is not there.
func kustomizationKey(n name) objectKey {
	return objectKey{kustomizations.GroupVersion().WithKind("Kustomization"), n}
}

func judgeKustomization(u *unstructured.Unstructured) (any, time.Duration) {
	if u == nil {
		return nil, readAbsent // it has our label when it comes, as a rule, and then the feed has it
	}
	trim(u)
	return readKustomization(u), 0
}

// wantUnlisted has objects read by name that the feed does not have.
func wantUnlisted(key probe.ReconcilerKey) demand {
	want := wantObject(kustomizationKey(name{key.Namespace, key.Name}), judgeKustomization)
	return func(c *cluster) func() *gate {
		c.mu.Lock()
		known, _ := c.feed(ours)
		listed := known && c.session.reconcilers.rows[name{key.Namespace, key.Name}] != nil
		c.mu.Unlock()
		if !known || listed {
			return func() *gate { return nil }
		}
		return want(c)
	}
}

// reconciler answers for a key.
func (c *cluster) reconciler(key probe.ReconcilerKey) health.Reconciler {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := name{key.Namespace, key.Name}
	c.reconcilers[n] = c.asked
	if ok, why := c.feed(ours); !ok {
		return health.Reconciler{Message: why}
	}
	if row := c.session.reconcilers.rows[n]; row != nil {
		return row.shown()
	}
	o := c.watched(kustomizationKey(n), judgeKustomization)
	if !o.seen.known {
		return health.Reconciler{Message: c.unasked(o.seen.why)}
	}
	if found, ok := o.seen.kept.(health.Reconciler); ok {
		return found
	}
	return health.Reconciler{Known: true}
}
