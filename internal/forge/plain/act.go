package plain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// maxTries is how often a lost race is run again.
const maxTries = 5

// observation is a proposal's branch, and the base branch, at one state of the repository.
type observation struct {
	forge.Branch
	base git.Hash
}

// move observes a proposal's branch, decides what to push, and pushes it; while somebody else is
// faster, it observes and decides again. No updates count as success.
//
// Every update names the commit that it was decided at (its lease), so the server refuses it if the
// branch has moved since. Deciding again may well come to another result, such as that a person has
// rejected it meanwhile; repeating the push could not.
func (f *Forge) move(ctx context.Context, p forge.Proposal, decide func(observation) ([]git.Update, error)) error {
	var err error
	for range maxTries {
		var s observation
		if s, err = f.observe(ctx, p); err != nil {
			return err
		}
		var updates []git.Update
		if updates, err = decide(s); err != nil {
			return err
		}
		if err = f.mirror.Push(ctx, updates); !git.IsLeaseRefused(err) {
			return withNext(err)
		}
	}
	if refused, ok := errors.AsType[*git.PushError](err); ok && refused.Next() != "" {
		return withNext(err)
	}
	return fmt.Errorf("others keep moving the branches, %d times in a row: %w", maxTries, err)
}

// withNext adds what to do about a push that was refused, where that is known.
func withNext(err error) error {
	if refused, ok := errors.AsType[*git.PushError](err); ok && refused.Next() != "" {
		return fmt.Errorf("%w. %s", err, refused.Next())
	}
	return err
}

// observe reads the branch of p as it is now.
func (f *Forge) observe(ctx context.Context, p forge.Proposal) (observation, error) {
	b, base, err := f.reader.Observe(ctx, p)
	if err != nil {
		return observation{}, err
	}
	return observation{b, base}, nil
}

// Checks returns that nothing checks branches.
func (f *Forge) Checks(context.Context, forge.Proposal) (forge.Checks, error) {
	return forge.Checks{State: forge.ChecksUnknown, Why: "plain Git has no checks"}, nil
}

// Merge makes a merge commit by the person who accepts, and deletes the branch, in
// one push. What the proposal changes replaces what base has there, entry by entry.
func (f *Forge) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	err := f.move(ctx, p, func(s observation) ([]git.Update, error) {
		switch {
		case s.Rejected && s.Digest == p.Digest:
			return nil, forge.ErrRejected
		case s.Head != p.Head:
			return nil, forge.ErrGone
		case p.Differs != "":
			return nil, forge.ErrDiffers
		case s.Stale:
			return nil, forge.ErrConflict
		}
		return f.merge(s, by)
	})
	if err != nil {
		return fmt.Errorf("merge %s: %w", p.Branch, err)
	}
	return nil
}

// merge makes the merge commit. Its tree is base's with the changes of the proposal grafted in, so
// no file's content is needed; its second parent is the branch's tip, with the rejections and edits
// of people, so the history has them.
func (f *Forge) merge(s observation, by git.Person) ([]git.Update, error) {
	meta := git.CommitMeta{Author: by, Message: "Merge " + s.Branch.Branch + "\n\n" + s.Title}
	grafted, err := f.mirror.Graft(s.base, s.Changes.Edits, meta)
	if err != nil {
		return nil, err
	}
	commit, err := f.mirror.CommitTree(grafted.Tree, []git.Hash{s.base, s.Head}, meta)
	if err != nil {
		return nil, err
	}
	// Graft's own commit has one parent only and is not sent.
	objects := slices.DeleteFunc(grafted.Objects, func(h git.Hash) bool { return h == grafted.Commit })
	return []git.Update{
		{Ref: f.base, Old: s.base, New: commit, Objects: append(objects, commit)},
		{Ref: s.Branch.Branch, Old: s.Head},
	}, nil
}

// Reject puts an empty commit by the person on top of the branch.
func (f *Forge) Reject(ctx context.Context, p forge.Proposal, by git.Person, reason string) error {
	err := f.move(ctx, p, func(s observation) ([]git.Update, error) {
		switch {
		case s.Rejected && s.Digest == p.Digest:
			return nil, nil
		case s.Head != p.Head:
			return nil, forge.ErrGone
		}
		return f.reject(s, by, reason)
	})
	if err != nil {
		return fmt.Errorf("reject %s: %w", p.Branch, err)
	}
	return nil
}

// reject makes the empty commit: the tip's tree, by the person.
func (f *Forge) reject(s observation, by git.Person, reason string) ([]git.Update, error) {
	tip, err := f.mirror.Commit(s.Head)
	if err != nil {
		return nil, err
	}
	meta := git.CommitMeta{Author: by, Message: forge.RejectionMessage(s.Proposal, reason)}
	commit, err := f.mirror.CommitTree(tip.Tree, []git.Hash{s.Head}, meta)
	if err != nil {
		return nil, err
	}
	return []git.Update{{Ref: s.Branch.Branch, Old: s.Head, New: commit, Objects: []git.Hash{commit}}}, nil
}

// Reopen moves the branch back to below its rejections; what people committed
// before stays.
func (f *Forge) Reopen(ctx context.Context, p forge.Proposal) error {
	err := f.move(ctx, p, func(s observation) ([]git.Update, error) {
		switch {
		case !s.Rejected && s.Digest == p.Digest:
			return nil, nil
		case !s.Rejected || s.Head != p.Head:
			return nil, forge.ErrGone
		}
		return []git.Update{{Ref: s.Branch.Branch, Old: s.Head, New: s.Content}}, nil
	})
	if err != nil {
		return fmt.Errorf("reopen %s: %w", p.Branch, err)
	}
	return nil
}
