package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// GuardedRemoval returns the objects that the removal of a seed takes and that only a person may
// let go. What the base branch has nothing of is not declared any more, or never was.
func GuardedRemoval(removal *plan.Plan, facts map[layout.Tier]TierFacts) []plan.Removed {
	var out []plan.Removed
	for i := range removal.Tiers {
		if t := &removal.Tiers[i]; mayBePlanted(facts, removal.Name(t)) {
			out = append(out, t.Guarded()...)
		}
	}
	return out
}

// mayBePlanted reports whether base has something of a tier, or may have: a tier without facts was
// not observed.
func mayBePlanted(facts map[layout.Tier]TierFacts, tier layout.Tier) bool {
	have, observed := facts[tier]
	return !observed || have.Base != BaseNothing
}

// Hold says why the removal of a seed waits for a person; nil when it does not.
type Hold struct {
	// Guarded are the objects that only a person may let go.
	Guarded []plan.Removed
	// RenamedTo are seeds that are new and have objects of the one that is gone, as after a
	// rename, by name: what they have of it.
	RenamedTo map[string][]plan.Removed
}

// Held reports whether there is something that a person has to confirm.
func (h Hold) Held() bool { return len(h.Guarded)+len(h.RenamedTo) > 0 }

// Unconfirmed lists, for people, what they must confirm if the removal replaces a plan.
func (h Hold) Unconfirmed(before, removal *plan.Plan, facts map[layout.Tier]TierFacts) []string {
	out := Lost(before, removal, facts)
	if len(out) == 0 {
		return []string{"what is left of the seed"}
	}
	if len(h.Guarded) > 0 {
		out = append(out, "including "+plan.List(h.Guarded))
	}
	return out
}

// Problem returns what a person has to confirm, and what else can be done.
func (h Hold) Problem(seed string) manifest.Problem {
	p := manifest.OfSeed(v1alpha1.ReasonDeletionGuard, seed, "", "")
	if renamedTo := slices.Sorted(maps.Keys(h.RenamedTo)); len(renamedTo) > 0 {
		p.Reason = v1alpha1.ReasonSeedRenamed
		p.Message = fmt.Sprintf("blocked by the deletion guard: the seed appears to be renamed to %q, which has %s. They would be deleted, and then created again", renamedTo[0], plan.List(h.RenamedTo[renamedTo[0]]))
		p.Next = fmt.Sprintf("Restore the name %q, or run 'furrow confirm %s' to remove them.", seed, seed)
		return p
	}
	p.Message = "blocked by the deletion guard: removing it deletes " + plan.List(h.Guarded)
	p.Next = fmt.Sprintf("Run 'furrow confirm %s' to remove it, or restore the seed.", seed)
	return p
}

// LostClusters says that a seed leaves clusters only because no document declares them any more.
func LostClusters(seed string, clusters []string) manifest.Problem {
	names := strings.Join(clusters, ", ")
	p := manifest.OfSeed(v1alpha1.ReasonDeletionGuard, seed, fmt.Sprintf("blocked by the deletion guard: no Cluster document declares %s any more, so everything of the seed would be removed there", names),
		fmt.Sprintf("Restore the document, or run 'furrow confirm %s' to remove it. If a cluster is gone for good, run 'furrow abandon' with its name, too.", seed))
	return p.WithCluster(clusters[0])
}

// MovedToSeed says that objects leave a seed for others, which can have them only once they are deleted.
func MovedToSeed(seed string, moved map[string][]plan.Removed) manifest.Problem {
	to := slices.Min(slices.Collect(maps.Keys(moved)))
	p := manifest.OfSeed(v1alpha1.ReasonMovedToSeed, seed, fmt.Sprintf("blocked by the deletion guard: seed %q has %s now, which would be deleted and then created again", to, plan.List(moved[to])),
		fmt.Sprintf("%s To have it deleted first, run 'furrow confirm %s'.", plan.KeepMoved(seed, to), seed))
	return p.WithCluster(moved[to][0].Cluster)
}

// SharedObject says that an object which leaves a seed is also that of other seeds, so it must not be
// deleted.
func SharedObject(of *plan.Plan, cluster string, object manifest.ID, others []*plan.Plan, why, next string) manifest.Problem {
	var names []string
	for _, other := range others {
		name := fmt.Sprintf("seed %q", other.Seed)
		if other.Identity() != of.Identity() {
			name += " of control plane " + other.Owner
		}
		names = append(names, name)
	}
	slices.Sort(names)
	with := ""
	if lost := change.Destroys(object.GroupKind()); lost != "" {
		with = " with " + lost
	}
	p := manifest.OfSeed(v1alpha1.ReasonObjectShared, of.Seed, fmt.Sprintf("%s %s on %s would be deleted%s, and %s has it there, too: it %s", object.Kind, object.Name, cluster, with, strings.Join(slices.Compact(names), ", "), why), next)
	return p.WithCluster(cluster)
}

