package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/git"
)

// Preview is what the control plane as it is now makes of a seed's plan.
type Preview struct {
	Seed string
	// Revision of the control plane.
	Revision string
	// InForce is the plan on the seed's branches; nil when there is none.
	InForce *plan.Plan
	// Next is what a pass would put into force, which may be the same, and is so where
	// the seed cannot be planned anew.
	Next *plan.Plan
	// Changes are the objects that get another content, by tier, with the fields that differ.
	Changes map[layout.Tier][]change.Change
	// Unreadable reports whether there is a plan on the seed's branches that cannot be read.
	Unreadable bool
	// Catalog is the control plane as it was read last.
	Catalog *catalog.Catalog
	// Message says why the seed cannot be planned anew; empty when it can.
	Message string
}

// Previews returns what a pass would make of seeds, of one or, without a name, of all, without
// changing anything. problems are those of the control plane and of repositories as a whole. Where
// a seed cannot be planned, Next is the plan in force, and Message says why.
func (e *Engine) Previews(ctx context.Context, only string) (previews []*Preview, problems manifest.Problems, err error) {
	o, d, err := e.preview(ctx)
	if err != nil {
		return nil, nil, err
	}
	names := map[string]bool{}
	for name, p := range d.Previous {
		names[name] = p.Plan != nil && (e.owns(p.Plan) || name == only)
	}
	for name := range d.Seeds {
		names[name] = true
	}
	comparing := o.newComparison(d)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !names[name] || only != "" && name != only {
			continue
		}
		one := &Preview{Seed: name, Revision: o.tree.Revision, Catalog: e.loaded}
		if p := d.Previous[name]; p != nil && p.Plan != nil {
			if !e.owns(p.Plan) {
				return nil, nil, e.errNotOurs(p.Plan)
			}
			one.InForce = p.Plan
		}
		one.Next, one.Unreadable = one.InForce, d.Previous[name] != nil && one.InForce == nil
		if s := d.Seeds[name]; s != nil {
			if s.Failure != nil {
				one.Message = s.Failure.Message
			}
			if s.Plan != nil {
				one.Next = s.Plan
			}
			one.Changes = comparing.compare(ctx, s, one.InForce, one.Next)
		}
		previews = append(previews, one)
	}
	if len(previews) == 0 && only != "" {
		return nil, nil, manifest.Problem{Reason: v1alpha1.ReasonSeedNotFound, Seed: only, Message: fmt.Sprintf("%s has no seed %q", o.tree.Revision, only)}
	}
	return previews, o.report(d, &outcome{}).Problems, ctx.Err()
}

// maxCompared is how many objects of a seed are compared field by field.
const maxCompared = 500

// comparison compares plans of seeds in a preview.
type comparison struct {
	*observation
	seeds       map[string]*pass.Seed
	comparer    change.Comparer
	definitions *plan.Definitions
}

func (o *observation) newComparison(d *pass.Decision) *comparison {
	return &comparison{observation: o, seeds: d.Seeds, definitions: pass.DefinitionsOf(d.Seeds)}
}

// compare compares the objects that both plans have, with other contents. What cannot be read has
// changed all the same.
func (c *comparison) compare(ctx context.Context, s *pass.Seed, was, is *plan.Plan) map[layout.Tier][]change.Change {
	out := map[layout.Tier][]change.Change{}
	compared := 0
	for _, tier := range plan.Compare(was, is) {
		if tier.Difference != plan.TierChanges || len(tier.Changed) == 0 {
			continue
		}
		t, _ := is.Find(tier.Cluster, tier.Ordinal)
		had, _ := was.Find(tier.Cluster, tier.Ordinal)
		before, after := map[string]change.Object{}, map[string]change.Object{}
		for _, object := range was.Objects(had) {
			if slices.Contains(tier.Changed, object.ID) {
				before[object.ID.String()] = change.Object{ID: object.ID, Hash: object.Hash}
			}
		}
		for _, object := range is.Objects(t) {
			name := object.ID.String()
			one, both := before[name]
			if !both {
				continue
			}
			next := change.Object{ID: object.ID, Hash: object.Hash, Definition: c.define(ctx, is, t, object.ID)}
			if !c.comparer.Knows(one, next) && compared < maxCompared {
				compared++
				one.Content = c.content(ctx, s, had, had.FilePath(object), one.Hash)
				next.Content = c.content(ctx, s, t, t.FilePath(object), next.Hash)
			}
			before[name], after[name] = one, next
		}
		out[is.Name(t)] = c.comparer.Between(before, after)
	}
	return out
}

// define returns the definition of an object of a tier, which is read the first time; zero where no plan has it.
func (c *comparison) define(ctx context.Context, p *plan.Plan, t *plan.Tier, object manifest.ID) layout.Hash {
	d := c.definitions.Of(p, t.Cluster, object)
	if d == nil {
		return layout.Hash{}
	}
	if hash := d.Object.Hash; !c.comparer.Defined(hash) {
		c.comparer.Define(hash, c.content(ctx, c.seeds[d.Seed], d.Tier, d.Tier.FilePath(d.Object), hash))
	}
	return d.Object.Hash
}

// content returns a file of a plan; nil where it cannot be read.
func (o *observation) content(ctx context.Context, s *pass.Seed, t *plan.Tier, path string, hash layout.Hash) []byte {
	r := o.repos[t.Repo]
	if data := s.File(t.Repo, path, hash); data != nil || r == nil || r.openRepo == nil {
		return data
	}
	data, err := r.Mirror.BlobUpTo(ctx, hash, git.MaxBlob)
	if err != nil {
		return nil
	}
	return data
}
