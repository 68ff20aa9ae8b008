package engine

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
)

// at gives what a commit has at some paths; a path that is not there is empty.
func (r *repoState) at(commit git.Hash, paths ...string) (map[string]layout.Hash, error) {
	known := r.entries[commit]
	if known == nil {
		known = map[string]layout.Hash{}
		r.entries[commit] = known
	}
	var missing []string
	for _, p := range paths {
		if _, ok := known[p]; !ok {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	found, err := r.Mirror.Entries(commit, missing)
	if err != nil {
		return nil, err
	}
	for _, p := range missing {
		known[p] = ""
		if entry, ok := found[p]; ok {
			known[p] = layout.Hash(entry.Hash.String())
		}
	}
	return known, nil
}

// baseOf says what base has at the tier's paths.
func (r *repoState) baseOf(t *plan.Tier, have map[string]layout.Hash, planned *plannedSeed) (release.Base, string, error) {
	entries := t.Want()
	equal, nothing := true, true
	for p, hash := range entries {
		equal = equal && have[p] == hash
		nothing = nothing && have[p] == ""
	}
	switch {
	case nothing:
		return release.BaseNothing, "", nil
	case equal:
		return release.BaseEntries, "", nil
	}
	for _, at := range slices.Sorted(maps.Keys(entries)) {
		known, err := r.everPlanned(at, have[at], planned)
		if err != nil {
			return "", "", err
		}
		if !known {
			return release.BaseForeign, fmt.Sprintf("%s on branch %s of %s holds what Furrow did not put there", at, r.base, r.name), nil
		}
	}
	return release.BaseEarlier, "", nil
}

// maxPlanHistory is how many earlier plans are looked at for what base has.
const maxPlanHistory = 100

// everPlanned says that some plan of the seed had this at a path.
func (r *repoState) everPlanned(at string, hash layout.Hash, planned *plannedSeed) (bool, error) {
	if hash == "" {
		return true, nil
	}
	if planned == nil || planned.commits[r.name].IsZero() {
		return false, nil
	}
	n := 0
	for commit, err := range r.Mirror.Log(planned.commits[r.name], git.Hash{}) {
		if err != nil {
			return false, err
		}
		had, err := r.at(commit.Hash, at)
		if err != nil {
			return false, err
		}
		if had[at] == hash {
			return true, nil
		}
		if n++; n == maxPlanHistory {
			break
		}
	}
	return false, nil
}

// lineage is the states of base, newest first along first parents, and when each
// path last changed. It is read as far back as reconcilers report.
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

// maxLag is how many states back a reconciler's revision is looked for.
const maxLag = 10_000

// position is the place of a commit among the states of base; false when it is none.
func (r *repoState) position(commit git.Hash) (int, bool, error) {
	l := &r.lineage
	if l.index == nil {
		*l = lineage{states: []git.Hash{r.head}, index: map[git.Hash]int{r.head: 0}, whole: map[string]int{}, below: map[string]int{}}
	}
	for !l.ended {
		if at, ok := l.index[commit]; ok {
			return at, true, nil
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
	return at, ok, nil
}

// changedSince says that base has changed at a path after the state at a position.
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

func when(seen map[string]int, p string) int {
	if at, ok := seen[p]; ok {
		return at
	}
	return math.MaxInt
}

// changes are the paths that differ between two commits; a directory that only
// one of them has is one path.
func (r *repoState) changes(from, to git.Hash) ([]string, error) {
	key := [2]git.Hash{from, to}
	if known, ok := r.diffs.get(key); ok {
		return known, nil
	}
	paths, err := r.Mirror.Changes(from, to)
	if err != nil {
		return nil, err
	}
	r.diffs.put(key, paths)
	return paths, nil
}

// match says whether the reconciler, at the revision that it reports, has what
// base has at the tier's paths. The revision must not be from before base last
// changed there: content that was replaced and came back is not the same. Of a
// revision that is no state of base along first parents, only the content counts.
func (r *repoState) match(revision string, t *plan.Tier, have map[string]layout.Hash) (health.Match, error) {
	_, hex, ok := strings.Cut(revision, "@sha1:")
	commit, err := git.ParseHash(hex)
	if !ok || err != nil {
		return health.MatchUnknown, nil
	}
	if _, err := r.Mirror.Commit(commit); git.IsUnknown(err) {
		return health.MatchUnknown, nil
	}
	position, isState, err := r.position(commit)
	if err != nil {
		return "", err
	}
	if isState {
		return r.unchangedSince(position, t)
	}
	there, err := r.at(commit, t.Paths()...)
	if err != nil {
		return "", err
	}
	for _, at := range t.Paths() {
		if there[at] != have[at] {
			return health.Differs, nil
		}
	}
	return health.Matches, nil
}

func (r *repoState) unchangedSince(position int, t *plan.Tier) (health.Match, error) {
	for _, at := range t.Paths() {
		changed, err := r.changedSince(position, at)
		if err != nil {
			return "", err
		}
		if changed {
			return health.Differs, nil
		}
	}
	return health.Matches, nil
}
