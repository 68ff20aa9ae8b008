package simulator

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
func (s *Simulator) Break(cluster string, id manifest.ID, reason string) {
	s.setFault(cluster, id, fault{inProgress, reason})
}

// Stall is a Break that kstatus calls Failed: the health check fails early.
func (s *Simulator) Stall(cluster string, id manifest.ID, reason string) {
	s.setFault(cluster, id, fault{failed, reason})
}

// setFault sets or replaces the fault of an object.
func (s *Simulator) setFault(cluster string, id manifest.ID, f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.faults[cluster] == nil {
		s.faults[cluster] = map[manifest.ID]fault{}
	}
	s.faults[cluster][id] = f
}

// Heal ends a Break or a Stall.
func (s *Simulator) Heal(cluster string, id manifest.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.faults[cluster], id)
}

// Silence cuts a cluster off, or ends that: channels and hubs get no answer
// from it, while its own Flux goes on.
func (s *Simulator) Silence(cluster string, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !silent {
		delete(s.silent, cluster)
		return
	}
	s.silent[cluster] = true
}

// Suspend suspends a Kustomization by hand, or resumes it, which Git does not
// undo. It fails if the Kustomization does not exist.
func (s *Simulator) Suspend(cluster, namespace, name string, suspended bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var k *kustomization
	if c := s.clusters[cluster]; c != nil {
		k = c.kustomizations[key{namespace, name}]
	}
	if k == nil {
		return fmt.Errorf("simulated cluster %s has no Kustomization %s/%s", cluster, namespace, name)
	}
	if k.byHand != suspended {
		k.byHand = suspended
		k.generation++
		s.wake(k, s.schedule.now+1)
	}
	return nil
}

// Wipe replaces a cluster by a new one with nothing but what it had from the
// start. Its root syncs it again from Git; what a hub applies to it comes back
// when the hub's Kustomizations reconcile, each at its own time. Clusters that
// it had created run on, and are taken up again when their creators come back.
func (s *Simulator) Wipe(cluster string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[cluster]
	if c == nil || !c.up {
		return fmt.Errorf("cannot wipe cluster %s: it does not exist in the simulation", cluster)
	}
	s.forget(c)
	s.addDefaults(c)
	for name, made := range s.clusters {
		if made.creatorHost != c {
			continue
		}
		made.creator, made.creatorHost = nil, nil
		if !made.up {
			delete(s.clusters, name)
		}
	}
	return nil
}
