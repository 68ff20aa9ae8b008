package plan

import "github.com/furrow-dev/furrow/internal/core/layout"

// Orphan is what lands of a tier before it goes from a cluster that was abandoned
// while its hub still answers: with its own reconciler object the hub would wait
// for that cluster, to delete there what the tier has.
type Orphan struct {
	// Tree is that of the tier's last contents, and Blob its last reconciler object,
	// but that it leaves on the cluster what it applied.
	Tree layout.Hash `yaml:"tree"`
	Blob layout.Hash `yaml:"blob"`
	// Rendered is the object's annotation furrow.dev/rendered.
	Rendered string `yaml:"rendered"`
}

// Orphans says that the tier has the entries that come before it goes.
func (t *Tier) Orphans() bool { return t.Orphan != nil && !t.Gone() }

// Orphaning is a tier that is to be gone with the entries that come before that.
func (t *Tier) Orphaning() Tier {
	out := *t
	out.Tree, out.ReconcilerBlob, out.Object.Rendered = t.Orphan.Tree, t.Orphan.Blob, t.Orphan.Rendered
	return out
}

// WithTiers is the plan with other tiers.
func (p *Plan) WithTiers(tiers []Tier) *Plan {
	out := *p
	out.Tiers = tiers
	return &out
}

// Files are those of the plan's tree, by repository and path, as they lie in it.
func (p *Plan) Files(hash func(repo, path string) layout.Hash) map[string]map[string]File {
	files := map[string]map[string]File{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if files[t.Repo] == nil {
			files[t.Repo] = map[string]File{}
		}
		if t.Gone() {
			continue
		}
		files[t.Repo][t.Reconciler] = File{Hash: hash(t.Repo, t.Reconciler)}
		for _, o := range p.Objects(t) {
			files[t.Repo][t.FilePath(o)] = File{Hash: hash(t.Repo, t.FilePath(o))}
		}
	}
	return files
}
