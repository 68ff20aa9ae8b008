package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
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
	// previous are the plans that are on their branches, by seed.
	previous map[string]*plannedSeed
	// reconcilers and creators are what the channel saw.
	reconcilers map[probe.ReconcilerKey]health.Reconciler
	creators    map[probe.CreatorKey]health.Creator
	channelErr  error
	// seeds is what was decided, by name.
	seeds map[string]*seedDecision
	// changed says that something was pushed, so that the next pass should come soon.
	changed bool
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
	// entries caches what commits have at paths, lag the states of base since a commit.
	entries map[git.Hash]map[string]layout.Hash
	lag     map[git.Hash][]git.Hash
}

// plannedSeed is a seed's plan as it is on its branches.
type plannedSeed struct {
	plan *plan.Plan
	// commits are the plan's commits by repository.
	commits map[string]git.Hash
	err     error
}

func (e *Engine) gather(ctx context.Context) (*pass, error) {
	tree, readErr, err := e.catalogOf(ctx)
	if err != nil {
		return nil, err
	}
	p := &pass{
		engine: e, catalog: e.loaded, tree: tree, readErr: readErr, repos: map[string]*repoState{},
		previous: map[string]*plannedSeed{}, seeds: map[string]*seedDecision{},
	}
	p.gatherRepos(ctx)
	p.gatherPlans(ctx)
	p.gatherHealth(ctx)
	return p, ctx.Err()
}

func (p *pass) gatherRepos(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(p.catalog.Repos)) {
		spec := p.catalog.Repos[name].Spec
		r := &repoState{name: name, base: spec.BranchOrDefault(), entries: map[git.Hash]map[string]layout.Hash{}, lag: map[git.Hash][]git.Hash{}, proposals: map[string]forge.Proposal{}}
		p.repos[name] = r
		if r.openRepo, r.err = p.engine.open(name); r.err == nil {
			r.err = r.look(ctx)
		}
	}
}

func (e *Engine) open(name string) (*openRepo, error) {
	spec := e.loaded.Repos[name].Spec
	if had, ok := e.repos[name]; ok && had.spec == spec {
		return had, nil
	}
	if spec.URL == "" {
		return nil, fmt.Errorf("no GitOps repository is declared. Add a GitOpsRepo document with spec.url to the control-plane repository")
	}
	opened, err := e.config.Open(name, spec)
	if err != nil {
		return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
	}
	e.repos[name] = &openRepo{opened, spec}
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

// at gives what a commit has at some paths; a path that is not there is empty.
func (r *repoState) at(commit git.Hash, paths ...string) (map[string]layout.Hash, error) {
	known := r.entries[commit]
	if known == nil {
		known = map[string]layout.Hash{}
		r.entries[commit] = known
	}
	var missing []string
	for _, p := range paths {
		if _, ok := known[p]; !ok {
			missing = append(missing, p)
		}
	}
	if len(missing) > 0 {
		found, err := r.Mirror.Entries(commit, missing)
		if err != nil {
			return nil, err
		}
		for _, p := range missing {
			known[p] = ""
			if entry, ok := found[p]; ok {
				known[p] = layout.Hash(entry.Hash.String())
			}
		}
	}
	return known, nil
}

// gatherPlans reads the plans that are on their branches. A seed's plan is the
// one in its home repository, the first by name that has its branch.
func (p *pass) gatherPlans(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(p.repos)) {
		r := p.repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
			seed, ok := layout.PlanSeed(r.base, branch)
			if !ok {
				continue
			}
			s := p.previous[seed]
			if s == nil {
				s = &plannedSeed{commits: map[string]git.Hash{}}
				p.previous[seed] = s
				s.plan, s.err = p.engine.readPlan(ctx, r, seed, r.refs[branch])
			}
			s.commits[name] = r.refs[branch]
		}
	}
	p.checkHomes()
}

// checkHomes holds seeds whose home repository cannot be read: the plan that
// another repository has may be older.
func (p *pass) checkHomes() {
	for seed, s := range p.previous {
		if s.plan == nil {
			continue
		}
		for _, repo := range s.plan.Repos() {
			r, ok := p.repos[repo]
			switch {
			case !ok:
				s.err = fmt.Errorf("seed %q: it is planted in GitOps repository %q, which is no longer declared. Declare it again, and remove the seed first", seed, repo)
			case r.err != nil:
				s.err = r.err
			}
		}
	}
}

