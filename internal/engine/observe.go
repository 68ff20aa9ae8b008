package engine

import (
	"context"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// observation is the facts of a pass, and what is needed to ask for more and to act.
type observation struct {
	engine *Engine
	facts  *pass.Facts
	tree   Tree
	// readErr says why the control plane could not be read anew.
	readErr error
	repos   map[string]*repoState
	// changed reports whether something was pushed, so the next pass should come soon.
	changed bool
	// raced reports whether another engine or a person was faster, so the facts mix two moments.
	raced bool
	// rounds is how often questions were answered.
	rounds int
	// pushing says that a push is under way, which may take long.
	pushing bool
	// ending reports whether the next report is the last of this process.
	ending bool
}

// repoState is one GitOps repository in this pass: what stays open between passes, and what was
// listed in this one.
type repoState struct {
	*openRepo
	engine *Engine
	name   string
	// began is when the pass did.
	began     time.Time
	facts     *pass.Repo
	refs      git.Refs
	head      git.Hash // of the base branch
	proposals map[string]forge.Proposal
	// err is set once its servers stopped answering in this pass.
	err error
	// unready says why nothing may be pushed, where something had to be.
	unready error
	// limit is set once the forge allowed no more requests in this pass, and resumes is when the
	// first of what waits for that goes on.
	limit   forge.Quota
	resumes time.Time
	lineage lineage
}

// observe lists everything that can be listed: the control plane, branches, proposals, plans. What
// only the decision knows that it needs is asked for in questions. Errors of a repository are
// facts; an error is returned where nothing can be decided at all.
func (e *Engine) observe(ctx context.Context) (*observation, error) {
	e.plans.Turn()
	if e.memo.Turn(); e.config.Record != nil {
		e.memo = pass.Memo{}
	}
	tree, readErr, err := e.catalogOf(ctx)
	if err != nil {
		return nil, err
	}
	o := &observation{engine: e, tree: tree, readErr: readErr, repos: map[string]*repoState{}}
	o.facts = &pass.Facts{
		Now: e.began, Self: e.self, DeletionGuard: e.config.DeletionGuard, Strict: e.config.Strict,
		ControlPlane: pass.ControlPlane{
			Revision: e.tree.Revision, Version: e.version(), Scope: tree.scope(), Catalog: e.loaded,
			Compared: e.tree.Relation != nil && !e.previewing, Clone: e.tree.Clone, TakeOver: e.config.TakeOver && !e.tookOver,
			History: tree.LastCommit != nil,
		},
		Repos:  map[string]*pass.Repo{},
		Health: pass.Health{None: e.config.Channel == nil},
	}
	if readErr != nil {
		o.facts.ControlPlane.Unread = readErr.Error()
	}
	o.observeRepos(ctx)
	o.observePlans(ctx)
	if !e.anchored && tree.Anchor != nil && ctx.Err() == nil {
		again, err := tree.Anchor(ctx, o.revisions(), !o.failed())
		if err != nil {
			return nil, err
		}
		if e.anchored = !o.failed(); again {
			return e.observe(ctx)
		}
	}
	o.observeWriter()
	return o, ctx.Err()
}

// revisions returns those that plans of this origin, whoever owns them, were made from.
func (o *observation) revisions() []string {
	var out []string
	for _, b := range o.facts.Plans {
		r := o.repos[b.Repo].facts
		if b.Plan != nil && b.Plan.Origin == o.engine.self.Origin && r.IsOwn(layout.PlanBranch(r.Base, b.Seed)) {
			out = append(out, b.Plan.Revision)
		}
	}
	return out
}

// failed reports whether a repository cannot be used in this pass.
func (o *observation) failed() bool {
	for _, r := range o.repos {
		if r.facts.Failure != nil {
			return true
		}
	}
	return false
}

// observeRepos lists all repositories at once. One whose servers did not answer lately is not asked
// before its cooldown is over, and its failure is the one that began it.
func (o *observation) observeRepos(ctx context.Context) {
	var listing sync.WaitGroup
	var asked []*repoState
	declared := o.engine.loaded.Repos
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		r := &repoState{engine: o.engine, name: name, began: o.engine.began, facts: &pass.Repo{Base: declared[name].Spec.BranchOrDefault()}, proposals: map[string]forge.Proposal{}}
		o.repos[name], o.facts.Repos[name] = r, r.facts
		if r.openRepo, r.err = o.engine.open(ctx, name); r.err == nil {
			r.turn()
			r.err = r.cooldown.Err(o.engine.config.Now())
		}
		if r.err != nil {
			r.facts.Failure = pass.Fail(r.err, git.IsTransient(r.err))
			continue
		}
		asked = append(asked, r)
		if len(declared) > 1 {
			listing.Go(func() { r.err = r.list(ctx) })
		} else {
			r.err = r.list(ctx)
		}
	}
	listing.Wait()
	for _, r := range asked {
		err := r.err
		if r.err = nil; err == nil {
			r.cooldown.Succeed()
			continue
		}
		o.raced = o.raced || forge.IsGone(err)
		o.fail(r, err)
		if git.IsAuth(err) {
			delete(o.engine.repos, r.name) // its credentials are read again next time
		}
	}
}

