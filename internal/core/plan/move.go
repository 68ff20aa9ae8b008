package plan

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// An object that has to go to another tier of its cluster goes in three releases. A reconciler
// deletes what leaves its path, unless the live object says otherwise:
//
//	Protect     the object gets the annotation, in the tier that it has
//	Move        it goes to the other tier, with the annotation
//	Unprotect   the annotation goes, and with it comes all else that the seed has changed
//
// Until the third release the seed's tiers on the cluster have nothing new but that: objects, their
// contents and the settings of tiers stay as they were last planned. So while both tiers have the
// object, for however long, they apply the same; and what waits for the new contents waits for the
// whole move. Each cluster moves by itself, and a stage begins when the one before it is live there.
//
// Before the second release is planned, a change of the seed can still end the move. After that it
// is finished first, because the object may then be in either tier, in both, or in none.

// Stage says which of the three releases of a move a plan has.
type Stage string

const (
	// StageProtect adds the annotation by which the object is not pruned.
	StageProtect Stage = "Protect"
	// StageMove takes the object from the one tier to the other.
	StageMove Stage = "Move"
	// StageUnprotect removes the annotation.
	StageUnprotect Stage = "Unprotect"
)

// stages in their order.
var stages = []Stage{StageProtect, StageMove, StageUnprotect}

// Number returns which of the three releases it is, from 1.
func (s Stage) Number() int { return slices.Index(stages, s) + 1 }

// Move is an object that goes to another tier, on clusters where all of this is equal.
type Move struct {
	Object   manifest.ID `yaml:"object"`
	Clusters []string    `yaml:"clusters,flow"`
	// From and To are the ordinals of its tiers. They are the same where the object was to move and
	// stays after all: then only the annotation goes.
	From  int   `yaml:"from"`
	To    int   `yaml:"to"`
	Stage Stage `yaml:"stage"`
	// File is the name of its file in the tier that it leaves.
	File string `yaml:"file"`
	// Content is the Git blob id that it had before it was annotated.
	Content layout.Hash `yaml:"content"`
	// Why says which dependency contradicts the tier that it had.
	Why string `yaml:"why,omitempty"`
}

// holds reports whether the seed's tiers on the clusters stay as they were but for the move.
func (m *Move) holds() bool { return m.Stage != StageUnprotect }

// Goes reports whether the object changes its tier.
func (m *Move) Goes() bool { return m.From != m.To }

// String says for people what is released of the move.
func (m *Move) String() string {
	names := fmt.Sprintf("from %s to %s", layout.NameOnCluster(m.From), layout.NameOnCluster(m.To))
	text := ""
	switch {
	case !m.Goes() && m.holds():
		return fmt.Sprintf("%s keeps the annotation %s until others have moved", m.Object, Protection)
	case !m.Goes():
		return fmt.Sprintf("%s stays in %s after all, and loses the annotation %s", m.Object, layout.NameOnCluster(m.From), Protection)
	case m.Stage == StageProtect:
		text = "it is annotated with " + Protection + ": disabled, to let no reconciler delete it on the way"
	case m.Stage == StageMove:
		text = "it goes to the other tier, with the annotation"
	default:
		text = "the annotation goes, and what else the seed changes comes"
	}
	if m.Why != "" {
		text += ". It gives up its tier because " + m.Why
	}
	return fmt.Sprintf("%s moves %s, release %d of %d: %s", m.Object, names, m.Stage.Number(), len(stages), text)
}

// Summary says in a few words that the object moves.
func (m *Move) Summary() string {
	if !m.Goes() {
		return m.String()
	}
	return fmt.Sprintf("%s moves from %s to %s (release %d of %d)", m.Object, layout.NameOnCluster(m.From), layout.NameOnCluster(m.To), m.Stage.Number(), len(stages))
}

// Left returns the tier to which an object goes that leaves t for it with this plan, or has left it.
func (p *Plan) Left(t *Tier, object manifest.ID) (to int, left bool) {
	m, moves := p.move(t, object)
	return m.To, moves && m.From == t.Ordinal
}

// move returns how an object moves to or from a tier with this plan, or has moved.
func (p *Plan) move(t *Tier, object manifest.ID) (Move, bool) {
	if p == nil {
		return Move{}, false
	}
	for _, m := range p.MovesOn(t) {
		if m.Object == object && m.Goes() && m.Stage != StageProtect {
			return m, true
		}
	}
	return Move{}, false
}

