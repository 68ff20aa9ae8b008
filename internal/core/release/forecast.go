package release

import "github.com/furrow-dev/furrow/internal/core/plan"

// ProposalsFor returns in how many proposals tiers of a plan go out, as the plan groups them: the
// tiers of a group are taken to become free at the same time. A tier that another wave needs may go
// earlier, so it is a forecast.
func ProposalsFor(p *plan.Plan, tiers []*plan.Tier) int {
	members, n := map[groupKey]int{}, 0
	for _, t := range tiers {
		wave := ""
		if waves := p.Rollout.AllWaves(); len(waves) > 0 {
			wave = plan.RestWave
			if at := p.Rollout.WaveOf(t.Cluster); at < len(waves) {
				wave = waves[at].Name
			}
		}
		name := groupName(p.GroupBy, t, wave)
		if name == "" {
			n++
			continue
		}
		key := groupKey{t.Repo, name}
		if members[key]%MaxMembers == 0 {
			n++
		}
		members[key]++
	}
	return n
}
