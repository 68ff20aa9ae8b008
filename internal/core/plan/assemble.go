package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// assembly puts one seed's plan and its files together. What is embedded is only read, except for
// the caches of renderings and files that all seeds share.
type assembly struct {
	*computation
	*seedState
	plan  *Plan
	files map[string]Files
	// ids are those of contents, by what they hold.
	ids map[string]string
	// tierFiles are what tiers hold, by the contents that they are made of. Most clusters of a fleet
	// have equal tiers, for which all of it is computed once.
	tierFiles map[string]*tierFiles
	numbers   map[*placement.Content]uint32
	// reconcilers are the reconciler objects that must be rendered.
	reconcilers []reconciler
}

// tierVertices are the vertices of one tier. A tier on a cluster whose document
// cannot be used has none: it is taken over as it was, of a plan.
type tierVertices struct {
	*classTier
	cluster string
	ordinal int
	was     *Tier
	of      *Plan
	// held reports whether the tier has what is planted, because objects move on its cluster.
	held bool
}

// classTier is what the tiers of a class of clusters have in common.
type classTier struct {
	// first is the cluster that the vertices are on: one of the class.
	first    string
	vertices []int32
	// found reports whether the rest is there.
	found         bool
	prerequisites []Prerequisite
	health        *tierHealth
	// files is nil where something leaves the tier, whose content is that of its own cluster.
	files *tierFiles
}

// vertex returns a vertex of the tier on its own cluster.
func (a *assembly) vertex(tv tierVertices, i int32) dependency.Vertex {
	return dependency.Vertex{Seed: a.seed.Name, Object: a.graph.Object(i), Cluster: tv.cluster}
}

// assemble makes a seed's plan. Its reconciler objects, which cost the most, are rendered only
// where that may give others than those of the plan before: everything else of the plan is
// computed, digested together with what the rest would be rendered from, and compared. If the plan
// comes out equal in spite of that, the one before stays, so a change of a comment or of a
// file's position makes no new plan for people to review.
func (c *computation) assemble(s *seedState) (*Outcome, error) {
	if len(s.needs) > 0 {
		return &Outcome{Plan: s.previous.Plan, Broken: s.broken, Needs: s.needs}, nil
	}
	a := &assembly{computation: c, seedState: s, files: map[string]Files{}, ids: map[string]string{}, tierFiles: map[string]*tierFiles{}, numbers: map[*placement.Content]uint32{}}
	a.plan = &Plan{APIVersion: v1alpha1.APIVersion, Kind: Kind, Version: Current, Seed: s.seed.Name, Owner: c.in.Owner, Origin: c.in.Origin, Revision: c.in.Revision, From: s.seed.Path, Generation: 1, Rules: rulesVersion, Variants: s.variants, Overrides: s.overrides, Plugins: s.seed.Plugins}
	if s.previous != nil && s.previous.Plan != nil {
		a.plan.Generation = s.previous.Plan.Generation + 1
	}
	a.plan.DisabledRules = slices.Sorted(slices.Values(s.seed.Spec.DisabledRules))
	if by := s.pace.GroupBy; by != "" && by != v1alpha1.GroupByTier {
		a.plan.GroupBy = by
	}
	for _, tv := range a.tierVertices() {
		add := a.addTier
		switch {
		case tv.was != nil:
			add = a.keepTier
		case tv.held:
			add = a.addHeld
		}
		if err := add(tv); err != nil {
			return nil, err
		}
	}
	if c.dropping[s.seed.Name] {
		a.addDropped()
	}
	if err := a.holdIfWaveIsUnknown(); err != nil {
		return nil, err
	}
	a.plan.Rollout = a.rollout()
	a.addMoves()
	a.addAwaits()
	a.addPlacements()
	a.addDependencies()
	a.plan.Warnings = a.allWarnings()
	a.plan.Inputs = a.inputs()
	if err := s.previous.taken(a.plan, c.in.identity()); err != nil {
		return nil, err
	}
	return a.compare()
}

