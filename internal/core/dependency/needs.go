package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// need is something that an object needs to become ready, by one of the rules that draw weak edges.
type need struct {
	to          int32
	rule, field string
	why         string
	// named is the object that the why ends in, and made whether another one makes it.
	named *manifest.ID
	made  bool
}

// reason says why the object is needed. It is made only where somebody asks.
func (n need) reason() string {
	switch {
	case n.named == nil:
		return n.why
	case n.made:
		return n.why + n.named.Kind + " " + n.named.Name + ", which that makes"
	}
	return n.why + n.named.Kind + " " + n.named.Name
}

// needsOf lists what an object needs to become ready, by the rules that its seed has switched on.
func (s *surroundings) needsOf(v int32) []need {
	if s.needs != nil && s.needs[v] != nil {
		return s.needs[v]
	}
	return s.needsBy(v, findersOf(s.ID(v).GroupKind()))
}

// needsBy is needsOf where the finder of the object's kind is known.
func (s *surroundings) needsBy(v int32, find finder) []need {
	if s.needs == nil {
		s.needs = make([][]need, s.graph.Len())
	}
	if s.needs[v] != nil {
		return s.needs[v]
	}
	s.needs[v] = none
	if o := s.content[v]; o != nil && find != nil && !s.leaving[v] {
		enabled := s.seeds[s.graph.vertices[v].seed].Spec.RuleEnabled
		if found := slices.DeleteFunc(find(s, v, o), func(n need) bool { return n.to == v || s.leaving[n.to] || !enabled(n.rule) }); len(found) > 0 {
			s.needs[v] = found
		}
	}
	return s.needs[v]
}

// none is what an object needs that needs nothing.
var none = []need{}

// finder lists what an object of some kinds needs to become ready.
type finder func(s *surroundings, v int32, o *manifest.Object) []need

// findersOf returns the finder of a kind; nil where its objects need nothing.
func findersOf(kind manifest.GroupKind) finder {
	switch {
	case placement.RunsPods(kind):
		return (*surroundings).needsOfPods
	case kind == claimKind:
		return (*surroundings).needsOfClaim
	case kind == storageClassKind:
		return (*surroundings).needsOfStorageClass
	case kind == serviceKind:
		return (*surroundings).needsOfService
	case kind == ingressKind:
		return (*surroundings).needsOfIngress
	case kind == ingressClassKind:
		return (*surroundings).needsOfIngressClass
	case kind == validatingKind, kind == mutatingKind:
		return (*surroundings).needsOfConfiguration
	case kind == secretKind, kind == configMapKind:
		return (*surroundings).needsOfCopy
	case !manifest.ServedByKubernetes(kind):
		return (*surroundings).needsOfCustom
	}
	return nil
}

var (
	secretKind       = manifest.GroupKind{Kind: "Secret"}
	configMapKind    = manifest.GroupKind{Kind: "ConfigMap"}
	serviceKind      = manifest.GroupKind{Kind: "Service"}
	claimKind        = manifest.GroupKind{Kind: "PersistentVolumeClaim"}
	storageClassKind = manifest.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}
	ingressKind      = manifest.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}
	ingressClassKind = manifest.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"}
)

// drawNeeds draws the weak edges of the present rule.
func (w *World) drawNeeds() {
	for _, e := range w.surroundings().needed()[w.rule] {
		if w.draws(e.from) {
			w.Follow(e.from, e.to, Reason{Field: e.field, Why: e.reason()})
		}
	}
}

// needEdge is a need with who has it.
type needEdge struct {
	from int32
	need
}

// needed returns, by rule, the needs that levels could leave unmet without an edge. All hard edges have to be
// there.
func (s *surroundings) needed() map[string][]needEdge {
	if s.edges != nil {
		return s.edges
	}
	s.edges, s.isNeeded = map[string][]needEdge{}, make([]bool, s.graph.Len())
	s.eachNeed(func(_ int32, n need) { s.isNeeded[n.to] = true })
	s.eachNeed(func(v int32, n need) {
		if s.matters(v, n.to) {
			s.edges[n.rule] = append(s.edges[n.rule], needEdge{v, n})
		}
	})
	return s.edges
}

