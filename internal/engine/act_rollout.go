package engine

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// recordRollout commits the record of a rollout.
func (s *repoActor) recordRollout(a *pass.Action) error {
	update, err := s.repo.commitRecord(a.Branch, a.Old, a.Rollout, s.person)
	if err == nil {
		s.updates = append(s.updates, updateOf(update, a))
	}
	return err
}

func updateOf(u git.Update, a *pass.Action) update { return update{Update: u, action: a} }

// commitRecord writes a record on top of the one before it: the branch keeps who asked for what.
func (r *repoState) commitRecord(branch string, old git.Hash, record *release.Record, by git.Person) (git.Update, error) {
	data, err := record.Encode()
	if err != nil {
		return git.Update{}, err
	}
	tree, err := r.Mirror.WriteTree(map[string][]byte{release.RecordFile: data})
	if err != nil {
		return git.Update{}, err
	}
	var parents []git.Hash
	if !old.IsZero() && r.isKnown(old) {
		parents = append(parents, old)
	}
	message := forge.AddTrailers(fmt.Sprintf("Record the rollout of seed %s\n\nThis branch has what people asked for, and since when waves are released; do not merge it.\n", record.Seed),
		[]forge.Trailer{{Key: forge.TrailerSeed, Value: record.Seed}})
	commit, err := r.Mirror.CommitTree(tree.Hash, parents, git.CommitMeta{Author: by, Message: message})
	return git.Update{Ref: branch, Old: old, New: commit, Objects: append(tree.Objects, commit)}, err
}
