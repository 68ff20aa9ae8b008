package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// An object that leaves one seed and is in another one on the same cluster is handed over. The reconciler of
// the first seed would delete it, unless the live object says otherwise. So it takes three releases:
//
//	1  the first seed keeps the object, with the annotation Protection
//	2  the object leaves that seed, and stays on the cluster
//	3  the other seed plants it, without the annotation
//
// A reconciler deletes only what is its own by the labels of the live object, and lacks the annotation there. All
// that the first seed's reconciler can still apply has the annotation, and the second seed's sets the labels and
// removes the annotation in one step. So it does not matter which of them is quicker.
//
// Until the first seed's part of base does not have the object any more, the plan of the other seed does not
// have it either. All else of both seeds goes on.

// handOver has a seed get an object that another one gives up.
func (c *computation) handOver(s *seedState, from string, key claim) {
	c.inherit(s.seed.Name, from, key)
	if c.failed[s.seed.Name] != nil {
		return
	}
	if giver, there := c.seeds[from]; there {
		giver.gives[dependency.Vertex{Seed: from, Object: key.object, Cluster: key.cluster}] = s.seed.Name
	}
	switch {
	case Shareable(key.object): // both seeds can have it meanwhile
		s.protect(key.object)
	case !s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}):
		c.await(s, from, key)
	}
}

// await leaves an object out of a seed's plan until another seed has given it up.
func (c *computation) await(s *seedState, from string, key claim) {
	s.awaits[dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}] = from
	c.hands = true
}

// mayBeHandedOver reports whether an object can be annotated in the seed that has it planted, or is already.
// What is encrypted in the one seed is taken to be so in the other.
func (c *computation) mayBeHandedOver(o *manifest.Object, from string, key claim) bool {
	was, _ := c.plantedOf(from).get(dependency.Vertex{Seed: from, Object: key.object, Cluster: key.cluster})
	return was.object.Kept || !o.Encrypted()
}

// deferring returns the seeds that are to get an object from one of the others, as they say themselves.
func deferring(key claim, seeds []*seedState) map[*seedState]string {
	out := map[*seedState]string{}
	for _, s := range seeds {
		from := s.contents.On(key.object, key.cluster).Object.Annotation(v1alpha1.AnnotationHandedOverFrom)
		has := slices.ContainsFunc(seeds, func(other *seedState) bool { return other != s && other.seed.Name == from })
		if has && !s.planted.has(dependency.Vertex{Seed: s.seed.Name, Object: key.object, Cluster: key.cluster}) {
			out[s] = from
		}
	}
	return out
}

// keepGiving has seeds go on to give what they annotated for seeds that cannot be planned now.
func (c *computation) keepGiving() {
	for _, s := range c.alive() {
		if s.previous == nil || s.previous.Plan == nil || !s.previous.Plan.handsOver() {
			continue
		}
		for v, was := range s.planted.all() {
			if to := was.object.HandedTo; to != "" && s.gives[v] == "" && c.failed[to] != nil {
				s.gives[v] = to
			}
		}
	}
}

// keepAwaiting has a plan that is verified await what it awaited when it was made: that may have come free since.
func (c *computation) keepAwaiting() {
	for _, s := range c.alive() {
		if !c.verifying || s.previous == nil || s.previous.Plan == nil {
			continue
		}
		for _, a := range s.previous.Plan.Awaits {
			for _, cluster := range a.Clusters {
				if s.wants(a.Object, cluster) {
					c.await(s, a.Seed, claim{a.Object, cluster})
				}
			}
		}
	}
}

// handsOver reports whether any object of the plan goes to another seed.
func (p *Plan) handsOver() bool {
	given := func(o Object) bool { return o.HandedTo != "" }
	return slices.ContainsFunc(p.Contents, func(c Contents) bool { return slices.ContainsFunc(c.Objects, given) }) ||
		slices.ContainsFunc(p.Tiers, func(t Tier) bool { return t.Leaving != nil && slices.ContainsFunc(t.Leaving.Objects, given) })
}

// givesInVain reports whether a seed that is to get an object of this one cannot be planned: the object would
// belong to nobody.
func (c *computation) givesInVain(s *seedState) bool {
	return slices.ContainsFunc(s.leaving, func(v dependency.Vertex) bool { return c.failed[s.gives[v]] != nil })
}

