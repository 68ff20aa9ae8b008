package forge

import (
	"context"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/git"
)

// compare finds out how a branch compares to base: whether it is merged, stale, or
// what merging it would do.
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
		return nil
	}
	b.Changes, err = r.mirror.MergeTrees(from, b.Content, base, isTierOf(b.Tiers))
	b.Stale = len(b.Changes.Conflicts) > 0
	b.Merged = !b.Stale && len(b.Changes.Edits) == 0
	if !b.Stale {
		for _, e := range b.Changes.Edits {
			b.Paths = append(b.Paths, e.Path)
		}
	}
	return err
}

// isMerged reports whether base reaches what the branch holds. It does not, as long as
// it does not reach Furrow's commit.
func (r *Reader) isMerged(ctx context.Context, base git.Hash, b *Branch) (bool, error) {
	if b.Foreign() {
		return r.history.isOnBase(ctx, base, b.Content)
	}
	return r.history.has(ctx, base, b.Own)
}

// isTierOf reports the directories of tiers, whatever the repository's prefix: each is
// taken whole, so that base never has a tier that is partly the proposal's.
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

// fork is the commit of base from which the branch's changes are counted: Base, or
// what a person merged into the branch since. It is zero where there is none, as
// when people have rewritten base: merging would bring back what they removed.
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

// newestShared is the commit of base, of those that tip is based on, which has all
// others below it; zero where none has.
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

// isAbove reports whether commit reaches below; everything is above none.
func (r *Reader) isAbove(commit, below git.Hash) (bool, error) {
	if below.IsZero() {
		return true, nil
	}
	return r.history.holds(commit, below)
}
