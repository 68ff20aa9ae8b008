package pull

import (
	"maps"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/git"
)

// restTime is after how long without a change open pull requests are listed less often, and how
// often then.
const restTime = time.Minute

// rest says how long nothing has changed. Listing hundreds of open pull requests takes several
// requests, and most of what people do with them moves a branch, which Git says for less.
type rest struct {
	// refs are the base branch and those of proposals as they were when pull requests were listed.
	refs git.Refs
	// listed is when that was, and changed when something about them changed last.
	listed, changed time.Time
}

// rests reports whether the open pull requests need not be listed: no branch has moved since they
// were listed, nothing has changed for some time, and nothing is expected to.
func (f *Forge) rests(refs git.Refs) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	return now.Sub(f.rest.changed) >= restTime && now.Sub(f.rest.listed) < restTime &&
		len(f.undecided)+len(f.conflicts)+len(f.queued)+len(f.gone) == 0 && maps.Equal(f.rest.refs, f.branches(refs))
}

// Wake has the open pull requests listed in the next pass, as after an event of the server.
func (f *Forge) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest.changed = f.clock.Now()
}

// branches returns the base branch and those of proposals.
func (f *Forge) branches(refs git.Refs) git.Refs {
	out := git.Refs{f.base: refs[f.base]}
	for name, at := range refs {
		if _, ours := layout.SeedOfBranch(f.base, name); ours {
			out[name] = at
		}
	}
	return out
}
