package plan

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Previous is the plan that is on a seed's branch, and what became of it.
type Previous struct {
	Plan *Plan
	// Others are plans of the same seed that other control planes have in repositories in which
	// Plan is not.
	Others map[string]Identity
	// Partial says that not every repository has the plan, so that its files are
	// needed again.
	Partial bool
	// Released says that every tier is Released at this plan's entries.
	Released bool
	// File is the Git hash of a file of the plan's tree in a repository, and Base
	// that of a file on the repository's base branch; empty when it is not there.
	File, Base func(repo, path string) layout.Hash
}

// foreign says that the plan is another control plane's.
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

// vertices are the objects that are planted, or may be, by the previous plan:
// those in its tiers, and those leaving that the base branch still has.
func (p *Previous) vertices() map[dependency.Vertex]planted {
	out := map[dependency.Vertex]planted{}
	if p == nil || p.Plan == nil {
		return out
	}
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		if t.Leaving != nil {
			for _, o := range t.Leaving.Objects {
				if hash := p.Base(t.Repo, t.FilePath(o)); hash != "" {
					out[dependency.Vertex{Seed: p.Plan.Seed, Object: o.ID, Cluster: t.Cluster}] = planted{t, o, hash, true}
				}
			}
		}
		for _, o := range p.Plan.Objects(t) {
			v := dependency.Vertex{Seed: p.Plan.Seed, Object: o.ID, Cluster: t.Cluster}
			out[v] = planted{t, o, p.File(t.Repo, t.FilePath(o)), false}
		}
	}
	return out
}

// drops says that the plan takes away what left the seed.
func (p *Previous) drops() bool {
	return p != nil && p.Plan != nil && slices.ContainsFunc(p.Plan.Tiers, func(t Tier) bool { return t.Leaving != nil })
}

// creates says that an object of the plan brings a cluster into being.
func (p *Previous) creates(cluster string) bool {
	return p != nil && p.Plan != nil && slices.ContainsFunc(p.Plan.Tiers, func(t Tier) bool {
		return slices.ContainsFunc(t.Creates, func(c Creates) bool { return c.Cluster == cluster })
	})
}

// planted is an object where an earlier plan put it.
type planted struct {
	tier   *Tier
	object Object
	hash   layout.Hash
	// going says that the plan has the object leave.
	going bool
}

// kept are the hard dependencies of the previous plan.
func (p *Previous) kept() []dependency.KeptEdge {
	if p == nil || p.Plan == nil {
		return nil
	}
	var edges []dependency.KeptEdge
	for _, d := range p.Plan.Dependencies {
		if d.Kind != dependency.Hard {
			continue
		}
		for _, c := range d.From.Clusters {
			edges = append(edges, keptEdge(p.Plan.Seed, d, c))
		}
	}
	return edges
}

func keptEdge(seed string, d Dependency, cluster string) dependency.KeptEdge {
	to := dependency.Vertex{Seed: seed, Object: d.To.Object, Cluster: cluster}
	if d.To.Seed != "" {
		to.Seed = d.To.Seed
	}
	if d.To.Cluster != "" {
		to.Cluster = d.To.Cluster
	}
	return dependency.KeptEdge{From: dependency.Vertex{Seed: seed, Object: d.From.Object, Cluster: cluster}, To: to, Rule: d.Rule, Why: d.Why}
}

// Remove is the plan by which a seed that is gone leaves: no contents, the last
// tiers and prerequisites kept, each tier after those that waited for it.
func Remove(last *Plan, revision string) *Plan {
	out := *last
	out.Removal, out.Revision, out.Generation = true, revision, last.Generation+1
	out.Inputs = digestOf([]string{rulesVersion, "removal", last.Seed})
	out.Contents, out.Placements, out.Warnings = nil, nil, nil
	out.Tiers = make([]Tier, len(last.Tiers))
	for i := range last.Tiers {
		t := last.Tiers[i]
		var objects []Object
		if t.Leaving != nil {
			objects = slices.Clone(t.Leaving.Objects)
		}
		t.Leaving = &Leaving{Objects: append(objects, last.Objects(&t)...), After: waiting(last, &t)}
		t.Tree, t.ReconcilerBlob, t.Contents, t.Object.Rendered, t.Orphan = "", "", "", "", nil
		out.Tiers[i] = t
	}
	return &out
}

// waiting are the tiers of the plan that have t as prerequisite.
func waiting(p *Plan, t *Tier) []Reference {
	var out []Reference
	for _, other := range p.Tiers {
		for _, pre := range other.Prerequisites {
			if pre.Seed == "" && pre.Cluster == t.Cluster && pre.Ordinal == t.Ordinal {
				out = append(out, Reference{other.Cluster, other.Ordinal, pre.Why})
			}
		}
	}
	return out
}

// fileNames names the files of a tier's objects, of which only ids are needed.
func fileNames(ids []manifest.ID) map[manifest.ID]string {
	objects := make([]manifest.Object, len(ids))
	for i, id := range ids {
		objects[i].ID = id
	}
	return manifest.FileNames(objects)
}
