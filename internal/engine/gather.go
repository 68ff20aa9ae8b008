package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
)

// pass is one pass. Its fields are set in the order in which they stand.
type pass struct {
	engine  *Engine
	catalog *catalog.Catalog
	tree    Tree
	// readErr says that the control plane could not be read anew.
	readErr error
	repos   map[string]*repoState
	// abandoned are the clusters that a person has given up.
	abandoned map[string]bool
	// previous are the plans that are on their branches, by seed.
	previous map[string]*plannedSeed
	// reconcilers and creators are what the channel saw.
	reconcilers map[probe.ReconcilerKey]health.Reconciler
	creators    map[probe.CreatorKey]health.Creator
	roots       map[probe.RootKey]health.Root
	channelErr  error
	// seeds is what was decided, by name.
	seeds map[string]*seedDecision
	// changed says that something was pushed, so that the next pass should come soon.
	changed bool
	// raced says that another engine or a person was faster at something.
	raced bool
	// rendered is what the renderings of the Template of proposals have used.
	rendered template.Total
}

// repoState is one GitOps repository in this pass.
type repoState struct {
	*openRepo
	name string
	base string
	refs git.Refs
	head git.Hash // of the base branch
	// proposals by branch.
	proposals map[string]forge.Proposal
	// err says why the repository cannot be used in this pass.
	err error
	// entries caches what commits have at paths.
	entries map[git.Hash]map[string]layout.Hash
	lineage lineage
}

// plannedSeed is a seed's plan as it is on its branches.
type plannedSeed struct {
	plan *plan.Plan
	// foreign says that the plan is another owner's, or of a seed that others care
	// for: it counts for what it has planted, and for nothing else.
	foreign bool
	// partial says that not every repository of the plan has it.
	partial bool
	// commits and generations are those of the plan branches, by repository.
	commits     map[string]git.Hash
	generations map[string]int
	// others are the control planes that have a plan of the seed in other repositories.
	others map[string]plan.Identity
	// facts are those of the plan's tiers, once they were looked at.
	facts map[layout.Tier]release.TierFacts
	err   error
}

func (e *Engine) gather(ctx context.Context) (*pass, error) {
	e.plans.turn()
	e.specs.turn()
	tree, readErr, err := e.catalogOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &pass{
		engine: e, catalog: e.loaded, tree: tree, readErr: readErr, repos: map[string]*repoState{}, abandoned: map[string]bool{},
		previous: map[string]*plannedSeed{}, roots: map[probe.RootKey]health.Root{}, seeds: map[string]*seedDecision{},
	}
	p.gatherRepos(ctx)
	p.gatherAbandoned()
	p.gatherPlans(ctx)
	if err := p.ownerUnknown(); err != nil {
		return nil, err
	}
	p.gatherHealth(ctx)
	return p, ctx.Err()
}

func (p *pass) gatherRepos(ctx context.Context) {
	var looking sync.WaitGroup
	var asked []*repoState
	for _, name := range slices.Sorted(maps.Keys(p.catalog.Repos)) {
		spec := p.catalog.Repos[name].Spec
		r := &repoState{name: name, base: spec.BranchOrDefault(), entries: map[git.Hash]map[string]layout.Hash{}, proposals: map[string]forge.Proposal{}}
		p.repos[name] = r
		if r.openRepo, r.err = p.engine.open(name); r.err != nil {
			continue
		}
		r.diffs.turn()
		r.folders.turn()
		if r.err = r.outage.err(p.engine.config.Now()); r.err != nil {
			continue
		}
		asked = append(asked, r)
		if len(p.catalog.Repos) > 1 {
			looking.Go(func() { r.err = r.look(ctx) })
		} else {
			r.err = r.look(ctx)
		}
	}
	looking.Wait()
	for _, r := range asked {
		if r.err == nil {
			r.outage = outage{}
		}
		p.heard(r, r.err)
		if git.IsAuth(r.err) {
			delete(p.engine.repos, r.name) // its credentials are read again next time
		}
	}
}

// ErrNoGitOpsRepo says that there is nowhere to write to.
var ErrNoGitOpsRepo = errors.New("no GitOps repository is declared. Add a GitOpsRepo document with spec.url to the control-plane repository")