// compare returns what becomes of a seed's plan that is assembled, but for its reconciler objects: the plan
// before if that is the same, or is only verified.
func (a *assembly) compare() (*Outcome, error) {
	s, kept := a.seedState, &Outcome{Kept: true, Broken: a.broken}
	if a.verifying {
		kept.Plan = s.previous.Plan
		return kept, a.judgeSuspect()
	}
	if s.previous.isOf(a.plan) {
		kept.Plan = s.previous.Plan
		return kept, nil
	}
	if err := a.render(); err != nil {
		return nil, err
	}
	if s.previous.replaces(a.plan) {
		kept.Plan = s.previous.Replaced
		return kept, nil
	}
	if s.previous == nil || s.previous.Plan == nil || s.previous.Replaced != nil || !samePlan(s.previous.Plan, a.plan) {
		return &Outcome{Plan: a.plan, Files: a.files, Broken: s.broken}, nil
	}
	if kept.Plan = s.previous.Plan; len(s.previous.Older) > 0 {
		kept.Files = a.files
	}
	return kept, nil
}

// tierVertices groups the seed's vertices by cluster and ordinal, in that order. Tiers on clusters
// whose documents cannot be used are those of the plan before.
func (a *assembly) tierVertices() []tierVertices {
	index := map[Reference]*classTier{}
	var tiers []tierVertices
	first, end := a.graph.Of(a.seed.Name)
	for i := first; i < end; i++ {
		cluster := a.graph.Cluster(i)
		if a.broken[cluster] != "" || a.absent(i) {
			continue
		}
		key := Reference{Cluster: cluster, Ordinal: a.ordinalOf(i)}
		t, ok := index[key]
		if !ok {
			t = &classTier{first: cluster}
			index[key] = t
			for _, member := range a.classes.membersOf(cluster) {
				tiers = append(tiers, tierVertices{classTier: t, cluster: member, ordinal: key.Ordinal, held: a.isHeld(member, key.Ordinal)})
			}
		}
		t.vertices = append(t.vertices, i)
	}
	if len(a.broken) > 0 {
		for of, t := range a.previous.tiers() {
			if a.broken[t.Cluster] != "" && !t.Gone() {
				tiers = append(tiers, tierVertices{cluster: t.Cluster, ordinal: t.Ordinal, was: t, of: of})
			}
		}
	}
	slices.SortFunc(tiers, func(x, y tierVertices) int {
		return cmp.Or(cmp.Compare(x.cluster, y.cluster), cmp.Compare(x.ordinal, y.ordinal))
	})
	return tiers
}

// keepTier takes over a tier as it was last planned, hash by hash: the cluster's settings are not
// known, so nothing of it can be rendered anew.
func (a *assembly) keepTier(tv tierVertices) error {
	t, objects := *tv.was, tv.of.Objects(tv.was)
	files := Files{}
	for _, o := range objects {
		files[o.File] = File{Hash: o.Hash}
	}
	if err := a.put(t.Repo, t.Dir(), File{Hash: t.DirHash(), Dir: true, Files: files}); err != nil {
		return err
	}
	t.Leaving, t.Contents = nil, a.contentsID(t.DirHash(), objects)
	a.plan.Tiers = append(a.plan.Tiers, t)
	return a.put(t.Repo, t.ReconcilerFile(), File{Hash: t.ReconcilerHash()})
}

