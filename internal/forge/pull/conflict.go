package pull

import (
	"context"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// conflict is a pull request that the server would not merge as it is.
type conflict struct {
	head, base git.Hash
	// passes counts passes up to the one after checkPass; checked is when the server was made to
	// check.
	passes  int
	checked time.Time
	// refused reports whether the server refused to merge it there.
	refused bool
}

const (
	// checkPass is the pass in which the server is made to check, unless it has by itself.
	checkPass = 2
	// checkTime is how long the check may take.
	checkTime = 10 * time.Second
	// maxChecks bounds the checks requested in one pass. Whenever base moves, all open pull
	// requests count as not mergeable at first, and servers check most of them by themselves
	// sooner than a pass could ask for each.
	maxChecks = 5
)

// refuses reports whether the server finds a conflict that our rules do not, for example because a
// person renamed a directory that the proposal writes to.
//
// Servers do not distinguish a conflict from a check that has not run yet, and may check an idle
// pull request only when it is read. So the answer counts only if it is the same some time after a
// request made the server check the same commits. A wrong answer costs one graft onto the tip of
// base, which cannot conflict.
func (f *Forge) refuses(ctx context.Context, base git.Hash, r row, b *forge.Branch, checks *int) bool {
	f.mu.Lock()
	d := f.conflicts[r.Number]
	switch {
	case d.refused && d.head == b.Head && d.base == base && r.Head == b.Head && !b.Edited && b.Base != base:
		f.mu.Unlock()
		return true
	case !r.Unmergeable || r.Draft || b.Edited || b.Base == base || r.Head != b.Head:
		delete(f.conflicts, r.Number)
		f.mu.Unlock()
		return false
	case d.head != b.Head || d.base != base:
		d = conflict{head: b.Head, base: base}
	}
	now := f.clock.Now()
	if d.passes+1 != checkPass || *checks > 0 {
		d.passes = min(d.passes+1, checkPass+1)
	}
	check := d.passes == checkPass
	if check {
		d.checked = now
		*checks--
	}
	f.conflicts[r.Number] = d
	f.mu.Unlock()
	if check {
		// The request makes the server check. The answer and errors are not needed.
		_, _ = f.get(ctx, r.Number)
	}
	return d.passes > checkPass && now.Sub(d.checked) >= checkTime
}
