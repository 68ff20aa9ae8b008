package fleet

import (
	"maps"
	"slices"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
)

// Snapshots has the findings of the last pass of each control plane, for the statuses
// of the other resources. It may be used by several goroutines.
type Snapshots struct {
	mu          sync.Mutex
	last        map[ControlPlane]Snapshot
	subscribers []func(namespace string)
}

// Snapshot has the findings of a pass about the resources other than Seeds.
type Snapshot struct {
	// Catalog is what the control plane declares.
	Catalog *catalog.Catalog
	// Repos are the GitOps repositories, by name.
	Repos map[string]engine.RepoReport
	// Plantings counts the seeds on each cluster.
	Plantings map[string]int
	// Read has the versions of the resources that the catalog was made from, by RefOf.
	Read map[string]string
}

// Publish replaces the snapshot of a control plane, and notifies subscribers if a status may change
// by it, without holding the lock. docs are the resources that its catalog was made from; nil if
// the catalog is an earlier one, because the current one cannot be read.
func (s *Snapshots) Publish(cp ControlPlane, docs []Document, report *engine.Report) {
	snapshot := Snapshot{Catalog: report.Catalog, Repos: report.Repos, Plantings: map[string]int{}, Read: map[string]string{}}
	for _, d := range docs {
		snapshot.Read[RefOf(d.Kind, cp.Namespace, d.Name)] = d.Version
	}
	for i := range report.Seeds {
		clusters := map[string]bool{}
		for _, t := range report.Seeds[i].Tiers {
			clusters[t.Cluster] = true
		}
		for cluster := range clusters {
			snapshot.Plantings[cluster]++
		}
	}
	s.mu.Lock()
	if s.last == nil {
		s.last = map[ControlPlane]Snapshot{}
	}
	had, known := s.last[cp]
	if docs == nil && known {
		snapshot.Read = had.Read
	}
	s.last[cp] = snapshot
	subscribers := slices.Clone(s.subscribers)
	s.mu.Unlock()
	if known && had.equal(snapshot) {
		return
	}
	for _, notify := range subscribers {
		notify(cp.Namespace)
	}
}

// equal reports whether no status changes between two snapshots.
func (s Snapshot) equal(o Snapshot) bool {
	same := func(a, b engine.RepoReport) bool {
		return a.Head == b.Head && a.Proposals == b.Proposals && (a.Limit == nil) == (b.Limit == nil) && (a.Limit == nil || *a.Limit == *b.Limit) && (a.Err == nil) == (b.Err == nil) && (a.Err == nil || a.Err.Error() == b.Err.Error())
	}
	return s.Catalog == o.Catalog && maps.Equal(s.Plantings, o.Plantings) && maps.Equal(s.Read, o.Read) && maps.EqualFunc(s.Repos, o.Repos, same)
}

// Remove removes a control plane that no Seed names any more, or that cannot be observed.
func (s *Snapshots) Remove(cp ControlPlane) {
	s.mu.Lock()
	_, known := s.last[cp]
	delete(s.last, cp)
	subscribers := slices.Clone(s.subscribers)
	s.mu.Unlock()
	if known {
		for _, notify := range subscribers {
			notify(cp.Namespace)
		}
	}
}

// Subscribe has notify called with each namespace in which a snapshot changes. It must
// return at once.
func (s *Snapshots) Subscribe(notify func(namespace string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers = append(s.subscribers, notify)
}

// In returns the snapshots of a namespace, always in the same order.
func (s *Snapshots) In(namespace string) []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Snapshot
	for _, cp := range slices.SortedFunc(maps.Keys(s.last), ControlPlane.compare) {
		if cp.Namespace == namespace {
			out = append(out, s.last[cp])
		}
	}
	return out
}