// Moved returns the changes of a tier with what moves as such: it is not removed, and nothing else is
// destroyed with it.
func (p *Plan) Moved(t *Tier, changes []change.Change) []change.Change {
	if p == nil || len(p.Moves) == 0 {
		return changes
	}
	out := slices.Clone(changes)
	for i := range out {
		c := &out[i]
		m, moves := p.move(t, c.Object)
		switch {
		case moves && c.Kind == change.Removed && m.From == t.Ordinal:
			c.Kind, c.Destroys, c.Where = change.Moved, "", "to "+layout.NameOnCluster(m.To)
		case moves && c.Kind == change.Added && m.To == t.Ordinal:
			c.Kind, c.Where = change.Moved, "from "+layout.NameOnCluster(m.From)
		}
	}
	return out
}

// MovedFiles are the files that tiers lose because other tiers have their objects.
func (p *Plan) MovedFiles() map[string]bool {
	files := map[string]bool{}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		for _, m := range p.MovesOn(t) {
			if _, left := p.Left(t, m.Object); left {
				files[path.Join(t.Dir(), m.File)] = true
			}
		}
	}
	return files
}

// HeldOn reports whether the seed's tiers on a cluster have what they had, until objects have moved.
func (p *Plan) HeldOn(cluster string) bool {
	return slices.ContainsFunc(p.Moves, func(m Move) bool {
		_, on := slices.BinarySearch(m.Clusters, cluster)
		return on && m.holds()
	})
}

// MovesOn lists the moves that a tier takes part in.
func (p *Plan) MovesOn(t *Tier) []Move {
	var out []Move
	for _, m := range p.Moves {
		if _, on := slices.BinarySearch(m.Clusters, t.Cluster); on && (m.From == t.Ordinal || m.To == t.Ordinal) {
			out = append(out, m)
		}
	}
	return out
}

// Need is a file that a plan cannot be computed without.
type Need struct {
	Repo string
	Hash layout.Hash
}

// moves returns those of the plan by the objects that move; none of a seed without a plan.
func (p *Previous) moves() map[dependency.Vertex]Move {
	out := map[dependency.Vertex]Move{}
	if p == nil || p.Plan == nil {
		return out
	}
	for _, m := range p.Plan.Moves {
		for _, cluster := range m.Clusters {
			out[dependency.Vertex{Seed: p.Plan.Seed, Object: m.Object, Cluster: cluster}] = m
		}
	}
	return out
}

// rank says how willingly an object is moved: see dependency.Graph.Unpin. What takes other things
// with it is moved last. Objects that cannot be annotated, and those on clusters whose documents
// cannot be used, are not moved at all.
func (c *computation) rank(v dependency.Vertex) int {
	s := c.seeds[v.Seed]
	content := s.contents.On(v.Object, v.Cluster)
	switch {
	case s.broken[v.Cluster] != "", content != nil && content.Object.Encrypted() && content.Object.Annotation(Protection) != "disabled":
		return -1
	case s.leaves[v]:
		return 1
	case change.Destroys(v.Object.GroupKind()) != "":
		return 2
	}
	return 0
}

// tiers puts the graph into tiers. Where those of the plans in force would wait for each other in a
// circle, it gives up the fewest pins.
func (c *computation) tiers(g *dependency.Graph, pins map[dependency.Vertex]int) (dependency.Tiering, []dependency.GivenUp, *dependency.Conflict) {
	tiering, conflict := g.Tiers(pins)
	if conflict == nil || !conflict.Pinned {
		return tiering, nil, conflict
	}
	given, conflict := g.Unpin(pins, c.rank)
	if conflict != nil {
		return dependency.Tiering{}, nil, conflict
	}
	for _, one := range given {
		delete(pins, g.Vertex(one.Vertex))
	}
	tiering, conflict = g.Tiers(pins)
	return tiering, given, conflict
}

