package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// rolloutOf says how a plan goes out: in how many proposals, in which waves, and what else holds
// tiers back.
func rolloutOf(p *plan.Plan, all clusterSet) []string {
	tiers := p.InOrder()
	if len(tiers) == 0 {
		return nil
	}
	lines := []string{"- " + plural(release.ProposalsFor(p, tiers), "proposal") + ", " + proposedBy(p.GroupBy)}
	for _, wave := range p.Rollout.AllWaves() {
		lines = append(lines, "- "+waveText(wave, all))
	}
	if rest := withoutWave(p); len(rest) > 0 {
		lines = append(lines, "- after all waves: "+all.counted(rest))
	}
	return append(lines, limitsOf(p.Rollout)...)
}

// proposedBy says which tiers share a proposal.
func proposedBy(by v1alpha1.GroupBy) string {
	switch by {
	case v1alpha1.GroupByLevel:
		return "one for the tiers of a level and wave that are free together"
	case v1alpha1.GroupByCluster:
		return "one for each cluster"
	case v1alpha1.GroupBySeed:
		return "one for all tiers of a wave that are free together"
	}
	return "one for each tier of each cluster"
}

// waveText says which clusters a wave has, and what holds it back.
func waveText(wave plan.Wave, all clusterSet) string {
	clusters := "no cluster"
	if len(wave.Clusters) > 0 {
		clusters = all.counted(wave.Clusters)
	}
	return strings.Join(append([]string{fmt.Sprintf("wave %s: %s", wave.Name, clusters)}, waveRules(wave)...), "; ")
}

// waveRules says what holds a wave back.
func waveRules(wave plan.Wave) []string {
	var rules []string
	if wave.MaxUnavailable > 0 {
		rules = append(rules, fmt.Sprintf("at most %d at once", wave.MaxUnavailable))
	}
	if wave.Soak > 0 {
		rules = append(rules, "soaks for "+shortDuration(wave.Soak))
	}
	for i, one := range wave.Windows {
		open := "or "
		if i == 0 {
			open = "open "
		}
		rules = append(rules, open+one.String())
	}
	return rules
}

// limitsOf says what holds for all waves.
func limitsOf(r *plan.Rollout) []string {
	if r == nil {
		return nil
	}
	var lines []string
	if r.MaxOpenProposals > 0 {
		lines = append(lines, fmt.Sprintf("- at most %s open at once in a repository", plural(r.MaxOpenProposals, "proposal")))
	}
	if r.AutoMerge {
		lines = append(lines, "- Furrow merges a proposal once its checks have passed")
	}
	return lines
}

// withoutWave returns the clusters of a plan that are in none of its waves; none of a plan without
// waves.
func withoutWave(p *plan.Plan) []string {
	if len(p.Rollout.AllWaves()) == 0 {
		return nil
	}
	return slices.DeleteFunc(clustersOf(p), func(c string) bool { return waveOf(p, c) != "" })
}

// waveOf returns the name of a cluster's wave; empty where it has none.
func waveOf(p *plan.Plan, cluster string) string {
	if waves := p.Rollout.AllWaves(); len(waves) > 0 {
		if at := p.Rollout.WaveOf(cluster); at < len(waves) {
			return waves[at].Name
		}
	}
	return ""
}

// rolloutChanges says what changes about the rollout when one plan replaces another.
func rolloutChanges(was, is *plan.Plan, all clusterSet) []string {
	if was == nil || is == nil {
		return nil
	}
	var lines []string
	if was.GroupBy != is.GroupBy {
		lines = append(lines, fmt.Sprintf("~ proposals: %s (was: %s)", proposedBy(is.GroupBy), proposedBy(was.GroupBy)))
	}
	lines = append(lines, movedBetweenWaves(was, is, all)...)
	lines = append(lines, changedWaves(was.Rollout.AllWaves(), is.Rollout.AllWaves(), all)...)
	return append(lines, changedLimits(was.Rollout, is.Rollout)...)
}

// movedBetweenWaves says which clusters that both plans have go to another wave.
func movedBetweenWaves(was, is *plan.Plan, all clusterSet) []string {
	moved := map[[2]string][]string{}
	if len(was.Rollout.AllWaves()) == 0 || len(is.Rollout.AllWaves()) == 0 {
		return nil
	}
	next := clustersOf(is)
	for _, cluster := range clustersOf(was) {
		from, to := waveOf(was, cluster), waveOf(is, cluster)
		if _, stays := slices.BinarySearch(next, cluster); stays && from != to {
			moved[[2]string{from, to}] = append(moved[[2]string{from, to}], cluster)
		}
	}
	var lines []string
	for _, key := range slices.SortedFunc(maps.Keys(moved), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		lines = append(lines, fmt.Sprintf("~ %s: from %s to %s", all.counted(moved[key]), waveName(key[0]), waveName(key[1])))
	}
	return lines
}

func waveName(name string) string {
	if name == "" {
		return "no wave"
	}
	return "wave " + name
}

// changedWaves says which waves come, go, change their rules or their order.
func changedWaves(was, is []plan.Wave, all clusterSet) []string {
	find := func(waves []plan.Wave, name string) int {
		return slices.IndexFunc(waves, func(w plan.Wave) bool { return w.Name == name })
	}
	var lines, before, after []string
	for _, w := range is {
		at := find(was, w.Name)
		if at < 0 {
			lines = append(lines, "+ "+waveText(w, all))
			continue
		}
		after = append(after, w.Name)
		if had, has := rulesText(was[at]), rulesText(w); had != has {
			lines = append(lines, fmt.Sprintf("~ wave %s: %s (was: %s)", w.Name, has, had))
		}
	}
	for _, w := range was {
		if find(is, w.Name) < 0 {
			lines = append(lines, "- wave "+w.Name)
		} else {
			before = append(before, w.Name)
		}
	}
	if !slices.Equal(before, after) {
		lines = append(lines, fmt.Sprintf("~ order of waves: %s (was: %s)", strings.Join(after, ", "), strings.Join(before, ", ")))
	}
	return lines
}

// rulesText says in one text what holds a wave back.
func rulesText(wave plan.Wave) string {
	if rules := waveRules(wave); len(rules) > 0 {
		return strings.Join(rules, "; ")
	}
	return "all at once, without soaking"
}

func changedLimits(was, is *plan.Rollout) []string {
	var lines []string
	before, after := limitsOf(was), limitsOf(is)
	for _, line := range after {
		if !slices.Contains(before, line) {
			lines = append(lines, "+"+strings.TrimPrefix(line, "-"))
		}
	}
	for _, line := range before {
		if !slices.Contains(after, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
