package plan

import (
	"cmp"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Difference says what becomes of a tier when one plan replaces another.
type Difference string

const (
	// TierNew means that nothing of the tier was there.
	TierNew Difference = "New"
	// TierChanges means that other entries come.
	TierChanges Difference = "Changes"
	// TierLeaves means that nothing of the tier stays.
	TierLeaves Difference = "Leaves"
	// TierStays means that nothing changes.
	TierStays Difference = "Stays"
)

// Change is what becomes of one tier.
type Change struct {
	Cluster    string
	Ordinal    int
	Difference Difference
	// Added and Removed are objects that come and that leave, Changed those that get another
	// content.
	Added, Removed, Changed []manifest.ID
	// Reconciler reports whether the reconciler object changes, Contents whether objects do.
	Reconciler, Contents bool
}

// Compare lists what becomes of every tier of two plans of a seed, in the order in
// which tiers are released, those that leave last and in reverse order. An object
// that stays only until all else is released counts as one that leaves. Either plan
// may be nil: no plan has no tiers.
func Compare(was, is *Plan) []Change {
	var out, leaving []Change
	for _, t := range is.inOrder() {
		had, _ := was.find(t)
		c := Change{Cluster: t.Cluster, Ordinal: t.Ordinal}
		before, after := was.staying(had), is.staying(t)
		c.Added, c.Removed = missing(after, before), missing(before, after)
		if had != nil && had.DirHash() != t.DirHash() {
			c.Changed = changed(was.Objects(had), is.Objects(t))
		}
		c.Contents = had == nil || had.DirHash() != t.DirHash() || len(c.Added)+len(c.Removed) > 0
		c.Reconciler = had == nil || had.ReconcilerHash() != t.ReconcilerHash()
		switch {
		case len(before) == 0 && len(after) == 0:
			continue
		case len(before) == 0:
			c.Difference = TierNew
		case len(after) == 0:
			c.Difference = TierLeaves
			leaving = append(leaving, c)
			continue
		case c.Contents || c.Reconciler:
			c.Difference = TierChanges
		default:
			c.Difference = TierStays
		}
		out = append(out, c)
	}
	for _, t := range was.inOrder() {
		if _, stays := is.find(t); !stays && len(was.staying(t)) > 0 {
			leaving = append(leaving, Change{Cluster: t.Cluster, Ordinal: t.Ordinal, Difference: TierLeaves, Removed: was.staying(t), Reconciler: true, Contents: true})
		}
	}
	slices.Reverse(leaving)
	return append(out, leaving...)
}

func (p *Plan) inOrder() []*Tier {
	if p == nil {
		return nil
	}
	return p.InOrder()
}

// find returns the same tier in this plan.
func (p *Plan) find(t *Tier) (*Tier, bool) {
	if p == nil {
		return nil, false
	}
	return p.Find(t.Cluster, t.Ordinal)
}

// staying returns the objects of a tier that are to stay; none of nil.
func (p *Plan) staying(t *Tier) []manifest.ID {
	if t == nil {
		return nil
	}
	var out []manifest.ID
	for _, o := range p.Objects(t) {
		if !o.Leaving {
			out = append(out, o.ID)
		}
	}
	slices.SortFunc(out, func(a, b manifest.ID) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// changed returns the objects that stay and have another content than before.
func changed(before, after []Object) []manifest.ID {
	had := make(map[manifest.ID]layout.Hash, len(before))
	for _, o := range before {
		had[o.ID] = o.Hash
	}
	var out []manifest.ID
	for _, o := range after {
		if hash, was := had[o.ID]; was && hash != o.Hash && !o.Leaving {
			out = append(out, o.ID)
		}
	}
	slices.SortFunc(out, func(a, b manifest.ID) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// missing returns those of ids that others lack.
func missing(ids, others []manifest.ID) []manifest.ID {
	has := make(map[manifest.ID]bool, len(others))
	for _, id := range others {
		has[id] = true
	}
	var out []manifest.ID
	for _, id := range ids {
		if !has[id] {
			out = append(out, id)
		}
	}
	return out
}
