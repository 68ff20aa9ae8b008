package release

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// HoldsRemovals says that removing so many of all plantings at once is more
// than the guard lets pass: more than percent of them, and at least three.
func HoldsRemovals(removing, all, percent int) bool {
	return removing >= minRemovals && removing*100 > all*percent
}

// minRemovals is the number of plantings below which the guard never holds.
const minRemovals = 3

// DefaultDeletionGuard is the share of plantings, in percent, that may go at once.
const DefaultDeletionGuard = 20

// Clusters are those on which a plan is to have something; none of nil.
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

// Lost says what the clusters lose that a plan has and the next one does not have, as in
// "3 objects from east".
func Lost(before, next *plan.Plan) []string {
	stays, objects := Clusters(next), map[string]int{}
	for i := range before.Tiers {
		if t := &before.Tiers[i]; !t.Gone() && !stays[t.Cluster] {
			objects[t.Cluster] += len(before.Objects(t))
		}
	}
	var out []string
	for _, cluster := range slices.Sorted(maps.Keys(objects)) {
		noun := "objects"
		if objects[cluster] == 1 {
			noun = "object"
		}
		out = append(out, fmt.Sprintf("%d %s from %s", objects[cluster], noun, cluster))
	}
	return out
}

// Going counts the clusters that the plan before leaves, and the one in force does not
// take back, while the base branch still has something for them. What a person rejected
// does not go; a tier without facts, which could not be looked at, is not counted.
func Going(before, now *plan.Plan, facts map[layout.Tier]TierFacts) int {
	leaves, stays := map[string]bool{}, Clusters(before)
	maps.Copy(stays, Clusters(now))
	for i := range before.Tiers {
		t := &before.Tiers[i]
		have, looked := facts[before.Name(t)]
		switch {
		case !t.Gone() || !looked:
		case have.Proposal != nil && have.Proposal.Rejected:
			stays[t.Cluster] = true
		case have.Base != BaseNothing:
			leaves[t.Cluster] = true
		}
	}
	maps.DeleteFunc(leaves, func(cluster string, _ bool) bool { return stays[cluster] })
	return len(leaves)
}