// markHandovers annotates what the seed hands over, and removes the annotation where that has ended: no seed
// is to get the object any more. It waits while other objects move on the cluster.
func (s *seedState) markHandovers() error {
	for _, v := range s.leaving {
		if _, moves := s.moving[v.Cluster]; moves {
			continue
		}
		was, _ := s.planted.get(v)
		var err error
		switch to := s.gives[v]; {
		case !was.object.remarked(to):
		case to == "":
			err = s.unprotectPlanted(v, was)
		default:
			err = s.protectPlanted(v, was, fmt.Sprintf("goes to seed %q", to))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unprotectPlanted removes the annotation from an object as it is planted.
func (s *seedState) unprotectPlanted(v dependency.Vertex, was planted) error {
	o, err := s.readPlanted(v, was, "stays in no seed")
	if o == nil || err != nil {
		return err
	}
	bytes, err := o.WithoutAnnotation(Protection).Bytes()
	if err != nil {
		return err
	}
	s.annotated[v] = File{Data: bytes, Hash: githash.Blob(bytes)}
	return nil
}

// awaited reports whether another seed still has an object that a seed wants.
func (c *computation) awaited(i int32) bool {
	if !c.hands {
		return false
	}
	v := c.graph.Vertex(i)
	return c.seeds[v.Seed].awaits[v] != ""
}

// handsOver reports whether the seed must stop removing objects: another seed has begun or ceased to want one of
// them.
func (s *seedState) handsOver() bool {
	return slices.ContainsFunc(s.leaving, func(v dependency.Vertex) bool {
		was, _ := s.planted.get(v)
		return was.object.remarked(s.gives[v])
	})
}

// remarked reports whether an object gets the annotation because a seed is to get the object, or loses it because
// none is any more.
func (o Object) remarked(to string) bool {
	return to != "" && !o.Kept || to == "" && o.HandedTo != ""
}

// leavingFile returns the content of an object that leaves its seed, and notes whether it is handed over.
func (s *seedState) leavingFile(v dependency.Vertex, o *Object) File {
	was, _ := s.planted.get(v)
	o.From, o.Leaving, o.Kept, o.HandedTo = was.object.From, true, was.object.Kept, was.object.HandedTo
	switch to := s.gives[v]; {
	case to != "" && (!o.Kept || o.HandedTo != ""):
		o.Kept, o.HandedTo = true, to
	case to == "" && o.HandedTo != "":
		o.Kept, o.HandedTo = false, ""
	default:
		return File{Hash: s.unprotectedHash(v)}
	}
	return s.plantedFile(v)
}

// handovers says which objects the seed waits for, once for each other seed.
func (s *seedState) handovers() []Warning {
	by := map[string][]dependency.Vertex{}
	for v, other := range s.awaits {
		by[other] = append(by[other], v)
	}
	var out []Warning
	for _, other := range sortedKeys(by) {
		first := slices.MinFunc(by[other], dependency.Vertex.Compare)
		o := s.contents.On(first.Object, first.Cluster).Object
		w := Warning{Reason: v1alpha1.ReasonHandedOver, Object: o.Title(), From: o.Source.String(), Message: fmt.Sprintf("seed %q has it planted. It comes once that one has given it up, and is not deleted in between", other)}
		if n := len(by[other]); n > 1 {
			w.Object, w.Message = fmt.Sprintf("%d objects", n), fmt.Sprintf("seed %q has them planted. They come once that one has given them up, and are not deleted in between; first: %s", other, first)
		}
		out = append(out, w)
	}
	return out
}

// addAwaits writes what other seeds still have.
func (a *assembly) addAwaits() {
	for _, v := range slices.SortedFunc(maps.Keys(a.awaits), dependency.Vertex.Compare) {
		last := len(a.plan.Awaits) - 1
		if last >= 0 && a.plan.Awaits[last].Object == v.Object && a.plan.Awaits[last].Seed == a.awaits[v] {
			a.plan.Awaits[last].Clusters = append(a.plan.Awaits[last].Clusters, v.Cluster)
			continue
		}
		a.plan.Awaits = append(a.plan.Awaits, Await{v.Object, a.awaits[v], []string{v.Cluster}})
	}
}

// String says for people what is waited for.
func (a Await) String() string {
	return fmt.Sprintf("%s comes once seed %q has given it up", a.Object, a.Seed)
}

// Handover is an object that a tier hands over to another seed.
type Handover struct {
	Object manifest.ID
	To     string
	// Leaves reports whether the object leaves its seed with the plan. It is annotated for that first.
	Leaves bool
}

// String says for people what is released of it.
func (h Handover) String() string {
	release, what := 1, "it has the annotation "+Protection+": disabled, to let no reconciler delete it on the way"
	if h.Leaves {
		release, what = 2, "it leaves this seed, and stays on its cluster"
	}
	return fmt.Sprintf("%s goes to seed %q, release %d of %d: %s", h.Object, h.To, release, len(stages), what)
}

// Compare is an order of handovers.
func (h Handover) Compare(other Handover) int {
	return cmp.Or(h.Object.Compare(other.Object), strings.Compare(h.To, other.To), strings.Compare(h.String(), other.String()))
}

// HandedOver returns what a tier hands over to other seeds.
func (p *Plan) HandedOver(t *Tier) []Handover {
	var out []Handover
	add := func(objects []Object, leaves bool) {
		for _, o := range objects {
			if o.HandedTo != "" {
				out = append(out, Handover{o.ID, o.HandedTo, leaves})
			}
		}
	}
	add(p.Objects(t), false)
	if t.Leaving != nil {
		add(t.Leaving.Objects, true)
	}
	return out
}

// HandOver returns the plan by which a seed that is gone annotates what others are to get, and the contents
// that are new. It is last itself if nothing is left to do. to names the seeds; read returns a file of a
// repository, or false where that is not known yet.
func HandOver(last *Plan, to map[Removed]string, revision string, read func(repo string, hash layout.Hash) ([]byte, bool)) (*Plan, map[layout.Hash][]byte, error) {
	files, unknown := map[layout.Hash][]byte{}, false
	out, err := last.withObjects(func(t *Tier, o *Object) error {
		seed := to[Removed{o.ID, t.Cluster}]
		if !o.remarked(seed) {
			return nil
		}
		data, known := read(t.Repo, o.Hash)
		if !known { // all of them are asked for at once
			unknown = true
			return nil
		}
		data, err := remark(last.Seed, t.FilePath(*o), data, seed)
		if err != nil {
			return err
		}
		o.Hash, o.Kept, o.HandedTo = githash.Blob(data), seed != "", seed
		files[o.Hash] = data
		return nil
	})
	switch {
	case err != nil || unknown:
		return nil, nil, err
	case len(files) == 0:
		return last, nil, nil
	}
	out.Version, out.Revision, out.Generation = Current, revision, last.Generation+1
	out.Rules, out.Inputs = rulesVersion, digestOf([]string{rulesVersion, "hand over", last.Seed, last.Inputs, digestOf(out.Contents)})
	return out, files, nil
}

// withObjects returns the plan with what edit makes of the objects of its tiers. Tiers that go stay as they are.
func (p *Plan) withObjects(edit func(t *Tier, o *Object) error) (*Plan, error) {
	out := *p
	out.Contents, out.Tiers = nil, slices.Clone(p.Tiers)
	a := &assembly{plan: &out, ids: map[string]string{}}
	for i := range out.Tiers {
		t := &out.Tiers[i]
		if t.Gone() {
			continue
		}
		objects, hashes := slices.Clone(p.Objects(t)), map[string]layout.Hash{}
		for j := range objects {
			if err := edit(t, &objects[j]); err != nil {
				return nil, err
			}
			hashes[objects[j].File] = objects[j].Hash
		}
		t.setHash(ModeTree, githash.Tree(hashes))
		t.Contents = a.contentsID(t.DirHash(), objects)
	}
	return &out, nil
}

// remark returns a planted file with the annotation, or without it if no seed is to get its object.
func remark(seed, file string, data []byte, to string) ([]byte, error) {
	o, err := onlyObject(file, data)
	switch {
	case err != nil:
		return nil, manifest.OfSeed(v1alpha1.ReasonInvalidPlan, seed, err.Error(), "Restore the seed, or correct the file.")
	case to == "":
		return o.WithoutAnnotation(Protection).Bytes()
	case o.Encrypted() && o.Annotation(Protection) != "disabled":
		return nil, manifest.OfSeed(v1alpha1.ReasonStillPlanted, seed, fmt.Sprintf("%s goes to seed %q, and is encrypted, so it cannot be annotated: it would be deleted on the way", o.ID, to),
			"Restore the seed; annotate the object with "+Protection+": disabled before encrypting it, and rename the seed when that is released.")
	}
	return o.WithAnnotation(Protection, "disabled").Bytes()
}