// eachNeed visits the needs of all objects that are not held.
func (s *surroundings) eachNeed(visit func(int32, need)) {
	for _, run := range s.runs {
		find := findersOf(run.kind)
		if find == nil {
			continue
		}
		for v := range s.those(s.hasContent, run.first, run.end) {
			if s.held[v] {
				continue
			}
			for _, n := range s.needsBy(v, find) {
				visit(v, n)
			}
		}
	}
}

// matters reports whether levels could put an object before one that it needs. They do not where both are of
// one seed and cluster, nothing waits for the object, and all that the other one has to wait for is below the
// object anyway. Mostly that is their Namespace.
func (s *surroundings) matters(v, to int32) bool {
	a, b := s.graph.vertices[v], s.graph.vertices[to]
	if a.seed != b.seed || a.cluster != b.cluster || s.awaited[v] || s.isNeeded[v] || s.graph.compact[a.seed] {
		return true
	}
	if len(s.needsOf(to)) == 0 && s.waitsForAll(v, to) {
		return false
	}
	var below map[int32]bool
	for member := range s.NeedsToBeReady(to) {
		for bound := range s.targets(member, Hard) {
			if bound == v {
				return true
			}
			if below == nil {
				below = s.below(v)
			}
			if !below[bound] {
				return true
			}
		}
	}
	return false
}

// below returns what is on a lower level than a vertex by the edges drawn so far.
func (s *surroundings) below(v int32) map[int32]bool {
	var bounds []int32
	for member := range s.Needs(v) {
		for to := range s.targets(member, Hard) {
			bounds = append(bounds, to)
		}
	}
	return s.Needs(bounds...)
}

// waitsForAll reports whether a vertex waits directly for all that another one waits for or needs directly.
func (s *surroundings) waitsForAll(v, other int32) bool {
	for to := range s.targets(other, Hard, Weak) {
		found := false
		for own := range s.targets(v, Hard) {
			found = found || own == to
		}
		if !found {
			return false
		}
	}
	return true
}

// NeedsToBeReady returns all that some vertices depend on by the edges drawn so far and all that they
// need to become ready, directly or not, and the vertices themselves.
func (w *World) NeedsToBeReady(vertices ...int32) map[int32]bool {
	s := w.surroundings()
	return w.closure(vertices, func(v int32) []int32 {
		var out []int32
		for _, n := range s.needsOf(v) {
			out = append(out, n.to)
		}
		return out
	})
}

// whyNeeded says step by step why one of some vertices needs another one to become ready, by the shortest way.
func (w *World) whyNeeded(from []int32, to int32) []string {
	type step struct {
		before int32
		why    string
	}
	s, came, queue := w.surroundings(), map[int32]step{}, slices.Clone(from)
	add := func(v, next int32, why string) {
		if _, known := came[next]; !known && !slices.Contains(from, next) {
			came[next], queue = step{v, why}, append(queue, next)
		}
	}
	for len(queue) > 0 && queue[0] != to {
		v := queue[0]
		queue = queue[1:]
		for e := w.last[v]; e != 0; e = w.before[e-1] {
			if edge := w.graph.Edges[e-1]; w.graph.Reason(edge).Kind != Soft {
				add(v, edge.To, w.graph.Reason(edge).Why)
			}
		}
		for _, n := range s.needsOf(v) {
			add(v, n.to, n.reason())
		}
	}
	var out []string
	for at := to; !slices.Contains(from, at); at = came[at].before {
		out = append(out, fmt.Sprintf("%s needs %s (%s)", w.ID(came[at].before), w.ID(at), came[at].why))
	}
	slices.Reverse(out)
	return out
}
