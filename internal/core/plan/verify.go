package plan

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// A plan is read from a branch, and whoever may push to that branch may have written it. So a plan
// that nobody vouches for is made again, with itself as the plan before. It is confirmed if the two
// are equal, reconciler objects included, and if base bears out what only the plan itself says:
//
//	contents that were taken over    base has them at the same path
//	the tiers that objects have      base does not have them in others
//	what has left                    base no longer has it, or the seed does not want it
//	moves                            base has the objects, and the moves are necessary or have begun
//
// A plan that is not confirmed is not used. The next one is made from FromBase instead: people have
// merged what base has.

// maxGeneration bounds the counter of a plan: the next plan adds one to it.
const maxGeneration = 1 << 31

// Base describes a seed's files on a base branch.
type Base struct {
	// Same are the directories, one for each cluster, that hold the tiers of the plan and nothing else.
	Same map[string]bool
	// Files are the files below all other such directories, by path.
	Files map[string]layout.Hash
	// Reconcilers are the files of reconciler objects that the plan names.
	Reconcilers map[string]layout.Hash
	// Moving are the annotated contents of objects that move, with what they were before.
	Moving map[layout.Hash]layout.Hash
	// Orphans are the reconciler files whose tiers orphan what base has.
	Orphans map[string]bool
}

// Suspect is a plan that nobody vouches for, and what is known to verify it.
type Suspect struct {
	// Base has what each repository has of the seed.
	Base map[string]Base
	// Confirmed reports whether the plan is one that this control plane makes, and Claims whether it
	// claims to be made of what there is now, by the rules of now.
	Confirmed, Claims bool
	// Unaccounted are the files on base that the plan does not name: if they are of an earlier plan, it
	// leaves out what is planted.
	Unaccounted []string
}

// Verify makes the suspect plans again, and notes in each Suspect what comes of that. The others are
// only read.
func Verify(in Input) {
	c := newComputation(in)
	c.verifying = true
	c.collect()
	for _, s := range c.alive() {
		if p := s.previous; p != nil && p.Plan != nil && p.Suspect != nil {
			p.Suspect.Claims = p.Plan.Rules == rulesVersion && p.Plan.Revision == in.Revision
		}
	}
	c.place()
	c.checkKinds()
	c.share()
	c.findHeirs()
	c.findLeaving()
	c.order()
	for _, s := range c.alive() {
		if s.previous == nil || s.previous.Plan == nil || s.previous.Suspect == nil {
			continue
		}
		by := c.keptBy(s)
		o, err := c.assemble(s)
		if err == nil && s.previous.Suspect.Confirmed {
			c.in.Memo.note(s.seed.Name, by, o)
		}
	}
}

// judgeSuspect compares a suspect plan with the same plan made again.
func (a *assembly) judgeSuspect() error {
	if err := a.render(); err != nil {
		return err
	}
	p, suspect := a.previous.Plan, a.previous.Suspect
	suspect.Confirmed = len(a.previous.Older) == 0 && 0 < p.Generation && p.Generation <= maxGeneration &&
		digestOf(binding(p)) == digestOf(binding(a.plan)) && a.leavingConfirmed() && a.copiesConfirmed() && a.positionsConfirmed() && a.movesConfirmed()
	suspect.Claims = suspect.Claims || p.Rules == rulesVersion && p.Inputs == a.plan.Inputs
	return nil
}

// binding returns a copy of a plan without texts, counters, and what leavingConfirmed compares. What is
// left decides what lands, waits and goes.
func binding(p *Plan) *Plan {
	b := essence(p)
	b.Dependencies = slices.DeleteFunc(slices.Clone(p.Dependencies), func(d Dependency) bool { return d.Kind == dependency.Soft })
	for i := range b.Dependencies {
		b.Dependencies[i].Field, b.Dependencies[i].Why = "", ""
	}
	for i := range b.Tiers {
		t := &b.Tiers[i]
		t.Orphan = nil
		t.Prerequisites = slices.Clone(t.Prerequisites)
		for j := range t.Prerequisites {
			t.Prerequisites[j].Why = ""
		}
	}
	return b
}

