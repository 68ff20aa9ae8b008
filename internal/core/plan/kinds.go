package plan

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/kinds"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// checkKinds fails the seeds with objects that the API servers of their clusters would refuse
// because of their kind or version.
func (c *computation) checkKinds() {
	alive := c.alive()
	seeds := make([]kinds.Seed, len(alive))
	for i, s := range alive {
		seeds[i] = kinds.Seed{Name: s.seed.Name, Contents: s.contents, Placements: s.placements}
	}
	found := kinds.Check(seeds, c.inventory)
	for _, s := range alive {
		var refused manifest.Problems
		for _, f := range found[s.seed.Name] {
			if f.Refused {
				refused = append(refused, f.Problem)
			} else {
				s.warnings = append(s.warnings, warningAt(f.Problem))
			}
		}
		slices.SortStableFunc(refused, func(a, b manifest.Problem) int { return a.Source.Compare(b.Source) })
		if len(refused) > 0 {
			c.fail(s.seed.Name, refused)
		}
	}
}
