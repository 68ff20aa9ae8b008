package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// PlacedSeed is a seed with all its placements.
type PlacedSeed struct {
	Seed       *catalog.Seed
	Placements []Placement
}

// CheckCreators refuses seeds whose creators wait for each other: what one needs to work goes only
// to the cluster that another one creates, and so on, back to the first. Of one seed alone Place has
// checked that. Errors are by seed, of all that take part.
func CheckCreators(seeds []PlacedSeed, inv *catalog.Inventory) map[string]error {
	a := &acrossSeeds{inventory: inv, seeds: seeds, placers: map[int][]*placer{}, defined: map[manifest.GroupKind][]int{}}
	for _, name := range inv.Names() {
		if inv.Clusters[name].CreatedBy != nil {
			a.created = append(a.created, name)
		}
	}
	if len(a.created) == 0 {
		return nil
	}
	a.index()
	waits := map[string][]creatorWait{}
	for _, name := range a.created {
		waits[name] = a.waitsOf(name)
	}
	failed := map[string]error{}
	for _, name := range a.created {
		circle := circleFrom(name, waits)
		if len(circle) == 0 {
			continue
		}
		for _, p := range a.problems(circle) {
			if failed[p.Seed] == nil {
				failed[p.Seed] = p
			}
		}
	}
	return failed
}

// acrossSeeds is what all seeds have where.
type acrossSeeds struct {
	inventory *catalog.Inventory
	seeds     []PlacedSeed
	// created are the clusters that seeds create, in order.
	created []string
	// placers are those of each seed's variants, made when they are asked for first.
	placers map[int][]*placer
	// defined are the seeds that have a CustomResourceDefinition of a kind, by index, and installing those
	// that have charts or packages.
	defined    map[manifest.GroupKind][]int
	installing []int
}

// creatorWait says that the creator of a cluster waits until another cluster is there.
type creatorWait struct {
	cluster string // that it creates
	on      string // that it waits for
	// part is what the creator needs and what goes there; nil where the creator itself goes there.
	part *manifest.Object
	seed string
	text string
}

// index notes which seeds define and install kinds.
func (a *acrossSeeds) index() {
	for i, s := range a.seeds {
		for _, v := range s.Seed.Variants {
			for n := range v.Objects {
				o := &v.Objects[n]
				if mayInstall(o) && !slices.Contains(a.installing, i) {
					a.installing = append(a.installing, i)
				}
				if o.ID.GroupKind() != crdKind {
					continue
				}
				if kind, _, ok := manifest.DefinedScope(*o); ok && !slices.Contains(a.defined[kind], i) {
					a.defined[kind] = append(a.defined[kind], i)
				}
			}
		}
	}
}

// placersOf returns the variants of a seed as they were placed.
func (a *acrossSeeds) placersOf(i int) []*placer {
	if made, ok := a.placers[i]; ok {
		return made
	}
	s := a.seeds[i]
	var made []*placer
	for _, v := range s.Seed.Variants {
		p := newPlacer(s.Seed, v.Objects, a.inventory)
		for _, placement := range s.Placements {
			if n := p.node(placement.Object); n != nil {
				n.done, n.why = true, placement.Why
				n.clusters = append(slices.Clone(n.clusters), placement.Clusters...)
			}
		}
		made = append(made, p)
	}
	a.placers[i] = made
	return made
}