// fail notes that a repository cannot be used in this pass.
func (o *observation) fail(r *repoState, err error) {
	r.coolDown(err, o.engine.config.Now)
	r.err, r.facts.Failure = err, pass.Fail(err, git.IsTransient(err))
}

// ErrNoGitOpsRepo means that there is nowhere to write to.
var ErrNoGitOpsRepo error = manifest.Problem{Reason: v1alpha1.ReasonNoRepository, Message: "no GitOps repository is declared", Next: "Add a GitOpsRepo document with spec.url to the control-plane repository"}

// open opens a repository, or returns the one that is open if its document has not changed. Where
// credentials lack something, they are read again from time to time.
func (e *Engine) open(ctx context.Context, name string) (*openRepo, error) {
	spec := e.loaded.Repos[name].Spec
	if had, ok := e.repos[name]; ok && reflect.DeepEqual(had.spec, spec) && !had.readiness.lacks(e.began) && !had.opening.lacks(e.began) {
		return had, nil
	}
	if spec.URL == "" {
		return nil, ErrNoGitOpsRepo
	}
	opened, err := e.config.Open(ctx, name, spec)
	if err != nil {
		return nil, inRepo(name, err)
	}
	e.repos[name] = &openRepo{Repo: opened, spec: spec, cooldown: backoff.NewCooldown(outages)}
	return e.repos[name], nil
}

// list lists branches and proposals, and turns them into facts. The branches are listed first, and
// the forge lists the proposals as they are at these (forge.Forge).
func (r *repoState) list(ctx context.Context) error {
	refs, err := r.Mirror.Fetch(ctx, r.facts.Base)
	if err != nil {
		return inRepo(r.name, err)
	}
	head, ok := refs[r.facts.Base]
	if !ok {
		return manifest.Problem{Reason: v1alpha1.ReasonBranchNotFound, Object: fmt.Sprintf("GitOpsRepo %q", r.name), Repo: r.name, Message: fmt.Sprintf("the repository has no branch %q", r.facts.Base), Next: "Create it with a first commit, or correct spec.branch"}
	}
	proposals, err := r.Forge.List(ctx, refs)
	if err != nil {
		return inRepo(r.name, fmt.Errorf("listing proposals: %w", err))
	}
	r.refs, r.head = refs, head
	f := r.facts
	f.Head, f.Amends = head, r.Forge.Amends()
	f.Refs, f.Proposals = make(map[string]layout.Hash, len(refs)), make(map[string]pass.Proposal, len(proposals))
	for branch, at := range refs {
		f.Refs[branch] = at
	}
	if err := r.identify(); err != nil {
		return inRepo(r.name, err)
	}
	for _, p := range proposals {
		r.proposals[p.Branch] = p
		f.Proposals[p.Branch] = ProposalFacts(p)
	}
	return nil
}

// ProposalFacts returns what of a proposal decides anything.
func ProposalFacts(p forge.Proposal) pass.Proposal {
	return pass.Proposal{
		Seed: p.Seed, Tiers: p.Tiers, Title: p.Title, URL: p.URL, Head: p.Head, Base: p.Base, Own: p.Own, Author: p.Author, Amended: p.Amended,
		Edited: p.Edited, Rejected: p.Rejected, Reason: p.Reason, Stale: p.Stale, Paths: p.Paths,
	}
}

// observePlans reads the plans that are on their branches.
func (o *observation) observePlans(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(o.repos)) {
		r := o.repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			seed, ok := layout.PlanSeed(r.facts.Base, branch)
			if !ok {
				continue
			}
			b := pass.PlanOnBranch{Repo: name, Seed: seed, Commit: r.refs[branch], Vouched: o.engine.vouchesFor(r, r.refs[branch])}
			var err error
			if b.Plan, err = o.engine.readPlan(ctx, r, seed, b.Commit); manifest.ReasonOf(err) == v1alpha1.ReasonInvalidPlan && !git.IsTransient(err) && !git.IsUnknown(err) {
				b.Vouched = false
				if last := o.engine.lastReadable(ctx, r, seed, b.Commit); last != nil {
					b.Plan, b.Unreadable, err = last, err.Error(), nil
				}
			}
			if commit, unread := r.Mirror.Commit(b.Commit); !b.Vouched && unread == nil {
				b.Author = commit.Author.Name
			}
			b.Failure = pass.Fail(err, git.IsTransient(err))
			o.facts.Plans = append(o.facts.Plans, b)
			if b.Plan != nil && o.engine.owns(b.Plan) { // what each decision asks first
				_ = o.answer(ctx, pass.Question{Kind: pass.AskEntries, Repo: name, Commit: r.facts.Head, Paths: tierPaths(b.Plan, name)})
			}
		}
	}
}

