package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// seedsOn returns the seeds that have tiers on a cluster.
func seedsOn(st *state.State, cluster string) []state.Seed {
	return slices.DeleteFunc(slices.Clone(st.Seeds), func(s state.Seed) bool {
		return !slices.ContainsFunc(s.Tiers, func(t state.Tier) bool { return t.Cluster == cluster })
	})
}

// abandonTable shows, below a line that says what becomes of a cluster, the seeds that this is
// about.
func abandonTable(w io.Writer, line string, seeds []state.Seed, cluster string) error {
	return show(w, func(w io.Writer) {
		paragraph(w, "  ", line)
		for _, s := range seeds {
			name := strings.TrimPrefix(s.Namespace+"/"+s.Name, "/")
			text := fmt.Sprintf("  Seed %s, which is %s: %s", name, cmp.Or(s.State, state.Unknown), statesOn(&s, cluster))
			stateParagraph(w, "    ", text, s.State)
		}
	})
}

// statesOn counts the tiers of a seed on a cluster by their state.
func statesOn(s *state.Seed, cluster string) string {
	counts := map[release.State]int{}
	for i := range s.Tiers {
		if s.Tiers[i].Cluster == cluster {
			counts[s.Tiers[i].State]++
		}
	}
	var states []string
	for _, of := range release.States {
		if counts[of] > 0 {
			states = append(states, fmt.Sprintf("%d %s", counts[of], of))
		}
	}
	return cmp.Or(strings.Join(states, ", "), "no tier there")
}
