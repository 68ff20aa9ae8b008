package forge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
)

// maxDepth is how many commits of people may be on top of Furrow's.
const maxDepth = 50

// Branch is a proposal as its branch has it, and how it compares to base.
type Branch struct {
	Proposal
	// Content is the tip without the rejections on top of it.
	Content git.Hash
	// Merged reports whether base has all that the branch brings.
	Merged bool
	// Changes is what merging it does to base.
	Changes git.TreeMerge
}

// Foreign reports whether the branch is not Furrow's.
func (b *Branch) Foreign() bool { return b.Own.IsZero() }

// Reader reads the branches of proposals from the mirror. It asks the server only in Observe and
// HasMerge, for what cannot wait for the next pass.
type Reader struct {
	mirror  Fetcher
	base    string
	history *History
}

// Fetcher is a repository that knows what its server has; *git.Mirror is one. Its String names it
// in messages.
type Fetcher interface {
	Repository
	fmt.Stringer
	Fetch(ctx context.Context, base string) (git.Refs, error)
}

// NewReader makes a Reader of a repository's branches, which are proposals to its branch base.
func NewReader(m Fetcher, base string, h *History) *Reader { return &Reader{m, base, h} }

// BaseTip returns the commit of the base branch. That there is none is an error with the next step.
func (r *Reader) BaseTip(refs git.Refs) (git.Hash, error) {
	tip, ok := refs[r.base]
	if !ok {
		return git.Hash{}, manifest.Problem{Reason: "BranchNotFound", Repo: r.mirror.String(), Message: fmt.Sprintf("%s has no branch %q; create it with a first commit", r.mirror, r.base)}
	}
	return tip, nil
}

// ReadRef reads the branch of a proposal as refs have it; name must be one.
func (r *Reader) ReadRef(ctx context.Context, refs git.Refs, name string) (Branch, error) {
	base, err := r.BaseTip(refs)
	if err != nil {
		return Branch{}, err
	}
	return r.read(ctx, base, name, refs[name])
}

// Observe reads the branch of a proposal as the server has it now, and the base branch
// that it is compared to. A branch that was deleted, or whose content base has, is not a
// proposal any more: the error is ErrGone. For a branch that is not Furrow's it is
// ErrForeign.
func (r *Reader) Observe(ctx context.Context, p Proposal) (b Branch, base git.Hash, err error) {
	if _, ok := layout.SeedOfBranch(r.base, p.Branch); !ok {
		return b, base, ErrForeign
	}
	refs, err := r.mirror.Fetch(ctx, r.base)
	if err != nil {
		return b, base, err
	}
	if _, there := refs[p.Branch]; !there {
		return b, base, ErrGone
	}
	b, err = r.ReadRef(ctx, refs, p.Branch)
	switch {
	case err != nil:
	case b.Foreign():
		err = ErrForeign
	case b.Merged:
		err = ErrGone
	}
	return b, refs[r.base], err
}

// HasMerge reports whether the base branch at base has a merge in its history. If it has
// that only since the caller read it, the error is ErrGone. If it does not have it even
// then, people removed it from the history.
func (r *Reader) HasMerge(ctx context.Context, base, merge git.Hash) (bool, error) {
	on, err := r.history.Landed(ctx, base, merge)
	if err != nil || on {
		return on, err
	}
	refs, err := r.mirror.Fetch(ctx, r.base)
	if err != nil {
		return false, err
	}
	now, err := r.BaseTip(refs)
	if err != nil || now == base {
		return false, err
	}
	switch on, err = r.history.holds(now, merge); {
	case git.IsUnknown(err):
		return false, nil
	case on:
		return false, ErrGone
	}
	return false, err
}

// read reads a branch at tip, compared to the base branch at base.
//
//	tip     rejections, each an empty commit of a person
//	  ▼     a person's commits: the branch is Edited
//	        Furrow's commit, Own: Digest, Title, Body
//	Base    its parent, on the base branch
func (r *Reader) read(ctx context.Context, base git.Hash, name string, tip git.Hash) (Branch, error) {
	b := Branch{Proposal: Proposal{Branch: name, Head: tip}}
	b.Seed, _ = layout.SeedOfBranch(r.base, name)
	err := r.readCommits(ctx, base, &b)
	if err == nil {
		err = r.compare(ctx, base, &b)
	}
	if err != nil {
		return Branch{}, fmt.Errorf("read branch %s: %w", name, err)
	}
	return b, nil
}

// readCommits walks down from the tip to Furrow's commit, by first parents, so what a person
// merged into the branch is not searched. What is on top of one that base has already is not a
// proposal: somebody goes on with the branch for work of their own.
func (r *Reader) readCommits(ctx context.Context, base git.Hash, b *Branch) error {
	var above []git.CommitInfo
	for at := b.Head; len(above) < maxDepth && !at.IsZero(); {
		c, err := r.mirror.Commit(at)
		if err != nil {
			return err
		}
		if content, ok := r.proposes(c, b.Branch); ok {
			landed, err := r.history.has(ctx, base, c.Hash)
			switch {
			case err != nil:
				return err
			case landed && len(above) > 0:
				return r.foreign(b, above)
			}
			return r.ours(b, above, c, content)
		}
		above, at = append(above, c), firstParent(c)
	}
	return r.foreign(b, above)
}

