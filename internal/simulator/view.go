package simulator

import (
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// The states of a cluster in a ClusterView.
const (
	StateCreating = "being created (simulated)"
	StateRunning  = "running (simulated)"
	StateSilent   = "silent (simulated)"
)

// ClusterView is a simulated cluster for people.
type ClusterView struct {
	Name string
	// State is StateCreating, StateRunning or StateSilent.
	State string
	// Objects is how many objects Kustomizations have applied to it.
	Objects int
	// Kustomizations are those that its own Flux reconciles, the root included,
	// by namespace and name.
	Kustomizations []KustomizationView
}

// KustomizationView is a simulated Kustomization for people.
type KustomizationView struct {
	Namespace, Name string
	// Ready, Reason and Message are those of condition Ready.
	Ready, Reason, Message string
}

// Describe returns all clusters by name.
func (s *Simulator) Describe() []ClusterView {
	s.mu.Lock()
	defer s.mu.Unlock()
	views := make([]ClusterView, 0, len(s.clusters))
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		views = append(views, s.viewCluster(s.clusters[name]))
	}
	return views
}

// viewCluster counts only objects that a Kustomization has applied, and not those that come with a
// cluster.
func (s *Simulator) viewCluster(c *cluster) ClusterView {
	v := ClusterView{Name: c.spec.Name, State: StateRunning}
	switch {
	case !c.up:
		v.State = StateCreating
	case s.silent[c.spec.Name]:
		v.State = StateSilent
	}
	for _, l := range c.objects {
		if l.owner != nil {
			v.Objects++
		}
	}
	for _, k := range c.sortedKustomizations() {
		v.Kustomizations = append(v.Kustomizations, KustomizationView{k.key.namespace, k.key.name, k.ready.status, k.ready.reason, k.ready.message})
	}
	return v
}

// Clusters returns the names of all clusters, also of those being created.
func (s *Simulator) Clusters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.clusters))
}

// Objects returns the ids of what Kustomizations have applied to a cluster and
// is there, Kustomizations among them.
func (s *Simulator) Objects(cluster string) []manifest.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[cluster]
	if c == nil {
		return nil
	}
	var ids []manifest.ID
	for _, l := range c.sorted(func(l *live) bool { return l.owner != nil }) {
		ids = append(ids, l.id)
	}
	return ids
}

// Object returns an object as it was last applied to a cluster.
func (s *Simulator) Object(cluster string, id manifest.ID) (manifest.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clusters[cluster]
	if c == nil || c.objects[id] == nil || c.objects[id].owner == nil {
		return manifest.Object{}, false
	}
	return c.objects[id].object, true
}
