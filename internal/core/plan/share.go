package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// claim is an object on a cluster, whichever seeds want it there.
type claim struct {
	object  manifest.ID
	cluster string
}

// shareable are the kinds that packages bring along although others do, too: cluster-scoped ones that
// serve everybody on the cluster.
var shareable = map[manifest.GroupKind]bool{
	{Kind: "Namespace"}: true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:           true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                   true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:            true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                         true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                             true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                true,
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:                    true,
	{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshotClass"}:             true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                          true,
	{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}:                  true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                true,
	{Group: "resource.k8s.io", Kind: "DeviceClass"}:                             true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                 true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}: true,
}

// Shareable reports whether seeds share an object while it is equal in all of them.
func Shareable(id manifest.ID) bool { return shareable[id.GroupKind()] }

// share decides who declares what several seeds want on one cluster. Of equal objects of kinds that
// packages share, one seed declares it, marked as not to be pruned. Anything else stays with the seed
// that has it planted, and holds the others; where none has, it holds all of them. Two reconcilers with
// one object would overwrite each other for ever, and the one that goes first would delete it from under
// the other.
func (c *computation) share() {
	contested := c.contested()
	wanted := map[claim][]*seedState{}
	for _, s := range c.alive() {
		for _, p := range s.placements {
			if !contested[p.Object] {
				continue
			}
			for _, cluster := range p.Clusters {
				key := claim{p.Object, cluster}
				wanted[key] = append(wanted[key], s)
			}
		}
	}
	planted, anywhere := c.plantedClaims(contested), c.plantedAnywhere(contested)
	keys := sortedClaims(wanted)
	for _, newcomers := range []bool{true, false} { // a newcomer that is held contests nothing else
		for _, key := range keys {
			seeds := c.notFailed(wanted[key])
			if first := owner(key, seeds, anywhere); len(seeds) > 1 && (first != nil) == newcomers {
				c.resolve(key, seeds, first)
			}
		}
	}
	for _, key := range keys {
		c.takeOver(key, wanted[key], planted[key])
	}
	c.keepGiving()
	c.keepAwaiting()
}

// notFailed returns the seeds without an error so far.
func (c *computation) notFailed(seeds []*seedState) []*seedState {
	return slices.DeleteFunc(slices.Clone(seeds), func(s *seedState) bool { return c.failed[s.seed.Name] != nil })
}

// owner returns the only seed that has planted an object: on the cluster or, if no seed has it there, on any
// cluster. It returns nil if there are several, or none. anywhere lists, by object, the seeds that planted it.
func owner(key claim, seeds []*seedState, anywhere map[manifest.ID]map[string]bool) *seedState {
	var here, elsewhere []*seedState
	for _, s := range seeds {
		switch {
		case s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}):
			here = append(here, s)
		case anywhere[key.object][s.seed.Name]:
			elsewhere = append(elsewhere, s)
		}
	}
	switch {
	case len(here) == 1:
		return here[0]
	case len(here) == 0 && len(elsewhere) == 1:
		return elsewhere[0]
	}
	return nil
}

// plantedAnywhere returns the seeds that have one of some objects planted, on whatever cluster.
func (c *computation) plantedAnywhere(contested map[manifest.ID]bool) map[manifest.ID]map[string]bool {
	out := map[manifest.ID]map[string]bool{}
	for _, s := range c.alive() {
		for id := range s.planted.objects() {
			if contested[id] {
				if out[id] == nil {
					out[id] = map[string]bool{}
				}
				out[id][s.seed.Name] = true
			}
		}
	}
	return out
}

// contested returns the objects that several seeds want or have planted, on any cluster. All others
// need no claims.
func (c *computation) contested() map[manifest.ID]bool {
	out, by := map[manifest.ID]bool{}, map[manifest.ID]string{}
	add := func(id manifest.ID, seed string) {
		if other, known := by[id]; known && other != seed {
			out[id] = true
		}
		by[id] = seed
	}
	for _, s := range c.alive() {
		for _, p := range s.placements {
			add(p.Object, s.seed.Name)
		}
	}
	for name := range c.in.Previous {
		for id := range c.plantedOf(name).objects() {
			add(id, name)
		}
	}
	return out
}

// sortedClaims returns the claims in order: which error is reported first must not depend on a map.
func sortedClaims(wanted map[claim][]*seedState) []claim {
	keys := make([]claim, 0, len(wanted))
	for key := range wanted {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, claim.compare)
	return keys
}