// proposes returns what a commit of Furrow's proposes, and whether it may be on that branch. A
// commit of another tier or seed may not: a person who branches off from a proposal has it below
// theirs. Furrow's commits have one parent: a merge would bring the history of another branch.
func (r *Reader) proposes(c git.CommitInfo, branch string) (Carried, bool) {
	content := CarriedBy(c.Message)
	if content.Digest == "" || len(c.Parents) != 1 {
		return Carried{}, false
	}
	if tier, ok := layout.TierOfBranch(r.base, branch); ok {
		return content, content.Carries(tier, content.Digest) && r.isOwn(c.Hash)
	}
	seed, _ := layout.SeedOfBranch(r.base, branch)
	return content, r.isOwn(c.Hash) && !slices.ContainsFunc(content.Tiers, func(m layout.Member) bool { return m.Tier.Seed != seed })
}

// isOwn reports whether a commit may be Furrow's, which its trailers alone do not prove where Furrow
// signs.
func (r *Reader) isOwn(commit git.Hash) bool {
	who, err := r.mirror.Identify(commit)
	return err == nil && who.Own
}

// firstParent returns the first parent of a commit; zero for a first commit.
func firstParent(c git.CommitInfo) git.Hash {
	if len(c.Parents) == 0 {
		return git.Hash{}
	}
	return c.Parents[0]
}

// ours reads what is on a branch of Furrow's, above its commit c. It is edited if anything but
// rejections is on top, or if a person has replaced the commit itself.
func (r *Reader) ours(b *Branch, above []git.CommitInfo, c git.CommitInfo, content Carried) error {
	b.Own, b.Proposal.Carried, b.Base = c.Hash, content, firstParent(c)
	b.Author, b.Amended = authorOf(c), !sameHand(c)
	b.Title, b.Body = splitMessage(c.Message)
	rest, err := r.peel(b, append(above, c), content.Digest)
	b.Edited = len(rest) > 1 || b.Amended
	return err
}

// Carried returns what a branch proposed when its tip was there, whether it has landed since or
// not; the zero value if the mirror does not know.
func (r *Reader) Carried(branch string, tip git.Hash) (Carried, error) {
	for range maxDepth {
		if tip.IsZero() {
			return Carried{}, nil
		}
		c, err := r.mirror.Commit(tip)
		if git.IsUnknown(err) {
			return Carried{}, nil
		}
		if err != nil {
			return Carried{}, err
		}
		if content, ok := r.proposes(c, branch); ok {
			return content, nil
		}
		tip = firstParent(c)
	}
	return Carried{}, nil
}

// Tip returns what the commit at a branch's tip proposes, and when it was made; the zero value if
// it is not Furrow's, or the mirror does not know it.
func (r *Reader) Tip(branch string, tip git.Hash) (content Carried, made time.Time, err error) {
	if tip.IsZero() {
		return Carried{}, time.Time{}, nil
	}
	c, err := r.mirror.Commit(tip)
	if git.IsUnknown(err) {
		return Carried{}, time.Time{}, nil
	}
	content, ok := r.proposes(c, branch)
	if !ok {
		content = Carried{}
	}
	return content, c.Committer.When, err
}

// foreign reads what is on a branch that is not Furrow's. It counts as edited and never as
// rejected, and is not compared to base beyond whether it is merged.
func (r *Reader) foreign(b *Branch, above []git.CommitInfo) error {
	if tier, ok := layout.TierOfBranch(r.base, b.Branch); ok {
		b.Tiers = []layout.Member{{Tier: tier}}
	}
	title, _ := splitMessage(above[0].Message)
	b.Author = authorOf(above[0])
	_, err := r.peel(b, above, "")
	b.Title, b.Edited, b.Rejected, b.Reason = title, true, false, ""
	return err
}

// peel takes the rejections off the top and returns the rest; without a digest, any rejection is
// one. A rejection changes no file: a commit that says so and does is an edit, and people would
// lose their work if it were taken away as one. Of several on top of each other, the newest one's
// reason counts.
func (r *Reader) peel(b *Branch, commits []git.CommitInfo, digest string) (rest []git.CommitInfo, err error) {
	for ; len(commits) > 0; commits = commits[1:] {
		top := commits[0]
		b.Content = top.Hash
		rejected := Trailers(top.Message)[TrailerRejected]
		if rejected == "" || digest != "" && rejected != digest || len(top.Parents) == 0 {
			break
		}
		parent, err := r.mirror.Commit(top.Parents[0])
		if err != nil {
			return nil, err
		}
		if parent.Tree != top.Tree {
			break
		}
		if !b.Rejected {
			b.Rejected, b.Reason = true, reasonOf(top.Message, b.Branch)
		}
		b.Content = parent.Hash
	}
	return commits, nil
}

// sameHand reports whether nobody has amended or rebased what its author committed. Git keeps the
// author and sets the committer then.
func sameHand(c git.CommitInfo) bool {
	return c.Author.Name == c.Committer.Name && c.Author.Email == c.Committer.Email
}

// authorOf returns who made a commit, for people.
func authorOf(c git.CommitInfo) string {
	return fmt.Sprintf("%s <%s>", c.Author.Name, c.Author.Email)
}

// rejection begins the message of a rejecting commit.
func rejection(branch string) string { return "Reject " + branch }

// RejectionMessage returns the message of the empty commit that rejects a proposal on its own
// branch.
func RejectionMessage(p Proposal, reason string) string {
	title := rejection(p.Branch)
	if reason = manifest.Printable(oneLine(reason)); reason != "" {
		title += ": " + reason
	}
	return AddTrailers(title, []Trailer{{TrailerRejected, p.Digest}})
}

// reasonOf returns why, in the words of a rejecting commit; people also write them by hand.
func reasonOf(message, branch string) string {
	title, body := splitMessage(message)
	if said, ok := strings.CutPrefix(title, rejection(branch)); ok {
		return strings.TrimPrefix(said, ": ")
	}
	return strings.TrimSpace(title + "\n" + body)
}
