package nursery

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// fault keeps an object from becoming healthy.
type fault struct {
	state  objectHealth
	reason string
}

// Break makes an object unhealthy until Heal, whether it is there already or
// comes later. As with Flux, a Kustomization notices when it next reconciles;
// it then waits for the object until its timeout. A creator that is broken
// before its control plane is up waits likewise.
func (n *Nursery) Break(cluster string, id manifest.ID, reason string) {
	n.setFault(cluster, id, fault{inProgress, reason})
}

// Stall is a Break that kstatus calls Failed: the health check fails early.
func (n *Nursery) Stall(cluster string, id manifest.ID, reason string) {
	n.setFault(cluster, id, fault{failed, reason})
}

func (n *Nursery) setFault(cluster string, id manifest.ID, f fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.faults[cluster] == nil {
		n.faults[cluster] = map[manifest.ID]fault{}
	}
	n.faults[cluster][id] = f
}

// Heal ends a Break or a Stall.
func (n *Nursery) Heal(cluster string, id manifest.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.faults[cluster], id)
}

// Silence cuts a cluster off, or ends that: channels and hubs get no answer
// from it, while its own Flux goes on.
func (n *Nursery) Silence(cluster string, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !silent {
		delete(n.silent, cluster)
		return
	}
	n.silent[cluster] = true
}

// Suspend suspends a Kustomization by hand, or resumes it, which Git does not
// undo. It fails if the Kustomization does not exist.
func (n *Nursery) Suspend(cluster, namespace, name string, suspended bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var k *kustomization
	if c := n.clusters[cluster]; c != nil {
		k = c.kustomizations[key{namespace, name}]
	}
	if k == nil {
		return fmt.Errorf("simulated cluster %s has no Kustomization %s/%s", cluster, namespace, name)
	}
	if k.byHand != suspended {
		k.byHand = suspended
		k.generation++
		n.wake(k, n.schedule.now+1)
	}
	return nil
}

// Wipe replaces a cluster by a new one with nothing but what it had from the
// start. Its root syncs it again from Git; what a hub applies to it comes back
// when the hub's Kustomizations reconcile, each at its own time. Clusters that
// it had created run on, and are taken up again when their creators come back.
func (n *Nursery) Wipe(cluster string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.clusters[cluster]
	if c == nil || !c.up {
		return fmt.Errorf("cannot wipe cluster %s: it does not exist in the simulation", cluster)
	}
	n.forget(c)
	n.addDefaults(c)
	for name, made := range n.clusters {
		if made.creatorHost != c {
			continue
		}
		made.creator, made.creatorHost = nil, nil
		if !made.up {
			delete(n.clusters, name)
		}
	}
	return nil
}
