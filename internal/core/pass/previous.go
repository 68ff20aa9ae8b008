package pass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// Previous is the plan of a seed that is on its branches.
type Previous struct {
	// Plan is nil where none can be read.
	Plan *plan.Plan
	// Foreign reports whether the plan is another owner's, or of a seed that another
	// engine is responsible for: it counts for what it has planted, and for nothing else.
	Foreign bool
	// Older are the plans of repositories that do not have Plan yet; nil of one that has none.
	Older map[string]*plan.Plan
	// Commits and plans are those of the plan branches, by repository.
	Commits map[string]layout.Hash
	plans   map[string]*plan.Plan
	// Others are the control planes that have a plan of the seed in other repositories.
	Others map[string]plan.Identity
	// Err says why the seed cannot be decided about.
	Err error
	// Verified reports whether the plan on the branches is one that this control plane makes; see
	// verifyPlans. Where it is not, Plan is what base has, replaced the plan on the branches, and
	// warning says whose that is.
	Verified bool
	replaced *plan.Plan
	spoiled  bool
	warning  *manifest.Problem
	// suspected are the branches whose commits nobody vouches for.
	suspected []*PlanOnBranch

	// tiers are the facts of the plan's tiers, released reports whether all are Released;
	// both unset while something is missing or Err is set.
	tiers    map[layout.Tier]release.TierFacts
	released bool
	// passed are the objects of the plan's moves whose present release is live.
	passed map[dependency.Vertex]bool
}

// Previous returns the plans on their branches, by seed. Where repositories have different ones, as
// when an engine was killed between two pushes, the newest generation counts.
func (f *Facts) Previous() map[string]*Previous {
	all := map[string]*Previous{}
	branches := slices.Clone(f.Plans)
	slices.SortFunc(branches, func(a, b PlanOnBranch) int { return cmp.Or(cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Repo, b.Repo)) })
	for i := range branches {
		b := &branches[i]
		p := all[b.Seed]
		if p == nil {
			p = &Previous{Commits: map[string]layout.Hash{}, plans: map[string]*plan.Plan{}, Others: map[string]plan.Identity{}}
			all[b.Seed] = p
		}
		if b.Plan == nil {
			p.Commits[b.Repo], p.Err = b.Commit, b.Failure.AsError()
			continue
		}
		p.take(b, f.Self)
	}
	for seed, p := range all {
		p.Foreign = !f.ControlPlane.scopes(seed)
		if p.Plan == nil {
			continue
		}
		p.Foreign = p.Foreign || p.Plan.Identity() != f.Self
		if !p.Foreign {
			f.checkRepos(seed, p)
		}
	}
	return all
}

// take adds the plan that a repository has. The newest one of this control plane counts, and
// without one the newest of another: what one control plane has in a repository is never part of
// what another one has. The others are noted, so no plan is written over theirs.
func (p *Previous) take(b *PlanOnBranch, self plan.Identity) {
	of := b.Plan.Identity()
	if p.Plan != nil && p.Plan.Identity() != of {
		if p.Plan.Identity() == self || of != self && p.Plan.Generation >= b.Plan.Generation {
			p.Others[b.Repo] = of
			return
		}
		for had := range p.plans {
			p.Others[had] = p.Plan.Identity()
			delete(p.Commits, had)
		}
		p.Plan, p.plans, p.suspected = nil, map[string]*plan.Plan{}, nil
	}
	p.Commits[b.Repo], p.plans[b.Repo] = b.Commit, b.Plan
	if !b.Vouched {
		p.suspected = append(p.suspected, b)
	}
	if p.Plan == nil || b.Plan.Generation > p.Plan.Generation {
		p.Plan = b.Plan
	}
}

// checkRepos holds a seed while a repository of its plan cannot be used, and
// notes when one does not have the plan yet.
func (f *Facts) checkRepos(seed string, p *Previous) {
	for _, repo := range p.Plan.Repos() {
		r, declared := f.Repos[repo]
		of, taken := p.Others[repo]
		switch broken := f.ControlPlane.Catalog.Inventory.BrokenRepo(repo); {
		case taken:
			p.Err = plan.ErrForeign(seed, repo, of, f.Self)
		case !declared && broken != "":
			p.Err = inRepo(v1alpha1.ReasonRepositoryBroken, seed, repo, "and "+broken, "Correct that document.")
		case !declared:
			p.Err = inRepo(v1alpha1.ReasonUnknownRepository, seed, repo, "which is no longer declared", "Declare it again, and remove the seed first.")
		case r.Failure != nil:
			p.Err = r.Failure
		case p.generation(repo) != p.Plan.Generation:
			if p.Older == nil {
				p.Older = map[string]*plan.Plan{}
			}
			p.Older[repo] = p.plans[repo]
		}
	}
}

// inRepo returns what is wrong with a repository in which a seed is planted.
func inRepo(reason v1alpha1.Reason, seed, repo, why, next string) manifest.Problem {
	p := manifest.OfSeed(reason, seed, fmt.Sprintf("it is planted in GitOps repository %q, %s", repo, why), next)
	p.Repo = repo
	return p
}

// ownerUnknown refuses to act under another name than the plans of this control plane
// have, while a file cannot be read that may give it its name.
func (d *decider) ownerUnknown() error {
	file, uncertain := d.catalog().MayNameOwner()
	if !uncertain {
		return nil
	}
	for _, seed := range slices.Sorted(maps.Keys(d.previous)) {
		p := d.previous[seed]
		all := maps.Clone(p.Others)
		if p.Plan != nil {
			for repo := range p.plans {
				all[repo] = p.Plan.Identity()
			}
		}
		for _, repo := range slices.Sorted(maps.Keys(all)) {
			if of := all[repo]; of.Renamed(d.facts.Self) {
				return plan.ErrOwnerUnknown(file.String(), seed, repo, of, d.facts.Self)
			}
		}
	}
	return nil
}

// generation is that of the plan that a repository has; zero where it has none.
func (p *Previous) generation(repo string) int {
	if p == nil || p.plans[repo] == nil {
		return 0
	}
	return p.plans[repo].Generation
}

// Home returns the repository in which requests about the seed are read: the first one of the plan on
// the branches that has its branch, also where another plan is in force because nobody vouches for that one.
// It is empty where no repository has it.
func (p *Previous) Home() string {
	if p == nil || p.Plan == nil {
		return ""
	}
	onBranches := p.Plan
	if p.replaced != nil {
		onBranches = p.replaced
	}
	for _, repo := range onBranches.Repos() {
		if !p.commit(repo).IsZero() {
			return repo
		}
	}
	return ""
}

// commit returns where the plan's branch is in a repository; empty where there is none.
func (p *Previous) commit(repo string) layout.Hash {
	if p == nil {
		return layout.Hash{}
	}
	return p.Commits[repo]
}
