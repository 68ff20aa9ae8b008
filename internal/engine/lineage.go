package engine

import (
	"math"
	"path"

	"github.com/furrow-dev/furrow/internal/git"
)

// lineage is the states of base, newest first along first parents, and when each path last changed.
// It is read as far back as reconcilers report.
//
// A tier asks whether base has changed at its paths since the commit that its reconciler is at.
// Comparing the two commits for each tier would be wrong, as content may have been replaced and
// have come back, and slow. So each state is compared with the one before it, once, however many
// tiers there are, and the newest change of each path is kept: the cost of a pass follows the
// merges since the oldest reported commit.
//
// Invariant: whole and below know of all changes among the first compared states, and of none after
// them.
type lineage struct {
	states []git.Hash
	index  map[git.Hash]int
	ended  bool
	// compared is how many states have been compared with the one before them.
	compared int
	// whole and below say, by path, which state first differs from the one before
	// it: in the path as a whole, and in something at or below it.
	whole, below map[string]int
}

// maxLag is how many states back a reconciler's revision is searched.
const maxLag = 10_000

// position returns the index of a commit among the states of base; false if it is not one. A commit
// that was not found up to an earlier head is searched only among the states since.
func (r *repoState) position(commit git.Hash) (int, bool, error) {
	l := &r.lineage
	if l.index == nil {
		*l = lineage{states: []git.Hash{r.head}, index: map[git.Hash]int{r.head: 0}, whole: map[string]int{}, below: map[string]int{}}
	}
	searched, known := r.offBase.Get(commit)
	for !l.ended {
		if at, ok := l.index[commit]; ok {
			return at, true, nil
		}
		if _, reached := l.index[searched]; known && reached {
			return 0, false, nil
		}
		last, err := r.Mirror.Commit(l.states[len(l.states)-1])
		if err != nil {
			return 0, false, err
		}
		if len(last.Parents) == 0 || len(l.states) == maxLag {
			l.ended = true
			break
		}
		l.index[last.Parents[0]] = len(l.states)
		l.states = append(l.states, last.Parents[0])
	}
	at, ok := l.index[commit]
	if !ok {
		r.offBase.Put(commit, r.head)
	}
	return at, ok, nil
}

// changedSince reports whether base has changed at a path after the state at a position. A path has
// changed if itself, or anything below it, is listed as changed, or if a directory above it is
// listed as a whole, because it came or went.
func (r *repoState) changedSince(position int, at string) (bool, error) {
	l := &r.lineage
	for ; l.compared < position; l.compared++ {
		changed, err := r.changes(l.states[l.compared+1], l.states[l.compared])
		if err != nil {
			return false, err
		}
		for _, p := range changed {
			first(l.whole, p, l.compared)
			for ; p != "."; p = path.Dir(p) {
				first(l.below, p, l.compared)
			}
		}
	}
	newest := min(when(l.below, at), when(l.whole, at))
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		newest = min(newest, when(l.whole, dir))
	}
	return newest < position, nil
}

func first(seen map[string]int, p string, at int) {
	if _, ok := seen[p]; !ok {
		seen[p] = at
	}
}

// when returns the newest state in which a path has changed; one behind all states if none is
// known.
func when(seen map[string]int, p string) int {
	if at, ok := seen[p]; ok {
		return at
	}
	return math.MaxInt
}

// changes returns the paths that differ between two commits; a directory that only one of them has
// is one path.
func (r *repoState) changes(from, to git.Hash) ([]string, error) {
	key := [2]git.Hash{from, to}
	if known, ok := r.diffs.Get(key); ok {
		return known, nil
	}
	paths, err := r.Mirror.Changes(from, to)
	if err != nil {
		return nil, err
	}
	r.diffs.Put(key, paths)
	return paths, nil
}
