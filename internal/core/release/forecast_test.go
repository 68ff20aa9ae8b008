package release_test

import (
	"fmt"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

func TestProposalsOfARolloutAreCounted(t *testing.T) {
	waves := &plan.Rollout{Waves: []plan.Wave{{Name: "canary", Clusters: []string{"c000"}}, {Name: "fleet"}}}
	for name, tt := range map[string]struct {
		by       v1alpha1.GroupBy
		rollout  *plan.Rollout
		clusters int
		want     int
	}{
		"each tier alone":       {clusters: 3, want: 6},
		"by level":              {by: v1alpha1.GroupByLevel, clusters: 3, want: 2},
		"by level in two waves": {by: v1alpha1.GroupByLevel, rollout: waves, clusters: 3, want: 4},
		"by cluster":            {by: v1alpha1.GroupByCluster, rollout: waves, clusters: 3, want: 3},
		"all of a seed":         {by: v1alpha1.GroupBySeed, clusters: 3, want: 1},
		"a group that is more than one proposal holds": {by: v1alpha1.GroupByLevel, clusters: release.MaxMembers + 1, want: 4},
		"nothing": {by: v1alpha1.GroupByLevel},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Seed: "web", GroupBy: tt.by, Rollout: tt.rollout}
			var tiers []*plan.Tier
			for n := range tt.clusters {
				for level := range 2 {
					tiers = append(tiers, &plan.Tier{Cluster: fmt.Sprintf("c%03d", n), Ordinal: level, Level: level, Repo: "fleet", Entries: []plan.Entry{{Path: "x", Hash: hashOf("x")}}})
				}
			}
			if got := release.ProposalsFor(p, tiers); got != tt.want {
				t.Errorf("%d proposals, want %d", got, tt.want)
			}
		})
	}
}
