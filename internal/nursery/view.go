package nursery

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
	Name, Role string
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
	Namespace, Name, Path string
	// Target is the cluster that it applied to; empty before the first apply.
	Target string
	// Ready, Reason, Message and Since are those of condition Ready.
	Ready, Reason, Message, Since string
	// Revision is the last that was applied and healthy.
	Revision            string
	Suspended, Deleting bool
	Objects             int
}

// Describe returns all clusters by name.
func (n *Nursery) Describe() []ClusterView {
	n.mu.Lock()
	defer n.mu.Unlock()
	views := make([]ClusterView, 0, len(n.clusters))
	for _, name := range slices.Sorted(maps.Keys(n.clusters)) {
		views = append(views, n.viewCluster(n.clusters[name]))
	}
	return views
}

func (n *Nursery) viewCluster(c *cluster) ClusterView {
	v := ClusterView{Name: c.spec.Name, Role: c.spec.Role, State: StateRunning}
	switch {
	case !c.up:
		v.State = StateCreating
	case n.silent[c.spec.Name]:
		v.State = StateSilent
	}
	for _, l := range c.objects {
		if l.owner != nil {
			v.Objects++
		}
	}
	for _, k := range c.sortedKustomizations() {
		v.Kustomizations = append(v.Kustomizations, n.viewKustomization(k))
	}
	return v
}

func (n *Nursery) viewKustomization(k *kustomization) KustomizationView {
	r := n.observe(k)
	return KustomizationView{
		Namespace: k.key.namespace, Name: k.key.name, Path: k.declared.spec.Path, Target: k.target,
		Ready: r.Ready, Reason: r.Reason, Message: r.Message, Since: r.Since,
		Revision: r.Revision, Suspended: r.Suspended, Deleting: r.Deleting, Objects: len(k.inventory),
	}
}

// Clusters returns the names of all clusters, also of those being created.
func (n *Nursery) Clusters() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.clusters))
}

// Objects returns the ids of what Kustomizations have applied to a cluster and
// is there, Kustomizations among them.
func (n *Nursery) Objects(cluster string) []manifest.ID {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.clusters[cluster]
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
func (n *Nursery) Object(cluster string, id manifest.ID) (manifest.Object, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.clusters[cluster]
	if c == nil || c.objects[id] == nil || c.objects[id].owner == nil {
		return manifest.Object{}, false
	}
	return c.objects[id].object, true
}
