package forge

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/git"
)

// compare finds out how a branch compares to base: whether it is merged, stale, or what merging it
// would do.
//
// There are two ways to be merged. Base may reach the branch's commits; or, after a squash or a
// rebase on a server, it does not, but has all that the branch would bring. The latter is found by
// merging the trees in the mirror, from the fork, without any file's content: an empty result
// brings nothing.
func (r *Reader) compare(ctx context.Context, base git.Hash, b *Branch) error {
	merged, err := r.isMerged(ctx, base, b)
	if err != nil || merged || b.Foreign() {
		b.Merged = merged
		return err
	}
	from, err := r.fork(ctx, base, b)
	if err != nil {
		return err
	}
	if from.IsZero() {
		b.Stale = true
		return r.compareToBase(b)
	}
	b.Changes, err = r.mirror.MergeTrees(from, b.Content, base, isTierOf(b.Tiers))
	b.Stale = len(b.Changes.Conflicts) > 0
	b.Merged = !b.Stale && len(b.Changes.Edits) == 0
	if err == nil && b.Stale {
		return r.compareToBase(b)
	}
	if err == nil {
		b.Paths, err = r.paths(b, from, b.Changes)
	}
	return err
}

// compareToBase finds out what a branch that cannot be merged, and that nobody has edited, changes of
// the commit that it was grafted on.
func (r *Reader) compareToBase(b *Branch) error {
	if b.Edited {
		return nil
	}
	changes, err := r.mirror.MergeTrees(b.Base, b.Content, b.Base, isTierOf(b.Tiers))
	if git.IsUnknown(err) {
		return nil
	}
	if err == nil {
		b.Paths, err = r.paths(b, b.Base, changes)
	}
	return err
}

// paths returns the paths at which a branch changes what base has, as narrow as they are known: an edit
// may be of a directory that base has, too, with more in it than changes. The directory of a tier is one
// path.
func (r *Reader) paths(b *Branch, from git.Hash, changes git.TreeMerge) ([]string, error) {
	if len(changes.Edits) == 0 {
		return nil, nil
	}
	changed, err := r.mirror.Changes(from, b.Content)
	if err != nil {
		return nil, err
	}
	tierAt := isTierOf(b.Tiers)
	out := map[string]bool{}
	for _, at := range changed {
		for _, e := range changes.Edits {
			switch {
			case strings.HasPrefix(e.Path, at+"/"): // base has more of this directory by now
				out[e.Path] = true
			case at == e.Path || strings.HasPrefix(at, e.Path+"/"):
				for dir := at; dir != "."; dir = path.Dir(dir) {
					if tierAt(dir) {
						at = dir
					}
				}
				out[at] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(out)), nil
}

// isMerged reports whether base reaches what the branch holds. It does not, as long as
// it does not reach Furrow's commit.
func (r *Reader) isMerged(ctx context.Context, base git.Hash, b *Branch) (bool, error) {
	if b.Foreign() {
		return r.history.isOnBase(ctx, base, b.Content)
	}
	return r.history.has(ctx, base, b.Own)
}

// isTierOf reports the directories of tiers, whatever the repository's prefix: each is taken whole,
// so base never has a tier that is partly the proposal's. A merge file by file, as Git does
// it, could make a tier of two that nobody has reviewed.
func isTierOf(tiers []layout.Member) func(path string) bool {
	dirs, depth := map[string]bool{}, 0
	for _, m := range tiers {
		dir := m.Tier.Dir("")
		dirs[dir], depth = true, strings.Count(dir, "/")+1
	}
	return func(path string) bool {
		parts := strings.Split(path, "/")
		return dirs[strings.Join(parts[max(0, len(parts)-depth):], "/")]
	}
}

// fork returns the commit of base from which the branch's changes are counted: Base, or what a
// person merged into the branch since. It is zero if there is none, as when people have rewritten
// base: merging would bring back what they removed.
func (r *Reader) fork(ctx context.Context, base git.Hash, b *Branch) (git.Hash, error) {
	if b.Base.IsZero() {
		return git.Hash{}, nil
	}
	on, err := r.history.isOnBase(ctx, base, b.Base)
	if err != nil || !on {
		return git.Hash{}, err
	}
	if !b.Edited {
		return b.Base, nil
	}
	return r.newestShared(base, b.Content)
}

// newestShared returns the commit of base, of those that tip is based on, which has all others
// below it; zero if none has.
//
// The candidates are the parents, on base, of the branch's own commits: Base, and each commit of
// base that a person merged into the branch. One round finds the only one that can be above all
// others, as in a tournament, and a second one checks that it is. Git's merge base would be one of
// several where none is above all others, and changes counted from it could undo what the others
// brought; the proposal is then stale. The cost is two searches for each candidate; there are
// few.
func (r *Reader) newestShared(base, tip git.Hash) (git.Hash, error) {
	own := map[git.Hash]bool{}
	var parents []git.Hash
	for c, err := range r.mirror.Log(tip, base) {
		if err != nil {
			return git.Hash{}, err
		}
		own[c.Hash] = true
		parents = append(parents, c.Parents...)
	}
	var newest git.Hash
	for _, p := range parents {
		if own[p] || p == newest {
			continue
		}
		switch above, err := r.isAbove(p, newest); {
		case err != nil:
			return git.Hash{}, err
		case above:
			newest = p
		}
	}
	for _, p := range parents {
		if own[p] {
			continue
		}
		if above, err := r.isAbove(newest, p); err != nil || !above {
			return git.Hash{}, err
		}
	}
	return newest, nil
}

// isAbove reports whether commit reaches below; everything is above the zero hash.
func (r *Reader) isAbove(commit, below git.Hash) (bool, error) {
	if below.IsZero() {
		return true, nil
	}
	return r.history.holds(commit, below)
}
