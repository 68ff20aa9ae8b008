// Package engine owns one pass: gather, decide, act, report. Both front ends
// run it.
//
// All reading is in gather.go, all decisions are calls into internal/core, all
// writing is in act.go. An Engine keeps nothing that it could not find again:
// what it caches is content-addressed, so a new Engine carries on where another
// one was killed.
//
// An Engine is used by one goroutine. Any number of engines, also of other
// processes, may work on the same repositories: every branch is moved with a
// lease, and the loser of a race looks again.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Mirror is what the engine needs of a repository; *git.Mirror is one.
type Mirror interface {
	Fetch(ctx context.Context, base string) (git.Refs, error)
	FS(ctx context.Context, commit git.Hash) (fs.FS, error)
	Prefetch(ctx context.Context, commit git.Hash, dirs ...string) error
	Blob(ctx context.Context, hash git.Hash) ([]byte, error)
	Commit(hash git.Hash) (git.CommitInfo, error)
	Entries(commit git.Hash, paths []string) (map[string]git.Entry, error)
	Log(from, stop git.Hash) iter.Seq2[git.CommitInfo, error]
	Changes(from, to git.Hash) ([]string, error)
	MergeTrees(from, to, into git.Hash, whole func(path string) bool) (git.TreeMerge, error)
	NewObjects(tree git.Hash, known ...git.Hash) ([]git.Hash, error)
	WriteTree(files map[string][]byte) (git.Tree, error)
	CommitTree(tree git.Hash, parents []git.Hash, meta git.CommitMeta) (git.Hash, error)
	Graft(base git.Hash, edits []git.Edit, meta git.CommitMeta) (git.Grafted, error)
	Push(ctx context.Context, updates []git.Update) error
}

// Repo is one GitOps repository.
type Repo struct {
	Mirror Mirror
	Forge  forge.Forge
}

// Tree is a control-plane tree at a revision.
type Tree struct {
	FS fs.FS
	// Limits bound what is read of it.
	Limits catalog.Limits
	// Revision is "<branch>@sha1:<40 hex>".
	Revision string
	// Place is where seeds and clusters stand, for people: a URL or directory.
	Place string
	// Origin is the digest of where the control plane is kept, as catalog.Origin has it.
	Origin string
	// Settings are what custom resources say about the tree; nil where there are none,
	// so that all its seeds are wanted. They count also while the tree cannot be read.
	Settings *Settings
}

// Settings are what custom resources say about a control-plane tree.
type Settings struct {
	catalog.Resources
	// Scope has the seeds that the engine is to care for: those that are wanted, and
	// those that are to be removed. Any other counts for what it has planted alone.
	Scope map[string]bool
	// Version changes with what is set.
	Version string
}

// Catalog reads the tree.
func (t Tree) Catalog() (*catalog.Catalog, error) {
	if t.Settings == nil {
		return t.Limits.Load(t.FS)
	}
	return t.Limits.LoadWith(t.FS, t.Settings.Resources)
}

// Identity is whose plans those of the tree are. owner counts where the tree has no ControlPlane document.
func (t Tree) Identity(c *catalog.Catalog, owner string) (plan.Identity, error) {
	id, environment, _ := strings.Cut(owner, "/")
	owner, err := c.Owner(id, environment)
	return plan.Identity{Owner: owner, Origin: t.Origin}, err
}

func (t Tree) version() string {
	if t.Settings == nil {
		return t.Revision
	}
	return t.Revision + " " + t.Settings.Version
}

// scopes says that the engine is to care for a seed.
func (t Tree) scopes(seed string) bool { return t.Settings == nil || t.Settings.Scope[seed] }

// Config is what an engine works with.
type Config struct {
	// Owner is <control-plane id>/<environment>; a ControlPlane document of the tree says another id.
	Owner string
	// ControlPlane reads the tree that people commit to.
	ControlPlane func(context.Context) (Tree, error)
	// Open opens a GitOps repository. It is called again when the document has
	// changed, or when its credentials were refused.
	Open func(name string, spec v1alpha1.GitOpsRepoSpec) (Repo, error)
	// Channel reads health; nil when there is none, so that nothing is ever Released.
	Channel probe.Channel
	// DeletionGuard is the share of plantings, in percent, that may go at once.
	DeletionGuard int
	// Strict makes an error of a namespace or kind that nobody brings.
	Strict bool
	// Person is the author of commits; When is set from Now.
	Person git.Person
	// Interval lies between passes in which nothing changed; zero when they are made by hand.
	Interval time.Duration
	// Now is the clock.
	Now func() time.Time
	// Progress is called during a pass, from the goroutine that makes it; nil when nobody asks.
	Progress func(Progress)
}

