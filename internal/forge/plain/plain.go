// Package plain is the forge for any Git server: a proposal is a branch of one tier
// or of a group of them, and it is accepted when the base branch has its content.
//
//   - A proposal is open as long as its branch is there and brings base something.
//   - It is rejected by an empty commit on top, with the trailer Furrow-Rejected;
//     taking that commit away reopens it. A branch that is merely deleted is
//     proposed again: plain Git has no closed proposals.
//   - It is merged by a commit with two parents, so history shows who accepted
//     it, or in any way that a person likes. A squash without Furrow's trailers
//     takes it off the list like any merge, but is not known as one once base has
//     changed again.
//
// Invariants: every branch is moved with a lease, and only after it was read at
// that very commit; base and the merged branch move in one atomic push; no work
// tree, and no blob is read.
//
// Concurrency: a Forge may be used by several goroutines, and several processes may
// work on one repository. The loser of a race observes again, a bounded number of
// times.
package plain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Forge is a repository on a plain Git server. It keeps nothing but an index of the base branch's
// history, which it can read again.
type Forge struct {
	mirror  Mirror
	base    string
	history *forge.History
	reader  *forge.Reader
}

var _ forge.Forge = (*Forge)(nil)

// Mirror is what the forge needs of a repository; *git.Mirror is one.
type Mirror interface {
	forge.Fetcher
	Graft(base git.Hash, edits []git.Edit, meta git.CommitMeta) (git.Grafted, error)
	CommitTree(tree git.Hash, parents []git.Hash, meta git.CommitMeta) (git.Hash, error)
	Push(ctx context.Context, updates []git.Update) error
}

// New makes the forge of the repository that m mirrors, for proposals to its branch base.
func New(m Mirror, base string) *Forge {
	h := forge.NewHistory(m)
	return &Forge{mirror: m, base: base, history: h, reader: forge.NewReader(m, base, h)}
}

// List returns the branches of tiers and groups that bring base something.
func (f *Forge) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	var out []forge.Proposal
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if _, ok := layout.SeedOfBranch(f.base, name); !ok {
			continue
		}
		b, err := f.reader.ReadRef(ctx, refs, name)
		if err != nil {
			return nil, err
		}
		if !b.Merged {
			out = append(out, b.Proposal)
		}
	}
	return out, nil
}

// maxRead is how many of the newest commits of base are searched for merges.
const maxRead = 2000

// Merged searches base for Furrow's commits. Where a merge commit brought one, it names that.
func (f *Forge) Merged(ctx context.Context, refs git.Refs) ([]forge.Merged, error) {
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return nil, err
	}
	var out []forge.Merged
	via, read := map[git.Hash]git.CommitInfo{}, 0 // the merge commit that brought a commit
	next := base                                  // of the branch's own commits
	for c, err := range f.mirror.Log(base, git.Hash{}) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("read the base branch: %w", err)
		}
		if read++; read > maxRead || len(out) == forge.MaxMerged {
			break
		}
		by, brought := via[c.Hash]
		if c.Hash == next {
			brought, next = false, git.Hash{}
			if len(c.Parents) > 0 {
				next = c.Parents[0]
			}
		}
		for i, parent := range c.Parents {
			switch {
			case i > 0 && !brought:
				via[parent] = c
			case brought:
				via[parent] = by
			}
		}
		carried := forge.CarriedBy(c.Message)
		if carried.Digest == "" {
			continue
		}
		for _, parent := range c.Parents { // it was grafted on base
			delete(via, parent)
		}
		if !brought {
			by = c
		}
		out = append(out, forge.Merged{Branch: f.branchOf(by, carried), Tiers: carried.Tiers, Merge: by.Hash})
	}
	return out, nil
}

