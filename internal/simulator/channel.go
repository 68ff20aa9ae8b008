package simulator

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Channel is the health channel of a simulator, disturbed by its Chaos.
type Channel struct{ simulator *Simulator }

var _ probe.Channel = Channel{}

// Channel returns the health channel of these clusters.
func (s *Simulator) Channel() Channel { return Channel{s} }

var errChannel = errors.New("the simulated health channel failed, as its chaos asks it to")

// Reconcilers implements probe.Channel. The Spec of an answer is shared: read
// it, never change it.
func (ch Channel) Reconcilers(ctx context.Context, keys []probe.ReconcilerKey) (map[probe.ReconcilerKey]health.Reconciler, error) {
	return ask(ctx, ch.simulator, ch.simulator.answers.reconcilers, keys, ch.simulator.reconciler)
}

// Creators implements probe.Channel.
func (ch Channel) Creators(ctx context.Context, keys []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	return ask(ctx, ch.simulator, ch.simulator.answers.creators, keys, ch.simulator.creator)
}

// ask answers for each key, disturbed while chaos lasts. The truth is read even where the answer is
// another one, since the memory needs it for later.
func ask[K comparable, V any](
	ctx context.Context, n *Simulator, memories map[K]*memory[V], keys []K, truth func(K) V,
) (map[K]V, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disturbed() && n.callFails(keyNames(keys)) {
		return nil, errChannel
	}
	answers := make(map[K]V, len(keys))
	for _, k := range keys {
		value := truth(k)
		if n.disturbed() {
			m := memories[k]
			if m == nil {
				m = &memory[V]{}
				memories[k] = m
			}
			var known bool
			if value, known = disturb(n, keyName(k), m, value); !known {
				continue
			}
		}
		answers[k] = value
	}
	return answers, nil
}

// Roots implements probe.Channel. A simulated root is always set up as people should.
func (ch Channel) Roots(ctx context.Context, keys []probe.RootKey) (map[probe.RootKey]health.Root, error) {
	return ask(ctx, ch.simulator, ch.simulator.answers.roots, keys, ch.simulator.rootAt)
}

// rootAt returns the truth about a cluster's root.
func (s *Simulator) rootAt(at probe.RootKey) health.Root {
	c := s.clusters[at.Cluster]
	if !s.reachable(c) {
		return health.Root{}
	}
	k := c.root
	if k == nil || path.Clean(k.declared.spec.Path) != path.Clean(at.Path) {
		return health.Root{Known: true}
	}
	source := k.declared.spec.SourceRef
	return health.Root{
		Known: true, Found: true, Name: k.key.String(), Path: path.Clean("/" + at.Path)[1:], Suspended: k.suspended(), Prune: k.declared.spec.Prune, Wait: k.declared.spec.Wait,
		Ready: k.ready.status, Reason: k.ready.reason, Message: k.ready.message,
		Source: source.Namespace + "/" + source.Name, SourceKind: source.Kind, SourceFound: true,
	}
}

// reconciler returns the truth about a Kustomization.
func (s *Simulator) reconciler(at probe.ReconcilerKey) health.Reconciler {
	c := s.clusters[at.Cluster]
	if !s.reachable(c) {
		return health.Reconciler{}
	}
	k := c.kustomizations[key{at.Namespace, at.Name}]
	if k == nil {
		return health.Reconciler{Known: true}
	}
	return s.observe(k)
}

// creator returns the truth about a creator and the cluster that it creates, as far as its own
// cluster can be reached: from a silent one the answer is the zero value, which is not known.
func (s *Simulator) creator(at probe.CreatorKey) health.Creator {
	c := s.clusters[at.Cluster]
	if !s.reachable(c) {
		return health.Creator{}
	}
	l := c.objects[at.Object]
	if l == nil {
		return health.Creator{Known: true, Message: "the object does not exist on the simulated cluster " + at.Cluster}
	}
	answer := health.Creator{
		Known: true, Found: true, Current: l.initialised && !l.deleting, Answers: s.reachable(s.clusters[at.Creates]),
	}
	_, broken := s.faults[at.Cluster][at.Object]
	answer.Current = answer.Current && !broken
	switch {
	case l.deleting:
		answer.Message = "the creator is being deleted (simulated)"
	case broken:
		answer.Message = cmp.Or(s.faults[at.Cluster][at.Object].reason, "the creator is broken") + " (simulated)"
	case !l.initialised:
		answer.Message = "the control plane is not initialised yet (simulated)"
	case !answer.Answers:
		answer.Message = "the API server of " + at.Creates + " does not answer (simulated)"
	}
	return answer
}

// keyNames returns the first key by name, which identifies a call well enough for chaos: the same
// one in every run.
func keyNames[K comparable](keys []K) string {
	if len(keys) == 0 {
		return ""
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyName(k)
	}
	return slices.Min(names)
}
