package release

// HoldsRemovals says that removing so many of all plantings at once is more
// than the guard lets pass: more than percent of them, and at least three.
func HoldsRemovals(removing, all, percent int) bool {
	return removing >= minRemovals && removing*100 > all*percent
}

// minRemovals is the number of plantings below which the guard never holds.
const minRemovals = 3

// DefaultDeletionGuard is the share of plantings, in percent, that may go at once.
const DefaultDeletionGuard = 20