func (e *Engine) open(name string) (*openRepo, error) {
	spec := e.loaded.Repos[name].Spec
	if had, ok := e.repos[name]; ok && had.spec == spec {
		return had, nil
	}
	if spec.URL == "" {
		return nil, ErrNoGitOpsRepo
	}
	opened, err := e.config.Open(name, spec)
	if err != nil {
		return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
	}
	e.repos[name] = &openRepo{Repo: opened, spec: spec}
	return e.repos[name], nil
}

func (r *repoState) look(ctx context.Context) error {
	refs, err := r.Mirror.Fetch(ctx, r.base)
	if err != nil {
		return fmt.Errorf("GitOpsRepo %q: %w", r.name, err)
	}
	r.refs = refs
	head, ok := refs[r.base]
	if !ok {
		return fmt.Errorf("GitOpsRepo %q: the repository has no branch %q. Create it with a first commit, or correct spec.branch", r.name, r.base)
	}
	r.head = head
	proposals, err := r.Forge.List(ctx, refs)
	if err != nil {
		return fmt.Errorf("GitOpsRepo %q: listing proposals: %w", r.name, err)
	}
	for _, proposal := range proposals {
		r.proposals[proposal.Branch] = proposal
	}
	return nil
}

// gatherPlans reads the plans that are on their branches. Where repositories have
// different ones, as when an engine was killed between two pushes, the newest
// generation is a seed's plan.
func (p *pass) gatherPlans(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			if seed, ok := layout.PlanSeed(r.base, branch); ok {
				p.addPlanOf(ctx, r, seed, r.refs[branch])
			}
		}
	}
	for seed, s := range p.previous {
		if s.plan == nil {
			s.foreign = !p.tree.scopes(seed)
			continue
		}
		s.foreign = !p.engine.owns(s.plan) || !p.tree.scopes(seed)
		if !s.foreign {
			p.checkRepos(seed, s)
		}
	}
}

// ownerUnknown ends a pass that would act under another name than the plans of this control plane have, while a file
// cannot be read that may give it its name.
func (p *pass) ownerUnknown() error {
	file, doubtful := p.catalog.OwnerDoubt()
	if !doubtful {
		return nil
	}
	for _, seed := range slices.Sorted(maps.Keys(p.previous)) {
		s := p.previous[seed]
		all := maps.Clone(s.others)
		if s.plan != nil {
			for repo := range s.generations {
				all[repo] = s.plan.Identity()
			}
		}
		for _, repo := range slices.Sorted(maps.Keys(all)) {
			if of := all[repo]; of.Renamed(p.engine.self) {
				return plan.ErrOwnerUnknown(file.String(), seed, repo, of, p.engine.self)
			}
		}
	}
	return nil
}

func (p *pass) addPlanOf(ctx context.Context, r *repoState, seed string, commit git.Hash) {
	s := p.previous[seed]
	if s == nil {
		s = &plannedSeed{commits: map[string]git.Hash{}, generations: map[string]int{}, others: map[string]plan.Identity{}}
		p.previous[seed] = s
	}
	read, err := p.engine.readPlan(ctx, r, seed, commit)
	if err != nil {
		s.commits[r.name], s.err = commit, err
		return
	}
	s.take(r.name, commit, read, p.engine.owns)
}

// take takes in the plan that a repository has. The newest one of this control plane counts, and without one the
// newest of another: what one control plane has in a repository is never part of what another one has.
func (s *plannedSeed) take(repo string, commit git.Hash, read *plan.Plan, owns func(*plan.Plan) bool) {
	if s.plan != nil && s.plan.Identity() != read.Identity() {
		if owns(s.plan) || !owns(read) && s.plan.Generation >= read.Generation {
			s.others[repo] = read.Identity()
			return
		}
		for had := range s.generations {
			s.others[had] = s.plan.Identity()
			delete(s.commits, had)
		}
		s.plan, s.generations = nil, map[string]int{}
	}
	s.commits[repo], s.generations[repo] = commit, read.Generation
	if s.plan == nil || read.Generation > s.plan.Generation {
		s.plan = read
	}
}

