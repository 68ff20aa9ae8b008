package pull

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Mirror is what a Forge needs of the mirror of its repository; *git.Mirror is one.
type Mirror interface {
	forge.Fetcher
	FS(ctx context.Context, commit git.Hash) (fs.FS, error)
	Prefetch(ctx context.Context, commit git.Hash, dirs ...string) error
	WriteTree(files map[string][]byte) (git.Tree, error)
	CommitTree(tree git.Hash, parents []git.Hash, meta git.CommitMeta) (git.Hash, error)
	Graft(base git.Hash, edits []git.Edit, meta git.CommitMeta) (git.Grafted, error)
}

// Options are those of a Forge.
type Options struct {
	// Base is the branch that proposals are made to.
	Base string
	// Clock is the real one where it is nil.
	Clock backoff.Clock
	// Reviewers, Assignees and Milestone are what proposals are opened with (Attributes).
	Reviewers, Assignees []string
	Milestone            string
	// Unlabeled keeps proposals without labels.
	Unlabeled bool
	// Signed reports whether only commits with Furrow's own signature count as Furrow's.
	Signed bool
}

// Forge is a repository on a server that has pull requests. All that it keeps in memory it can read
// again. mu guards the fields below it and is not held during requests to the forge, but while records
// are read from Git; listing is held during all, so one goroutine at a time takes in what the server
// and the branches say.
type Forge struct {
	server  Server
	mirror  Mirror
	base    string
	clock   backoff.Clock
	options Options
	history *forge.History
	reader  *forge.Reader

	// listing is held before mu.
	listing sync.Mutex
	// asking guards required, what base asks of a merge, merging, how people may merge, pushers, who may
	// push to Furrow's branches, and tips, where all branches are, each with when that was asked.
	asking   sync.Mutex
	required asked[forge.Requirements]
	merging  asked[merging.Repository]
	pushers  asked[forge.Pushers]
	tips     struct {
		refs git.Refs
		at   time.Time
	}

	mu sync.Mutex
	// open are the open pull requests of our branches that were seen last, by branch.
	open map[string]row
	// numbers are those of all open ones, also of the older ones of a branch that has several.
	numbers map[int64]bool
	// listed is where base was when they were listed; zero before the first time.
	listed git.Hash
	// rest is how long nothing has changed.
	rest rest
	// records are what Git keeps.
	records *records
	// shown is what the gate was last posted as, by commit.
	shown map[git.Hash]gate
	// conflicts are the open ones that the server would not merge, by number.
	conflicts map[int64]conflict
	// queued are the open ones that were added to the merge queue, by number.
	queued map[int64]queued
	// undecided are closed ones about which the server may soon know more, by number.
	undecided map[int64]question
	// refused are the attributes that could not be set, by their names (Attributes.list).
	refused map[string]refusal
	// gone are pull requests that lists show as open and whose branch is gone, as they were read.
	gone map[int64]Request
	// lost are merges that base does not have in its history where it is at lostAt.
	lost   map[git.Hash]bool
	lostAt git.Hash
}

var _ forge.Forge = (*Forge)(nil)

// New makes the forge of a repository. It asks the server nothing.
func New(server Server, mirror Mirror, o Options) *Forge {
	if o.Clock == nil {
		o.Clock = backoff.RealClock{}
	}
	h := forge.NewHistory(mirror)
	return &Forge{
		server: server, mirror: mirror, base: o.Base, clock: o.Clock, options: o, history: h, reader: forge.NewReader(mirror, o.Base, h),
		open: map[string]row{}, numbers: map[int64]bool{}, records: newRecords(mirror, o.Base), shown: map[git.Hash]gate{},
		conflicts: map[int64]conflict{}, queued: map[int64]queued{}, undecided: map[int64]question{}, refused: map[string]refusal{}, gone: map[int64]Request{}, lost: map[git.Hash]bool{},
	}
}

// Amends is true: a server remembers the pull request that was merged.
func (f *Forge) Amends() bool { return true }

// Budget is the server's.
func (f *Forge) Budget() forge.Budget { return f.server.Budget() }

// Record returns the update of the branch in which pull requests are recorded.
func (f *Forge) Record(refs git.Refs, owner string, opening []forge.Request, by git.Person) (git.Update, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forget(refs, opening)
	for _, r := range opening {
		now := record{Head: r.Head, Tiers: r.Tiers, Unset: f.opensWith(r)}
		if at, open := f.open[r.Branch]; open {
			had, _ := f.records.number(r.Branch, at.Number)
			now.Number, now.URL, now.Unset = at.Number, at.URL, had.Unset
		} else if had, opening := f.records.opening(r.Branch); opening {
			f.records.drop(r.Branch, had)
		}
		f.records.put(r.Branch, now)
	}
	return f.records.update(refs, owner, by)
}

// forget drops the records of seeds that are gone: they have no plan, and nothing open.
func (f *Forge) forget(refs git.Refs, opening []forge.Request) {
	stays := map[string]bool{}
	for _, r := range opening {
		seed, _ := layout.SeedOfBranch(f.base, r.Branch)
		stays[seed] = true
	}
	for branch := range f.open {
		seed, _ := layout.SeedOfBranch(f.base, branch)
		stays[seed] = true
	}
	for branch := range f.records.of {
		seed, _ := layout.SeedOfBranch(f.base, branch)
		_, planned := refs[layout.PlanBranch(f.base, seed)]
		_, there := refs[branch]
		if !planned && !there && !stays[seed] {
			f.records.dropAll(branch)
		}
	}
}

// row is an open pull request of ours.
type row struct {
	Request
	// duplicate is one that another process opened in the same moment.
	duplicate *Request
}

// together is how far apart two processes may have opened a pull request of one branch.
const together = time.Minute
