package simulator

import (
	"fmt"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// The reasons of condition Ready that a simulated Kustomization gives.
const (
	reasonSucceeded   = "ReconciliationSucceeded"
	reasonFailed      = "ReconciliationFailed"
	reasonArtifact    = "ArtifactFailed"
	reasonBuild       = "BuildFailed"
	reasonHealth      = "HealthCheckFailed"
	reasonCanceled    = "HealthCheckCanceled"
	reasonDependency  = "DependencyNotReady"
	reasonProgressing = "Progressing"
)

// kustomization is a Kustomization object with its controller's state. It outlives its object until
// its last task has run; gone then keeps it from doing anything.
type kustomization struct {
	host     *cluster
	key      key
	declared *declared
	// byHand is a suspension that is not in Git.
	byHand   bool
	deleting bool
	gone     bool // it was deleted from its host

	generation, observedGeneration int64
	ready                          condition
	applied, attempted             string // revisions
	lastResult                     string // reason of the last conclusion
	lastResultOf                   int64  // the generation that it is about
	inventory                      []manifest.ID

	due int // tick of its next reconcile, 0 without one; tasks of other ticks are void
	// attempt is a reconcile whose health check is running.
	attempt *attempt
}

// condition is condition Ready.
type condition struct {
	status, reason, message string
	generation              int64
	since                   int // tick
}

func unknown(reason, message string) condition {
	return condition{status: "Unknown", reason: reason, message: message}
}

func newKustomization(host *cluster, k key, d *declared) *kustomization {
	return &kustomization{host: host, key: k, declared: d, generation: 1, observedGeneration: -1}
}

func (k *kustomization) suspended() bool { return k.byHand || k.declared.spec.Suspend }

func (k *kustomization) isRoot() bool { return k.host.root == k }

// isReconciled is the condition that dependents, and a parent that waits, require.
func (k *kustomization) isReconciled() bool {
	return k.ready.status == "True" && k.observedGeneration == k.generation
}

// has reports whether the object is in the inventory.
func (k *kustomization) has(id manifest.ID) bool { return slices.Contains(k.inventory, id) }

// setReady writes condition Ready; all that people read of it says that this
// is a simulation.
func (s *Simulator) setReady(k *kustomization, generation int64, c condition) {
	c.message += " (simulated)"
	c.generation, c.since = generation, k.ready.since
	if c.status != k.ready.status {
		c.since = s.schedule.now
	}
	k.ready = c
	if c.reason != reasonProgressing && c.reason != reasonDependency {
		k.lastResult, k.lastResultOf = c.reason, generation
	}
}

// lastResultFor is how long the last conclusion remains valid while Ready is
// Unknown.
const lastResultFor = 30 * time.Second

// shownResult returns the last conclusion as a channel reports it.
func (s *Simulator) shownResult(k *kustomization) string {
	if k.lastResultOf != k.generation || k.ready.status == "Unknown" && s.schedule.now-k.ready.since >= s.ticks(lastResultFor) {
		return ""
	}
	return k.lastResult
}

// wake schedules a reconcile of the Kustomization in a tick, unless an earlier one is scheduled. A
// task that was scheduled cannot be canceled: it compares its tick with due when it runs, so one
// for which an earlier one was scheduled does nothing.
func (s *Simulator) wake(k *kustomization, tick int) {
	phase := reconciles
	if k.isRoot() {
		phase = roots
	}
	tick = s.schedule.clamp(tick, phase)
	if k.due > 0 && k.due <= tick {
		return
	}
	k.due = tick
	s.schedule.at(tick, phase, k.host.spec.Name+"/"+k.key.String(), func() {
		if k.due == tick && !k.gone {
			k.due = 0
			s.reconcile(k)
		}
	})
}

// ticks returns how many ticks a duration takes, at least one.
func (s *Simulator) ticks(d time.Duration) int {
	return max(1, int((d+s.opts.Step-1)/s.opts.Step))
}

// retryAfter returns how long Flux waits after a failure.
func (s *Simulator) retryAfter(spec kustomizev1.KustomizationSpec) int {
	if spec.RetryInterval != nil {
		return s.ticks(spec.RetryInterval.Duration)
	}
	return s.ticks(spec.Interval.Duration)
}

// refreshAfter returns the interval, slightly shorter for some, so a fleet does not reconcile
// all at once.
func (s *Simulator) refreshAfter(spec kustomizev1.KustomizationSpec) int {
	interval := s.ticks(spec.Interval.Duration)
	return max(1, interval-s.rng.IntN(interval/10+1))
}

// observe returns what the API server of its host says of the Kustomization.
func (s *Simulator) observe(k *kustomization) health.Reconciler {
	fields := k.declared.fields
	if k.byHand {
		fields = with(fields, "suspend", true)
	}
	r := health.Reconciler{
		Known: true, Found: true, Deleting: k.deleting, Suspended: k.suspended(),
		Rendered: k.declared.rendered, Spec: fields,
		Generation: k.generation, ObservedGeneration: k.observedGeneration,
		Revision: k.applied, AttemptedRevision: k.attempted, LastResult: s.shownResult(k),
	}
	if k.ready.status != "" {
		r.Ready, r.Reason, r.Message = k.ready.status, k.ready.reason, k.ready.message
		r.ReadyGeneration = k.ready.generation
	}
	return r
}

// with returns a copy of fields with one more: what was applied is never changed in place.
func with(fields map[string]any, name string, value any) map[string]any {
	out := make(map[string]any, len(fields)+1)
	for k, v := range fields {
		out[k] = v
	}
	out[name] = value
	return out
}

// unsimulated lists the fields that change what is applied and that the
// simulator does not know; it refuses them rather than being wrong.
func unsimulated(s kustomizev1.KustomizationSpec) string {
	fields := []struct {
		name string
		set  bool
	}{
		{"patches", len(s.Patches) > 0}, {"images", len(s.Images) > 0}, {"components", len(s.Components) > 0},
		{"postBuild", s.PostBuild != nil}, {"targetNamespace", s.TargetNamespace != ""},
		{"namePrefix", s.NamePrefix != ""}, {"nameSuffix", s.NameSuffix != ""}, {"commonMetadata", s.CommonMetadata != nil},
	}
	for _, f := range fields {
		if f.set {
			return fmt.Sprintf("kustomize build failed: spec.%s is not simulated", f.name)
		}
	}
	return ""
}