// owns says that a plan belongs to this control plane.
func (e *Engine) owns(p *plan.Plan) bool { return p.Identity() == e.self }

// checkRepos holds a seed while a repository of its plan cannot be used, and
// notes when one does not have the plan yet.
func (p *pass) checkRepos(seed string, s *plannedSeed) {
	for _, repo := range s.plan.Repos() {
		r, ok := p.repos[repo]
		of, taken := s.others[repo]
		switch {
		case taken:
			s.err = plan.ErrForeign(seed, repo, of, p.engine.self)
		case !ok && p.catalog.Inventory.BrokenRepo(repo) != "":
			s.err = fmt.Errorf("seed %q: it is planted in GitOps repository %q, and %s. Correct that document", seed, repo, p.catalog.Inventory.BrokenRepo(repo))
		case !ok:
			s.err = fmt.Errorf("seed %q: it is planted in GitOps repository %q, which is no longer declared. Declare it again, and remove the seed first", seed, repo)
		case r.err != nil:
			s.err = r.err
		case s.commits[repo].IsZero() || s.generations[repo] != s.plan.Generation:
			s.partial = true
		}
	}
}

func (e *Engine) readPlan(ctx context.Context, r *repoState, seed string, commit git.Hash) (*plan.Plan, error) {
	key := planKey{r.name, commit}
	if known, ok := e.plans.get(key); ok {
		return known, nil
	}
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	read, err := plan.Decode(func(name string) ([]byte, error) { return fs.ReadFile(tree, name) })
	if err == nil && read.Seed != seed {
		err = fmt.Errorf("it is the plan of seed %q", read.Seed)
	}
	if err != nil {
		return nil, fmt.Errorf("seed %q: branch %s holds no plan that can be read: %w. Move the branch back to its last good commit, or use the version of Furrow that wrote it; without the branch Furrow forgets what it has planted", seed, layout.PlanBranch(r.base, seed), err)
	}
	// The reconciler objects are read one by one later; a mirror without blobs gets them in one request.
	if dirs := reconcilerDirs(read, r.name); len(dirs) > 0 {
		if err := r.Mirror.Prefetch(ctx, commit, dirs...); err != nil {
			return nil, err
		}
	}
	e.plans.put(key, read)
	return read, nil
}

