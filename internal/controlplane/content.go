package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// PlanOf returns the plan of a seed that the repository has; nil where it has none that can be read.
func (r *Repo) PlanOf(ctx context.Context, refs git.Refs, seed string) *plan.Plan {
	commit, ok := refs[layout.PlanBranch(r.Base, seed)]
	if !ok {
		return nil
	}
	return r.planAt(ctx, commit)
}

// planAt returns the plan that a commit holds; nil where it holds none that can be read.
func (r *Repo) planAt(ctx context.Context, commit git.Hash) *plan.Plan {
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil
	}
	tree = git.Bounded(tree, git.PlanBounds)
	read, err := plan.Decode(tree)
	if err != nil {
		return nil
	}
	return read
}

// RetryOf returns who asked to propose a plan again; nil where nobody did, or where the repository is
// not the one that has the record of the seed's rollout.
func (r *Repo) RetryOf(ctx context.Context, refs git.Refs, p *plan.Plan) *release.Request {
	commit, ok := refs[layout.RolloutBranch(r.Base, p.Seed)]
	if !ok {
		return nil
	}
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil
	}
	tree = git.Bounded(tree, git.RecordBounds)
	data, err := fs.ReadFile(tree, release.RecordFile)
	if err != nil {
		return nil
	}
	record, err := release.DecodeRecord(p.Seed, layout.RolloutBranch(r.Base, p.Seed), data)
	if err != nil {
		return nil
	}
	return record.Retrying(p)
}

// Removes reports whether merging a proposal deletes a file. Those of objects that another tier has are
// not counted.
func (r *Repo) Removes(ctx context.Context, refs git.Refs, p forge.Proposal) (bool, error) {
	if p.Base.IsZero() {
		return false, nil
	}
	changed, err := r.Mirror.Changes(p.Base, p.Head)
	if err != nil {
		return false, fmt.Errorf("reading what %s changes: %w", p.Branch, err)
	}
	is, err := r.Mirror.Entries(p.Head, changed)
	if err != nil {
		return false, fmt.Errorf("reading what %s changes: %w", p.Branch, err)
	}
	deleted := slices.DeleteFunc(changed, func(at string) bool { return !is[at].Hash.IsZero() })
	if len(deleted) == 0 {
		return false, nil
	}
	var moved map[string]bool
	if of := r.PlanOf(ctx, refs, p.Seed); of != nil {
		moved = of.MovedFiles()
	}
	return slices.ContainsFunc(deleted, func(at string) bool { return !moved[at] }), nil
}

// File is a file of a GitOps repository.
type File struct {
	Hash    git.Hash
	Content []byte
}

// Files returns the files at and below paths that differ between two commits, as each has them. All
// contents are fetched in one request.
func (r *Repo) Files(ctx context.Context, before, after git.Hash, paths []string) (was, is map[string]File, err error) {
	sides := []map[string]File{{}, {}}
	for i, commit := range []git.Hash{before, after} {
		if sides[i], err = r.filesOf(ctx, commit, paths); err != nil {
			return nil, nil, fmt.Errorf("reading what commit %s has: %w", commit, err)
		}
	}
	was, is = sides[0], sides[1]
	var blobs []git.Hash
	eachOf := func(do func(at string, side map[string]File, f File)) {
		for i, side := range sides {
			for _, at := range slices.Sorted(maps.Keys(side)) {
				if sides[1-i][at].Hash != side[at].Hash {
					do(at, side, side[at])
				}
			}
		}
	}
	eachOf(func(_ string, _ map[string]File, f File) { blobs = append(blobs, f.Hash) })
	if err := r.Mirror.PrefetchBlobs(ctx, blobs); err != nil {
		return nil, nil, err
	}
	eachOf(func(at string, side map[string]File, f File) {
		if err == nil {
			f.Content, err = r.Mirror.BlobUpTo(ctx, f.Hash, git.MaxBlob)
			side[at] = f
		}
	})
	return was, is, err
}

// Content returns a file by its hash; nil where it cannot be read.
func (r *Repo) Content(ctx context.Context, hash git.Hash) []byte {
	data, err := r.Mirror.BlobUpTo(ctx, hash, git.MaxBlob)
	if err != nil {
		return nil
	}
	return data
}

// filesOf returns the files of a commit at and below paths, without their contents.
func (r *Repo) filesOf(ctx context.Context, commit git.Hash, paths []string) (map[string]File, error) {
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	tree = git.Bounded(tree, git.PlanBounds)
	var names []string
	for _, root := range paths {
		err := fs.WalkDir(tree, root, func(at string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err == nil && entry.Type().IsRegular():
				names = append(names, at)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	found, err := r.Mirror.Entries(commit, names)
	if err != nil {
		return nil, err
	}
	out := map[string]File{}
	for _, at := range names {
		out[at] = File{Hash: found[at].Hash}
	}
	return out, nil
}
