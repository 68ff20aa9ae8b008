package scale

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

const base = "main"

// people merge proposals, and are the repository as the simulated clusters see it.
type people struct {
	mirror *git.Mirror
	forge  *plain.Forge
}

func newPeople(t testing.TB, repository string) *people {
	t.Helper()
	mirror, err := git.Open(filepath.Join(t.TempDir(), "people"), git.Remote{URL: repository})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mirror.Close() })
	return &people{mirror: mirror, forge: plain.New(mirror, base)}
}

// Head implements nursery.Source.
func (p *people) Head(ctx context.Context) (revision string, tree fs.FS, err error) {
	refs, err := p.mirror.Fetch(ctx, base)
	if err != nil {
		return "", nil, err
	}
	tree, err = p.mirror.FS(ctx, refs[base])
	return base + "@sha1:" + refs[base].String(), tree, err
}

// mergeAll accepts all open proposals, each by a merge commit of its own, in one push.
func (p *people) mergeAll(ctx context.Context) (merged int, err error) {
	refs, err := p.mirror.Fetch(ctx, base)
	if err != nil {
		return 0, err
	}
	open, err := p.forge.List(ctx, refs)
	if err != nil || len(open) == 0 {
		return 0, err
	}
	main := git.Update{Ref: base, Old: refs[base], New: refs[base]}
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

// merge puts a merge commit of a proposal on top of tip.
func (p *people) merge(tip *git.Hash, proposal forge.Proposal) (objects []git.Hash, err error) {
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
