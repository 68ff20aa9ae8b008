package plan

import "github.com/furrow-dev/furrow/internal/core/layout"

// Claimed returns the entries that a proposal of a tier with a digest brings by this plan: those of
// the tier, those that orphan it, or none of them if it goes. It returns nil if the plan has no such
// entries.
func (p *Plan) Claimed(m layout.Member) []Entry {
	if p == nil || m.Tier.Seed != p.Seed {
		return nil
	}
	t, planned := p.Find(m.Tier.Cluster, m.Tier.Ordinal)
	if !planned {
		return nil
	}
	versions := []Tier{*t, t.gone()}
	if t.Orphan != nil {
		versions = append(versions, t.Orphaning())
	}
	for i := range versions {
		if versions[i].Digest() == m.Digest {
			return versions[i].Entries
		}
	}
	return nil
}