// addPlacements says where everything goes; of clusters that stay as they were, what
// the last plan said.
func (a *assembly) addPlacements() {
	if len(a.broken)+len(a.moving)+len(a.awaits) == 0 {
		for _, p := range a.placements {
			a.plan.Placements = append(a.plan.Placements, Placement(p))
		}
		return
	}
	for _, p := range a.placements {
		p.Clusters = slices.DeleteFunc(slices.Clone(p.Clusters), func(name string) bool {
			return a.staysOn(name) || a.awaits[dependency.Vertex{Seed: a.seed.Name, Object: p.Object, Cluster: name}] != ""
		})
		if len(p.Clusters) > 0 {
			a.plan.Placements = append(a.plan.Placements, Placement(p))
		}
	}
	if a.previous != nil && a.previous.Plan != nil {
		for _, p := range a.previous.Plan.Placements {
			p.Clusters = slices.DeleteFunc(slices.Clone(p.Clusters), func(name string) bool { return !a.staysOn(name) })
			if len(p.Clusters) > 0 {
				a.plan.Placements = append(a.plan.Placements, p)
			}
		}
	}
	slices.SortStableFunc(a.plan.Placements, func(x, y Placement) int { return x.Object.Compare(y.Object) })
}

// staysOn reports whether the seed stays on a cluster as it was last planned there, but for moves.
func (a *assembly) staysOn(cluster string) bool {
	_, moves := a.moving[cluster]
	return moves || a.broken[cluster] != ""
}

// addTier adds a tier with its objects, and notes what its reconciler object is rendered from. The
// hash of the latter comes with render, if that is necessary at all.
func (a *assembly) addTier(tv tierVertices) error {
	t, err := a.newTier(tv)
	if err != nil {
		return err
	}
	if err := a.findShared(tv); err != nil {
		return err
	}
	files := tv.files
	if files == nil {
		if files, err = a.newTierFiles(tv); err != nil {
			return err
		}
	}
	t.setHash(ModeTree, files.hash)
	if err := a.put(t.Repo, t.Dir(), File{Hash: files.hash, Dir: true, Files: files.files}); err != nil {
		return err
	}
	for _, id := range files.named {
		if cl, ok := a.inventory.Clusters[id.Name]; ok && cl.CreatedBy != nil && cl.CreatedBy.Seed == a.seed.Name && cl.CreatedBy.Object == id && cl.CreatedBy.On == tv.cluster {
			t.Creates = append(t.Creates, Creates{cl.Name, id, kubeConfigOf(cl), cl.Declared != a.contents.On(id, tv.cluster).Object.Source})
		}
	}
	t.Prerequisites = tv.prerequisitesOn(tv.cluster)
	if _, known := a.inventory.Clusters[tv.cluster]; known {
		a.addReconciler(&t, tv)
	} else {
		err = a.keepReconciler(&t, tv)
	}
	if files.contents == "" {
		files.contents = a.contentsID(files.hash, files.objects)
	}
	t.Contents = files.contents
	a.plan.Tiers = append(a.plan.Tiers, t)
	return err
}

// kubeConfigOf returns the Secret with the kubeconfig of a cluster that a creator makes.
func kubeConfigOf(cl catalog.Cluster) KubeConfig {
	on, secret := cl.KubeConfigOf()
	return KubeConfig{on, secret.Namespace, secret.Name}
}

// newTier names the tier's paths. A tier on a cluster that is no longer known
// has only what leaves, and stays where it was.
func (a *assembly) newTier(tv tierVertices) (Tier, error) {
	t := Tier{Cluster: tv.cluster, Ordinal: tv.ordinal, Level: a.tiering.Level[tv.vertices[0]]}
	if _, known := a.inventory.Clusters[tv.cluster]; !known {
		first, _ := a.planted.get(a.vertex(tv, tv.vertices[0]))
		was := first.tier
		t.Reconciler, t.Repo, t.Entries, t.Object = was.Reconciler, was.Repo, was.Entries, was.Object
		return t, nil
	}
	level := t.Level
	t = a.tierOn(tv.cluster, tv.ordinal)
	t.Level = level
	return t, a.checkNotMoved(tv, t)
}

