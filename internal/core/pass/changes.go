package pass

import (
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// maxCompared is how many pairs of contents a decision reads to compare them. Clusters mostly have
// the same contents, so this is far more than the proposals that people read in a day have; of the
// rest a text says that they change, and not how.
const maxCompared = 500

// maxDefinitions is how many CustomResourceDefinitions a decision reads to compare objects; those of
// other kinds are not compared.
const maxDefinitions = 100

// reconcilerName is the name of the reconciler object among the files of a tier.
const reconcilerName = "\x00reconciler"

// changes lists what merging a tier's entries changes on base, and counts the objects that stay as
// they are. Files of others that it deletes are not among them. A first planting needs nothing of
// base; for what changes, the contents are asked for, as few as possible: those of a pair that was
// compared before are not.
func (d *decider) changes(s *Seed, r *Repo, t *plan.Tier, others []string) (changes []change.Change, unchanged int) {
	before, after := d.sides(s, r, t, others)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], after[name]
		before[name], is = d.read(s, t, name, was, is)
		if _, stays := after[name]; stays {
			after[name] = is
		}
	}
	if d.missing {
		return nil, 0
	}
	for name, is := range after {
		if was, had := before[name]; had && was.Hash == is.Hash && name != reconcilerName {
			unchanged++
		}
	}
	if r.Entries[r.Head][t.Dir()] == t.DirHash() {
		unchanged += len(s.Plan.Objects(t))
	}
	return s.Plan.Moved(t, d.memo.changes.Between(before, after)), unchanged
}

// sides returns the objects of a tier as base has them and as its entries do, by the names of their
// files. Where both have the same directory there are none. The reconciler object is one of them
// where it changes: with the first and the last objects it comes and goes by itself.
func (d *decider) sides(s *Seed, r *Repo, t *plan.Tier, others []string) (before, after map[string]change.Object) {
	before, after = map[string]change.Object{}, map[string]change.Object{}
	have := r.Entries[r.Head]
	if had := have[t.ReconcilerFile()]; !had.IsZero() && !t.ReconcilerHash().IsZero() {
		id := t.ReconcilerID()
		before[reconcilerName] = change.Object{ID: id, Hash: had}
		after[reconcilerName] = change.Object{ID: id, Hash: t.ReconcilerHash()}
	}
	if have[t.Dir()] == t.DirHash() {
		return before, after
	}
	if !have[t.Dir()].IsZero() {
		for path, hash := range d.files(t.Repo, r.Head, t.Dir()) {
			if !slices.Contains(others, path) {
				known := d.objectOf(s, hash)
				before[strings.TrimPrefix(path, t.Dir()+"/")] = change.Object{ID: known.ID, Hash: hash, Kept: known.Kept}
			}
		}
	}
	if !t.Gone() {
		for _, o := range s.Plan.Objects(t) {
			after[o.File] = change.Object{ID: o.ID, Hash: o.Hash}
		}
	}
	return before, after
}

// read adds the contents of an object that are needed to compare it, or to know which one it is, and
// names the definition by which it is compared.
func (d *decider) read(s *Seed, t *plan.Tier, name string, was, is change.Object) (change.Object, change.Object) {
	stays := !is.Hash.IsZero()
	if was.Hash == is.Hash || !stays && (was.Kept || was.ID != (manifest.ID{}) && change.Destroys(was.ID.GroupKind()) == "") {
		return was, is
	}
	definition := d.definitionOf(s, t, is.ID)
	if definition != nil {
		is.Definition = definition.Object.Hash
	}
	switch {
	case !d.mayCompare(was, is):
		was.Skipped = true
	case !stays:
		was.Content = d.content(s, t, name, was.Hash)
	case !d.memo.changes.Knows(was, is):
		was.Content, is.Content = d.content(s, t, name, was.Hash), d.content(s, t, name, is.Hash)
		d.define(definition)
	}
	return was, is
}

// mayCompare reports whether a pair of contents is among those that this decision compares. What
// was compared in an earlier pass counts as well: a text does not depend on what is remembered.
func (d *decider) mayCompare(was, is change.Object) bool {
	pair := [2]layout.Hash{was.Hash, is.Hash}
	if len(d.compared) < maxCompared {
		d.compared[pair] = true
	}
	if len(d.defined) < maxDefinitions {
		d.defined[is.Definition] = true
	}
	return d.compared[pair] && (is.Definition.IsZero() || d.defined[is.Definition])
}

// DefinitionsOf returns what finds CustomResourceDefinitions in the plans in force.
func DefinitionsOf(seeds map[string]*Seed) *plan.Definitions {
	plans := make(map[string]*plan.Plan, len(seeds))
	for name, s := range seeds {
		plans[name] = s.Plan
	}
	return plan.NewDefinitions(plans)
}

// definitionOf returns the CustomResourceDefinition of an object that a tier has; nil where no plan has it there, or its
// repository cannot be read.
func (d *decider) definitionOf(s *Seed, t *plan.Tier, object manifest.ID) *plan.Definition {
	if d.definitions == nil {
		d.definitions = DefinitionsOf(d.seeds)
	}
	definition := d.definitions.Of(s.Plan, t.Cluster, object)
	if definition == nil || d.repo(definition.Tier.Repo) == nil {
		return nil
	}
	return definition
}

// define takes in a definition, unless it is known.
func (d *decider) define(definition *plan.Definition) {
	if definition == nil || d.memo.changes.Defined(definition.Object.Hash) {
		return
	}
	if content := d.content(d.seeds[definition.Seed], definition.Tier, definition.Object.File, definition.Object.Hash); content != nil {
		d.memo.changes.Define(definition.Object.Hash, content)
	}
}

// File returns a file of a plan that is not on its branch yet; nil where the repository has it.
func (s *Seed) File(repo, path string, hash layout.Hash) []byte {
	if f := s.files[repo].Find(path); f.Hash == hash {
		return f.Data
	}
	return nil
}

// content returns a file of a tier: that of the plan where it is not pushed yet, else a blob.
func (d *decider) content(s *Seed, t *plan.Tier, name string, hash layout.Hash) []byte {
	at := t.Dir() + "/" + name
	if name == reconcilerName {
		at = t.ReconcilerFile()
	}
	if data := s.File(t.Repo, at, hash); data != nil {
		return data
	}
	return d.blob(t.Repo, hash)
}

// objectOf returns which object has a content, as the last plans of the seed have it; zero where they
// do not.
func (d *decider) objectOf(s *Seed, hash layout.Hash) plan.Object {
	objects, ok := d.known[s]
	if !ok {
		objects = map[layout.Hash]plan.Object{}
		d.known[s] = objects
		noteObjects(objects, s.Plan)
		if s.previous != nil {
			noteObjects(objects, s.previous.Plan)
			for _, older := range s.previous.Older {
				noteObjects(objects, older)
			}
		}
	}
	return objects[hash]
}

func noteObjects(objects map[layout.Hash]plan.Object, p *plan.Plan) {
	if p == nil {
		return
	}
	for _, c := range p.Contents {
		for _, o := range c.Objects {
			objects[o.Hash] = o
		}
	}
	for i := range p.Tiers {
		if leaving := p.Tiers[i].Leaving; leaving != nil {
			for _, o := range leaving.Objects {
				objects[o.Hash] = o
			}
		}
	}
}