// Engine runs passes.
type Engine struct {
	config Config
	repos  map[string]*openRepo
	// began is when the present pass did.
	began time.Time
	// loaded is the catalog of tree, which was read last.
	loaded *catalog.Catalog
	tree   Tree
	// self is whose control plane that is.
	self     plan.Identity
	plans    cache[planKey, *plan.Plan]
	specs    cache[git.Hash, reconcilerObject]
	computed computeMemo
	reported published
	// unread says since when a GitOps repository, or the control plane, cannot be read.
	unread map[string]time.Time
}

type openRepo struct {
	Repo
	spec v1alpha1.GitOpsRepoSpec
	// diffs are the paths that differ between two commits.
	diffs cache[[2]git.Hash, []string]
	// outage is set while the repository's servers do not answer.
	outage outage
	// folders are the directories of roots.
	folders cache[folderKey, layout.Folder]
}

// folderKey is a directory at a state, and what Flux leaves out of it.
type folderKey struct {
	path    string
	tree    layout.Hash
	ignores string
}

type planKey struct {
	repo   string
	commit git.Hash
}

// New makes an engine.
func New(config Config) *Engine {
	return &Engine{config: config, repos: map[string]*openRepo{}, unread: map[string]time.Time{}}
}

// Pass looks at everything once, does what is to be done, and reports. The
// error says that nothing could be looked at; what concerns one seed or one
// repository is in the report.
func (e *Engine) Pass(ctx context.Context) (*Report, error) {
	p, err := e.see(ctx)
	if err != nil {
		return nil, err
	}
	if p.regraftsShut() {
		// Whoever reads the status must not take the new commit for one that may be merged.
		p.publish(ctx, p.report())
	}
	p.act(ctx)
	report := p.report()
	e.progress(stagePublishing, 0, 0)
	p.publish(ctx, report)
	return report, ctx.Err()
}

// Look is a pass that changes nothing: what Pass would report before it acts.
func (e *Engine) Look(ctx context.Context) (*Report, error) {
	p, err := e.see(ctx)
	if err != nil {
		return nil, err
	}
	return p.report(), ctx.Err()
}

// maxGathering is how often facts are gathered while people change them.
const maxGathering = 3

// see gathers and decides, and does so again where somebody merged between two
// questions: what the first one was answered would tell of a state that never was.
func (e *Engine) see(ctx context.Context) (*pass, error) {
	e.began = e.config.Now()
	for gathering := 1; ; gathering++ {
		e.progress(stageReading, 0, 0)
		p, err := e.gather(ctx)
		if err != nil {
			return nil, err
		}
		e.progress(stagePlanning, 0, 0)
		p.decide(ctx)
		if !p.raced || gathering == maxGathering {
			return p, nil
		}
	}
}

func (e *Engine) person() git.Person {
	who := e.config.Person
	who.When = e.config.Now()
	return who
}

// errEmptied is a control plane from which everything was deleted.
var errEmptied = errors.New("it holds no document of Furrow and no seed, which is taken for a mistake: commit at least a GitOpsRepo")

// catalogOf reads the control plane, or what was read of it before when it cannot be read now.
func (e *Engine) catalogOf(ctx context.Context) (tree Tree, readErr, err error) {
	tree, readErr = e.config.ControlPlane(ctx)
	if readErr != nil {
		before := e.tree
		if tree.Settings != nil {
			before.Settings = tree.Settings
		}
		tree = before
	}
	if tree.FS != nil && (e.loaded == nil || e.tree.version() != tree.version()) {
		loaded, loadErr := tree.Catalog()
		if loadErr == nil && loaded.Documents == 0 {
			loadErr = errEmptied
		}
		var self plan.Identity
		if loadErr == nil {
			self, loadErr = tree.Identity(loaded, e.config.Owner)
		}
		if loadErr == nil {
			e.loaded, e.tree, e.self = loaded, tree, self
		}
		readErr = cmp.Or(readErr, loadErr)
	}
	if e.loaded == nil {
		return tree, nil, fmt.Errorf("the control-plane repository cannot be read: %w", readErr)
	}
	return tree, readErr, nil
}