// stageMoves decides, for every seed and cluster, which release of its moves comes next.
func (c *computation) stageMoves(given []dependency.GivenUp) {
	for _, s := range c.alive() {
		s.moves, s.moving, s.annotated, s.needs = map[dependency.Vertex]Move{}, map[string]moving{}, map[dependency.Vertex]File{}, nil
		s.finishMoves()
	}
	next := map[*seedState]map[string][]dependency.GivenUp{}
	for _, one := range given {
		v := c.graph.Vertex(one.Vertex)
		s := c.seeds[v.Seed]
		if s.broken[v.Cluster] != "" || s.moving[v.Cluster].frozen {
			continue
		}
		if next[s] == nil {
			next[s] = map[string][]dependency.GivenUp{}
		}
		next[s][v.Cluster] = append(next[s][v.Cluster], one)
	}
	for s, clusters := range next {
		for _, cluster := range sortedKeys(clusters) {
			if err := c.beginMoves(s, cluster, clusters[cluster]); err != nil {
				c.fail(s.seed.Name, err)
			}
		}
	}
	c.holds = false
	for _, s := range c.alive() {
		s.endMoves()
		c.holds = c.holds || len(s.moving) > 0
		if err := s.markHandovers(); err != nil {
			c.fail(s.seed.Name, err)
		}
	}
}

// moving is how a cluster on which objects move has the seed's tiers.
type moving struct {
	stage Stage
	// frozen reports whether the second release is planned already, and not live yet.
	frozen bool
}

// keeps reports whether objects have the tiers that they had in the plan before.
func (m moving) keeps() bool { return m.stage == StageProtect || m.frozen }

// finishMoves takes over the moves that nothing can change: those of the second release that is not
// live yet, and those on clusters whose documents cannot be used.
func (s *seedState) finishMoves() {
	before := s.before
	for v, m := range before {
		if m.Stage == StageMove && !s.previous.Passed[v] && s.broken[v.Cluster] == "" {
			s.moving[v.Cluster] = moving{StageMove, true}
		}
	}
	for v, m := range before {
		if s.broken[v.Cluster] != "" || s.moving[v.Cluster].frozen && m.holds() {
			s.moves[v] = m
		}
	}
}

// beginMoves moves objects of a cluster: the second release follows only once all of them are
// protected there. What was protected for a move that is not necessary any more stays so until then.
func (c *computation) beginMoves(s *seedState, cluster string, given []dependency.GivenUp) error {
	before, stage := s.before, StageMove
	protected := func(v dependency.Vertex) bool { return before[v].Stage == StageProtect }
	for _, one := range given {
		if v := c.graph.Vertex(one.Vertex); !protected(v) || !s.previous.Passed[v] || before[v].To != c.tiering.Ordinal[one.Vertex] {
			stage = StageProtect
		}
	}
	s.moving[cluster] = moving{stage: stage}
	for v, m := range before {
		if v.Cluster == cluster && protected(v) {
			m.To, m.Stage = m.From, stage
			s.moves[v] = m
		}
	}
	for _, one := range given {
		v := c.graph.Vertex(one.Vertex)
		was, _ := s.planted.get(v)
		m := Move{Object: v.Object, From: was.tier.Ordinal, To: c.tiering.Ordinal[one.Vertex], Stage: stage, File: was.object.File, Content: before[v].Content}
		m.Why = whyEdge(c.graph.Object(one.Edge.From), c.graph.Object(one.Edge.To), c.graph.Reason(one.Edge))
		if !protected(v) {
			m.Content = was.object.Hash
			if err := s.protectPlanted(v, was, "must move to another tier"); err != nil {
				return err
			}
		}
		s.moves[v] = m
	}
	return nil
}

// endMoves notes the third release, as long as it is not live. It goes on also where others begin to
// move.
func (s *seedState) endMoves() {
	for v, m := range s.before {
		_, moves := s.moving[v.Cluster]
		_, again := s.moves[v]
		if again || moves && m.holds() || s.broken[v.Cluster] != "" || !m.holds() && s.previous.Passed[v] {
			continue
		}
		if m.Stage == StageProtect {
			m.To = m.From
		}
		m.Stage = StageUnprotect
		s.moves[v] = m
	}
}

// protects reports whether an object that leaves may still have the annotation on its cluster.
func (s *seedState) protects() bool {
	for v := range s.before {
		if s.leaves[v] && !s.previous.Passed[v] {
			return true
		}
	}
	return false
}

