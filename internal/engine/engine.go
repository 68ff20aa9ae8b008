// Package engine makes a pass: observe, decide, act, publish. Both front ends run it.
//
//	observe ─▶ pass.Facts ─▶ decide ⇄ answer ─▶ pass.Decision ─▶ act ─▶ report ─▶ publish
//
// All reading is in observe.go and answer.go, the decision is one call into internal/core/pass, all
// writing is in act*.go, one file for each kind of action, and publish.go. request.go and adopt.go
// are what people ask for beside passes, and record.go writes passes down to be decided again
// without any network.
//
// What holds:
//   - An Engine keeps nothing that it could not find again: what it caches is named by its content,
//     so a new Engine continues where another one was killed. Two things are lost with it, and only
//     cost time: how long servers are left alone, and with which seed the next slice begins.
//   - Every action may be repeated. A pass that was cut off at any point is continued by the next
//     one.
//   - Every branch is moved with a lease on what was observed, so nothing of others is ever
//     overwritten.
//   - What fails holds up only what it belongs to: a tier, a seed or a repository.
//
// An Engine is used by one goroutine. Any number of engines, also of other processes, may work on
// the same repositories: the loser of a race observes again.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/delivery"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/recent"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/render"
	"github.com/furrow-dev/furrow/internal/state"
)

// Mirror is what the engine needs of a repository; *git.Mirror is one.
type Mirror interface {
	Fetch(ctx context.Context, base string) (git.Refs, error)
	FS(ctx context.Context, commit git.Hash) (fs.FS, error)
	Prefetch(ctx context.Context, commit git.Hash, dirs ...string) error
	PrefetchBlobs(ctx context.Context, blobs []git.Hash) error
	Blob(ctx context.Context, hash git.Hash) ([]byte, error)
	BlobUpTo(ctx context.Context, hash git.Hash, limit int64) ([]byte, error)
	Commit(hash git.Hash) (git.CommitInfo, error)
	Identify(commit git.Hash) (git.Identified, error)
	Keys() git.Keys
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
	// Plugins is the directory of the executables that may run as plugins; empty for none.
	Plugins string
	// Rendered keeps what was rendered of it; nil to render all each time.
	Rendered *render.Cache
	// Revision is "<branch>@sha1:<40 hex>".
	Revision string
	// Origin is the digest of where the control plane is kept, as catalog.Origin has it.
	Origin string
	// Refused says why a newer revision is not planned; nil if there is none.
	Refused error
	// Anchor is given the revisions that plans were made from, complete if these are all, and reports
	// whether another revision of the tree is in force then; nil if every revision may be planned.
	Anchor func(ctx context.Context, revisions []string, complete bool) (again bool, err error)
	// LastCommit returns, for people, the newest commit up to one that changed any of some causes,
	// without an ID where none is found; nil where there is no history.
	LastCommit func(ctx context.Context, upTo git.Hash, causes review.Causes) review.Commit
	// Relation returns how another commit relates to that of Revision; nil where there is no history.
	Relation func(git.Hash) (pass.Relation, error)
	// Clone reports whether a clone of the control plane is read, which may be behind it.
	Clone bool
	// Settings are what custom resources say about the tree; nil where there are none,
	// so all its seeds are wanted. They count also while the tree cannot be read.
	Settings *Settings
}

// Settings are what custom resources say about a control-plane tree.
type Settings struct {
	catalog.Resources
	// Scope has the seeds that the engine handles: the wanted ones and
	// those to remove. Of any other only what it has planted counts.
	Scope map[string]bool
	// Version changes with what is set.
	Version string
}

// Catalog reads the tree and renders its seeds.
func (t Tree) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return render.Load(ctx, t.FS, render.Options{Limits: t.Limits, Resources: t.Resources(), Plugins: t.Plugins, Cache: t.Rendered})
}

// Resources returns those that the settings have; nil where there are none.
func (t Tree) Resources() *catalog.Resources {
	if t.Settings == nil {
		return nil
	}
	return &t.Settings.Resources
}

// Identity returns whose plans those of the tree are. owner counts where the tree has no
// ControlPlane document.
func (t Tree) Identity(c *catalog.Catalog, owner string) (plan.Identity, error) {
	id, environment, _ := strings.Cut(owner, "/")
	owner, err := c.Owner(id, environment)
	return plan.Identity{Owner: owner, Origin: t.Origin}, err
}

// version identifies what the tree and the settings say: as long as it stays, the catalog does.
func (t Tree) version() string {
	if t.Settings == nil {
		return t.Revision
	}
	return t.Revision + " " + t.Settings.Version
}

// scopes reports whether the engine is to care for a seed.
func (t Tree) scopes(seed string) bool { return t.Settings == nil || t.Settings.Scope[seed] }

// scope returns the seeds that the engine is to care for; nil for all.
func (t Tree) scope() map[string]bool {
	if t.Settings == nil {
		return nil
	}
	if t.Settings.Scope == nil {
		return map[string]bool{}
	}
	return t.Settings.Scope
}