// waitsOf returns what the creator of a cluster waits for, in order.
func (a *acrossSeeds) waitsOf(cluster string) []creatorWait {
	creation := a.inventory.Clusters[cluster].CreatedBy
	var waits []creatorWait
	if on, known := a.inventory.Clusters[creation.On]; known && on.CreatedBy != nil {
		waits = append(waits, creatorWait{cluster: cluster, on: creation.On, seed: creation.Seed, text: fmt.Sprintf("it goes to %s", creation.On)})
	}
	at := slices.IndexFunc(a.seeds, func(s PlacedSeed) bool { return s.Seed.Name == creation.Seed })
	if at < 0 {
		return waits
	}
	for _, p := range a.placersOf(at) {
		n := p.node(creation.Object)
		if n == nil {
			continue
		}
		check := creatorCheck{placer: p, creator: n, on: creation.On, seen: map[manifest.GroupKind]bool{}}
		check.others = a.definers
		check.elsewhere = func(of *placer, part *node, chain []string) bool {
			for _, on := range a.onlyOnCreated(part.object.ID, creation.On) {
				waits = append(waits, creatorWait{cluster: cluster, on: on, part: part.object, seed: of.seed.Name,
					text: fmt.Sprintf("it needs %s of seed %s on %s, which goes only to %s (%s): %s", part.object.ID, of.seed.Name, creation.On, on, part.why, strings.Join(chain, "; "))})
			}
			return false
		}
		check.misplaced()
	}
	return waits
}

// definers returns the variants of all seeds that define a kind, or may install it.
func (a *acrossSeeds) definers(kind manifest.GroupKind) []*placer {
	var all []*placer
	seeds := slices.Concat(a.defined[kind], a.installing)
	slices.Sort(seeds)
	for _, i := range slices.Compact(seeds) {
		all = append(all, a.placersOf(i)...)
	}
	return all
}

// onlyOnCreated returns the clusters that an object goes to, if seeds create all of them and another
// cluster is not among them.
func (a *acrossSeeds) onlyOnCreated(id manifest.ID, besides string) []string {
	var clusters []string
	for _, s := range a.seeds {
		for _, p := range s.Placements {
			if p.Object == id {
				clusters = append(clusters, p.Clusters...)
			}
		}
	}
	slices.Sort(clusters)
	clusters = slices.Compact(clusters)
	if slices.Contains(clusters, besides) || slices.ContainsFunc(clusters, func(name string) bool { return !slices.Contains(a.created, name) }) {
		return nil
	}
	return clusters
}

// circleFrom returns the waits by which a cluster waits for itself, the shortest; none where it does not,
// where they are all of creators that go to clusters of each other, which the order of objects
// shows, or where a cluster before it in order is part of it.
func circleFrom(start string, waits map[string][]creatorWait) []creatorWait {
	reached := map[string][]creatorWait{start: nil}
	for queue := []string{start}; len(queue) > 0; queue = queue[1:] {
		for _, w := range waits[queue[0]] {
			path := append(slices.Clone(reached[queue[0]]), w)
			if w.on == start {
				if slices.ContainsFunc(path, func(w creatorWait) bool { return w.part != nil }) && !slices.ContainsFunc(path, func(w creatorWait) bool { return w.cluster < start }) {
					return path
				}
				continue
			}
			if _, seen := reached[w.on]; !seen {
				reached[w.on] = path
				queue = append(queue, w.on)
			}
		}
	}
	return nil
}

// problems returns what is said of a circle, for each seed that takes part.
func (a *acrossSeeds) problems(circle []creatorWait) []manifest.Problem {
	message := "creators wait for each other:"
	if len(circle) == 1 {
		message = "a creator waits for its own cluster:"
	}
	var seeds []string
	var first *creatorWait
	for i, w := range circle {
		creation := a.inventory.Clusters[w.cluster].CreatedBy
		message += fmt.Sprintf("\n  %s of seed %s creates %s: %s", creation.Object, creation.Seed, w.cluster, w.text)
		seeds = append(seeds, creation.Seed, w.seed)
		if first == nil && w.part != nil {
			first = &circle[i]
		}
	}
	slices.Sort(seeds)
	on := a.inventory.Clusters[first.cluster].CreatedBy.On
	var problems []manifest.Problem
	for _, seed := range slices.Compact(seeds) {
		p := first.part.Problem(v1alpha1.ReasonCreatorCycle, message, fmt.Sprintf("Place %s on %s, or list the CustomResourceDefinition in spec.provides of Cluster %q if it is installed there.", first.part.ID, on, on)).WithCluster(first.on)
		p.Seed = seed
		problems = append(problems, p)
	}
	return problems
}
