package nursery

import (
	"fmt"
	"slices"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// lingering kinds take a tick to go.
var lingering = []manifest.GroupKind{podKind, {Kind: "PersistentVolumeClaim"}}

// remove asks the API server to delete an object. Most go at once; the others
// are in deletion until what hangs on them is done.
func (n *Nursery) remove(c *cluster, l *live) {
	if l.deleting || l.permanent {
		return
	}
	l.deleting = true
	switch gk := l.id.GroupKind(); {
	case l.kustomization != nil:
		l.kustomization.deleting = true
		l.kustomization.attempt = nil
		n.wake(l.kustomization, n.schedule.now)
	case gk == namespaceKind:
		n.later(c, l, deletions, 1, n.emptyNamespace)
	case gk == definitionKind:
		n.terminateKind(c, l)
		n.later(c, l, deletions, 1, n.dropKind)
	case n.isCreator(gk) && c.spec.Role == RoleManagement:
		n.later(c, l, deletions, 2, n.finishCreator)
	case slices.Contains(lingering, gk):
		n.later(c, l, deletions, 1, n.vanish)
	default:
		n.vanish(c, l)
	}
}

// later does something with an object in some ticks, if it is still the same.
func (n *Nursery) later(c *cluster, l *live, p phase, ticks int, do func(*cluster, *live)) {
	n.schedule.at(n.schedule.now+ticks, p, c.spec.Name+"/"+l.id.String(), func() {
		if c.objects[l.id] == l {
			do(c, l)
		}
	})
}

func (n *Nursery) vanish(c *cluster, l *live) { delete(c.objects, l.id) }

// emptyNamespace deletes the contents of a Namespace, and it once they are gone.
func (n *Nursery) emptyNamespace(c *cluster, ns *live) {
	for _, l := range c.in(ns.id.Name) {
		n.loseWith(c, l, ns, fmt.Sprintf("its Namespace %s was deleted", ns.id.Name))
		n.remove(c, l)
	}
	if len(c.in(ns.id.Name)) > 0 {
		n.later(c, ns, deletions, 1, n.emptyNamespace)
		return
	}
	n.vanish(c, ns)
}

func (n *Nursery) terminateKind(c *cluster, l *live) {
	if gk, _, ok := manifest.DefinedScope(l.object); ok && c.kinds[gk] != nil {
		c.kinds[gk].terminating = true
	}
}

// dropKind deletes the objects of a CRD, and it once they are gone.
func (n *Nursery) dropKind(c *cluster, definition *live) {
	gk, _, ok := manifest.DefinedScope(definition.object)
	if !ok {
		n.vanish(c, definition)
		return
	}
	for _, l := range c.of(gk) {
		n.loseWith(c, l, definition, fmt.Sprintf("its CustomResourceDefinition %s was deleted", definition.id.Name))
		n.remove(c, l)
	}
	if len(c.of(gk)) > 0 {
		n.later(c, definition, deletions, 1, n.dropKind)
		return
	}
	delete(c.kinds, gk)
	n.vanish(c, definition)
}

// loseWith records a loss when the object goes with something that another
// Kustomization owned, and nobody had asked for its own deletion.
func (n *Nursery) loseWith(c *cluster, l, with *live, why string) {
	switch {
	case l.deleting, l.owner == nil, l.owner.gone, l.owner.deleting:
	case with.owner != nil && with.owner.key == l.owner.key:
	default:
		n.lose(c, l.id, l.owner, why)
	}
}

func (n *Nursery) lose(c *cluster, id manifest.ID, owner *kustomization, why string) {
	n.losses = append(n.losses, Loss{Cluster: c.spec.Name, Object: id, Owner: owner.key.String(), Message: why, Tick: n.schedule.now})
}

// finalize is what Flux does before a Kustomization may go.
func (n *Nursery) finalize(k *kustomization) {
	if k.suspended() || !prunesOnDeletion(k.declared.spec) || len(k.inventory) == 0 {
		n.deleteKustomization(k)
		return
	}
	target, refused := n.reach(k, k.declared.spec)
	if refused != nil {
		n.wake(k, n.schedule.now+1) // it hangs for as long as the cluster is away
		return
	}
	left := 0
	for _, id := range k.inventory {
		if l := target.objects[id]; l != nil && prunable(l, k) {
			n.remove(target, l)
			if target.objects[id] == l && !l.permanent {
				left++
			}
		}
	}
	if left > 0 && k.declared.spec.DeletionPolicy == kustomizev1.DeletionPolicyWaitForTermination {
		n.wake(k, n.schedule.now+1)
		return
	}
	n.deleteKustomization(k)
}

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
func (n *Nursery) deleteKustomization(k *kustomization) {
	k.gone = true
	delete(k.host.kustomizations, k.key)
	delete(k.host.objects, manifest.ID{
		Group: kustomizationKind.Group, Kind: kustomizationKind.Kind, Namespace: k.key.namespace, Name: k.key.name,
	})
}
