package forge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/git"
)

// History knows which of Furrow's commits have reached the base branch, and which digest of each
// tier was merged last. It answers from the mirror, for every forge, after any merge method that
// keeps the trailers of a commit.
//
// It reads on from the tip that it was last asked about, so a pass costs as much as people have
// merged since the one before, and not as much as the branch has history; it starts over where base
// was moved back. Each commit of Furrow's costs it a few dozen bytes: it keeps hashes of names
// (key) and not names, because a repository may gather hundreds of thousands over the years.
type History struct {
	mirror Repository

	mu  sync.Mutex
	tip git.Hash
	reached
	// onBase memoizes whether a commit is on base at tip.
	onBase map[git.Hash]bool
}

// reached is what of Furrow's is on base.
type reached struct {
	commits map[git.Hash]struct{}
	// newest has, for each tier, what was merged last.
	newest map[key]landed
}

// landed is what a commit brought of a tier: its digest, and the plan that it was released from.
type landed struct {
	digest key
	plan   git.Hash
}

// key represents a tier, or its digest: half of a SHA-256, which nobody can make collide by
// choosing names.
type key [16]byte

func keyOf(s string) key {
	sum := sha256.Sum256([]byte(s))
	return key(sum[:16])
}

func newReached() reached {
	return reached{commits: map[git.Hash]struct{}{}, newest: map[key]landed{}}
}

// NewHistory makes a History of the base branch of a repository.
func NewHistory(m Repository) *History { return &History{mirror: m, reached: newReached()} }

// Merged reports whether, of the commits that proposed something for the tier and can be
// reached from base, the newest proposed this digest: what was merged before that
// was replaced since, not reverted. from is the plan that this commit was released from.
func (h *History) Merged(ctx context.Context, base git.Hash, tier layout.Tier, digest string) (merged bool, from git.Hash, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.readTo(ctx, base); err != nil {
		return false, from, err
	}
	newest, ok := h.newest[keyOf(tier.String())]
	if !ok || newest.digest != keyOf(digest) {
		return false, from, nil
	}
	return true, newest.plan, nil
}

// has reports whether Furrow's commit can be reached from base.
func (h *History) has(ctx context.Context, base, commit git.Hash) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.readTo(ctx, base); err != nil {
		return false, err
	}
	_, ok := h.commits[commit]
	return ok, nil
}

// isOnBase reports whether any commit can be reached from base. The answers hold for one tip and
// are dropped when base moves.
func (h *History) isOnBase(ctx context.Context, base, commit git.Hash) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.readTo(ctx, base); err != nil {
		return false, err
	}
	if on, known := h.onBase[commit]; known {
		return on, nil
	}
	on, err := h.holds(base, commit)
	if err == nil {
		h.onBase[commit] = on
	}
	return on, err
}

// Landed reports whether base reaches a commit; it does not reach one that the mirror
// does not know.
func (h *History) Landed(ctx context.Context, base, commit git.Hash) (bool, error) {
	if commit.IsZero() {
		return false, nil
	}
	on, err := h.isOnBase(ctx, base, commit)
	if git.IsUnknown(err) {
		return false, nil
	}
	return on, err
}

// holds reports whether tip reaches commit. It searches for a commit that commit reaches and tip does
// not, commit itself being the first: none is found only if tip reaches it. The history that both
// share is not read.
func (h *History) holds(tip, commit git.Hash) (bool, error) {
	for _, err := range h.mirror.Log(commit, tip) {
		return false, err
	}
	return true, nil
}

// readTo brings the index to base. What is new is gathered first and joined at the end, so a
// reading that fails half way leaves the index as it was.
func (h *History) readTo(ctx context.Context, base git.Hash) error {
	if base == h.tip {
		return nil
	}
	from, err := h.readFrom(base)
	if err != nil {
		return fmt.Errorf("read the base branch: %w", err)
	}
	news := newReached()
	for c, err := range h.mirror.Log(base, from) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read the base branch: %w", err)
		}
		news.add(c)
	}
	if from.IsZero() {
		h.reached = newReached()
	}
	h.reached.join(news)
	h.tip, h.onBase = base, map[git.Hash]bool{}
	return nil
}

// readFrom returns the tip to read on from; zero if everything must be read again, because base no
// longer reaches what is indexed, or the mirror does not have that any more.
func (h *History) readFrom(base git.Hash) (git.Hash, error) {
	if h.tip.IsZero() {
		return git.Hash{}, nil
	}
	on, err := h.holds(base, h.tip)
	if git.IsUnknown(err) || err == nil && !on {
		return git.Hash{}, nil
	}
	return h.tip, err
}

// add takes in one more commit; they come newest first, so the first digest of a tier is the
// newest. Most commits are of people, and one search of the message rules them out.
func (r *reached) add(c git.CommitInfo) {
	if !strings.Contains(c.Message, TrailerDigest) {
		return
	}
	content := CarriedBy(c.Message)
	if content.Digest == "" {
		return
	}
	r.commits[c.Hash] = struct{}{}
	from, _ := git.ParseHash(Trailers(c.Message)[TrailerPlan])
	for _, m := range content.Tiers {
		tier := keyOf(m.Tier.String())
		if _, newer := r.newest[tier]; !newer {
			r.newest[tier] = landed{keyOf(m.Digest), from}
		}
	}
}

// join takes in what is newer than all that r has.
func (r *reached) join(news reached) {
	for commit := range news.commits {
		r.commits[commit] = struct{}{}
	}
	maps.Copy(r.newest, news.newest)
}