// tierOn names the paths of a tier on a cluster that is known.
func (a *assembly) tierOn(cluster string, ordinal int) Tier {
	return tierOn(a.in.Catalog, a.inventory, layout.Tier{Seed: a.seed.Name, Cluster: cluster, Ordinal: ordinal})
}

// TierOn names the paths and the reconciler object of a tier; false where the catalog does not know
// the cluster.
func TierOn(c *catalog.Catalog, name layout.Tier) (Tier, bool) {
	_, known := c.Inventory.Clusters[name.Cluster]
	return tierOn(c, c.Inventory, name), known
}

func tierOn(c *catalog.Catalog, inv *catalog.Inventory, name layout.Tier) Tier {
	cl := inv.Clusters[name.Cluster]
	t := Tier{Cluster: name.Cluster, Ordinal: name.Ordinal}
	repo := c.Repos[cl.Repo].Spec
	t.Reconciler, t.Repo = string(cl.Reconciler), cl.Repo
	t.Entries = []Entry{
		{Path: name.Dir(repo.Path), Mode: ModeTree},
		{Path: name.ReconcilerFile(repo.Path, inv.Clusters[cl.ReconciledOn()].RootPath, cl.Hub != ""), Mode: ModeFile},
	}
	t.Object = ReconcilerObject{Cluster: cl.ReconciledOn(), Namespace: reconcilerNamespace(cl), Name: name.ReconcilerName()}
	return t
}

// checkNotMoved refuses to move planted tiers to another repository, path or reconciler object: the
// reconciler that has them now would delete their objects, possibly after the new one applied them.
func (a *assembly) checkNotMoved(tv tierVertices, t Tier) error {
	if a.planted.empty() {
		return nil
	}
	for _, i := range tv.vertices {
		was, planted := a.planted.get(a.vertex(tv, i))
		if !planted {
			continue
		}
		w, t := was.tier, t
		if w.Ordinal != t.Ordinal { // it moves
			t = a.tierOn(tv.cluster, w.Ordinal)
		}
		if w.Repo != t.Repo || !slices.Equal(w.Paths(), t.Paths()) || w.Object.Cluster != t.Object.Cluster || w.Object.Namespace != t.Object.Namespace {
			p := manifest.OfSeed(v1alpha1.ReasonClusterMoved, a.seed.Name, fmt.Sprintf("cluster %q has changed how it is reached (was %s in %s, reconciled on %s/%s); moving what is planted there would delete it",
				t.Cluster, w.ReconcilerFile(), w.Repo, w.Object.Cluster, w.Object.Namespace), "Undo the change, or remove the seed from the cluster first.")
			p.Cluster = t.Cluster
			return p
		}
	}
	return nil
}

// tierFiles is what equal tiers hold.
type tierFiles struct {
	objects []Object
	// files are those of objects by name, and hash is the Git tree id of them.
	files Files
	hash  layout.Hash
	// named are the objects with the name of a cluster: they may create it.
	named []manifest.ID
	// contents is the id of the objects in the plan, once they have one.
	contents string
}

// findShared finds what the tier has in common with those of its class, unless that is there
// already.
func (a *assembly) findShared(tv tierVertices) error {
	if tv.found {
		return nil
	}
	key, shared := a.contentsKey(tv)
	if shared {
		tv.files = a.tierFiles[string(key)]
	}
	if shared && tv.files == nil {
		files, err := a.newTierFiles(tv)
		if err != nil {
			return err
		}
		tv.files = files
		a.tierFiles[string(key)] = files
	}
	tv.prerequisites = a.prerequisites(tv)
	tv.found = true
	return nil
}