func reconcilerDirs(p *plan.Plan, repo string) []string {
	dirs := map[string]bool{}
	for i := range p.Tiers {
		if t := &p.Tiers[i]; t.Repo == repo && !t.Gone() {
			dirs[path.Dir(t.ReconcilerFile())] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// gatherHealth asks the channel once for all tiers of all plans.
func (p *pass) gatherHealth(ctx context.Context) {
	if p.engine.config.Channel == nil {
		p.channelErr = errors.New("no health channel is set up")
		return
	}
	var reconcilers []probe.ReconcilerKey
	var creators []probe.CreatorKey
	for _, seed := range slices.Sorted(maps.Keys(p.previous)) {
		s := p.previous[seed]
		if s.plan == nil || s.foreign {
			continue
		}
		for i := range s.plan.Tiers {
			t := &s.plan.Tiers[i]
			reconcilers = append(reconcilers, reconcilerKey(t))
			creators = append(creators, p.creatorKeys(t)...)
		}
	}
	var err error
	if p.reconcilers, err = p.engine.config.Channel.Reconcilers(ctx, reconcilers); err != nil {
		p.channelErr = err
		return
	}
	p.creators, p.channelErr = p.engine.config.Channel.Creators(ctx, creators)
}

func reconcilerKey(t *plan.Tier) probe.ReconcilerKey {
	return probe.ReconcilerKey{Cluster: t.Object.Cluster, Namespace: t.Object.Namespace, Name: t.Object.Name}
}

// creatorKeys name the creators of a tier and the Secrets through which their clusters are reached: only those that may
// be read, whatever a plan says, for a plan is only as good as whoever may write to its branch.
func (p *pass) creatorKeys(t *plan.Tier) []probe.CreatorKey {
	keys := make([]probe.CreatorKey, 0, len(t.Creates))
	for _, c := range t.Creates {
		key := probe.CreatorKey{Cluster: t.Cluster, Object: c.Object, Creates: c.Cluster}
		if p.catalog.Inventory.MayReadKubeConfig(c.KubeConfig.Cluster, c.KubeConfig.Namespace, catalog.Creation{Object: c.Object, On: t.Cluster}) {
			key.KubeConfig = probe.SecretKey(c.KubeConfig)
		}
		keys = append(keys, key)
	}
	return keys
}

// tierFacts gathers what is known of every tier of a plan, but for closed proposals.
func (p *pass) tierFacts(ctx context.Context, pl *plan.Plan, planned *plannedSeed) (map[layout.Tier]release.TierFacts, error) {
	p.gatherRoots(ctx, pl)
	facts := make(map[layout.Tier]release.TierFacts, len(pl.Tiers))
	for i := range pl.Tiers {
		t := &pl.Tiers[i]
		r, ok := p.repos[t.Repo]
		if !ok || r.err != nil {
			return nil, fmt.Errorf("seed %q: GitOps repository %q cannot be used", pl.Seed, t.Repo)
		}
		f, err := p.factsOf(ctx, r, pl, t, planned)
		if err != nil {
			return nil, fmt.Errorf("seed %q, %s: %w", pl.Seed, t, err)
		}
		facts[pl.Name(t)] = f
	}
	return facts, nil
}

func (p *pass) factsOf(ctx context.Context, r *repoState, pl *plan.Plan, t *plan.Tier, planned *plannedSeed) (release.TierFacts, error) {
	var f release.TierFacts
	have, err := r.at(r.head, t.Paths()...)
	if err != nil {
		return f, err
	}
	if f.Base, f.BaseDetail, err = r.baseOf(t, have, planned); err != nil {
		return f, err
	}
	if f.Base == release.BaseForeign {
		if err := p.lookBehind(ctx, r, pl, t, planned, have, &f); err != nil {
			return f, err
		}
	}
	if f.Base != release.BaseAmended && f.BaseDetail != "" {
		if f.Foreign, err = r.foreignFiles(ctx, t, planned); err != nil {
			return f, err
		}
		if len(f.Foreign) > 0 {
			f.BaseDetail += ": " + listed(f.Foreign)
		}
	}
	if proposal, ok := r.proposals[layout.TierBranch(r.base, pl.Name(t))]; ok {
		f.Proposal = &release.Proposal{Wants: proposal.Wants, Edited: proposal.Edited, Unknown: !r.Forge.Amends(), Rejected: proposal.Rejected, Reason: proposal.Reason, Stale: proposal.Stale, Behind: r.isBehind(proposal)}
		if f.Proposal.Outside, err = r.outside(ctx, proposal, t); err != nil {
			return f, err
		}
	}
	if release.Standing(t, f) == "" {
		if t.Gone() {
			f.LeftBehind = p.leftBehind(t)
		} else {
			err = p.lookAtRoot(ctx, r, pl, t, &f)
		}
		return f, err
	}
	f.Health, err = p.verdictOf(ctx, r, pl.Seed, t, have)
	if t.Gone() && f.Health.Phase == health.Unknown && p.clusterGone(pl, t.Object.Cluster) {
		f.Health = health.Verdict{Phase: health.Absent, Message: "gone with its cluster"}
	}
	return f, err
}

// leftBehind says why a tier that is to go should not go as things are. What is left
// there is what people want of a cluster that they have given up.
func (p *pass) leftBehind(t *plan.Tier) string {
	if !p.reconcilers[reconcilerKey(t)].LeavesAll() || p.place(t.Cluster).Abandoned {
		return ""
	}
	k := t.Object
	return fmt.Sprintf("Kustomization %s/%s on cluster %s is suspended, and Flux leaves everything there when it goes. Resume it first: flux resume kustomization %s -n %s", k.Namespace, k.Name, k.Cluster, k.Name, k.Namespace)
}

// clusterGone says that a cluster which the plan creates has no creator any more,
// or none yet: nobody answers there, and nothing is left to ask for. The root tells
// that it is the creator's cluster which was asked.
func (p *pass) clusterGone(pl *plan.Plan, cluster string) bool {
	for i := range pl.Tiers {
		t := &pl.Tiers[i]
		for _, key := range p.creatorKeys(t) {
			if key.Creates == cluster {
				root, ok := p.rootKey(pl.Seed, t)
				c := p.creators[key]
				return c.Known && !c.Found && ok && p.roots[root].Found
			}
		}
	}
	return false
}

// isBehind says that a proposal is to follow the base branch.
func (r *repoState) isBehind(proposal forge.Proposal) bool {
	return r.spec.Update == v1alpha1.UpdateWhenBehind && proposal.Base != r.head
}

// verdictOf judges a tier that is on base; have is what base has of it.
func (p *pass) verdictOf(ctx context.Context, r *repoState, seed string, t *plan.Tier, have map[string]layout.Hash) (health.Verdict, error) {
	if p.channelErr != nil {
		return health.Verdict{Phase: health.Unknown, Message: p.channelErr.Error()}, nil
	}
	observed := p.reconcilers[reconcilerKey(t)]
	want := health.Want{Gone: t.Gone(), At: map[string]health.Match{}, Reconciler: p.place(t.Object.Cluster), Creators: p.place(t.Cluster)}
	if want.Gone {
		var err error
		if want.RootFound, err = p.hadRoot(r, seed, t); err != nil {
			return health.Verdict{}, err
		}
	}
	if !want.Gone {
		object, err := p.engine.reconcilerOn(ctx, r, t.ReconcilerFile(), have[t.ReconcilerFile()])
		if err == nil {
			want.Amiss, err = p.amiss(ctx, r, seed, t, object, have[t.ReconcilerFile()])
		}
		if err != nil {
			return health.Verdict{}, err
		}
		want.Rendered, want.Spec = object.rendered, object.spec
	}
	for _, revision := range []string{observed.Revision, observed.AttemptedRevision} {
		match, err := r.match(revision, t, have)
		if err != nil {
			return health.Verdict{}, err
		}
		want.At[revision] = match
	}
	var creators []health.Creator
	for _, key := range p.creatorKeys(t) {
		creators = append(creators, p.creators[key])
	}
	v := health.Judge(observed, creators, want)
	if v.AwaitsRoot {
		if unfit, unknown := p.rootOnCluster(r, seed, t, false); unfit+unknown != "" {
			v.Message += "; " + unfit + unknown
		}
	}
	return v, nil
}

// amiss says what is wrong with a reconciler object that a person amended.
func (p *pass) amiss(ctx context.Context, r *repoState, seed string, t *plan.Tier, amended reconcilerObject, blob layout.Hash) (string, error) {
	if blob == t.ReconcilerHash() || amended.spec == nil {
		return "", nil
	}
	planned, err := p.engine.reconcilerOn(ctx, r, t.ReconcilerFile(), t.ReconcilerHash())
	if err != nil {
		return "", err
	}
	if err := template.CheckAmended(amended.spec, planned.spec); err != nil {
		return fmt.Sprintf("how the tier is cannot be told, as a person changed %s: %v. Mend it on branch %s, or run 'furrow retry %s' to propose what was planned", t.ReconcilerFile(), err, r.base, seed), nil
	}
	return "", nil
}

// reconcilerObject is what counts of a reconciler object in Git.
type reconcilerObject struct {
	rendered string
	spec     map[string]any
}

// reconcilerOn reads the reconciler object that base has. One that a person left
// out, or that is none, is never the live one.
func (e *Engine) reconcilerOn(ctx context.Context, r *repoState, at string, blob layout.Hash) (reconcilerObject, error) {
	none := reconcilerObject{rendered: "none on the base branch"}
	if blob == "" {
		return none, nil
	}
	hash, err := git.ParseHash(string(blob))
	if err != nil {
		return none, err
	}
	if known, ok := e.specs.get(hash); ok {
		return known, nil
	}
	data, err := r.Mirror.Blob(ctx, hash)
	if err != nil {
		return none, err
	}
	object := none
	if objects, err := manifest.Parse(at, data); err == nil && len(objects) == 1 {
		object = reconcilerObject{objects[0].Annotation(v1alpha1.AnnotationRendered), objects[0].Map("spec")}
	}
	e.specs.put(hash, object)
	return object, nil
}
