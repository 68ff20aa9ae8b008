package flux

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// standsFor is for how long a conclusion stands while Flux draws it anew.
const standsFor = 30 * time.Second

// Flux's reasons for a reconciliation under way, for one that waits, and for a success.
const (
	reasonProgressing = "Progressing"
	reasonDependency  = "DependencyNotReady"
	reasonSucceeded   = "ReconciliationSucceeded"
)

// unknown is the status of condition Ready while Flux draws a conclusion.
const unknown = "Unknown"

// reconcilerRow is a tier's Kustomization. The conclusion before the one that is
// being drawn stands in two places: as live.LastResult, for the verdict, and as
// held, for people. Both go when it is forgotten.
type reconcilerRow struct {
	// live is what the object says, with the channel's own LastResult.
	live health.Reconciler
	// held is what it said before Flux began to look at the same thing again, as it
	// does at every interval; nil when it does not. The verdict on it is never Ready
	// where that on live is not.
	held *health.Reconciler
	// uid and version are the object's.
	uid     types.UID
	version string
	// release stops the time that a conclusion stands.
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
	}
}

// lastResult is the LastResult of what the object says now, by the rule of health.Reconciler.
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

// readReconciler makes a row of an object. Flux sets Ready to Unknown whenever it
// begins to look at the same thing again, for a second or so: what it concluded
// before stands until it has concluded anew, and the time since when with it.
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
		if row.uid == before.uid && sameConclusion(before.shown(), row.live) {
			row.live.Since = before.shown().Since
		}
		return row
	}
	row.live.LastResult = lastResult(before, row.live)
	last := before.shown()
	switch {
	case row.live.Ready != unknown:
		before.release()
		if sameConclusion(last, row.live) {
			row.live.Since = last.Since
		}
	case before.live.Ready == unknown:
		row.release = before.release
		if before.held != nil && lookingAgain(last, row.live) {
			row.held = before.held
		}
	default:
		row.release = s.forgetLater(nameOf(u))
		if lookingAgain(last, row.live) {
			row.held = &last
		}
	}
	return row
}

// lookingAgain says that an object is what it was when its conclusion was drawn,
// and Flux is drawing it anew. A success counts for what was applied: it stands only
// if nothing else was tried.
func lookingAgain(last, now health.Reconciler) bool {
	if last.Ready == unknown || now.Ready != unknown || now.Reason != reasonProgressing {
		return false
	}
	return sameSubject(last, now) && (last.Ready != "True" || last.Revision == last.AttemptedRevision)
}

func sameConclusion(last, now health.Reconciler) bool {
	return last.Ready == now.Ready && last.Reason == now.Reason && sameSubject(last, now)
}

// sameSubject says that what is reconciled is the same.
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
	timer := c.channel.clock.AfterFunc(standsFor, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		row := s.reconcilers.rows[n]
		if row == nil || row.live.Ready != unknown || s.ctx.Err() != nil {
			return
		}
		_, asked := c.reconcilers[n]
		c.tell(asked && (row.held != nil || row.live.LastResult != ""))
		row.held, row.live.LastResult = nil, ""
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