// contentsKey has the number of the content of each object of a tier: tiers with the same ones are
// equal. It is false of a tier with an object that leaves, or that is held while others move: its
// content is that of its own cluster.
func (a *assembly) contentsKey(tv tierVertices) (key []byte, shared bool) {
	if _, moves := a.moving[tv.cluster]; moves {
		return nil, false
	}
	key = make([]byte, 0, 4*len(tv.vertices))
	for _, i := range tv.vertices {
		content := a.contents.On(a.graph.Object(i), tv.cluster)
		if content == nil || len(a.leaves) > 0 && a.leaves[a.vertex(tv, i)] {
			return nil, false
		}
		number, known := a.numbers[content]
		if !known {
			number = uint32(len(a.numbers)) //nolint:gosec // far below the limit
			a.numbers[content] = number
		}
		key = binary.LittleEndian.AppendUint32(key, number)
	}
	return key, true
}

func (a *assembly) newTierFiles(tv tierVertices) (*tierFiles, error) {
	ids := make([]manifest.ID, len(tv.vertices))
	for n, i := range tv.vertices {
		ids[n] = a.graph.Object(i)
	}
	names := fileNames(ids)
	hashes := map[string]layout.Hash{}
	out := &tierFiles{objects: make([]Object, 0, len(ids)), files: Files{}}
	for n, i := range tv.vertices {
		o := Object{ID: ids[n], File: names[ids[n]]}
		file, err := a.file(a.vertex(tv, i), &o)
		if err != nil {
			return nil, err
		}
		o.Hash = file.Hash
		hashes[o.File], out.files[o.File] = file.Hash, file
		out.objects = append(out.objects, o)
		if _, named := a.inventory.Clusters[o.ID.Name]; named {
			out.named = append(out.named, o.ID)
		}
	}
	out.hash = githash.Tree(hashes)
	return out, nil
}

// file returns the content of one object: of the seed, or as it was planted.
func (a *assembly) file(v dependency.Vertex, o *Object) (File, error) {
	if _, moves := a.moving[v.Cluster]; moves {
		was, _ := a.planted.get(v)
		o.From, o.Leaving, o.Kept, o.HandedTo = was.object.From, a.leaves[v], was.object.Kept, was.object.HandedTo
		return a.plantedFile(v), nil
	}
	if content := a.contents.On(v.Object, v.Cluster); content != nil && !a.leaves[v] {
		o.From, o.Kept = content.Object.Source.String(), change.Kept(*content.Object)
		return a.fileOf(content)
	}
	return a.leavingFile(v, o), nil
}

// fileOf returns what is written of a content.
func (s *seedState) fileOf(content *placement.Content) (File, error) {
	file, known := s.files[content]
	if !known {
		data, err := content.Object.Bytes()
		if err != nil {
			return File{}, err
		}
		file = File{Data: data, Hash: githash.Blob(data)}
		s.files[content] = file
	}
	return file, nil
}

// put adds a file or directory to the plan's tree. Two tiers may not claim one path, as when a
// cluster was renamed and kept its root path.
func (a *assembly) put(repo, at string, f File) error {
	if a.files[repo] == nil {
		a.files[repo] = Files{}
	}
	if had, taken := a.files[repo][at]; taken && had.Hash != f.Hash {
		p := manifest.OfSeed(v1alpha1.ReasonPathConflict, a.seed.Name, fmt.Sprintf("two clusters claim %s in %s", at, repo), "Give each cluster a spec.path of its own; a cluster that is renamed gets a new one.")
		p.Repo, p.Path = repo, at
		return p
	}
	a.files[repo][at] = f
	return nil
}

// contentsID gives equal tiers one list of objects. What leaves one cluster may
// stay on another, with the same tree.
func (a *assembly) contentsID(tree layout.Hash, objects []Object) string {
	key := tree.String()
	for _, o := range objects {
		if o.Leaving {
			key += "\x00" + o.File + "\x00" + o.HandedTo
		}
	}
	if id, ok := a.ids[key]; ok {
		return id
	}
	id := fmt.Sprintf("c%d", len(a.ids)+1)
	a.ids[key] = id
	a.plan.Contents = append(a.plan.Contents, Contents{ID: id, Objects: objects})
	return id
}

