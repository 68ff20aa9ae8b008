package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// plan returns where the plan branch of a seed is once the push is done.
func (s *repoActor) plan(seed string) git.Hash {
	if at, moved := s.plans[seed]; moved {
		return at
	}
	if p := s.decision.Previous[seed]; p != nil && !p.Foreign {
		return p.Commits[s.repo.name]
	}
	return git.Hash{}
}

// commitPlan commits a plan on top of the one before it. The branch keeps its history, in which it
// is found what Furrow once put at a path. Only objects that neither the plan before nor base has
// are pushed.
func (s *repoActor) commitPlan(a *pass.Action) error {
	r := s.repo
	old := a.Old
	tree, err := r.writePlan(a.Plan, a.Files, s.person)
	if err != nil {
		return err
	}
	var parents []git.Hash
	if !old.IsZero() {
		parents = append(parents, old)
		if had, err := r.Mirror.Commit(old); err == nil && had.Tree == tree && r.isOwn(old) {
			return nil // pushed before, when another repository was not
		}
	}
	commit, err := r.Mirror.CommitTree(tree, parents, git.CommitMeta{Author: s.person, Message: planMessage(a.Plan)})
	if err != nil {
		return err
	}
	objects, err := r.Mirror.NewObjects(tree, append(parents, r.head)...)
	if err != nil {
		return err
	}
	s.plans[a.Seed] = commit
	s.updates = append(s.updates, update{Update: git.Update{Ref: a.Branch, Old: old, New: commit, Objects: append(objects, commit)}, action: a})
	return nil
}

// writePlan writes the plan's tree: its own files, and those that land. Files without data are in
// the repository already, and are taken over by their hashes. The commit in between is never
// pushed; it only carries a tree to graft onto.
func (r *repoState) writePlan(pl *plan.Plan, files plan.Files, who git.Person) (git.Hash, error) {
	content, err := pl.Encode()
	if err != nil {
		return git.Hash{}, err
	}
	var taken []git.Edit
	files = files.Flat()
	for _, at := range slices.Sorted(maps.Keys(files)) {
		f := files[at]
		if f.Data != nil {
			content[at] = f.Data
			continue
		}
		edit := git.Edit{Path: at, Hash: f.Hash, Mode: git.ModeFile}
		if f.Dir {
			edit.Mode = git.ModeDir
		}
		taken = append(taken, edit)
	}
	tree, err := r.Mirror.WriteTree(content)
	if err != nil || len(taken) == 0 {
		return tree.Hash, err
	}
	// What the repository has already is grafted onto what was written.
	meta := git.CommitMeta{Author: who, Message: "A step on the way to a plan\n"}
	base, err := r.Mirror.CommitTree(tree.Hash, nil, meta)
	if err != nil {
		return git.Hash{}, err
	}
	whole, err := r.Mirror.Graft(base, taken, meta)
	return whole.Tree, err
}

// planMessage returns the message of a plan's commit, which says what the branch is for: people
// find it.
func planMessage(pl *plan.Plan) string {
	verb := "Plan"
	if pl.Removal {
		verb = "Plan the removal of"
	}
	return forge.AddTrailers(fmt.Sprintf("%s seed %s\n\n%d tiers. This branch is Furrow's record of what reviewers read; do not merge it.\n", verb, pl.Seed, len(pl.Tiers)),
		[]forge.Trailer{{Key: forge.TrailerSeed, Value: pl.Seed}, revisionTrailer(pl.Revision)})
}