// HoldsRemovals reports whether removing so many of all plantings at once is more than the guard
// lets pass: more than percent of them, and at least three. It is for mistakes, such as a directory
// that was moved or a selector that matches nothing any longer; in a small fleet, one or two
// plantings are a usual change.
func HoldsRemovals(removing, all, percent int) bool {
	return removing >= minRemovals && removing*100 > all*percent
}

// minRemovals is the number of plantings below which the guard never holds.
const minRemovals = 3

// DefaultDeletionGuard is the share of plantings, in percent, that may go at once.
const DefaultDeletionGuard = 20

// Clusters returns those on which a plan is to have something; none of nil.
func Clusters(p *plan.Plan) map[string]bool {
	clusters := map[string]bool{}
	if p == nil {
		return clusters
	}
	for i := range p.Tiers {
		if !p.Tiers[i].Gone() {
			clusters[p.Tiers[i].Cluster] = true
		}
	}
	return clusters
}

// Keeps returns the clusters that a plan takes objects from for other seeds, and whose reconcilers keep all of
// these; none of nil.
func Keeps(p *plan.Plan) map[string]bool {
	clusters, lose := map[string]bool{}, map[string]bool{}
	if p == nil {
		return clusters
	}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		clusters[t.Cluster] = clusters[t.Cluster] || t.Leaving != nil
		lose[t.Cluster] = lose[t.Cluster] || deletes(t)
	}
	maps.DeleteFunc(clusters, func(cluster string, keeps bool) bool { return !keeps || lose[cluster] })
	return clusters
}

// deletes reports whether a tier loses anything but what goes to other seeds and is kept for them.
func deletes(t *plan.Tier) bool {
	if t.Leaving == nil {
		return t.Gone()
	}
	handed := slices.ContainsFunc(t.Leaving.Objects, func(o plan.Object) bool { return o.HandedTo != "" })
	return !handed || slices.ContainsFunc(t.Leaving.Objects, func(o plan.Object) bool { return !o.Kept })
}

// Planted returns the clusters on which a plan is to have something, and base has some of it or may
// have.
func Planted(p *plan.Plan, facts map[layout.Tier]TierFacts) map[string]bool {
	clusters := map[string]bool{}
	for i := range p.Tiers {
		if t := &p.Tiers[i]; !t.Gone() && mayBePlanted(facts, p.Name(t)) {
			clusters[t.Cluster] = true
		}
	}
	return clusters
}

// Lost returns what the clusters lose that are planted by a plan and that the next one does not
// have, as in "3 objects from east".
func Lost(before, next *plan.Plan, facts map[layout.Tier]TierFacts) []string {
	stays, objects, kept := Clusters(next), map[string]int{}, map[string]int{}
	for i := range before.Tiers {
		if t := &before.Tiers[i]; !t.Gone() && !stays[t.Cluster] && mayBePlanted(facts, before.Name(t)) {
			for _, o := range before.Objects(t) {
				objects[t.Cluster] += boolToInt(!o.Kept)
				kept[t.Cluster] += boolToInt(o.Kept)
			}
		}
	}
	var out []string
	for _, cluster := range slices.Sorted(maps.Keys(objects)) {
		text := objectCount(objects[cluster]) + " from " + cluster
		switch n := kept[cluster]; {
		case n == 1:
			text += ", where 1 object stays"
		case n > 1:
			text += fmt.Sprintf(", where %d objects stay", n)
		}
		out = append(out, text)
	}
	return out
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func objectCount(objects int) string {
	if objects == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", objects)
}

// Going counts the clusters that the plan before leaves, and the one in force does not use again,
// while the base branch still has something for them. These removals are already under way, so the
// guard adds them to the new ones: many small steps must not pass where one large one would not.
// What a person rejected stays; a tier without facts, which could not be observed, is not counted.
func Going(before, now *plan.Plan, facts map[layout.Tier]TierFacts) int {
	leaves, stays := map[string]bool{}, Clusters(before)
	maps.Copy(stays, Clusters(now))
	for i := range before.Tiers {
		t := &before.Tiers[i]
		have, observed := facts[before.Name(t)]
		switch {
		case !t.Gone() || !observed:
		case have.Proposal != nil && have.Proposal.Rejected:
			stays[t.Cluster] = true
		case have.Base != BaseNothing && deletes(t):
			leaves[t.Cluster] = true
		}
	}
	maps.DeleteFunc(leaves, func(cluster string, _ bool) bool { return stays[cluster] })
	return len(leaves)
}
