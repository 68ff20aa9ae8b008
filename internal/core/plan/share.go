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

// share decides who declares what several seeds want on one cluster: of equal Namespaces one seed
// declares it, marked as not to be pruned; anything else holds both seeds. Two reconcilers with one
// object would overwrite each other for ever, and the one that goes first would delete it from
// under the other.
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
	planted := c.plantedClaims(contested)
	for _, key := range sortedClaims(wanted) {
		seeds := wanted[key]
		if len(seeds) > 1 {
			c.resolve(key, seeds)
		}
		c.holdWhilePlanted(key, seeds, planted[key])
	}
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

// resolve keeps a Namespace in the seed that already has it planted, else in the first by name, and
// takes it out of the others. Their objects still wait for it: rules find it in whatever seed it
// is.
func (c *computation) resolve(key claim, seeds []*seedState) {
	if !isNamespace(key.object) || !allEqual(key, seeds) {
		for i, s := range seeds {
			other := seeds[(i+1)%len(seeds)]
			o := s.contents.On(key.object, key.cluster).Object
			p := manifest.Problem{Reason: v1alpha1.ReasonObjectConflict, Source: o.Source, Object: o.Title(), Seed: other.seed.Name, Cluster: key.cluster, Other: other.contents.On(key.object, key.cluster).Object.Source,
				Message: fmt.Sprintf("seed %q (%s) has the same object for cluster %s", other.seed.Name, other.contents.On(key.object, key.cluster).Object.Source, key.cluster),
				Next:    "Keep it in one of the two seeds, or place them on different clusters."}
			if isNamespace(key.object) {
				p.Reason = v1alpha1.ReasonNamespaceConflict
				p.Message = fmt.Sprintf("seed %q (%s) has the Namespace for cluster %s, too, and the two are not equal", other.seed.Name, other.contents.On(key.object, key.cluster).Object.Source, key.cluster)
				p.Next = "Write the same labels and annotations in both seeds, or keep it in one."
			}
			c.fail(s.seed.Name, p)
		}
		return
	}
	owner := seeds[0]
	for _, s := range seeds {
		if s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}) {
			owner = s
			break
		}
	}
	for _, s := range seeds {
		if s == owner {
			s.protect(key.object)
		} else {
			s.release(key)
		}
	}
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

// holdWhilePlanted keeps a seed from declaring what another one still has planted:
// a reconciler that prunes would delete it from under the other. A Namespace is
// taken over from a seed that gives it up, marked as not to be pruned.
func (c *computation) holdWhilePlanted(key claim, seeds []*seedState, planted []string) {
	for _, other := range planted {
		if slices.ContainsFunc(seeds, func(s *seedState) bool { return s.seed.Name == other }) {
			continue
		}
		for _, s := range seeds {
			o := s.contents.On(key.object, key.cluster).Object
			mine := s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster})
			_, there := c.seeds[other]
			switch {
			case !isNamespace(key.object) && !there:
				c.inherit(s.seed.Name, other, key)
				c.fail(s.seed.Name, manifest.Problem{Reason: v1alpha1.ReasonStillPlanted, Source: o.Source, Object: o.Title(), Seed: other, Cluster: key.cluster,
					Message: fmt.Sprintf("seed %q still has it planted on cluster %s", other, key.cluster),
					Next:    fmt.Sprintf("Wait until it is gone there. If the seed was renamed, restore the name %[1]q, or run 'furrow confirm %[1]s' to delete its objects before they are created again.", other)})
			case !isNamespace(key.object):
				c.inherit(s.seed.Name, other, key)
				next := "It is deleted there before it is created again. " + KeepMoved(other, s.seed.Name)
				if o.Annotation(Protection) == "disabled" {
					next = fmt.Sprintf("Merge its removal from there, with 'furrow pr merge --all --removals --seed %s'. The annotation keeps it on the cluster.", other)
				}
				c.fail(s.seed.Name, manifest.Problem{Reason: v1alpha1.ReasonStillPlanted, Source: o.Source, Object: o.Title(), Seed: other, Cluster: key.cluster,
					Message: fmt.Sprintf("seed %q%s still has it planted on cluster %s", other, c.plantedFrom(other, key), key.cluster),
					Next:    next})
			case c.failed[other] != nil && !mine:
				c.fail(s.seed.Name, manifest.Problem{Reason: v1alpha1.ReasonBrokenSeed, Source: o.Source, Object: o.Title(), Seed: other, Cluster: key.cluster,
					Message: fmt.Sprintf("seed %q has it planted on cluster %s and cannot be planned", other, key.cluster), Next: "Correct that seed first."})
			default:
				s.protect(key.object)
			}
		}
	}
}

// KeepMoved says how objects go from one seed to another without being deleted.
func KeepMoved(from, to string) string {
	return fmt.Sprintf("To keep it running, (1) restore it in seed %[1]q with the annotation %[2]s: disabled, merge that, and run 'furrow wait %[1]s'; (2) move it to seed %[3]q again, with the annotation.", from, Protection, to)
}

// plantedFrom names the file that an object was planted from, in brackets; empty where that is not known.
func (c *computation) plantedFrom(seed string, key claim) string {
	was, _ := c.plantedOf(seed).get(dependency.Vertex{Seed: seed, Object: key.object, Cluster: key.cluster})
	if was.object.From == "" {
		return ""
	}
	return " (" + was.object.From + ")"
}

// inherit notes that a seed gets an object that another seed gives up.
func (c *computation) inherit(seed, from string, key claim) {
	if c.inherits[seed] == nil {
		c.inherits[seed] = map[string][]dependency.Vertex{}
	}
	c.inherits[seed][from] = append(c.inherits[seed][from], dependency.Vertex{Seed: from, Object: key.object, Cluster: key.cluster})
}

// findHeirs searches new seeds that cannot be planned for objects of seeds which left the
// catalog: their clusters are unknown, but a seed that was renamed and broken at once was
// not deleted.
func (c *computation) findHeirs() {
	for _, name := range sortedKeys(c.failed) {
		s := c.seeds[name]
		if s.previous != nil || c.inherits[name] != nil {
			continue
		}
		has := map[manifest.ID]bool{}
		for _, o := range s.seed.Objects() {
			has[o.ID] = !isNamespace(o.ID)
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
