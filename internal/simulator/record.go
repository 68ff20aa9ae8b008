package simulator

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Rejection is an object that a simulated API server did not take.
type Rejection struct {
	// Cluster that refused the object, and the Kustomization, as
	// namespace/name, that applied it.
	Cluster, Kustomization string
	// Object is zero when no object got as far as an API server, because the
	// cluster does not exist yet.
	Object manifest.ID
	// Message is the API server's.
	Message string
	// Tick in which it was first refused.
	Tick int
}

func (r Rejection) String() string {
	object := "everything"
	if r.Object != (manifest.ID{}) {
		object = r.Object.String()
	}
	return fmt.Sprintf("tick %d: simulated cluster %s rejected %s of %s: %s", r.Tick, r.Cluster, object, r.Kustomization, r.Message)
}

// Loss is an object that was deleted although its Kustomization was to keep it.
type Loss struct {
	Cluster string
	Object  manifest.ID
	// Owner is the Kustomization, as namespace/name, that lost it.
	Owner, Message string
	Tick           int
}

func (l Loss) String() string {
	return fmt.Sprintf("tick %d: simulated cluster %s lost %s of %s: %s", l.Tick, l.Cluster, l.Object, l.Owner, l.Message)
}

// rejectionLog keeps rejections in order, each once however often the object
// was tried again.
type rejectionLog struct {
	entries []Rejection
	seen    map[Rejection]bool // without their tick
}

// add notes a rejection at its first tick: Flux tries again and again.
func (l *rejectionLog) add(r Rejection) {
	if l.seen == nil {
		l.seen = map[Rejection]bool{}
	}
	what := r
	what.Tick = 0
	if !l.seen[what] {
		l.seen[what] = true
		l.entries = append(l.entries, r)
	}
}

// Rejections returns what simulated API servers rejected since the start, each
// once however often it was tried again.
func (s *Simulator) Rejections() []Rejection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rejections.entries)
}

// Losses returns what was lost since the start.
func (s *Simulator) Losses() []Loss {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.losses)
}
