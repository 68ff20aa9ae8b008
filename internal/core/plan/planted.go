package plan

import (
	"iter"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// planted is an object where an earlier plan put it.
type planted struct {
	tier   *Tier
	object Object
	// going reports whether the plan has the object leave.
	going bool
}

// plantings are the objects that are planted, or may be, by the plan before: those in its tiers, as
// each repository has them, and those leaving that the base branch still has. Tiers with the same
// contents share them, so many equal clusters cost little more than one.
type plantings struct {
	seed string
	// on are the tiers of each cluster. Where several have an object, as while repositories have
	// different plans, the last one counts.
	on map[string][]plantedTier
}

// plantedTier is one tier of plantings.
type plantedTier struct {
	tier *Tier
	has  *contentsOf
	// going are the objects that the tier loses and that the base branch still has.
	going map[manifest.ID]Object
}

// contentsOf are the objects of tiers with the same contents.
type contentsOf struct {
	objects []Object
	index   map[manifest.ID]int
}

// plantings returns what the plan has planted; nothing of nil.
func (p *Previous) plantings() plantings {
	out := plantings{on: map[string][]plantedTier{}}
	if p == nil || p.Plan == nil {
		return out
	}
	type contents struct {
		of *Plan
		id string
	}
	out.seed = p.Plan.Seed
	known := map[contents]*contentsOf{}
	for of, t := range p.tiers() {
		key := contents{of, t.Contents}
		if known[key] == nil {
			known[key] = newContentsOf(of.Objects(t))
		}
		add := plantedTier{tier: t, has: known[key]}
		if t.Leaving != nil {
			add.going = stillOnBase(t, p.Base[t.Repo])
		}
		out.on[t.Cluster] = append(out.on[t.Cluster], add)
	}
	return out
}

// stillOnBase returns the objects that a tier loses and that a base branch has, as it has them.
func stillOnBase(t *Tier, base map[string]layout.Hash) map[manifest.ID]Object {
	going := map[manifest.ID]Object{}
	for _, o := range t.Leaving.Objects {
		if o.Hash = base[t.FilePath(o)]; !o.Hash.IsZero() {
			going[o.ID] = o
		}
	}
	return going
}

func newContentsOf(objects []Object) *contentsOf {
	c := &contentsOf{objects, make(map[manifest.ID]int, len(objects))}
	for i, o := range objects {
		c.index[o.ID] = i
	}
	return c
}

// empty reports whether the plan has no tiers.
func (p plantings) empty() bool { return len(p.on) == 0 }

// clusters are those with tiers, in order.
func (p plantings) clusters() []string { return slices.Sorted(maps.Keys(p.on)) }

// get returns an object where it is planted.
func (p plantings) get(v dependency.Vertex) (planted, bool) {
	if v.Seed != p.seed {
		return planted{}, false
	}
	for _, t := range slices.Backward(p.on[v.Cluster]) {
		if i, has := t.has.index[v.Object]; has {
			return planted{t.tier, t.has.objects[i], false}, true
		}
		if o, going := t.going[v.Object]; going {
			return planted{t.tier, o, true}, true
		}
	}
	return planted{}, false
}

// has reports whether an object is planted.
func (p plantings) has(v dependency.Vertex) bool {
	_, there := p.get(v)
	return there
}

// all visits everything that is planted, each once, in any order.
func (p plantings) all() iter.Seq2[dependency.Vertex, planted] {
	return func(yield func(dependency.Vertex, planted) bool) {
		for cluster := range p.on {
			for v, was := range p.at(cluster) {
				if !yield(v, was) {
					return
				}
			}
		}
	}
}

// at visits everything that is planted on a cluster, each once, in any order.
func (p plantings) at(cluster string) iter.Seq2[dependency.Vertex, planted] {
	return func(yield func(dependency.Vertex, planted) bool) {
		seen := map[manifest.ID]bool{}
		for _, t := range p.on[cluster] {
			ids := slices.Collect(maps.Keys(t.going))
			for _, o := range t.has.objects {
				ids = append(ids, o.ID)
			}
			for _, id := range ids {
				v := dependency.Vertex{Seed: p.seed, Object: id, Cluster: cluster}
				if was, _ := p.get(v); !seen[id] && !yield(v, was) {
					return
				}
				seen[id] = true
			}
		}
	}
}

// objects visits every object that is planted anywhere; some may come several times.
func (p plantings) objects() iter.Seq[manifest.ID] {
	return func(yield func(manifest.ID) bool) {
		seen := map[*contentsOf]bool{}
		for _, tiers := range p.on {
			for _, t := range tiers {
				for id := range t.going {
					if !yield(id) {
						return
					}
				}
				if seen[t.has] {
					continue
				}
				seen[t.has] = true
				for _, o := range t.has.objects {
					if !yield(o.ID) {
						return
					}
				}
			}
		}
	}
}

// notIn visits what is planted and is not placed by any of some placements, each once, in any
// order. Mostly that is nothing, which is found out without asking for each cluster.
func (p plantings) notIn(placed *wanted) iter.Seq[dependency.Vertex] {
	return func(yield func(dependency.Vertex) bool) {
		clusters := map[*contentsOf][]string{}
		seen := map[dependency.Vertex]bool{}
		visit := func(id manifest.ID, cluster string) bool {
			v := dependency.Vertex{Seed: p.seed, Object: id, Cluster: cluster}
			if placed.on(id, cluster) || seen[v] {
				return true
			}
			seen[v] = true
			return yield(v)
		}
		for _, cluster := range p.clusters() {
			for _, t := range p.on[cluster] {
				if at := clusters[t.has]; len(at) == 0 || at[len(at)-1] != cluster {
					clusters[t.has] = append(at, cluster)
				}
				for id := range t.going {
					if !visit(id, cluster) {
						return
					}
				}
			}
		}
		for has, of := range clusters {
			var last []string // the objects of a tier mostly go to the same clusters
			for _, o := range has.objects {
				to := placed.clusters(o.ID)
				if len(to) > 0 && len(to) == len(last) && &to[0] == &last[0] || isSubset(of, to) {
					last = to
					continue
				}
				for _, cluster := range of {
					if !visit(o.ID, cluster) {
						return
					}
				}
			}
		}
	}
}

// isSubset reports whether the names of one ordered list are all in another one.
func isSubset(names, of []string) bool {
	at := 0
	for _, name := range names {
		for at < len(of) && of[at] < name {
			at++
		}
		if at == len(of) || of[at] != name {
			return false
		}
	}
	return true
}

// wanted is where a seed wants its objects.
type wanted struct {
	seed string
	// by are the clusters of each object by one placement each.
	by map[manifest.ID][][]string
}

// wanted returns where the seed wants its objects.
func (s *seedState) wanted() *wanted {
	w := &wanted{s.seed.Name, make(map[manifest.ID][][]string, len(s.placements))}
	for _, p := range s.placements {
		w.by[p.Object] = append(w.by[p.Object], p.Clusters)
	}
	return w
}

// wants reports whether the seed wants an object on a cluster.
func (s *seedState) wants(id manifest.ID, cluster string) bool {
	return slices.ContainsFunc(s.placements, func(p placement.Placement) bool {
		return p.Object == id && slices.Contains(p.Clusters, cluster)
	})
}

// on reports whether the seed wants an object on a cluster.
func (w *wanted) on(id manifest.ID, cluster string) bool {
	return slices.ContainsFunc(w.by[id], func(clusters []string) bool {
		_, found := slices.BinarySearch(clusters, cluster)
		return found
	})
}

// clusters returns those of an object that has one placement; nil of any other.
func (w *wanted) clusters(id manifest.ID) []string {
	if by := w.by[id]; len(by) == 1 {
		return by[0]
	}
	return nil
}

// all visits where the seed wants its objects.
func (w *wanted) all() iter.Seq[dependency.Vertex] {
	return func(yield func(dependency.Vertex) bool) {
		for id, by := range w.by {
			for _, clusters := range by {
				for _, cluster := range clusters {
					if !yield(dependency.Vertex{Seed: w.seed, Object: id, Cluster: cluster}) {
						return
					}
				}
			}
		}
	}
}