func (c claim) compare(other claim) int {
	return cmp.Or(c.object.Compare(other.object), cmp.Compare(c.cluster, other.cluster))
}

// resolve keeps a shared object in the seed that already has it planted, else in the first by name, and
// takes it out of the others. Their objects still wait for it: rules find it in whatever seed it
// is. Where the seeds cannot share it, the first owner goes on; there is none
// if first is nil. A seed that is to get the object from another of them waits for that.
func (c *computation) resolve(key claim, seeds []*seedState, first *seedState) {
	if !Shareable(key.object) || !allEqual(key, seeds) {
		if later := deferring(key, seeds); len(later) < len(seeds) {
			seeds = slices.DeleteFunc(seeds, func(s *seedState) bool { return later[s] != "" })
			for s, from := range later {
				c.await(s, from, key)
			}
		}
		if len(seeds) == 1 {
			return
		}
		for i, s := range seeds {
			other := seeds[(i+1)%len(seeds)]
			if first != nil {
				other = first
			}
			if s != first {
				c.fail(s.seed.Name, conflict(key, s, other, other == first))
			}
		}
		return
	}
	if first == nil {
		first = seeds[0]
		for _, s := range seeds {
			if s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}) {
				first = s
				break
			}
		}
	}
	for _, s := range seeds {
		if s == first {
			s.protect(key.object)
		} else {
			s.release(key)
		}
	}
}

// conflict says that a seed wants what another one has, too. planted reports whether that one has it
// planted.
func conflict(key claim, s, other *seedState, planted bool) manifest.Problem {
	o, at := s.contents.On(key.object, key.cluster).Object, other.contents.On(key.object, key.cluster).Object.Source
	p := manifest.Problem{Reason: v1alpha1.ReasonObjectConflict, Source: o.Source, Object: o.Title(), Seed: other.seed.Name, Cluster: key.cluster, Other: at}
	has := fmt.Sprintf("has the same object for cluster %s", key.cluster)
	if planted {
		has = fmt.Sprintf("has the same object planted on cluster %s, and keeps it", key.cluster)
	}
	p.Message, p.Next = fmt.Sprintf("seed %q (%s) %s", other.seed.Name, at, has), "Keep it in one of the two seeds, or place them on different clusters."
	switch {
	case isNamespace(key.object):
		p.Reason = v1alpha1.ReasonNamespaceConflict
		p.Message += "; the two are not equal"
		p.Next = "Write the same labels and annotations in both seeds, or keep it in one."
	case Shareable(key.object):
		p.Message += "; the two are not equal"
		p.Next = "Write the same in both seeds, or keep it in one."
	}
	return p
}

func isNamespace(id manifest.ID) bool { return id.GroupKind() == manifest.GroupKind{Kind: "Namespace"} }

// allEqual reports whether all seeds contain the same object, but for the annotation by which each
// protects it.
func allEqual(key claim, seeds []*seedState) bool {
	first, err := seeds[0].contents.On(key.object, key.cluster).Object.WithoutAnnotation(Protection).Bytes()
	if err != nil {
		return false
	}
	for _, s := range seeds[1:] {
		other, err := s.contents.On(key.object, key.cluster).Object.WithoutAnnotation(Protection).Bytes()
		if err != nil || !bytes.Equal(first, other) {
			return false
		}
	}
	return true
}

// release takes an object on one cluster out of a seed, because another declares it there.
func (s *seedState) release(key claim) {
	for i := range s.placements {
		p := &s.placements[i]
		if p.Object == key.object {
			p.Clusters = slices.DeleteFunc(slices.Clone(p.Clusters), func(name string) bool { return name == key.cluster })
		}
	}
	s.placements = slices.DeleteFunc(s.placements, func(p placement.Placement) bool { return len(p.Clusters) == 0 })
}