// branchOf returns the branch that a commit has merged: the message of the merge says it, as git writes
// it, too; else it is the branch of the tier.
func (f *Forge) branchOf(merge git.CommitInfo, carried forge.Carried) string {
	title, _, _ := strings.Cut(merge.Message, "\n")
	for word := range strings.FieldsSeq(title) {
		if branch := strings.Trim(word, "'\""); len(carried.Tiers) > 1 {
			if _, name, ok := layout.GroupOfBranch(f.base, branch); ok && name != "" {
				return branch
			}
		}
	}
	return layout.TierBranch(f.base, carried.Tiers[0].Tier)
}

// Ready is nil: only a push shows what a Git server refuses.
func (f *Forge) Ready(context.Context) error { return nil }

// Requires is nothing: whoever may push to base may merge.
func (f *Forge) Requires(context.Context) (forge.Requirements, error) {
	return forge.Requirements{}, nil
}

// Merging has no ways: Furrow signs its merges, and people merge as they like.
func (f *Forge) Merging(context.Context) (merging.Repository, error) {
	return merging.Repository{}, nil
}

// Record has nothing to record: branches and commits say everything.
func (f *Forge) Record(git.Refs, string, []forge.Request, git.Person) (git.Update, bool, error) {
	return git.Update{}, false, nil
}

// Closed is Rejected while the rejected branch is there, and Merged where base
// reaches a commit with Furrow's trailers of this tier and this digest.
func (f *Forge) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	outcome, from, err := f.outcome(ctx, refs, tier, digest)
	return forge.Closed{Outcome: outcome, Plan: from}, err
}

// outcome searches for a rejection first: a tier that was merged once, reverted, proposed again with
// the same digest and rejected is rejected.
func (f *Forge) outcome(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Outcome, git.Hash, error) {
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if seed, ok := layout.SeedOfBranch(f.base, name); !ok || seed != tier.Seed {
			continue
		}
		b, err := f.reader.ReadRef(ctx, refs, name)
		if err != nil {
			return "", git.Hash{}, err
		}
		if b.Rejected && !b.Merged && b.Carries(tier, digest) {
			return forge.OutcomeRejected, git.Hash{}, nil
		}
	}
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return "", git.Hash{}, err
	}
	merged, from, err := f.history.Merged(ctx, base, tier, digest)
	if err != nil || !merged {
		return forge.OutcomeNone, git.Hash{}, err
	}
	return forge.OutcomeMerged, from, nil
}

// Propose has nothing to open: the branch that was pushed is the proposal. It checks that the
// commit says what the request does, because everything later is read from there.
func (f *Forge) Propose(_ context.Context, r forge.Request) (forge.Proposal, error) {
	c, err := f.mirror.Commit(r.Head)
	if err != nil {
		return forge.Proposal{}, fmt.Errorf("propose %s: %w", r.Branch, err)
	}
	carried, _, err := f.reader.Tip(r.Branch, r.Head)
	if err != nil || len(c.Parents) == 0 || carried.Digest != r.Digest || !slices.Equal(carried.Tiers, r.Tiers) {
		return forge.Proposal{}, fmt.Errorf("propose %s: commit %s does not graft the tiers of these trailers: %v", r.Branch, r.Head, r.Trailers())
	}
	seed, _ := layout.SeedOfBranch(f.base, r.Branch)
	return forge.Proposal{Seed: seed, Branch: r.Branch, Carried: r.Carried, Title: r.Title, Body: r.Body, Head: r.Head, Base: c.Parents[0]}, nil
}

// Supersede has nothing to close: the engine deletes the branch.
func (f *Forge) Supersede(context.Context, forge.Proposal, string) error { return nil }

// Gate has nowhere to show it: plain Git has no commit statuses. The status that the
// engine publishes has it.
func (f *Forge) Gate(context.Context, forge.Proposal, forge.Gate) error { return nil }

// Warnings is empty: a branch has no attributes.
func (f *Forge) Warnings() manifest.Problems { return nil }

// Amends is false: plain Git does not remember merged proposals.
func (f *Forge) Amends() bool { return false }

// Budget is unlimited: nothing but Git is asked.
func (f *Forge) Budget() forge.Budget { return forge.Budget{} }
