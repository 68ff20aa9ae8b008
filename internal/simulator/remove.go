package simulator

import (
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// lingering kinds take a tick to go.
var lingering = []manifest.GroupKind{podKind, {Kind: "PersistentVolumeClaim"}}

// remove asks the API server to delete an object. Most go at once; the others are in deletion until
// what hangs on them is done: the content of a Namespace, the objects of a CRD, what a
// Kustomization has applied, the cluster of a creator.
func (s *Simulator) remove(c *cluster, l *live) {
	if l.deleting || l.permanent {
		return
	}
	l.deleting = true
	switch gk := l.id.GroupKind(); {
	case l.kustomization != nil:
		l.kustomization.deleting = true
		l.kustomization.attempt = nil
		s.wake(l.kustomization, s.schedule.now)
	case gk == namespaceKind:
		s.later(c, l, deletions, 1, s.emptyNamespace)
	case gk == definitionKind:
		s.terminateKind(c, l)
		s.later(c, l, deletions, 1, s.dropKind)
	case s.isCreator(gk) && c.spec.Role == RoleManagement:
		s.later(c, l, deletions, 2, s.finishCreator)
	case slices.Contains(lingering, gk):
		s.later(c, l, deletions, 1, s.vanish)
	default:
		s.vanish(c, l)
	}
}

// later does something with an object in some ticks, if it is still the same.
func (s *Simulator) later(c *cluster, l *live, p phase, ticks int, do func(*cluster, *live)) {
	s.schedule.at(s.schedule.now+ticks, p, c.spec.Name+"/"+l.id.String(), func() {
		if c.objects[l.id] == l {
			do(c, l)
		}
	})
}

func (s *Simulator) vanish(c *cluster, l *live) { delete(c.objects, l.id) }

// emptyNamespace deletes the contents of a Namespace, and it once they are gone.
func (s *Simulator) emptyNamespace(c *cluster, ns *live) {
	for _, l := range c.in(ns.id.Name) {
		s.loseWith(c, l, ns, fmt.Sprintf("its Namespace %s was deleted", ns.id.Name))
		s.remove(c, l)
	}
	if len(c.in(ns.id.Name)) > 0 {
		s.later(c, ns, deletions, 1, s.emptyNamespace)
		return
	}
	s.vanish(c, ns)
}

func (s *Simulator) terminateKind(c *cluster, l *live) {
	if gk, _, ok := manifest.DefinedScope(l.object); ok && c.kinds[gk] != nil {
		c.kinds[gk].terminating = true
	}
}

// dropKind deletes the objects of a CRD, and it once they are gone.
func (s *Simulator) dropKind(c *cluster, definition *live) {
	gk, _, ok := manifest.DefinedScope(definition.object)
	if !ok {
		s.vanish(c, definition)
		return
	}
	for _, l := range c.of(gk) {
		s.loseWith(c, l, definition, fmt.Sprintf("its CustomResourceDefinition %s was deleted", definition.id.Name))
		s.remove(c, l)
	}
	if len(c.of(gk)) > 0 {
		s.later(c, definition, deletions, 1, s.dropKind)
		return
	}
	delete(c.kinds, gk)
	s.vanish(c, definition)
}

// loseWith records a loss when the object goes with something that another
// Kustomization owned, and nobody had asked for its own deletion.
func (s *Simulator) loseWith(c *cluster, l, with *live, why string) {
	switch {
	case l.deleting, l.owner == nil, l.owner.gone, l.owner.deleting:
	case with.owner != nil && with.owner.key == l.owner.key:
	default:
		s.lose(c, l.id, l.owner, why)
	}
}

func (s *Simulator) lose(c *cluster, id manifest.ID, owner *kustomization, why string) {
	s.losses = append(s.losses, Loss{Cluster: c.spec.Name, Object: id, Owner: owner.key.String(), Message: why, Tick: s.schedule.now})
}

// finalize is what Flux does before a Kustomization may go, by its deletion policy. A target that
// does not answer keeps it from going: that is what 'furrow abandon' is for.
func (s *Simulator) finalize(k *kustomization) {
	if k.suspended() || !prunesOnDeletion(k.declared.spec) || len(k.inventory) == 0 {
		s.deleteKustomization(k)
		return
	}
	target, refused := s.reach(k, k.declared.spec)
	if refused != nil {
		s.wake(k, s.schedule.now+1) // it hangs for as long as the cluster is away
		return
	}
	left := 0
	for _, id := range k.inventory {
		if l := target.objects[id]; l != nil && prunable(l, k) {
			s.remove(target, l)
			if target.objects[id] == l && !l.permanent {
				left++
			}
		}
	}
	if left > 0 && k.declared.spec.DeletionPolicy == kustomizev1.DeletionPolicyWaitForTermination {
		s.wake(k, s.schedule.now+1)
		return
	}
	s.deleteKustomization(k)
}

// prunesOnDeletion reports whether deleting the Kustomization deletes what it applied: spec.prune
// says so unless spec.deletionPolicy does.
func prunesOnDeletion(s kustomizev1.KustomizationSpec) bool {
	switch s.DeletionPolicy {
	case kustomizev1.DeletionPolicyOrphan:
		return false
	case "", kustomizev1.DeletionPolicyMirrorPrune:
		return s.Prune
	}
	return true
}

// deleteKustomization removes a Kustomization whose finalizer is done.
func (s *Simulator) deleteKustomization(k *kustomization) {
	k.gone = true
	delete(k.host.kustomizations, k.key)
	delete(k.host.objects, manifest.ID{
		Group: kustomizationKind.Group, Kind: kustomizationKind.Kind, Namespace: k.key.namespace, Name: k.key.name,
	})
}