// Config is what an engine works with.
type Config struct {
	// Owner is <control-plane id>/<environment>; a ControlPlane document of the tree says another
	// id.
	Owner string
	// ControlPlane reads the tree that people commit to.
	ControlPlane func(context.Context) (Tree, error)
	// Open opens a GitOps repository. It is called again when the document has
	// changed, or when its credentials were refused.
	Open func(ctx context.Context, name string, spec v1alpha1.GitOpsRepoSpec) (Repo, error)
	// Channel reads health; nil when there is none, so nothing is ever Released.
	Channel probe.Channel
	// DeletionGuard is the share of plantings, in percent, that may go at once.
	DeletionGuard int
	// Strict makes an error of a namespace or kind that no seed or cluster provides.
	Strict bool
	// Process names this process in the states that it publishes, for people and for other processes.
	Process string
	// TakeOver replaces plans of newer or unrelated commits of the control plane in the first pass.
	TakeOver bool
	// Ledger outlives the engine, so the next one need not verify all plans; nil if nothing does.
	Ledger Ledger
	// Once reports whether the process ends after one pass.
	Once bool
	// Person is the author of commits; When is set from Now.
	Person git.Person
	// Asker is the author of requests; Person where it has no name.
	Asker git.Person
	// Interval lies between passes in which nothing changed; zero when they are made by hand.
	Interval time.Duration
	// Slice is how long a pass opens proposals before it publishes and observes anew, counted
	// from its beginning; as long as there is something to do when zero.
	Slice time.Duration
	// ForgeCalls is how many proposals are opened at once in a repository; one when zero.
	// With more, the clock is asked by several goroutines.
	ForgeCalls int
	// Now is the clock.
	Now func() time.Time
	// Record is given every pass before it acts; nil when nobody asks. Nothing is remembered
	// from pass to pass then, so each record is whole.
	Record func(*Record)
	// Progress is called during a pass, by one goroutine at a time; nil when nobody asks.
	Progress func(Progress)
	// Clock says when a step has waited for long; by default the clock of the machine.
	Clock clock.WithTicker
}

// Engine runs passes, one at a time. What it keeps between them is only for speed, or about when
// something began; a new engine decides the same. It is not safe for several goroutines.
type Engine struct {
	config Config
	repos  map[string]*openRepo
	// began is when the present pass did.
	began time.Time
	// saying is held while progress is reported.
	saying sync.Mutex
	// resume is the seed whose turn is first: the last pass left something of it out.
	resume string
	// loaded is the catalog of tree, which was read last.
	loaded *catalog.Catalog
	// again counts how often it was loaded once more because a seed could not be rendered.
	again int
	tree  Tree
	// self is whose control plane that is.
	self     plan.Identity
	plans    recent.Cache[planKey, *plan.Plan]
	memo     pass.Memo
	recorded *recordingFS
	reported published
	// anchored reports whether Tree.Anchor was called.
	anchored bool
	// last is the state as it was published last; nil before.
	last *state.State
	// previewing reports whether the present pass only shows what another one would do.
	previewing bool
	// tookOver reports whether a pass has acted: what TakeOver allows is done.
	tookOver bool
	// unread says since when a GitOps repository, or the control plane, cannot be read.
	unread map[string]time.Time
}

// openRepo is a repository that stays open from pass to pass, with what is remembered of it. The
// caches are only forgotten together with the passes that used them; see cache.
type openRepo struct {
	Repo
	spec v1alpha1.GitOpsRepoSpec
	// diffs are the paths that differ between two commits.
	diffs recent.Cache[[2]git.Hash, []string]
	// offBase are commits that are not among the states of base, with the head that this is true of.
	offBase recent.Cache[git.Hash, git.Hash]
	// entries is what commits have at paths.
	entries recent.Cache[layout.Hash, map[string]layout.Hash]
	// planned are the entries of tiers in earlier plans, by pass.PlannedKey.
	planned recent.Cache[string, []plan.Entry]
	// cooldown is active while the repository's servers do not answer.
	cooldown backoff.Cooldown
	// batch is how many proposals a pass may have time for.
	batch     int
	readiness readiness
	// opening is what the forge last said about proposals that it did not let the credentials open.
	opening readiness
	// refusedMerges are those of the last minutes, by branch.
	refusedMerges map[string]refusedMerge
	// locks are since when the server has not been able to lock branches.
	locks sync.Map
	// folders are the directories of roots.
	folders recent.Cache[folderKey, delivery.Folder]
}

// turn begins another pass.
func (r *openRepo) turn() {
	r.diffs.Turn()
	r.offBase.Turn()
	r.entries.Turn()
	r.planned.Turn()
	r.folders.Turn()
}

// folderKey is a directory at a state, as a kind of reconciler reads it, and what is left out of it.
type folderKey struct {
	reconciler string
	path       string
	tree       layout.Hash
	ignores    [2]string
}

// planKey identifies a plan: a commit never has another one.
type planKey struct {
	repo   string
	commit git.Hash
}