// prerequisitesOn returns the prerequisites of the tier on one cluster of its class. What a tier
// of a class waits for on the same cluster, the others wait for on theirs.
func (t *classTier) prerequisitesOn(cluster string) []Prerequisite {
	if cluster == t.first {
		return t.prerequisites
	}
	out := slices.Clone(t.prerequisites)
	for i := range out {
		if out[i].Cluster == t.first {
			out[i].Cluster = cluster
		}
	}
	return out
}

// prerequisites returns the tiers that hold what the tier's objects wait for, each once, with the
// first why and the number of others. Edges within the tier are left out: the tier's reconciler
// applies it as a whole. So are weak edges to tiers of the same level: neither waits for the other.
func (a *assembly) prerequisites(tv tierVertices) []Prerequisite {
	type target struct {
		seed, cluster string
		ordinal       int
	}
	found := map[target]*Prerequisite{}
	more := map[target]int{}
	first, end := a.graph.Of(a.seed.Name)
	for _, i := range tv.vertices {
		for _, e := range a.graph.Waits(i) {
			own := first <= e.To && e.To < end && a.graph.Cluster(e.To) == tv.first
			if own && (a.ordinalOf(e.To) == tv.ordinal || a.absent(e.To)) || a.awaited(e.To) {
				continue
			}
			if a.graph.Reason(e).Kind == dependency.Weak && a.tiering.Level[e.To] >= a.tiering.Level[i] {
				continue
			}
			to := a.graph.Vertex(e.To)
			key := target{to.Seed, to.Cluster, a.ordinalOf(e.To)}
			p, seen := found[key]
			if seen {
				more[key]++
			} else {
				p = &Prerequisite{Cluster: key.cluster, Ordinal: key.ordinal, Why: whyEdge(a.graph.Object(e.From), to.Object, a.graph.Reason(e))}
				found[key] = p
			}
			if key.seed != a.seed.Name {
				p.Seed = key.seed
			}
			if ready := a.graph.Reason(e).Ready; ready != "" && !slices.Contains(p.Ready, ready) {
				p.Ready = append(p.Ready, ready)
			}
		}
	}
	var out []Prerequisite // nil when there are none, as a plan is read back
	for key, p := range found {
		if n := more[key]; n > 0 {
			p.Why += fmt.Sprintf(", and %d more", n)
		}
		slices.Sort(p.Ready)
		out = append(out, *p)
	}
	slices.SortFunc(out, func(x, y Prerequisite) int {
		return cmp.Or(cmp.Compare(x.Seed, y.Seed), cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Ordinal, y.Ordinal))
	})
	return out
}

func whyEdge(from, to manifest.ID, r *dependency.Reason) string {
	return fmt.Sprintf("%s waits for %s (%s: %s)", from, to, r.Rule, r.Why)
}

// addDependencies writes the seed's edges; those that are equal on many clusters are written once,
// with a list of clusters. So a plan for 1,000 equal clusters has as many dependencies as one for a
// single cluster.
func (a *assembly) addDependencies() {
	type key struct {
		from manifest.ID
		to   DependencyTo
		rule string
		kind dependency.Kind
	}
	index := map[key]int{}
	add := func(from, to dependency.Vertex, d Dependency, on []string) {
		k := key{from.Object, DependencyTo{Object: to.Object, Cluster: to.Cluster}, d.Rule, d.Kind}
		if to.Cluster == from.Cluster {
			k.to.Cluster = ""
		}
		if to.Seed != a.seed.Name {
			k.to.Seed = to.Seed
		}
		at, ok := index[k]
		if !ok {
			index[k] = len(a.plan.Dependencies)
			d.From, d.To = DependencyFrom{from.Object, slices.Clip(on)}, k.to // most of them share the list
			a.plan.Dependencies = append(a.plan.Dependencies, d)
			return
		}
		clusters := &a.plan.Dependencies[at].From.Clusters
		*clusters = append(*clusters, on...)
	}
	for _, e := range a.graph.EdgesOf(a.seed.Name) {
		from, to := a.graph.Vertex(e.From), a.graph.Vertex(e.To)
		if a.moving[from.Cluster].keeps() || a.absent(e.From) || to.Seed == a.seed.Name && to.Cluster == from.Cluster && a.absent(e.To) {
			continue
		}
		add(from, to, dependencyOf(*a.graph.Reason(e)), a.classes.membersOf(from.Cluster))
	}
	for _, e := range a.previous.kept() {
		if a.broken[e.From.Cluster] != "" || a.moving[e.From.Cluster].keeps() || a.dropping[a.seed.Name] && a.leaves[e.From] {
			add(e.From, e.To, dependencyOf(e.Reason), []string{e.From.Cluster})
		}
	}
	for i := range a.plan.Dependencies {
		from := &a.plan.Dependencies[i].From
		from.Clusters = inOrder(from.Clusters)
	}
}

