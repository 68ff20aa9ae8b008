package controlplane

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/git"
)

// LandedBy returns the commit that brought a tier to the base branch as it is there, or removed it: the
// merge commit, if there is one. It is nil if unknown. The branch is not fetched again.
func (s *Session) LandedBy(ctx context.Context, t *plan.Tier) *review.Commit {
	repos, _, err := s.Repos(ctx)
	if err != nil || repos[t.Repo] == nil {
		return nil
	}
	mirror := repos[t.Repo].Mirror
	refs, err := mirror.Seen()
	if err != nil {
		return nil
	}
	at := func(commit git.Hash) (git.Hash, bool) {
		if commit.IsZero() {
			return git.Hash{}, true
		}
		found, err := mirror.Entries(commit, []string{t.Dir()})
		return found[t.Dir()].Hash, err == nil
	}
	commit := refs[repos[t.Repo].Base]
	has, known := at(commit)
	for range maxHistory {
		c, err := mirror.Commit(commit)
		if err != nil || !known {
			return nil
		}
		var parent, had git.Hash
		if len(c.Parents) > 0 {
			parent = c.Parents[0]
		}
		if had, known = at(parent); known && had != has {
			by := s.described(c)
			by.URL = ""
			return &by
		}
		if parent.IsZero() {
			return nil
		}
		commit = parent
	}
	return nil
}
