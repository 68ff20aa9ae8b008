package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// objectHealth is the health of one object, as kstatus names it.
type objectHealth string

const (
	current     objectHealth = "Current"
	inProgress  objectHealth = "InProgress"
	failed      objectHealth = "Failed"
	terminating objectHealth = "Terminating"
	notFound    objectHealth = "NotFound"
)

// workloads take some ticks to become healthy.
var workloads = []manifest.GroupKind{
	{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}, {Group: "apps", Kind: "DaemonSet"},
	{Group: "batch", Kind: "Job"}, podKind,
}

// unhealthy is an object that keeps a Kustomization from being ready.
type unhealthy struct {
	id     manifest.ID
	state  objectHealth
	detail string
}

func (a unhealthy) String() string {
	text := fmt.Sprintf("%s status: '%s'", title(a.id), a.state)
	if a.detail != "" {
		text += ": " + a.detail
	}
	return text
}

// checkHealth is one observation of a running health check; the next is a tick later. A failed
// object ends it at once, as kstatus's polling does in Flux, and others when the time is over.
func (s *Simulator) checkHealth(a *attempt) {
	unhealthyObjects := s.unhealthyObjects(a)
	early := slices.DeleteFunc(slices.Clone(unhealthyObjects), func(x unhealthy) bool { return x.state != failed })
	elapsed := s.opts.Step * time.Duration(s.schedule.now-a.began)
	switch {
	case len(unhealthyObjects) == 0:
		s.succeed(a)
	case len(early) > 0:
		s.fail(a, failure{reason: reasonHealth, message: fmt.Sprintf(
			"health check failed after %s: failed early due to stalled resources: [%s]", elapsed, list(early))})
	case s.schedule.now >= a.deadline:
		s.fail(a, failure{reason: reasonHealth, message: fmt.Sprintf(
			"health check failed after %s: timeout waiting for: [%s]", elapsed, list(unhealthyObjects))})
	default:
		if a.k.ready.reason != reasonProgressing || a.k.ready.generation != a.generation {
			s.setReady(a.k, a.generation, unknown(reasonProgressing, "Reconciliation in progress"))
		}
		s.wake(a.k, s.schedule.now+1)
	}
}

func list(unhealthyObjects []unhealthy) string {
	texts := make([]string, len(unhealthyObjects))
	for i, a := range unhealthyObjects {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// unhealthyObjects lists the objects that keep a Kustomization from being ready:
// with spec.wait all that it applied, otherwise those of its health checks.
func (s *Simulator) unhealthyObjects(a *attempt) []unhealthy {
	if !s.reachable(a.target) && a.target != a.k.host {
		return []unhealthy{{state: inProgress, detail: "the cluster does not answer"}}
	}
	ids := a.k.inventory
	if !a.spec.Wait {
		ids = checked(a.spec)
	}
	var found []unhealthy
	for _, id := range ids {
		if state, detail := s.health(a, id); state != current {
			found = append(found, unhealthy{id, state, detail})
		}
	}
	return found
}

// checked returns the ids of spec.healthChecks.
func checked(s kustomizev1.KustomizationSpec) []manifest.ID {
	ids := make([]manifest.ID, 0, len(s.HealthChecks))
	for _, ref := range s.HealthChecks {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		ids = append(ids, manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: ref.Namespace, Name: ref.Name})
	}
	return ids
}

// health is that of one object on the target.
func (s *Simulator) health(a *attempt, id manifest.ID) (objectHealth, string) {
	c := a.target
	l := c.objects[id]
	switch {
	case l == nil && id == (manifest.ID{Kind: "ServiceAccount", Namespace: id.Namespace, Name: "default"}) && c.objects[manifest.ID{Kind: namespaceKind.Kind, Name: id.Namespace}] != nil:
		return current, ""
	case l == nil:
		return notFound, ""
	case l.deleting:
		return terminating, ""
	}
	if f, ok := s.faults[c.spec.Name][id]; ok {
		return f.state, f.reason
	}
	if s.isReady(a, l) {
		return current, ""
	}
	return inProgress, ""
}

// isReady reports whether an object has reached its wanted state.
func (s *Simulator) isReady(a *attempt, l *live) bool {
	gk := l.id.GroupKind()
	switch {
	case s.isCreator(gk):
		return l.initialised
	case l.kustomization != nil:
		return l.kustomization.isReconciled()
	case gk == definitionKind:
		defined, _, ok := manifest.DefinedScope(l.object)
		k := a.target.kinds[defined]
		return ok && k != nil && s.schedule.now >= k.establishedAt
	case slices.Contains(workloads, gk), judged(a.spec, gk):
		return s.schedule.now >= l.changedAt+s.opts.ReadyAfter
	}
	return true
}

// judged reports whether health expressions of the Kustomization cover the kind.
func judged(s kustomizev1.KustomizationSpec, gk manifest.GroupKind) bool {
	for _, e := range s.HealthCheckExprs {
		if gvk := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind); gvk.Group == gk.Group && gvk.Kind == gk.Kind {
			return true
		}
	}
	return false
}
