package plan

import "slices"

// Orphan is what lands of a tier before it goes from a cluster that was abandoned
// while its hub still answers: with its own reconciler object the hub would wait
// for that cluster, to delete there what the tier has.
type Orphan struct {
	// Entries are the tier's last ones, but that its reconciler object leaves on the
	// cluster what it applied.
	Entries []Entry `yaml:"entries"`
	// Rendered is the object's annotation furrow.dev/rendered.
	Rendered string `yaml:"rendered"`
}

// Equal reports whether both are the same; either may be nil.
func (o *Orphan) Equal(other *Orphan) bool {
	if o == nil || other == nil {
		return o == other
	}
	return o.Rendered == other.Rendered && slices.Equal(o.Entries, other.Entries)
}

// Orphans reports whether the tier has the entries that come before it goes.
func (t *Tier) Orphans() bool { return t.Orphan != nil && !t.Gone() }

// Orphaning returns a tier that must go, with the entries that come before its removal.
func (t *Tier) Orphaning() Tier {
	out := *t
	out.Entries, out.Object.Rendered = t.Orphan.Entries, t.Orphan.Rendered
	return out
}

// WithTiers returns the plan with other tiers.
func (p *Plan) WithTiers(tiers []Tier) *Plan {
	out := *p
	out.Tiers = tiers
	return &out
}

// Files returns the files of the plan's tree, by repository and path, with their hashes and without
// their content. Tiers that are gone have none.
func (p *Plan) Files() map[string]Files {
	files := map[string]Files{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if files[t.Repo] == nil {
			files[t.Repo] = Files{}
		}
		if t.Gone() {
			continue
		}
		for _, e := range t.Entries {
			if e.Mode == ModeFile {
				files[t.Repo][e.Path] = File{Hash: e.Hash}
			}
		}
		for _, o := range p.Objects(t) {
			files[t.Repo][t.FilePath(o)] = File{Hash: o.Hash}
		}
	}
	return files
}