// readPlanted returns an object as it is planted; nil if its file is not known yet. what is a phrase for errors, such
// as "must move to another tier".
func (s *seedState) readPlanted(v dependency.Vertex, was planted, what string) (*manifest.Object, error) {
	data, known := s.previous.Blobs[was.object.Hash]
	if !known {
		s.needs = append(s.needs, Need{was.tier.Repo, was.object.Hash})
		return nil, nil
	}
	o, err := onlyObject(was.tier.FilePath(was.object), data)
	if err != nil {
		return nil, manifest.OfSeed(v1alpha1.ReasonInvalidPlan, s.seed.Name, fmt.Sprintf("%s %s, and its file of the plan in force cannot be read: %v", v, what, err), "Undo the change that has this effect.")
	}
	return o, nil
}

// onlyObject returns the object of a file that holds one.
func onlyObject(file string, data []byte) (*manifest.Object, error) {
	objects, err := manifest.Parse(file, data)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("%s holds %d objects", file, len(objects))
	}
	if err != nil {
		return nil, err
	}
	return &objects[0], nil
}

// protectPlanted annotates the planted content of an object, which the seed may have changed since. what is a phrase
// for errors, as in readPlanted.
func (s *seedState) protectPlanted(v dependency.Vertex, was planted, what string) error {
	o, err := s.readPlanted(v, was, what)
	if o == nil || err != nil || o.Annotation(Protection) == "disabled" {
		return err
	}
	if o.Encrypted() {
		return manifest.OfSeed(v1alpha1.ReasonTierPinned, s.seed.Name, fmt.Sprintf("%s %s, and is encrypted, so it cannot be annotated: it would be deleted on the way", v, what),
			"Undo the change that has this effect; annotate the object with "+Protection+": disabled, and change it again when that is released.")
	}
	bytes, err := o.WithAnnotation(Protection, "disabled").Bytes()
	if err != nil {
		return err
	}
	s.annotated[v] = File{Data: bytes, Hash: githash.Blob(bytes)}
	return nil
}

// Holds reports whether a file holds an object.
func Holds(file string, data []byte, object manifest.ID) bool {
	return slices.ContainsFunc(objectsIn(file, data), func(o manifest.Object) bool { return o.ID == object })
}

// Protected reports whether an object has, in a file, the annotation by which it is not pruned.
func Protected(file string, data []byte, object manifest.ID) bool {
	objects := objectsIn(file, data)
	if slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.ID == object }) {
		objects = slices.DeleteFunc(objects, func(o manifest.Object) bool { return o.ID != object })
	}
	return len(objects) > 0 && !slices.ContainsFunc(objects, func(o manifest.Object) bool { return o.Annotation(Protection) != "disabled" })
}

// Keeps reports whether a reconciler keeps an object on its cluster by what a file has.
func Keeps(file string, data []byte, object manifest.ID) bool {
	return slices.ContainsFunc(objectsIn(file, data), func(o manifest.Object) bool { return o.ID == object && change.Kept(o) })
}

// objectsIn returns the objects of a file, none where it cannot be read.
func objectsIn(file string, data []byte) []manifest.Object {
	objects, err := manifest.Parse(file, data)
	if err != nil {
		return nil
	}
	return objects
}

// plantedFile returns the content of an object that stays as it was planted, or with the annotation.
func (s *seedState) plantedFile(v dependency.Vertex) File {
	if f, is := s.annotated[v]; is {
		return f
	}
	was, _ := s.planted.get(v)
	return File{Hash: was.object.Hash}
}

// unprotectedHash returns the content of an object that leaves: without the annotation, with which
// nobody could delete it.
func (s *seedState) unprotectedHash(v dependency.Vertex) layout.Hash {
	if m, moves := s.before[v]; moves && m.holds() {
		return m.Content
	}
	was, _ := s.planted.get(v)
	return was.object.Hash
}

// addMoves writes the moves of the plan; those that are equal on several clusters once.
func (a *assembly) addMoves() {
	byKey := map[string]*Move{}
	for _, v := range slices.SortedFunc(maps.Keys(a.moves), dependency.Vertex.Compare) {
		m := a.moves[v]
		m.Clusters = nil
		key := fmt.Sprint(m)
		if byKey[key] == nil {
			byKey[key] = &m
		}
		byKey[key].Clusters = append(byKey[key].Clusters, v.Cluster)
	}
	for _, m := range byKey {
		a.plan.Moves = append(a.plan.Moves, *m)
	}
	slices.SortFunc(a.plan.Moves, compareMoves)
}