// vouchesFor reports whether the plan at a commit needs no verification: the commit is signed with a key
// of this control plane or, where there is none, the ledger has it.
func (e *Engine) vouchesFor(r *repoState, commit git.Hash) bool {
	if len(r.Mirror.Keys().Own) > 0 {
		return r.isOwn(commit)
	}
	return e.config.Ledger.Has(r.name, commit)
}

// vouch notes the plans that a decision has verified.
func (e *Engine) vouch(d *pass.Decision) {
	for _, p := range d.Previous {
		for repo, commit := range p.Commits {
			if p.Verified && !e.config.Ledger.Has(repo, commit) {
				e.config.Ledger.Put(repo, commit, git.Hash{})
			}
		}
	}
}

// maxUnreadable is how many commits of a plan branch are searched for a plan that can be read.
const maxUnreadable = 20

// lastReadable returns the newest plan before a commit that holds none; nil where there is none. What
// somebody pushes to a plan branch must not keep the seed from being planned.
func (e *Engine) lastReadable(ctx context.Context, r *repoState, seed string, commit git.Hash) *plan.Plan {
	n := 0
	for had, err := range r.Mirror.Log(commit, git.Hash{}) {
		if n++; err != nil || n > maxUnreadable {
			return nil
		}
		if read, err := e.readPlan(ctx, r, seed, had.Hash); err == nil {
			return read
		}
	}
	return nil
}

// readPlan reads the plan at a commit, which never changes, from the cache where it can. Callers
// share the plan.
func (e *Engine) readPlan(ctx context.Context, r *repoState, seed string, commit git.Hash) (*plan.Plan, error) {
	key := planKey{r.name, commit}
	if known, ok := e.plans.Get(key); ok {
		return known, nil
	}
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	tree = git.Bounded(tree, git.PlanBounds)
	read, err := plan.Decode(tree)
	if err == nil && read.Seed != seed {
		err = manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Seed: seed, Message: fmt.Sprintf("it is the plan of seed %q", read.Seed)}
	}
	if err != nil {
		return nil, errPlan(seed, r.name, r.described(layout.PlanBranch(r.facts.Base, seed), commit), err)
	}
	// The reconciler objects are read one by one later; a mirror without blobs gets them in one
	// request.
	if dirs := reconcilerDirs(read, r.name); len(dirs) > 0 {
		if err := r.Mirror.Prefetch(ctx, commit, dirs...); err != nil {
			return nil, err
		}
	}
	e.plans.Put(key, read)
	return read, nil
}

// described names a branch, with the commit that it is at and the author whom that names.
func (r *repoState) described(branch string, commit git.Hash) string {
	c, err := r.Mirror.Commit(commit)
	if err != nil {
		return branch
	}
	return fmt.Sprintf("%s (commit %s by %s)", branch, commit, manifest.Printable(c.Author.Name))
}

// errPlan says what is on a plan branch instead of a plan that can be read, and what to do about it. What another
// version wrote is not to be moved back, because that would lose it.
func errPlan(seed, repo, branch string, err error) error {
	p := manifest.ProblemOf(err)
	p.Seed, p.Repo, p.Message = seed, repo, fmt.Sprintf("seed %q: branch %s holds no plan that can be read: %s", seed, branch, p.Message)
	switch {
	case p.Reason == v1alpha1.ReasonUnsupportedVersion:
	case p.Reason == v1alpha1.ReasonInvalidPlan && !git.IsTransient(err) && !git.IsUnknown(err):
		p.Next = "Move the branch back to its last good commit, or use the version of Furrow that wrote it; without the branch Furrow forgets what it has planted"
	default: // it could not be read at all
		return inRepo(repo, fmt.Errorf("reading the plan of seed %q: %w", seed, manifest.About(manifest.Problem{Seed: seed}, err)))
	}
	return p
}

// tierPaths returns those of a plan's tiers in a repository.
func tierPaths(p *plan.Plan, repo string) []string {
	var paths []string
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Repo == repo {
			paths = append(paths, t.Paths()...)
		}
	}
	return paths
}

// reconcilerDirs returns the directories in a repository that have reconciler files of a plan.
func reconcilerDirs(p *plan.Plan, repo string) []string {
	dirs := map[string]bool{}
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Repo == repo && !t.ReconcilerHash().IsZero() {
			dirs[path.Dir(t.ReconcilerFile())] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// inRepo says which GitOps repository an error is about.
func inRepo(name string, err error) error {
	return fmt.Errorf("GitOpsRepo %q: %w", name, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonRepositoryFailed, Object: fmt.Sprintf("GitOpsRepo %q", name), Repo: name}, err))
}