// leavingConfirmed reports whether the plan takes away what it would take away now. It ignores what has
// gone meanwhile. Tiers that the plan removed must not be on base.
func (a *assembly) leavingConfirmed() bool {
	p := a.previous.Plan
	for i := range p.Tiers {
		t := &p.Tiers[i]
		base := a.previous.Suspect.Base[t.Repo]
		now, known := a.plan.Find(t.Cluster, t.Ordinal)
		if t.Orphan != nil && !base.Orphans[t.ReconcilerFile()] || !known && base.has(t) || known && now.Gone() != t.Gone() {
			return false
		}
		var going, goes []manifest.ID
		if t.Leaving != nil {
			for _, o := range t.Leaving.Objects {
				if !base.Files[t.FilePath(o)].IsZero() {
					going = append(going, o.ID)
				}
			}
		}
		if known && now.Leaving != nil {
			for _, o := range now.Leaving.Objects {
				goes = append(goes, o.ID)
			}
			for _, r := range now.Leaving.After {
				if !slices.ContainsFunc(t.Leaving.after(), func(had Reference) bool { return had.Cluster == r.Cluster && had.Ordinal == r.Ordinal }) {
					return false
				}
			}
		}
		slices.SortFunc(going, manifest.ID.Compare)
		slices.SortFunc(goes, manifest.ID.Compare)
		if !slices.Equal(going, goes) {
			return false
		}
	}
	return true
}

// after returns the tiers that must lose their objects first; none for nil.
func (l *Leaving) after() []Reference {
	if l == nil {
		return nil
	}
	return l.After
}

// has reports whether base has anything at the paths of a tier.
func (b Base) has(t *Tier) bool {
	dir := t.Dir() + "/"
	for at := range b.Files {
		if strings.HasPrefix(at, dir) {
			return true
		}
	}
	return !b.Reconcilers[t.ReconcilerFile()].IsZero()
}

// copiesConfirmed reports whether base has everything that was taken over from the plan instead of made
// again. There, an object that moves may lack the annotation.
func (a *assembly) copiesConfirmed() bool {
	for repo, files := range a.files {
		base := a.previous.Suspect.Base[repo]
		had := map[layout.Hash]bool{}
		for _, hash := range base.Files {
			had[hash] = true
		}
		for at, f := range files {
			switch {
			case !f.Dir && f.Data == nil && base.Reconcilers[at] != f.Hash:
				return false
			case !f.Dir || base.Same[path.Dir(at)]:
				continue
			}
			for name, one := range f.Files {
				before, moves := base.Moving[one.Hash]
				if one.Data == nil && base.Files[path.Join(at, name)] != one.Hash && (!moves || !had[before] && !had[one.Hash]) {
					return false
				}
			}
		}
	}
	return true
}

// positionsConfirmed reports whether no object of the seed lies on base in another tier than in the plan.
func (a *assembly) positionsConfirmed() bool {
	p := a.previous.Plan
	accounted, own := map[string]bool{}, map[string]map[string]bool{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if own[t.Cluster] == nil {
			own[t.Cluster] = map[string]bool{}
		}
		for _, o := range p.Objects(t) {
			accounted[t.FilePath(o)], own[t.Cluster][o.File] = true, true
		}
		if t.Leaving != nil {
			for _, o := range t.Leaving.Objects {
				accounted[t.FilePath(o)] = true
			}
		}
		for _, m := range p.MovesOn(t) {
			if m.From == t.Ordinal {
				accounted[path.Join(t.Dir(), m.File)] = true
			}
		}
	}
	for _, base := range a.previous.Suspect.Base {
		for at := range base.Files {
			if accounted[at] {
				continue
			}
			if own[clusterOf(at)][path.Base(at)] {
				return false
			}
			a.previous.Suspect.Unaccounted = append(a.previous.Suspect.Unaccounted, at)
		}
	}
	return true
}