// New makes an engine.
func New(config Config) *Engine {
	if config.Ledger == nil {
		config.Ledger = memoryLedger{}
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Engine{config: config, repos: map[string]*openRepo{}, unread: map[string]time.Time{}}
}

// Pass observes everything, acts for as long as a slice lasts, and publishes. An error means
// that nothing could be observed; problems of one seed or one repository are in the report.
func (e *Engine) Pass(ctx context.Context) (*Report, error) { return e.PassAfter(ctx, nil) }

// PassAfter is a pass that does what people request before it decides, unless requests is nil.
func (e *Engine) PassAfter(ctx context.Context, requests func(context.Context, *Requests)) (*Report, error) {
	o, d, err := e.observeAndDecide(ctx, requests)
	if err != nil {
		if isOutrun(err) {
			o.noteRefusal(ctx, err)
		}
		return nil, err
	}
	if pass.Works(d.Actions) {
		// What people did since is seen before the work, which takes seconds; and nobody takes a
		// new commit for one that may be merged.
		o.publish(ctx, o.report(d, &outcome{}))
	}
	done := o.act(ctx, d)
	e.tookOver = true
	report := o.report(d, done)
	if done.unfinished && !done.hasFailures() {
		return report, ctx.Err() // the next pass follows at once, and publishes before its work
	}
	e.progress(stagePublishing, 0, 0)
	o.ending = e.config.Once
	o.publish(ctx, report)
	return report, ctx.Err()
}

// DryRun is a pass that changes nothing: what Pass would report before it acts.
func (e *Engine) DryRun(ctx context.Context) (*Report, error) {
	o, d, err := e.preview(ctx)
	if err != nil {
		return nil, err
	}
	return o.report(d, &outcome{}), ctx.Err()
}

// maxObservations is how often is observed while people change what is observed.
const maxObservations = 3

// observeAndDecide observes and decides, and does so anew where somebody merged between two
// questions: the answer to the first one would be of a state that never was. After a few tries it
// goes on with what it has, since leases protect what it writes, and a repository in which people
// merge all the time must not keep the pass from ending.
func (e *Engine) observeAndDecide(ctx context.Context, requests func(context.Context, *Requests)) (*observation, *pass.Decision, error) {
	e.began = e.config.Now()
	for n := 1; ; n++ {
		e.progress(stageReading, 0, 0)
		o, err := e.observe(ctx)
		if err != nil {
			return nil, nil, err
		}
		if requests != nil && n == 1 {
			q := &Requests{observation: o}
			if requests(ctx, q); q.reopened {
				if o, err = e.observe(ctx); err != nil {
					return nil, nil, err
				}
			}
		}
		e.progress(stagePlanning, 0, 0)
		d, err := o.decide(ctx)
		if isOutrun(err) && n == 1 {
			continue // perhaps by a commit that was pushed after the control plane was read
		}
		if err != nil {
			return o, nil, err
		}
		if !o.raced || n == maxObservations {
			e.record(o, d)
			return o, d, nil
		}
	}
}

func (e *Engine) person() git.Person {
	who := e.config.Person
	who.When = e.config.Now()
	return who
}

// errEmptied is a control plane from which everything was deleted.
var errEmptied error = manifest.Problem{Reason: v1alpha1.ReasonControlPlaneEmpty, Message: "it holds no document of Furrow and no seed, refusing to treat that as a deletion of everything. Commit at least a GitOpsRepo"}

// version changes whenever the catalog does.
func (e *Engine) version() string {
	if e.again == 0 {
		return e.tree.version()
	}
	return fmt.Sprintf("%s again %d", e.tree.version(), e.again)
}

// catalogOf reads the control plane, or returns what was read of it before when it cannot be read
// now; readErr says why then. Only where nothing was ever read there is an err. A tree is read
// again if its version has changed, or if something on this machine kept a seed from being
// rendered.
func (e *Engine) catalogOf(ctx context.Context) (tree Tree, readErr, err error) {
	tree, readErr = e.config.ControlPlane(ctx)
	if readErr != nil {
		before := e.tree
		if tree.Settings != nil {
			before.Settings = tree.Settings
		}
		tree = before
	}
	if tree.FS != nil && (e.loaded == nil || e.loaded.Failed() || e.tree.version() != tree.version()) {
		var recorded *recordingFS
		if e.config.Record != nil {
			recorded = &recordingFS{tree.FS, RecordedTree{}}
			tree.FS = recorded
		}
		loaded, loadErr := tree.Catalog(ctx)
		if loadErr == nil && loaded.Documents == 0 {
			loadErr = errEmptied
		}
		var self plan.Identity
		if loadErr == nil {
			self, loadErr = tree.Identity(loaded, e.config.Owner)
		}
		if loadErr == nil {
			if e.loaded != nil && e.loaded.Failed() {
				e.again++
			}
			e.loaded, e.tree, e.self, e.recorded = loaded, tree, self, recorded
		}
		readErr = cmp.Or(readErr, loadErr)
	}
	if e.loaded == nil {
		return tree, nil, fmt.Errorf("the control-plane repository cannot be read: %w", unreadSource(readErr))
	}
	return tree, readErr, nil
}

// unreadSource says of an error without a reason of its own that the control plane cannot be read.
func unreadSource(err error) error {
	return manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSourceFailed}, err)
}
