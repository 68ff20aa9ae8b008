// Package people merges proposals as people do, and is a GitOps repository as simulated clusters
// read it.
package people

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
)

// People merge the proposals of a plain repository.
type People struct {
	base   string
	mirror *git.Mirror
	forge  *plain.Forge
}

// Of returns the people who work on a branch of a repository, with a mirror of their own.
func Of(t testing.TB, repository, base string) *People {
	t.Helper()
	mirror, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "people"), git.Remote{URL: repository})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mirror.Close() })
	return &People{base, mirror, plain.New(mirror, base)}
}

// Head implements simulator.Source.
func (p *People) Head(ctx context.Context) (revision string, tree fs.FS, err error) {
	refs, err := p.mirror.Fetch(ctx, p.base)
	if err != nil {
		return "", nil, err
	}
	tree, err = p.mirror.FS(ctx, refs[p.base])
	return p.base + "@sha1:" + refs[p.base].String(), tree, err
}

// Merge accepts open proposals, at most as many as said, each by a merge commit of its own, in one
// push. It asks for no gate and reads no file. The one push is for speed: in large simulations, a
// push for each of a thousand proposals would take longer than everything else.
func (p *People) Merge(ctx context.Context, most int) (merged int, err error) {
	refs, err := p.mirror.Fetch(ctx, p.base)
	if err != nil {
		return 0, err
	}
	open, err := p.forge.List(ctx, refs)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	open = open[:min(most, len(open))]
	main := git.Update{Ref: p.base, Old: refs[p.base], New: refs[p.base]}
	updates := make([]git.Update, 1, len(open)+1)
	for _, proposal := range open {
		objects, err := p.merge(&main.New, proposal)
		if err != nil {
			return 0, fmt.Errorf("merge %s: %w", proposal.Branch, err)
		}
		main.Objects = append(main.Objects, objects...)
		updates = append(updates, git.Update{Ref: proposal.Branch, Old: proposal.Head})
	}
	updates[0] = main
	return len(open), p.mirror.Push(ctx, updates)
}

// merge puts a merge commit of a proposal on top of tip, which it moves, and returns the new
// objects.
func (p *People) merge(tip *git.Hash, proposal forge.Proposal) (objects []git.Hash, err error) {
	changes, err := p.mirror.MergeTrees(proposal.Base, proposal.Head, *tip, nil)
	if err != nil {
		return nil, err
	}
	by := git.CommitMeta{Author: git.Person{Name: "Ann", Email: "ann@example.com", When: time.Unix(1_700_000_000, 0)}, Message: "Merge " + proposal.Branch + "\n"}
	grafted, err := p.mirror.Graft(*tip, changes.Edits, by)
	if err != nil {
		return nil, err
	}
	commit, err := p.mirror.CommitTree(grafted.Tree, []git.Hash{*tip, proposal.Head}, by)
	if err != nil {
		return nil, err
	}
	*tip = commit
	// Graft's own commit has one parent only and is not sent.
	return append(slices.DeleteFunc(grafted.Objects, func(h git.Hash) bool { return h == grafted.Commit }), commit), nil
}
