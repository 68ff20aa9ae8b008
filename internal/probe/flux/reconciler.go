package flux

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// conclusionTTL is how long a conclusion remains valid while Flux reconciles again.
const conclusionTTL = 30 * time.Second

// Flux's reasons for a running reconciliation, for one that waits, and for a success.
const (
	reasonProgressing = "Progressing"
	reasonDependency  = "DependencyNotReady"
	reasonSucceeded   = "ReconciliationSucceeded"
)

// unknown is the status of condition Ready while Flux draws a conclusion.
const unknown = "Unknown"

// reconcilerRow is a tier's Kustomization. While Flux reconciles, the previous conclusion is
// kept twice: as live.LastResult for the verdict, and as held for people. Both are dropped
// when it expires.
type reconcilerRow struct {
	// live is what the object says, with the channel's own LastResult.
	live health.Reconciler
	// held is the status before Flux began to reconcile the same revision again, as it does
	// at every interval; nil otherwise. The verdict on held is never Ready if that on live is
	// not.
	held *health.Reconciler
	// uid and version are the object's.
	uid     types.UID
	version string
	// release stops the timer that lets a conclusion expire.
	release func()
}

// shown returns what is answered of the object.
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
		Ready: ready.status, ReadyGeneration: ready.generation, Reason: ready.reason, Message: ready.message,
		Revision:          text(u.Object, "status", "lastAppliedRevision"),
		AttemptedRevision: text(u.Object, "status", "lastAttemptedRevision"),
	}
}

// lastResult returns the LastResult of what the object says now, by the rule of health.Reconciler.
func lastResult(before *reconcilerRow, now health.Reconciler) string {
	switch {
	case now.Ready == "True" || now.Ready == "False" && now.Reason != reasonDependency:
		if now.ReadyGeneration != now.Generation {
			return "" // it is about a spec that was
		}
		if now.Ready == "True" {
			return reasonSucceeded
		}
		return now.Reason
	case now.Ready == "" || before == nil || before.live.Generation != now.Generation:
		return ""
	}
	return before.live.LastResult
}

// readReconciler makes a row of an object. Flux sets Ready to Unknown for about a second whenever
// it reconciles, even without a change: the previous conclusion remains valid until there is a
// new one.
//
// A conclusion is only carried over if nothing can have happened between the two observations: in a
// watch, of the same object. After a list, a failure may have come and gone unseen, so only an
// object that was not written at all keeps its row. What is carried over expires (forgetLater),
// since a reconciliation that takes longer than a healthy object needs is no longer a formality.
func (s *session) readReconciler(u *unstructured.Unstructured, before *reconcilerRow) *reconcilerRow {
	row := &reconcilerRow{live: readKustomization(u), uid: u.GetUID(), version: u.GetResourceVersion(), release: func() {}}
	switch {
	case before == nil:
		row.live.LastResult = lastResult(nil, row.live)
		return row
	case s.reconcilers.listing && row.version != "" && row.version == before.version:
		return before
	case s.reconcilers.listing || row.uid != before.uid: // a failure may have come and gone unseen
		before.release()
		row.live.LastResult = lastResult(nil, row.live)
		return row
	}
	row.live.LastResult = lastResult(before, row.live)
	last := before.shown()
	switch {
	case row.live.Ready != unknown:
		before.release()
	case before.live.Ready == unknown:
		row.release = before.release
		if before.held != nil && isReevaluation(last, row.live) {
			row.held = before.held
		}
	default:
		row.release = s.forgetLater(nameOf(u))
		if isReevaluation(last, row.live) {
			row.held = &last
		}
	}
	return row
}

// isReevaluation reports whether Flux reconciles an object that has not changed since its
// last conclusion. A success is about what was applied: it remains valid only if nothing else
// was attempted.
func isReevaluation(last, now health.Reconciler) bool {
	if last.Ready == unknown || now.Ready != unknown || now.Reason != reasonProgressing {
		return false
	}
	return sameSubject(last, now) && (last.Ready != "True" || last.Revision == last.AttemptedRevision)
}

// sameSubject reports whether what is reconciled is the same.
func sameSubject(last, now health.Reconciler) bool {
	return last.ReadyGeneration == last.Generation && last.Generation == now.Generation &&
		last.ObservedGeneration == now.ObservedGeneration &&
		last.Deleting == now.Deleting && last.Rendered == now.Rendered &&
		last.Revision == now.Revision && last.AttemptedRevision == now.AttemptedRevision
}

// forgetLater forgets after a while what was concluded before, and returns how to
// do without; cluster.mu is held.
func (s *session) forgetLater(n name) (cancel func()) {
	c := s.cluster
	timer := c.channel.clock.AfterFunc(conclusionTTL, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		row := s.reconcilers.rows[n]
		if row == nil || row.live.Ready != unknown || s.ctx.Err() != nil {
			return
		}
		_, asked := c.reconcilers[n]
		c.notify(asked && (row.held != nil || row.live.LastResult != ""))
		row.held, row.live.LastResult = nil, ""
	})
	return func() { timer.Stop() }
}

// reconcilerChanged reports whether what is shown of a reconciler object that was asked for has
// changed. An object of the feed need not be read by name any more. cluster.mu is held.
func (s *session) reconcilerChanged(n name, before, now *reconcilerRow) bool {
	if now == nil {
		before.release()
	} else {
		s.cluster.unwatch(kustomizationKey(n)) // should it leave the feed, it is read by name anew
	}
	_, asked := s.cluster.reconcilers[n]
	return asked && (before == nil || now == nil || !reflect.DeepEqual(before.shown(), now.shown()))
}

// kustomizationKey names a tier's Kustomization that is not in the feed. The feed holds
// objects with our label, which somebody may have removed, or left out of a template: only a
// request by name can show that an object does not exist.
func kustomizationKey(n name) objectKey {
	return objectKey{kustomizations.GroupVersion().WithKind("Kustomization"), n}
}

// judgeKustomization returns what to keep of a Kustomization that was read by name, and when to
// read it again: one that exists is not as it should be, because the feed lacks it.
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
	return func(c *cluster) func() *latch {
		c.mu.Lock()
		known, _ := c.feed(ours)
		listed := known && c.session.reconcilers.rows[name{key.Namespace, key.Name}] != nil
		c.mu.Unlock()
		if !known || listed {
			return func() *latch { return nil }
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
		return health.Reconciler{Reason: string(why.reason), Message: why.text}
	}
	if row := c.session.reconcilers.rows[n]; row != nil {
		return row.shown()
	}
	o := c.watched(kustomizationKey(n), judgeKustomization)
	if !o.seen.known {
		why := c.unasked(o.seen.why)
		return health.Reconciler{Reason: string(why.reason), Message: why.text}
	}
	if found, ok := o.seen.kept.(health.Reconciler); ok {
		return found
	}
	return health.Reconciler{Known: true}
}