// takeOver decides about what seeds want and another one still has planted, which does not want it any more: it
// is handed over, unless it cannot be annotated. While that other seed cannot be planned, nobody knows whether it
// gives the object up.
func (c *computation) takeOver(key claim, seeds []*seedState, planted []string) {
	for _, other := range planted {
		wants := slices.ContainsFunc(seeds, func(s *seedState) bool { return s.seed.Name == other })
		if wants && c.failed[other] == nil {
			continue
		}
		for _, s := range seeds {
			if s.seed.Name == other {
				continue
			}
			o := s.contents.On(key.object, key.cluster).Object
			mine := s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster})
			p := manifest.Problem{Source: o.Source, Object: o.Title(), Seed: other, Cluster: key.cluster}
			switch {
			case c.failed[other] != nil && !mine:
				p.Reason = v1alpha1.ReasonBrokenSeed
				p.Message, p.Next = fmt.Sprintf("seed %q has it planted on cluster %s and cannot be planned", other, key.cluster), "Correct that seed first."
				c.fail(s.seed.Name, p)
			case !Shareable(key.object) && c.in.Previous[other].foreign(c.in.identity()):
				p.Reason = v1alpha1.ReasonStillPlanted
				p.Message, p.Next = fmt.Sprintf("seed %q of another control plane has it planted on cluster %s", other, key.cluster), "Have it removed there first."
				c.fail(s.seed.Name, p)
			case !Shareable(key.object) && !c.mayBeHandedOver(o, other, key):
				c.inherit(s.seed.Name, other, key)
				p.Reason = v1alpha1.ReasonStillPlanted
				p.Message = fmt.Sprintf("seed %q still has it planted on cluster %s, and it is encrypted, so it cannot be annotated: it is deleted there before it is created again", other, key.cluster)
				p.Next = KeepMoved(other, s.seed.Name)
				c.fail(s.seed.Name, p)
			default:
				c.handOver(s, other, key)
			}
		}
	}
}

// KeepMoved says how objects that are encrypted go from one seed to another without being deleted.
func KeepMoved(from, to string) string {
	return fmt.Sprintf("To keep it running, (1) restore it in seed %[1]q with the annotation %[2]s: disabled, merge that, and run 'furrow wait %[1]s'; (2) move it to seed %[3]q again, with the annotation.", from, Protection, to)
}

// inherit notes that a seed gets an object that another seed gives up.
func (c *computation) inherit(seed, from string, key claim) {
	if c.inherits[seed] == nil {
		c.inherits[seed] = map[string][]dependency.Vertex{}
	}
	c.inherits[seed][from] = append(c.inherits[seed][from], dependency.Vertex{Seed: from, Object: key.object, Cluster: key.cluster})
}

// findHeirs searches seeds that cannot be planned for objects of seeds which left the
// catalog: their clusters are unknown, but a seed that was renamed and broken at once was
// not deleted.
func (c *computation) findHeirs() {
	for _, name := range sortedKeys(c.failed) {
		s := c.seeds[name]
		if c.inherits[name] != nil {
			continue
		}
		has := map[manifest.ID]bool{}
		for _, o := range s.seed.Objects() {
			has[o.ID] = !Shareable(o.ID)
		}
		for _, from := range sortedKeys(c.in.Previous) {
			if _, there := c.seeds[from]; there {
				continue
			}
			var inherited []claim
			for v := range c.plantedOf(from).all() {
				if has[v.Object] {
					inherited = append(inherited, claim{v.Object, v.Cluster})
				}
			}
			slices.SortFunc(inherited, claim.compare)
			for _, key := range inherited {
				c.inherit(name, from, key)
			}
		}
	}
}

// plantedClaims returns which seeds have one of some objects planted on a cluster, in order.
func (c *computation) plantedClaims(contested map[manifest.ID]bool) map[claim][]string {
	planted := map[claim][]string{}
	for _, name := range sortedKeys(c.in.Previous) {
		of := slices.DeleteFunc(slices.Collect(c.plantedOf(name).objects()), func(id manifest.ID) bool { return !contested[id] })
		for _, cluster := range c.plantedOf(name).clusters() {
			for _, id := range of {
				key := claim{id, cluster}
				if c.plantedOf(name).has(dependency.Vertex{Seed: name, Object: id, Cluster: cluster}) && !slices.Contains(planted[key], name) {
					planted[key] = append(planted[key], name)
				}
			}
		}
	}
	return planted
}

// plantedOf returns what a seed has planted, also one that is gone from the catalog.
func (c *computation) plantedOf(seed string) plantings {
	if s, ok := c.seeds[seed]; ok {
		return s.planted
	}
	if c.gone == nil {
		c.gone = map[string]plantings{}
	}
	if _, ok := c.gone[seed]; !ok {
		c.gone[seed] = c.in.Previous[seed].plantings()
	}
	return c.gone[seed]
}
