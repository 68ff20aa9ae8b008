package pass

import (
	"cmp"
	"slices"
)

// Share chooses which of the proposals that a pass wants to open it opens, where there is room for
// n: one of each seed, then the second one of each, and so on. seeds has the seed of each of them,
// in the order in which they take turns.
func Share(seeds []string, n int) []bool {
	turn, turns, order := make([]int, len(seeds)), map[string]int{}, make([]int, len(seeds))
	for i, seed := range seeds {
		turn[i], order[i] = turns[seed], i
		turns[seed]++
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(turn[a], turn[b]) })
	opens := make([]bool, len(seeds))
	for _, i := range order[:min(max(n, 0), len(order))] {
		opens[i] = true
	}
	return opens
}

// NextTurn returns the seed that takes its turn first in the next pass; empty where nothing was left
// out, and then it is the same as in this one. seeds are in the order of this pass. A seed that got
// nothing comes before one that was only left out in part.
func NextTurn(seeds []string, opened, left map[string]bool) string {
	next := ""
	for _, seed := range seeds {
		switch {
		case left[seed] && !opened[seed]:
			return seed
		case left[seed] && next == "":
			next = seed
		}
	}
	return next
}
