package simulator

import (
	"cmp"
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// attempt is one reconcile of a Kustomization, with the spec and the revision
// that it began with.
type attempt struct {
	k          *kustomization
	spec       kustomizev1.KustomizationSpec
	generation int64
	snapshot   *snapshot
	// target is set by connect, content by readPath, stale by applyObjects.
	target  *cluster
	content *content
	stale   []manifest.ID
	// deadline is the tick in which the health check times out.
	began, deadline int
}

// failure is why an attempt ended, and after how many ticks it is tried again;
// zero means after the retry interval.
type failure struct {
	reason, message string
	retry           int
}

// reconcile is one turn of the simulated kustomize-controller. A health check does not block the
// turn: it is continued by later ones.
func (s *Simulator) reconcile(k *kustomization) {
	switch {
	case k.deleting:
		s.finalize(k)
	case k.attempt != nil:
		s.checkHealth(k.attempt)
	case k.suspended(), k.host.snapshot == nil:
		// The one is woken when it is resumed, the other by a fetch.
	default:
		s.begin(k)
	}
}

// begin goes through the steps of kustomize-controller in its order; the first failure ends the
// attempt, with the reason that Flux gives for that step.
func (s *Simulator) begin(k *kustomization) {
	a := &attempt{k: k, spec: k.declared.spec, generation: k.generation, snapshot: k.host.snapshot, began: s.schedule.now}
	steps := []func(*attempt) *failure{
		s.findSource, s.awaitDependencies, s.readPath, s.connect, s.build, s.applyObjects, s.pruneStale,
	}
	for _, step := range steps {
		if f := step(a); f != nil {
			s.fail(a, *f)
			return
		}
	}
	a.deadline = s.schedule.now + s.ticks(kustomizev1.Kustomization{Spec: a.spec}.GetTimeout())
	k.attempt = a
	s.checkHealth(a)
}

// findSource knows the root's own source alone.
func (s *Simulator) findSource(a *attempt) *failure {
	root, ref := a.k.host.spec.Root, a.spec.SourceRef
	namespace := cmp.Or(ref.Namespace, a.k.key.namespace)
	if ref.Kind == sourceKind && ref.Name == root.Source && namespace == root.Namespace {
		return nil
	}
	return &failure{reason: reasonArtifact, message: fmt.Sprintf("Source '%s/%s/%s' not found: only %s/%s is simulated",
		ref.Kind, namespace, ref.Name, root.Namespace, root.Source)}
}

// awaitDependencies wants dependencies to be ready at the same revision. Flux asks for that where
// both read one source.
func (s *Simulator) awaitDependencies(a *attempt) *failure {
	for _, ref := range a.spec.DependsOn {
		name := key{cmp.Or(ref.Namespace, a.k.key.namespace), ref.Name}
		dependency := a.k.host.kustomizations[name]
		why := ""
		switch {
		case ref.ReadyExpr != "":
			why = "has a readyExpr, which is not simulated"
		case dependency == nil:
			why = "not found"
		case !dependency.isReconciled():
			why = "is not ready"
		case dependency.applied != a.snapshot.revision:
			why = "is not updated yet"
		default:
			continue
		}
		return &failure{reason: reasonDependency, message: fmt.Sprintf("dependency '%s' %s", name, why), retry: 1}
	}
	return nil
}

// readPath is the step of kustomize-controller that unpacks the artifact.
func (s *Simulator) readPath(a *attempt) *failure {
	name, err := cleanPath(a.spec.Path)
	if err == nil {
		a.content, err = a.snapshot.load(name)
	}
	if err != nil {
		return &failure{reason: reasonArtifact, message: pathFailure(a.spec.Path, err)}
	}
	a.k.attempted = a.snapshot.revision
	return nil
}

// connect is the step that reaches the target. Only a refusal is recorded as one: silence may end.
func (s *Simulator) connect(a *attempt) *failure {
	target, refused := s.reach(a.k, a.spec)
	if refused == nil {
		a.target = target
		return nil
	}
	if !refused.silent {
		s.reject(a.k, refused.cluster, refusal{message: refused.message})
	}
	return &failure{reason: reasonFailed, message: refused.message}
}

// unreachable is a cluster that a Kustomization could not get to.
type unreachable struct {
	cluster, message string
	silent           bool // it is there, and only does not answer
}

// reach finds the cluster that a Kustomization is for: its own, or the one whose kubeconfig is in
// the Secret that it names. Why it cannot be reached is in the words of kustomize-controller.
func (s *Simulator) reach(k *kustomization, spec kustomizev1.KustomizationSpec) (*cluster, *unreachable) {
	if spec.KubeConfig == nil {
		return k.host, nil
	}
	ref := spec.KubeConfig.SecretRef
	at := key{k.key.namespace, ref.Name}
	guess := strings.TrimSuffix(ref.Name, kubeConfigName(""))
	secret := k.host.objects[secretID(at)]
	switch {
	case secret == nil:
		return nil, &unreachable{cluster: guess, message: fmt.Sprintf(
			"unable to read KubeConfig secret '%s' error: secrets %q not found", at, ref.Name)}
	case secret.kubeConfigOf == "" || ref.Key != "" && ref.Key != "value":
		return nil, &unreachable{cluster: guess, message: fmt.Sprintf(
			"KubeConfig secret '%s' does not contain a '%s' key with a kubeconfig", at, cmp.Or(ref.Key, "value"))}
	}
	target := s.clusters[secret.kubeConfigOf]
	if s.reachable(target) {
		return target, nil
	}
	return nil, &unreachable{cluster: secret.kubeConfigOf, silent: s.silent[secret.kubeConfigOf], message: fmt.Sprintf(
		"failed to get server groups: Get \"https://%s.simulator.invalid:6443/api?timeout=30s\": connect: connection refused", secret.kubeConfigOf)}
}

// build is the step that builds the objects. What cannot be simulated fails here, too.
func (s *Simulator) build(a *attempt) *failure {
	fault := cmp.Or(unsimulated(a.spec), a.content.fault)
	if fault == "" {
		return nil
	}
	return &failure{reason: reasonBuild, message: fault}
}

// fail ends an attempt. The generation is not observed: only success is.
func (s *Simulator) fail(a *attempt, f failure) {
	a.k.attempt = nil
	s.setReady(a.k, a.generation, condition{status: "False", reason: f.reason, message: f.message})
	s.again(a, cmp.Or(f.retry, s.retryAfter(a.spec)))
}

// succeed ends an attempt: the generation that it began with is observed, and its revision applied.
func (s *Simulator) succeed(a *attempt) {
	k := a.k
	k.attempt = nil
	k.applied = a.snapshot.revision
	k.observedGeneration = a.generation
	s.setReady(k, a.generation, condition{
		status: "True", reason: reasonSucceeded, message: "Applied revision: " + a.snapshot.revision,
	})
	s.again(a, s.refreshAfter(a.spec))
}

// again plans the next attempt: soon, when there is something newer than what
// this one began with.
func (s *Simulator) again(a *attempt, ticks int) {
	if a.k.generation != a.generation || a.k.host.snapshot != a.snapshot {
		ticks = 1
	}
	s.wake(a.k, s.schedule.now+ticks)
}