// clusterOf returns the cluster of an object's file: planted/<cluster>/<seed>/tier-00/<file>.
func clusterOf(file string) string { return path.Base(path.Dir(path.Dir(path.Dir(file)))) }

// movesConfirmed reports whether base has the objects of all moves as they were before, or annotated.
// The second release, with which an object leaves its tier, is confirmed if the move is necessary, or
// if base has the annotation: people have merged the first release then, and nothing is deleted on the
// way. Such a move is finished even if the control plane does not ask for it any more.
func (a *assembly) movesConfirmed() bool {
	for v, m := range a.before {
		base := a.previous.Suspect.Base[a.repoOf(v)]
		known := slices.Contains(slices.Collect(maps.Values(base.Moving)), m.Content)
		if m.holds() && !known {
			return false
		}
		if to, given := a.given[v]; m.Stage == StageMove && m.Goes() && (!given || to != m.To) && !base.protects(v.Cluster, m.Content) {
			return false
		}
	}
	return true
}

// protects reports whether base has an object of a cluster with the annotation of a move; content is
// what it was before.
func (b Base) protects(cluster string, content layout.Hash) bool {
	for dir := range b.Same {
		if path.Base(path.Dir(dir)) == cluster {
			return true // it has all that the plan has
		}
	}
	for at, hash := range b.Files {
		if before, moves := b.Moving[hash]; moves && before == content && clusterOf(at) == cluster {
			return true
		}
	}
	return false
}

// repoOf returns the repository of a cluster.
func (a *assembly) repoOf(v dependency.Vertex) string { return a.inventory.Clusters[v.Cluster].Repo }

// Covers reports whether a removal takes at least what another one takes, and in no other order, and
// has no pace of its own.
func (p *Plan) Covers(other *Plan) bool {
	if !p.Removal || p.Rollout != nil || p.GroupBy != "" || p.Generation <= 0 || p.Generation > maxGeneration {
		return false
	}
	for i := range other.Tiers {
		t := &other.Tiers[i]
		had, there := p.Find(t.Cluster, t.Ordinal)
		if !there || !had.Gone() || had.Repo != t.Repo || !slices.Equal(had.Paths(), t.Paths()) || had.Object.Cluster != t.Object.Cluster || had.Object.Namespace != t.Object.Namespace || had.Object.Name != t.Object.Name || had.Leaving == nil {
			return false
		}
		for _, r := range t.Leaving.After {
			if !slices.ContainsFunc(had.Leaving.After, func(one Reference) bool { return one.Cluster == r.Cluster && one.Ordinal == r.Ordinal }) {
				return false
			}
		}
		for _, o := range t.Leaving.Objects {
			if !slices.ContainsFunc(had.Leaving.Objects, func(one Object) bool { return one.ID == o.ID }) {
				return false
			}
		}
	}
	return true
}

// Planted is a file on base that holds one object of a seed.
type Planted struct {
	ID   manifest.ID
	Hash layout.Hash
	// Before is the content without the annotation of a move.
	Before layout.Hash
}

// PlantedTier is one tier as it is on base.
type PlantedTier struct {
	Tier
	// Files are those of objects, by name.
	Files map[string]Planted
}

