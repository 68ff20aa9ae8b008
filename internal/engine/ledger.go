package engine

import "github.com/furrow-dev/furrow/internal/git"

// Ledger knows which commits of plan branches this control plane made, or has verified. Nobody who can
// push may write to it.
type Ledger interface {
	// Has reports whether a commit of a repository is known.
	Has(repo string, commit git.Hash) bool
	// Put notes a commit, in the place of an old one unless that is zero. One that could not be noted is
	// verified again.
	Put(repo string, commit, old git.Hash)
}

// memoryLedger is a Ledger that lasts as long as the engine.
type memoryLedger map[planKey]bool

func (l memoryLedger) Has(repo string, commit git.Hash) bool { return l[planKey{repo, commit}] }

func (l memoryLedger) Put(repo string, commit, old git.Hash) {
	delete(l, planKey{repo, old})
	l[planKey{repo, commit}] = true
}