// inOrder returns names in order, each once. A list that is like that already may be shared, and is
// not changed.
func inOrder(names []string) []string {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			slices.Sort(names)
			return slices.Compact(names)
		}
	}
	return names
}

// allWarnings returns the warnings of the seed, sorted and each once.
func (a *assembly) allWarnings() []Warning {
	out := slices.Clone(a.seedState.warnings)
	for _, f := range a.computation.warnings[a.seed.Name] {
		w := warningOf(f)
		if o := a.object(f.Object); o != nil {
			w.From = o.Source.String()
		}
		out = append(out, w)
	}
	out = append(out, slices.Concat(a.deadlocks(), a.emptyWaves(), a.ignoredAutoMerge(), a.handovers())...)
	if a.previous != nil && a.previous.Warning != nil {
		out = append(out, *a.previous.Warning)
	}
	slices.SortStableFunc(out, func(x, y Warning) int {
		return cmp.Or(strings.Compare(x.Object, y.Object), strings.Compare(x.Message, y.Message))
	})
	return slices.Compact(out)
}

// deadlocks warns of the objects that never become ready, in circles that the seed is part of.
func (a *assembly) deadlocks() []Warning {
	var out []Warning
	for _, d := range a.tiering.Deadlocks {
		if slices.Contains(d.Seeds, a.seed.Name) {
			out = append(out, Warning{Reason: v1alpha1.ReasonReadinessDeadlock, Object: d.First(), Message: d.Deadlock()})
		}
	}
	return out
}

// warningAt makes a warning of a problem that has a position.
func warningAt(p manifest.Problem) Warning {
	return Warning{Reason: p.Reason, Object: p.Object, Message: strings.TrimSpace(p.Message + ". " + p.Next), From: p.Source.String()}
}

func warningOf(f dependency.Finding) Warning {
	w := Warning{Reason: f.Reason, Object: f.Object.String(), Message: strings.TrimSpace(f.Message + ". " + f.Next)}
	if f.Objects > 1 {
		w.Object, w.Message = fmt.Sprintf("%d objects", f.Objects), strings.TrimSpace(fmt.Sprintf("%s; first: %s. %s", f.Message, f.Object, f.Next))
	}
	return w
}

// inputs returns the digest of what the plan is made from: all of it that is not rendered, and what
// the rest is rendered from. The same inputs give the same plan, regardless of its owner and of
// where documents are. An input that is missing here would keep an old plan in force;
// TestNoInputIsMissingInTheDigest searches for such.
func (a *assembly) inputs() string {
	is := unrendered(a.plan)
	is.Owner, is.Origin = "", ""
	texts := map[string]string{}
	vars := make([]template.Reconciler, 0, len(a.reconcilers))
	for _, r := range a.reconcilers {
		texts[r.text.Name] = r.text.Text
		vars = append(vars, r.vars)
	}
	return digestOf([]any{rulesVersion, is, texts, vars})
}
