package plan

import (
	"cmp"
	"iter"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Previous is the plan that is on a seed's branches, and what became of it. Its methods may be
// called of nil: a seed without a plan.
type Previous struct {
	Plan *Plan
	// Others are plans of the same seed that other control planes have in repositories in which
	// Plan is not.
	Others map[string]Identity
	// Older are the plans of repositories that do not have Plan yet, so its files are
	// needed again; nil of one that has none.
	Older map[string]*Plan
	// Released reports whether every tier is Released at this plan's entries.
	Released bool
	// Passed are the objects of the plan's moves whose present release is live: the reconcilers have
	// applied what the plan has, healthy or not.
	Passed map[dependency.Vertex]bool
	// Blobs are contents of the plan's files that a computation needed; see Outcome.Needs.
	Blobs map[layout.Hash][]byte
	// Base is what the base branches have at the BasePaths, by repository and path;
	// what is not there is absent or empty.
	Base map[string]map[string]layout.Hash
	// Suspect is what is known to verify a plan that nobody vouches for; for Verify alone.
	Suspect *Suspect
	// Replaced is the plan on the branches where it could not be verified; Plan is then FromBase. Spoiled
	// reports whether it is of no use even if it is equal to the next one.
	Replaced *Plan
	Spoiled  bool
	// Warning says so to people; nil where it does not claim to be made of what there is.
	Warning *Warning
}

// replaces reports whether a plan that could not be verified is, to the last hash, the one that was
// made instead, and has nothing else.
func (p *Previous) replaces(next *Plan) bool {
	if p == nil || p.Replaced == nil || len(p.Older) > 0 || p.Spoiled {
		return false
	}
	last := p.Replaced
	more := slices.ContainsFunc(last.Tiers, func(t Tier) bool { return t.Gone() || t.Leaving != nil || t.Orphan != nil })
	return !more && len(last.Moves) == 0 && 0 < last.Generation && last.Generation <= maxGeneration && digestOf(binding(last)) == digestOf(binding(next))
}

// BasePaths lists, by repository, the paths whose content on base the next plan depends on: the
// files of objects that leave, and the reconciler files of tiers that must go.
func (p *Previous) BasePaths() map[string][]string {
	paths := map[string][]string{}
	for _, t := range p.tiers() {
		if t.Leaving != nil {
			for _, o := range t.Leaving.Objects {
				paths[t.Repo] = append(paths[t.Repo], t.FilePath(o))
			}
		}
		if file := t.ReconcilerFile(); t.Gone() && file != "" {
			paths[t.Repo] = append(paths[t.Repo], file)
		}
	}
	return paths
}

// tiers returns those that repositories have, each with its plan. A plan that writes to two
// repositories is pushed to one after the other, so one of them may have an older plan: what the
// newer one has of that repository was never proposed there, and its files may never have come
// there.
func (p *Previous) tiers() iter.Seq2[*Plan, *Tier] {
	return func(yield func(*Plan, *Tier) bool) {
		for i := range p.Plan.Tiers {
			t := &p.Plan.Tiers[i]
			if _, older := p.Older[t.Repo]; !older && !yield(p.Plan, t) {
				return
			}
		}
		for _, repo := range sortedKeys(p.Older) {
			older := p.Older[repo]
			for i := 0; older != nil && i < len(older.Tiers); i++ {
				if t := &older.Tiers[i]; t.Repo == repo && !yield(older, t) {
					return
				}
			}
		}
	}
}

// AsPushed returns the plan as its repositories have it, with the tiers and moves of older plans where these are on
// the branches. Nothing waits for a tier that came to no branch.
func (p *Plan) AsPushed(older map[string]*Plan) *Plan {
	if len(older) == 0 {
		return p
	}
	out := *p
	out.Contents, out.Tiers, out.Moves = nil, nil, nil
	a := &assembly{plan: &out, ids: map[string]string{}}
	clusters := map[*Plan]map[string]bool{}
	for of, t := range (&Previous{Plan: p, Older: older}).tiers() {
		pushed := *t
		if !t.Gone() {
			pushed.Contents = a.contentsID(t.DirHash(), of.Objects(t))
		}
		out.Tiers = append(out.Tiers, pushed)
		if clusters[of] == nil {
			clusters[of] = map[string]bool{}
		}
		clusters[of][t.Cluster] = true
	}
	slices.SortStableFunc(out.Tiers, compareTiers)
	out.Tiers = slices.CompactFunc(out.Tiers, func(x, y Tier) bool { return compareTiers(x, y) == 0 }) // the newer one stays
	for i := range out.Tiers {
		t := &out.Tiers[i]
		t.Prerequisites = slices.DeleteFunc(slices.Clone(t.Prerequisites), func(r Prerequisite) bool {
			_, there := out.Find(r.Cluster, r.Ordinal)
			return r.Seed == "" && !there
		})
	}
	for of, on := range clusters {
		for _, m := range of.Moves {
			m.Clusters = slices.DeleteFunc(slices.Clone(m.Clusters), func(cluster string) bool { return !on[cluster] })
			if len(m.Clusters) > 0 {
				out.Moves = append(out.Moves, m)
			}
		}
	}
	slices.SortFunc(out.Moves, compareMoves)
	return &out
}

// foreign reports whether the plan is another control plane's.
func (p *Previous) foreign(this Identity) bool {
	return p != nil && p.Plan != nil && p.Plan.Identity() != this
}

// taken refuses a plan for a repository in which another control plane has one of the seed.
func (p *Previous) taken(next *Plan, this Identity) error {
	if p == nil {
		return nil
	}
	for _, repo := range next.Repos() {
		if of, ok := p.Others[repo]; ok {
			return ErrForeign(next.Seed, repo, of, this)
		}
	}
	return nil
}

// drops reports whether the plan takes away what left the seed.
func (p *Previous) drops() bool {
	return p != nil && p.Plan != nil && slices.ContainsFunc(p.Plan.Tiers, func(t Tier) bool { return t.Leaving != nil })
}

// creates reports whether an object of the plan creates a cluster.
func (p *Previous) creates(cluster string) bool {
	return p != nil && p.Plan != nil && slices.ContainsFunc(p.Plan.Tiers, func(t Tier) bool {
		return slices.ContainsFunc(t.Creates, func(c Creates) bool { return c.Cluster == cluster })
	})
}

// kept returns the dependencies of the previous plan, but for what is only shown.
func (p *Previous) kept() []dependency.KeptEdge {
	if p == nil || p.Plan == nil {
		return nil
	}
	var edges []dependency.KeptEdge
	for _, d := range p.Plan.Dependencies {
		if d.Kind == dependency.Soft {
			continue
		}
		for _, c := range d.From.Clusters {
			edges = append(edges, keptEdge(p.Plan.Seed, d, c))
		}
	}
	return edges
}

func keptEdge(seed string, d Dependency, cluster string) dependency.KeptEdge {
	to := dependency.Vertex{Seed: cmp.Or(d.To.Seed, seed), Object: d.To.Object, Cluster: cmp.Or(d.To.Cluster, cluster)}
	return dependency.KeptEdge{From: dependency.Vertex{Seed: seed, Object: d.From.Object, Cluster: cluster}, To: to, Reason: d.reason()}
}

// Remove returns the plan by which a seed that is gone leaves: no contents, the last tiers and
// prerequisites kept, each tier after those that waited for it. last stays as it is.
func Remove(last *Plan, revision string) *Plan {
	out := *last
	out.Version, out.Removal, out.Revision, out.Generation = Current, true, revision, last.Generation+1
	out.Rules, out.Inputs = rulesVersion, digestOf([]string{rulesVersion, "removal", last.Seed})
	out.Contents, out.Variants, out.Overrides, out.Plugins, out.Placements, out.Warnings, out.DisabledRules, out.Moves, out.Awaits = nil, nil, nil, nil, nil, nil, nil, nil, nil
	waiting := last.Waiting()
	out.Tiers = make([]Tier, len(last.Tiers))
	for i := range last.Tiers {
		t := last.Tiers[i]
		var objects []Object
		if t.Leaving != nil {
			objects = slices.Clone(t.Leaving.Objects)
		}
		leaving := &Leaving{Objects: append(objects, last.Objects(&t)...), After: waiting[last.Name(&t)]}
		out.Tiers[i] = t.gone()
		out.Tiers[i].Leaving = leaving
	}
	return &out
}

// fileNames names the files of a tier's objects, given their ids.
func fileNames(ids []manifest.ID) map[manifest.ID]string {
	objects := make([]manifest.Object, len(ids))
	for i, id := range ids {
		objects[i].ID = id
	}
	return manifest.FileNames(objects)
}
