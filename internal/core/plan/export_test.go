package plan

import "maps"

// EncodeWithin is Encode with a limit of its own.
func (p *Plan) EncodeWithin(limit int) (map[string][]byte, error) { return p.encode(limit) }

// SamePlan is samePlan.
var SamePlan = samePlan

// AllOf is allOf.
var AllOf = allOf

// ComputeApart is Compute with each cluster in a class of its own.
func ComputeApart(in Input) map[string]*Outcome {
	in.Memo = nil
	c := newComputation(in)
	for _, name := range in.Catalog.Inventory.Names() {
		c.connected[name] = true
	}
	for _, p := range in.Previous {
		for i := range p.Plan.Tiers {
			c.connected[p.Plan.Tiers[i].Cluster] = true
		}
	}
	return c.compute()
}

// Clone returns a memo that what is computed with it does not change.
func (m *Memo) Clone() *Memo { return &Memo{kept: maps.Clone(m.kept)} }

// Kept is how many plans are known to stay.
func (m *Memo) Kept() int { return len(m.kept) }
