package forge

import (
	"iter"

	"github.com/furrow-dev/furrow/internal/git"
)

// Repository is what reading proposals takes; *git.Mirror is one. All of it works on the mirror,
// without the server, and a commit that the mirror does not have is an error for which
// git.IsUnknown is true.
type Repository interface {
	Commit(hash git.Hash) (git.CommitInfo, error)
	// Identify reports whose a commit is.
	Identify(commit git.Hash) (git.Identified, error)
	Log(from, stop git.Hash) iter.Seq2[git.CommitInfo, error]
	Changes(from, to git.Hash) ([]string, error)
	MergeTrees(from, to, into git.Hash, whole func(path string) bool) (git.TreeMerge, error)
}