func (e *Engine) readPlan(ctx context.Context, r *repoState, seed string, commit git.Hash) (*plan.Plan, error) {
	key := planKey{r.name, commit}
	if known, ok := e.plans[key]; ok {
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
		return nil, fmt.Errorf("seed %q: branch %s holds no plan that can be read: %w. Delete the branch to have the seed planned anew", seed, layout.PlanBranch(r.base, seed), err)
	}
	e.plans[key] = read
	return read, nil
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
		if s.plan == nil {
			continue
		}
		for i := range s.plan.Tiers {
			t := &s.plan.Tiers[i]
			reconcilers = append(reconcilers, reconcilerKey(t))
			creators = append(creators, creatorKeys(t)...)
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

func creatorKeys(t *plan.Tier) []probe.CreatorKey {
	keys := make([]probe.CreatorKey, 0, len(t.Creates))
	for _, c := range t.Creates {
		keys = append(keys, probe.CreatorKey{Cluster: t.Cluster, Object: c.Object, Creates: c.Cluster})
	}
	return keys
}

// tierFacts gathers what is known of every tier of a plan, but for closed proposals.
func (p *pass) tierFacts(ctx context.Context, pl *plan.Plan, planned *plannedSeed) (map[layout.Tier]release.TierFacts, error) {
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
	have, err := r.at(r.head, t.Path, t.Reconciler)
	if err != nil {
		return f, err
	}
	f.Base, f.BaseDetail, err = r.baseOf(t, have, planned)
	if err != nil {
		return f, err
	}
	if f.Base == release.BaseForeign && r.retries(planned, pl.Seed) {
		f.Base = release.BaseEarlier
	}
	if proposal, ok := r.proposals[layout.TierBranch(r.base, pl.Name(t))]; ok {
		f.Proposal = &release.Proposal{Wants: proposal.Wants, Edited: proposal.Edited, Rejected: proposal.Rejected, Reason: proposal.Reason, Stale: proposal.Stale}
	}
	if !t.Gone() && f.Base != release.BaseEntries {
		f.RootUnfit, err = r.rootUnfit(pl.Seed, t)
		return f, err
	}
	f.Health, err = p.verdictOf(ctx, r, t)
	return f, err
}

// baseOf says what base has at the tier's paths.
func (r *repoState) baseOf(t *plan.Tier, have map[string]layout.Hash, planned *plannedSeed) (release.Base, string, error) {
	entries := t.Entries()
	equal, nothing := true, true
	for p, hash := range entries {
		equal = equal && have[p] == hash
		nothing = nothing && have[p] == ""
	}
	switch {
	case nothing:
		return release.BaseNothing, "", nil
	case equal:
		return release.BaseEntries, "", nil
	}
	for _, at := range slices.Sorted(maps.Keys(entries)) {
		known, err := r.everPlanned(at, have[at], planned)
		if err != nil {
			return "", "", err
		}
		if !known {
			return release.BaseForeign, fmt.Sprintf("%s on branch %s of %s holds what Furrow did not put there", at, r.base, r.name), nil
		}
	}
	return release.BaseEarlier, "", nil
}

// maxPlanHistory is how many earlier plans are looked at for what base has.
const maxPlanHistory = 100

// everPlanned says that some plan of the seed had this at a path.
func (r *repoState) everPlanned(at string, hash layout.Hash, planned *plannedSeed) (bool, error) {
	if hash == "" {
		return true, nil
	}
	if planned == nil || planned.commits[r.name].IsZero() {
		return false, nil
	}
	n := 0
	for commit, err := range r.Mirror.Log(planned.commits[r.name], git.Hash{}) {
		if err != nil {
			return false, err
		}
		had, err := r.at(commit.Hash, at)
		if err != nil {
			return false, err
		}
		if had[at] == hash {
			return true, nil
		}
		if n++; n == maxPlanHistory {
			break
		}
	}
	return false, nil
}

// kustomizationFiles in a root's path make it list its files itself.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// rootUnfit says what keeps the root from syncing a new reconciler file.
func (r *repoState) rootUnfit(seed string, t *plan.Tier) (string, error) {
	root, _, ok := strings.Cut(t.Reconciler, "/furrow/"+seed+"/")
	if !ok {
		return "", nil
	}
	var paths []string
	for _, name := range kustomizationFiles {
		paths = append(paths, path.Join(root, name))
	}
	have, err := r.at(r.head, append(paths, root)...)
	if err != nil {
		return "", err
	}
	if have[root] == "" {
		return fmt.Sprintf("branch %s of %s has no directory %s for the root of cluster %s to sync. Set the root up first (flux bootstrap makes the directory), or commit a README.md there", r.base, r.name, root, t.Object.Cluster), nil
	}
	for _, at := range paths {
		if have[at] != "" {
			return fmt.Sprintf("%s on branch %s of %s keeps the root from syncing files that it does not list. Remove it: Flux then syncs the whole directory", at, r.base, r.name), nil
		}
	}
	return "", nil
}

// verdictOf judges a tier whose entries are on base.
func (p *pass) verdictOf(ctx context.Context, r *repoState, t *plan.Tier) (health.Verdict, error) {
	if p.channelErr != nil {
		return health.Verdict{Phase: health.Unknown, Message: p.channelErr.Error()}, nil
	}
	observed := p.reconcilers[reconcilerKey(t)]
	want := health.Want{Rendered: t.Object.Rendered, Gone: t.Gone(), At: map[string]health.Match{}}
	if !want.Gone {
		var err error
		if want.Spec, err = p.engine.specOf(ctx, r, t); err != nil {
			return health.Verdict{}, err
		}
	}
	for _, revision := range []string{observed.Revision, observed.AttemptedRevision} {
		match, err := r.match(revision, t)
		if err != nil {
			return health.Verdict{}, err
		}
		want.At[revision] = match
	}
	var creators []health.Creator
	for _, key := range creatorKeys(t) {
		creators = append(creators, p.creators[key])
	}
	return health.Judge(observed, creators, want), nil
}

// specOf is the spec of the reconciler object on base.
func (e *Engine) specOf(ctx context.Context, r *repoState, t *plan.Tier) (map[string]any, error) {
	hash, err := git.ParseHash(string(t.ReconcilerBlob))
	if err != nil {
		return nil, err
	}
	if spec, ok := e.specs[hash]; ok {
		return spec, nil
	}
	data, err := r.Mirror.Blob(ctx, hash)
	if err != nil {
		return nil, err
	}
	objects, err := manifest.Parse(t.Reconciler, data)
	if err != nil || len(objects) != 1 {
		return nil, fmt.Errorf("%s holds %d objects, where one is due: %w", t.Reconciler, len(objects), err)
	}
	e.specs[hash] = objects[0].Map("spec")
	return e.specs[hash], nil
}

// match says whether the reconciler, at the revision that it reports, has what
// base has at the tier's paths. The revision must not be from before base last
// changed there: content that was replaced and came back is not the same.
func (r *repoState) match(revision string, t *plan.Tier) (health.Match, error) {
	_, hex, ok := strings.Cut(revision, "@sha1:")
	commit, err := git.ParseHash(hex)
	if !ok || err != nil {
		return health.MatchUnknown, nil
	}
	since, err := r.since(commit)
	if git.IsUnknown(err) {
		return health.MatchUnknown, nil
	}
	if err != nil {
		return "", err
	}
	for _, c := range since {
		there, err := r.at(c, t.Path, t.Reconciler)
		if err != nil {
			return "", err
		}
		for at, hash := range t.Entries() {
			if there[at] != hash {
				return health.Differs, nil
			}
		}
	}
	return health.Matches, nil
}

// maxLag is how many commits a reconciler may be behind base for its place in
// base's history to be found.
const maxLag = 10_000

// since lists the states of base from a commit on, along first parents; the
// commit alone where it is no such state.
func (r *repoState) since(commit git.Hash) ([]git.Hash, error) {
	if known, ok := r.lag[commit]; ok {
		return known, nil
	}
	if _, err := r.Mirror.Commit(commit); err != nil {
		return nil, err
	}
	states := []git.Hash{commit}
	for at, n := r.head, 0; at != commit; n++ {
		c, err := r.Mirror.Commit(at)
		if err != nil {
			return nil, err
		}
		if n == maxLag || len(c.Parents) == 0 {
			states = states[:1]
			break
		}
		states = append(states, at)
		at = c.Parents[0]
	}
	r.lag[commit] = states
	return states, nil
}