// FromBase returns a plan that describes a seed as it is on base. It keeps only the counter and the
// warnings of last, the plan that cannot be used. Nobody knows in which order the objects were planted: the
// last tier of a cluster leaves first, and a cluster goes after what is on it. stays are the objects that
// the seed still has.
func FromBase(last *Plan, of Identity, tiers []PlantedTier, stays map[manifest.ID]bool) *Plan {
	out := &Plan{APIVersion: last.APIVersion, Kind: last.Kind, Version: Current, Rules: rulesVersion, Seed: last.Seed, Owner: of.Owner, Origin: of.Origin, From: last.From, Warnings: last.Warnings, Generation: min(max(0, last.Generation), maxGeneration)}
	a := &assembly{plan: out, ids: map[string]string{}}
	slices.SortFunc(tiers, func(x, y PlantedTier) int { return compareTiers(x.Tier, y.Tier) })
	creators := map[string]Reference{}
	for _, t := range tiers {
		var objects []Object
		hashes := map[string]layout.Hash{}
		for _, name := range sortedKeys(t.Files) {
			f := t.Files[name]
			objects, hashes[name] = append(objects, Object{ID: f.ID, File: name, Hash: f.Hash}), f.Hash
			if catalog.IsCreator(f.ID.GroupKind()) {
				creators[f.ID.Name] = Reference{Cluster: t.Cluster, Ordinal: t.Ordinal}
			}
		}
		t.setHash(ModeTree, githash.Tree(hashes))
		t.Level, t.Contents = t.Ordinal, ""
		if len(objects) > 0 {
			t.Contents = a.contentsID(t.DirHash(), objects)
		}
		out.Tiers = append(out.Tiers, t.Tier)
	}
	for i := range out.Tiers {
		t := &out.Tiers[i]
		t.Prerequisites = nil
		const why = "the order of its plan is not known"
		for _, before := range out.On(t.Cluster) {
			if before.Ordinal < t.Ordinal {
				t.Prerequisites = append(t.Prerequisites, Prerequisite{Cluster: before.Cluster, Ordinal: before.Ordinal, Why: why})
			}
		}
		if by, created := creators[t.Cluster]; created && by.Cluster != t.Cluster {
			t.Prerequisites = append(t.Prerequisites, Prerequisite{Cluster: by.Cluster, Ordinal: by.Ordinal, Why: why})
		}
	}
	out.Dependencies = ordinalOrder(out, stays)
	out.Moves = movesOnBase(last, tiers)
	return out
}

// movesOnBase returns the unfinished moves: an object lies on base in two tiers of a cluster. The tier that
// it leaves must not delete it. That is the first one, unless the last plan names the other.
func movesOnBase(last *Plan, tiers []PlantedTier) []Move {
	type key struct {
		cluster string
		object  manifest.ID
	}
	var out []Move
	first := map[key]int{}
	for i := range tiers {
		t := &tiers[i]
		for _, name := range sortedKeys(t.Files) {
			f := t.Files[name]
			k := key{t.Cluster, f.ID}
			at, twice := first[k]
			if !twice {
				first[k] = i
				continue
			}
			from, to := &tiers[at], t
			if m, moves := last.move(&t.Tier, f.ID); moves && m.From == t.Ordinal && m.To == from.Ordinal {
				from, to = to, from
			}
			m := Move{Object: f.ID, Clusters: []string{t.Cluster}, From: from.Ordinal, To: to.Ordinal, Stage: StageMove}
			for file, had := range from.Files {
				if had.ID == f.ID {
					m.File, m.Content = file, had.Before
				}
			}
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(x, y Move) int {
		return cmp.Or(x.Object.Compare(y.Object), slices.Compare(x.Clusters, y.Clusters))
	})
	return out
}

// ordinalOrder returns dependencies that make objects leave a cluster from the last tier to the first. They
// hold nothing else.
func ordinalOrder(p *Plan, stays map[manifest.ID]bool) []Dependency {
	var out []Dependency
	at := map[DependencyTo]map[manifest.ID]int{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		for _, before := range p.On(t.Cluster) {
			if before.Ordinal != t.Ordinal-1 {
				continue
			}
			for _, to := range p.Objects(&before) {
				for _, from := range p.Objects(t) {
					key := DependencyTo{Object: to.ID}
					if stays[from.ID] || stays[to.ID] {
						continue
					}
					if n, known := at[key][from.ID]; known {
						out[n].From.Clusters = append(out[n].From.Clusters, t.Cluster)
						continue
					}
					if at[key] == nil {
						at[key] = map[manifest.ID]int{}
					}
					at[key][from.ID] = len(out)
					out = append(out, Dependency{From: DependencyFrom{from.ID, []string{t.Cluster}}, To: key, Kind: dependency.Hard, Rule: dependency.TierOrder, Why: "the order of its plan is not known"})
				}
			}
		}
	}
	return out
}
