package simulator

import (
	"maps"
	"reflect"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const pruneAnnotation = "kustomize.toolkit.fluxcd.io/prune"

// refusal is an object that an API server did not take, and its message.
type refusal struct {
	id      manifest.ID
	message string
}

// prunedBy remembers who deleted an object, to notice that it was moved and
// deleted on the way.
type prunedBy struct {
	owner    key
	revision string
}

// request returns what the attempt sends to its target for an item.
func (s *Simulator) request(a *attempt, it *item) request {
	return request{
		cluster: a.target, now: s.schedule.now, id: a.target.identify(&it.object),
		item: it, by: a.k, decrypt: a.spec.Decryption != nil,
	}
}

// applyObjects applies what was built to the target. Below a root it applies everything or nothing,
// definitions first, as Flux does. Elsewhere it applies objects one by one in random order, to
// expose a tier in which the order matters: Flux itself orders kinds, so a tier could pass there by
// luck and break with another reconciler.
//
// What was applied is in the inventory even if another object was refused: it must be pruned one
// day.
func (s *Simulator) applyObjects(a *attempt) *failure {
	var refused []refusal
	applied := make([]manifest.ID, 0, len(a.content.items))
	brought := own{}
	if a.k.isRoot() {
		if refused = s.preflight(a); len(refused) > 0 {
			return s.refuse(a, refused)
		}
		brought = bringing(a.content)
	}
	for _, i := range s.order(a) {
		r := s.request(a, a.content.items[i])
		if message := admit(r, brought); message != "" {
			refused = append(refused, refusal{r.id, message})
			continue
		}
		s.put(a, r.id, r.item)
		applied = append(applied, r.id)
	}
	if len(refused) > 0 {
		a.k.inventory = union(a.k.inventory, applied)
		return s.refuse(a, refused)
	}
	slices.SortFunc(applied, manifest.ID.Compare)
	a.stale = without(a.k.inventory, applied)
	a.k.inventory = applied
	return nil
}

// order returns the positions of the built objects as they will be applied.
func (s *Simulator) order(a *attempt) []int {
	order := s.rng.Perm(len(a.content.items))
	if a.k.isRoot() {
		slices.SortStableFunc(order, func(i, j int) int {
			return rank(a.content.items[i]) - rank(a.content.items[j])
		})
	}
	return order
}

// rank puts definitions before what may need them.
func rank(it *item) int {
	if gk := it.object.ID.GroupKind(); gk == namespaceKind || gk == definitionKind {
		return 0
	}
	return 1
}

// refuse records rejections and fails the attempt with the first.
func (s *Simulator) refuse(a *attempt, refused []refusal) *failure {
	for _, r := range refused {
		s.reject(a.k, a.target.spec.Name, r)
	}
	return &failure{reason: reasonFailed, message: title(refused[0].id) + " dry-run failed: " + refused[0].message}
}

func (s *Simulator) reject(k *kustomization, cluster string, r refusal) {
	s.rejections.add(Rejection{
		Cluster: cluster, Kustomization: k.key.String(), Object: r.id, Message: r.message, Tick: s.schedule.now,
	})
}

// put applies one object that was admitted.
func (s *Simulator) put(a *attempt, id manifest.ID, it *item) {
	l := a.target.objects[id]
	if l == nil {
		s.create(a, id, it)
		return
	}
	l.owner = a.k
	if l.deleting && l.kustomization == nil || sameBody(l.object.Body, it.object.Body) {
		return // what is being deleted takes changes, and goes all the same
	}
	if !sameSpec(l.object.Body, it.object.Body) {
		l.changedAt = s.schedule.now
	}
	l.object = it.object
	s.came(a.target, l, it)
}

// create makes an object. If another Kustomization pruned it at the same revision, or this one
// still lists it, the object was moved and lost on the way, which real clusters do silently: the
// plan was wrong.
func (s *Simulator) create(a *attempt, id manifest.ID, it *item) {
	c := a.target
	if p, ok := c.pruned[id]; ok {
		delete(c.pruned, id)
		if p.owner != a.k.key && (p.revision == a.snapshot.revision || a.k.has(id)) {
			s.lose(c, id, a.k, "it was pruned by "+p.owner.String()+" while it moved, and is made anew")
		}
	}
	l := &live{id: id, object: it.object, owner: a.k, changedAt: s.schedule.now}
	c.objects[id] = l
	s.came(c, l, it)
}

// came does what the controllers of a kind do with an object that is new or
// changed.
func (s *Simulator) came(c *cluster, l *live, it *item) {
	switch gk := l.id.GroupKind(); {
	case gk == kustomizationKind && c.root != nil:
		s.adopt(c, l, it.declare())
	case gk == definitionKind:
		s.define(c, l)
	case s.isCreator(gk) && c.spec.Role == RoleManagement:
		s.conceive(c, l)
	}
}

// define serves the kind of a CRD, one or two ticks after it was first applied.
func (s *Simulator) define(c *cluster, l *live) {
	gk, scope, ok := manifest.DefinedScope(l.object)
	if !ok {
		return
	}
	versions := []string{}
	for _, v := range l.object.Slice("spec", "versions") {
		if version, ok := v.(map[string]any); ok && version["served"] == true {
			name, _ := version["name"].(string)
			versions = append(versions, name)
		}
	}
	definition := immutable.NewDefinition(l.object)
	if have := c.kinds[gk]; have != nil {
		have.versions, have.scope, have.definition = versions, scope, definition
		return
	}
	c.kinds[gk] = &kind{establishedAt: s.schedule.now + 1 + s.rng.IntN(2), versions: versions, scope: scope, definition: definition}
}

// pruneStale deletes what has left the path, where it is still the
// Kustomization's own.
func (s *Simulator) pruneStale(a *attempt) *failure {
	if !a.spec.Prune {
		return nil
	}
	for _, id := range a.stale {
		if l := a.target.objects[id]; l != nil && prunable(l, a.k) {
			a.target.pruned[id] = prunedBy{a.k.key, a.snapshot.revision}
			s.remove(a.target, l)
		}
	}
	return nil
}

// prunable goes by the live object: its owner labels and its annotation.
func prunable(l *live, k *kustomization) bool {
	return l.owner != nil && l.owner.key == k.key && l.object.Annotation(pruneAnnotation) != "disabled"
}

func sameBody(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() || reflect.DeepEqual(a, b)
}

// sameSpec compares all but metadata.
func sameSpec(a, b map[string]any) bool {
	a, b = maps.Clone(a), maps.Clone(b)
	delete(a, "metadata")
	delete(b, "metadata")
	return reflect.DeepEqual(a, b)
}

// without returns the ids of a that are not in b.
func without(a, b []manifest.ID) []manifest.ID {
	if slices.Equal(a, b) {
		return nil
	}
	in := make(map[manifest.ID]bool, len(b))
	for _, id := range b {
		in[id] = true
	}
	var left []manifest.ID
	for _, id := range a {
		if !in[id] {
			left = append(left, id)
		}
	}
	return left
}

func union(a, b []manifest.ID) []manifest.ID {
	all := slices.Concat(a, b)
	slices.SortFunc(all, manifest.ID.Compare)
	return slices.Compact(all)
}