// compareMoves is the order of a plan's moves.
func compareMoves(x, y Move) int {
	return cmp.Or(x.Object.Compare(y.Object), slices.Compare(x.Clusters, y.Clusters))
}

// addHeld adds a tier as it is planted, but for annotations: on a cluster on which objects move.
func (a *assembly) addHeld(tv tierVertices) error {
	first, _ := a.planted.get(a.graph.Vertex(tv.vertices[0]))
	t := *first.tier
	t.Leaving, t.Orphan, t.Contents = nil, nil, ""
	if t.ReconcilerHash().IsZero() { // it was to go
		t.setHash(ModeFile, a.previous.Base[t.Repo][t.ReconcilerFile()])
	}
	if !a.moving[tv.cluster].keeps() {
		t.Level, t.Prerequisites = a.tiering.Level[tv.vertices[0]], a.prerequisites(tv)
	}
	files, err := a.newTierFiles(tv)
	if err != nil {
		return err
	}
	t.setHash(ModeTree, files.hash)
	if err := a.put(t.Repo, t.Dir(), File{Hash: files.hash, Dir: true, Files: files.files}); err != nil {
		return err
	}
	t.Contents = a.contentsID(files.hash, files.objects)
	if suspect := a.previous.Suspect; a.verifying && suspect != nil && a.moving[tv.cluster].frozen && suspect.Base[t.Repo].Reconcilers[t.ReconcilerFile()] != t.ReconcilerHash() {
		a.addReconciler(&t, tv) // base does not bear it out
		a.plan.Tiers = append(a.plan.Tiers, t)
		return nil
	}
	a.plan.Tiers = append(a.plan.Tiers, t)
	return a.put(t.Repo, t.ReconcilerFile(), File{Hash: t.ReconcilerHash()})
}

// ordinalOf returns the ordinal of the tier that a vertex has in the plan that is being made. On a
// cluster on which objects move, what is not planted yet has a tier that no plan has.
func (c *computation) ordinalOf(i int32) int {
	if !c.holds {
		return c.tiering.Ordinal[i]
	}
	v := c.graph.Vertex(i)
	s := c.seeds[v.Seed]
	if was, planted := s.planted.get(v); planted && s.moving[v.Cluster].keeps() {
		return was.tier.Ordinal
	}
	return c.tiering.Ordinal[i]
}

// absent reports whether the plan that is being made does not have an object yet: another seed still has it, or
// it is new on a cluster on which others move.
func (a *assembly) absent(i int32) bool {
	if a.awaited(i) {
		return true
	}
	if _, moves := a.moving[a.graph.Cluster(i)]; !moves {
		return false
	}
	return !a.planted.has(a.graph.Vertex(i))
}

// Unprotect returns the plan by which the objects of a seed that is gone lose the annotations of
// moves. Only then can they be deleted.
func Unprotect(last *Plan, revision string) *Plan {
	before := (&Previous{Plan: last}).moves()
	out, _ := last.withObjects(func(t *Tier, o *Object) error {
		if m, moves := before[dependency.Vertex{Seed: last.Seed, Object: o.ID, Cluster: t.Cluster}]; moves && m.holds() {
			o.Hash = m.Content
		}
		return nil
	})
	out.Version, out.Revision, out.Generation = Current, revision, last.Generation+1
	out.Rules, out.Inputs = rulesVersion, digestOf([]string{rulesVersion, "unprotect", last.Seed, last.Inputs})
	out.Moves = slices.Clone(last.Moves)
	for i := range out.Moves {
		if m := &out.Moves[i]; m.Stage == StageProtect {
			m.To = m.From
		}
		out.Moves[i].Stage = StageUnprotect
	}
	return out
}

// isHeld reports whether a tier of a cluster has what is planted: all where objects move, but for the
// tiers that lose or get objects with the second release.
func (s *seedState) isHeld(cluster string, ordinal int) bool {
	m, moves := s.moving[cluster]
	if !moves || m.keeps() {
		return moves
	}
	for v, one := range s.moves {
		if v.Cluster == cluster && one.Stage == StageMove && one.Goes() && (one.From == ordinal || one.To == ordinal) {
			return false
		}
	}
	return true
}
