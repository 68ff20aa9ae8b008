package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// Input is all that plans are made from.
type Input struct {
	Catalog *catalog.Catalog
	// Owner and Origin say whose plans they are.
	Owner, Origin string
	// Revision of the control-plane repository, for people.
	Revision string
	// Previous are the plans that are there, by seed.
	Previous map[string]*Previous
	// Strict makes an error of a namespace or kind that no seed or cluster provides.
	Strict bool
	// Memo is what earlier computations found; nil to remember nothing.
	Memo *Memo
}

func (in Input) identity() Identity { return Identity{in.Owner, in.Origin} }

// Outcome is the plan of one seed, or why there is none. It shares the plan before with
// Input.Previous.
type Outcome struct {
	// Plan is nil when there is an error and no earlier plan.
	Plan *Plan
	// Files of the plan's tree that land, by repository and path, those of a tier below its
	// directory; nil when every repository has the plan already.
	Files map[string]Files
	// Kept reports whether the earlier plan stays in force.
	Kept bool
	// Err says why the seed could not be planned anew; the earlier plan then stays.
	Err error
	// Broken are the clusters that stay as they were last planned, because their
	// documents cannot be used, each with what is wrong.
	Broken map[string]string
	// Inherits are the objects that other seeds have given up and still have planted, by those seeds: this
	// one wants them there, or has them and cannot be planned. It happens when an object moves to another
	// seed, and when a seed is renamed.
	Inherits map[string][]dependency.Vertex
	// Needs are files of the plan in force that must be known first, as Previous.Blobs; the outcome
	// counts for nothing then.
	Needs []Need
}

// computation is one call of Compute. Seeds fail one by one until the rest can be planned; a seed
// never comes back from failed, so every loop until nothing else fails ends.
type computation struct {
	in        Input
	inventory *catalog.Inventory
	seeds     map[string]*seedState
	failed    map[string]error
	// dropping are the seeds whose leaving objects go now: those whose plan
	// already says so, and those whose other changes are all released.
	dropping map[string]bool
	// classes are those that the graph is drawn for, and connected the clusters that have none.
	classes   classes
	connected map[string]bool
	// made has what objects make; it is made when it is asked for first.
	made    *makes.Index[struct{}]
	graph   *dependency.Graph
	tiering dependency.Tiering
	// waited are the vertices that some other waits for, and needed those that one of a later tier does. ready
	// has what must be true of them then, and beside what must be there as well.
	waited   []bool
	needed   []bool
	ready    map[int32][]string
	beside   map[int32][]manifest.ID
	warnings map[string][]dependency.Finding
	// verifying reports whether plans are made again only to verify those that are there. given are
	// the objects that give up their tiers then, with those that they go to.
	verifying bool
	given     map[dependency.Vertex]int
	// holds reports whether objects of any seed are held while some move, and hands whether any seed awaits what
	// another one has planted.
	holds, hands bool
	// fleet is what fleetDigest returns, once it is computed.
	fleet string
	// inherits has what a seed gets from another one that is on its way out, by the seed that gets
	// it, and the one that it comes from.
	inherits map[string]map[string][]dependency.Vertex
	// gone is what seeds that left the catalog still have planted.
	gone map[string]plantings
	// rendered is what the renderings of each Template have used.
	rendered map[string]*template.Total
	// parsed is each text that reconciler objects are rendered from.
	parsed map[string]*template.Parsed
}

// seedState is one seed while its plan is computed.
type seedState struct {
	seed     *catalog.Seed
	pace     v1alpha1.Pace
	previous *Previous
	// planted is what the plan in force has on clusters.
	planted    plantings
	placements []placement.Placement
	// contents are the objects as they land, by cluster, and files what is written of each.
	contents placement.Contents
	files    map[*placement.Content]File
	// variants are the clusters of each variant, and overrides what those of the seed change.
	variants  []Variant
	overrides []Override
	// leaving is what the plan in force has and the seed no longer brings.
	leaving []dependency.Vertex
	leaves  map[dependency.Vertex]bool // the same, as a set
	// held are planted on clusters whose documents cannot be used, and stay as they
	// are; broken are those clusters, and why.
	held     []dependency.Vertex
	broken   map[string]string
	warnings []Warning
	// before are the moves of the plan in force.
	before map[dependency.Vertex]Move
	// moves are the objects that go to other tiers, and moving the clusters on which they do so.
	moves  map[dependency.Vertex]Move
	moving map[string]moving
	// awaits are the objects of the seed that another one still has planted, and gives those that the seed
	// has planted and another one is to get; each with the other seed.
	awaits map[dependency.Vertex]string
	gives  map[dependency.Vertex]string
	// annotated are the objects that get or lose the annotation now, and needs are what is missing for that.
	annotated map[dependency.Vertex]File
	needs     []Need
}

// Compute plans all seeds of a catalog. The result has an Outcome for each of its seeds.
//
// What leaves a seed goes only when all else of its plan is released, and whether that is so
// depends on the plan that comes out: it must be the one that was released. So plans are computed
// as if nothing changed about what leaves, and up to two more times: for seeds that have changed
// since their objects began to leave, which stops that, and for those whose plan is unchanged and
// released, which starts it.
func Compute(in Input) map[string]*Outcome { return newComputation(in).compute() }

func newComputation(in Input) *computation {
	return &computation{
		in: in, inventory: in.Catalog.Inventory.Clone(), seeds: map[string]*seedState{}, failed: map[string]error{}, dropping: map[string]bool{}, connected: map[string]bool{},
		inherits: map[string]map[string][]dependency.Vertex{}, rendered: map[string]*template.Total{}, parsed: map[string]*template.Parsed{},
	}
}

func (c *computation) compute() map[string]*Outcome {
	c.collect()
	c.place()
	c.checkKinds()
	c.checkSchemas()
	c.checkReferences()
	c.share()
	c.findHeirs()
	c.findLeaving()
	c.order()
	outcomes := c.outcomes()
	for _, step := range []func(map[string]*Outcome) bool{c.stopDropping, c.startDropping} {
		if step(outcomes) {
			c.order()
			outcomes = c.outcomes()
		}
	}
	return outcomes
}

func (c *computation) fail(seed string, err error) {
	if _, already := c.failed[seed]; !already {
		c.failed[seed] = err
	}
}

// alive returns the seeds without an error so far, in order.
func (c *computation) alive() []*seedState {
	var out []*seedState
	for i := range c.in.Catalog.Seeds {
		name := c.in.Catalog.Seeds[i].Name
		if s, ok := c.seeds[name]; ok && c.failed[name] == nil {
			out = append(out, s)
		}
	}
	return out
}

// collect takes in the seeds, and fails those that could not be read, that say what cannot be, or
// whose plan is another control plane's.
func (c *computation) collect() {
	for i := range c.in.Catalog.Seeds {
		seed := &c.in.Catalog.Seeds[i]
		previous := c.in.Previous[seed.Name]
		c.dropping[seed.Name] = previous.drops()
		pace, paceErr := c.in.Catalog.PaceOf(seed)
		c.seeds[seed.Name] = &seedState{seed: seed, pace: pace, leaves: map[dependency.Vertex]bool{}, awaits: map[dependency.Vertex]string{}, gives: map[dependency.Vertex]string{}, broken: map[string]string{}, previous: previous, planted: previous.plantings(), before: previous.moves(), files: map[*placement.Content]File{}}
		switch {
		case seed.Err != nil:
			c.fail(seed.Name, seed.Err)
		case unknownRule(seed.Spec) != "":
			c.fail(seed.Name, manifest.Problem{Reason: v1alpha1.ReasonUnknownRule, Field: "spec.disabledRules", Seed: seed.Name, Source: seed.SpecAt, Object: fmt.Sprintf("Seed %q", seed.Name),
				Message: fmt.Sprintf("spec.disabledRules has %q, which is not a dependency rule", unknownRule(seed.Spec)), Next: "Write any of " + strings.Join(ruleNames(), ", ") + "."})
		case paceErr != nil:
			c.fail(seed.Name, paceErr)
		case previous.foreign(c.in.identity()):
			c.fail(seed.Name, ErrForeign(seed.Name, "", previous.Plan.Identity(), c.in.identity()))
		}
	}
}

// unknownRule returns the first name that switches nothing off.
func unknownRule(spec v1alpha1.SeedSpec) string {
	known := ruleNames()
	for _, name := range spec.DisabledRules {
		if !slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

func ruleNames() []string {
	var names []string
	for _, r := range dependency.Rules() {
		names = append(names, r.Name)
	}
	return names
}

// place finds the clusters that seeds create, and then places every object. Before that, it takes
// from earlier plans and documents what a seed or document that cannot be read now would say of
// clusters.
func (c *computation) place() {
	for _, previous := range c.in.Previous {
		if previous.Plan != nil {
			for _, cluster := range previous.Plan.Implied() {
				c.inventory.MarkImplied(cluster)
			}
		}
	}
	var readable []catalog.Seed
	for _, s := range c.alive() {
		c.keepManagement(s)
		readable = append(readable, *s.seed)
	}
	for name, err := range placement.AddImplied(c.inventory, readable) {
		c.fail(name, err)
	}
	c.markUnborn()
	var seeds []*catalog.Seed
	for _, s := range c.alive() {
		seeds = append(seeds, s.seed)
	}
	all, failed := placement.PlaceAll(seeds, c.inventory, c.plantedNamespaces())
	for _, s := range c.alive() {
		placed, err := all[s.seed.Name], failed[s.seed.Name]
		if err == nil && c.in.Strict {
			err = unused(placed.Warnings)
		}
		if err == nil {
			err = s.prepare(placed, c.inventory)
		}
		if err != nil {
			c.fail(s.seed.Name, err)
		}
	}
	var placed []placement.PlacedSeed
	for _, s := range c.alive() {
		placed = append(placed, placement.PlacedSeed{Seed: s.seed, Placements: s.placements})
	}
	for name, err := range placement.CheckCreators(placed, c.inventory) {
		c.fail(name, err)
	}
}

// plantedNamespaces returns the Namespaces that the plans in force bring to the clusters that seeds
// create, by seed, those of seeds that left among them.
func (c *computation) plantedNamespaces() map[string][]placement.NamespaceOn {
	all := map[string][]placement.NamespaceOn{}
	if !c.inventory.AnyCreated() {
		return all
	}
	for name, previous := range c.in.Previous {
		if previous.foreign(c.in.identity()) {
			continue
		}
		var planted plantings
		if s, there := c.seeds[name]; there {
			planted = s.planted
		} else {
			planted = previous.plantings()
		}
		for _, cluster := range planted.clusters() {
			if c.inventory.Clusters[cluster].CreatedBy == nil {
				continue
			}
			for v := range planted.at(cluster) {
				if isNamespace(v.Object) {
					all[name] = append(all[name], placement.NamespaceOn{Namespace: v.Object.Name, Cluster: cluster})
				}
			}
		}
	}
	return all
}

// unused returns the warnings of overrides and placement rules without effect, as an error.
func unused(warnings []manifest.Problem) error {
	var problems manifest.Problems
	for _, w := range warnings {
		if w.Reason == v1alpha1.ReasonOverrideUnused || w.Reason == v1alpha1.ReasonPlacementUnused {
			problems = append(problems, w)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return problems
}

// keepManagement leaves a seed on the management cluster of its last plan while some document
// cannot be used that may declare another one. It sets what people would write in the seed, in a
// copy.
func (c *computation) keepManagement(s *seedState) {
	if _, uncertain := c.inventory.MayManage(); !uncertain || s.seed.Spec.ManagementCluster != "" {
		return
	}
	last := map[string]bool{}
	for _, name := range s.planted.clusters() {
		if cl, known := c.inventory.Clusters[name]; known && cl.Role == v1alpha1.RoleManagement {
			last[name] = true
		}
	}
	if names := sortedKeys(last); len(names) == 1 {
		seed := *s.seed
		seed.Spec.ManagementCluster = names[0]
		s.seed = &seed
	}
}

// markUnborn marks the declared clusters that the seeds that cannot be planned create by their last
// plan. Otherwise another seed would be planned onto such a cluster without waiting for its
// creator.
func (c *computation) markUnborn() {
	for _, name := range sortedKeys(c.failed) {
		previous := c.seeds[name].previous
		if previous == nil || previous.Plan == nil {
			continue
		}
		for _, t := range previous.Plan.Tiers {
			for _, created := range t.Creates {
				if cl, declared := c.inventory.Clusters[created.Cluster]; declared && cl.CreatedBy == nil {
					c.inventory.MarkCreated(created.Cluster, &catalog.Creation{Seed: name, Object: created.Object, On: t.Cluster, KubeConfig: v1alpha1.ObjectReference{Namespace: created.KubeConfig.Namespace, Name: created.KubeConfig.Name}})
				}
			}
		}
	}
}

// prepare makes the objects as they will land, but for what other seeds change: it takes in what
// the placement decided, and protects what must not be deleted. It returns problems only for
// secrets and annotations.
func (s *seedState) prepare(placed placement.Placed, inv *catalog.Inventory) error {
	s.placements, s.contents = placed.Placements, placed.Contents
	for _, name := range sortedKeys(placed.Variants) {
		s.variants = append(s.variants, Variant{name, placed.Variants[name]})
	}
	s.overrides = overridesOf(placed.Overrides)
	var problems manifest.Problems
	if s.seed.Spec.PlainSecrets != v1alpha1.PlainSecretsAllow {
		problems = plainSecrets(s.contents)
	}
	for _, w := range slices.Concat(s.seed.Warnings, s.seed.Skipped, placed.Warnings) {
		s.warnings = append(s.warnings, warningAt(w))
	}
	essential := s.essential(inv)
	for _, id := range essential {
		o := s.contents.Of(id)[0].Object
		s.warnings = append(s.warnings, warningAt(manifest.Problem{Reason: v1alpha1.ReasonNamespaceOfCluster, Source: o.Source, Object: o.Title(),
			Message: "clusters have this Namespace already, from Kubernetes or from the one who set up the reconciler, and the seed takes over its labels and annotations", Next: "Remove it from the seed, unless that is what you want. It is never deleted."}))
	}
	for _, id := range append(ownedByCreators(s.contents), essential...) {
		s.protect(id)
	}
	problems = append(problems, s.translateAnnotations()...)
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// overridesOf says what overrides change, for people. Objects that one changes on the same clusters share
// the names of these, which may be thousands.
func overridesOf(all []placement.Overridden) []Override {
	var out []Override
	for _, o := range all {
		object := OverriddenObject{ID: o.Object}
		for _, f := range o.Changes {
			object.Changes = append(object.Changes, manifest.Printable(f.String()))
		}
		if o.More > 0 {
			object.Changes = append(object.Changes, fmt.Sprintf("%d more", o.More))
		}
		at := slices.IndexFunc(out, func(other Override) bool {
			return other.Name == o.Override && slices.Equal(other.Clusters, o.Clusters)
		})
		if at < 0 {
			at, out = len(out), append(out, Override{Name: o.Override, From: o.Source.String(), Clusters: o.Clusters})
		}
		out[at].Objects = append(out[at].Objects, object)
	}
	return out
}

// plainSecrets returns what everybody with access to the repository could read. Secrets without any
// encryption are one problem, however many there are.
func plainSecrets(contents placement.Contents) manifest.Problems {
	var problems manifest.Problems
	var plain []manifest.Object
	var first *manifest.Problem
	for _, id := range contents.IDs() {
		for _, content := range contents.Of(id) {
			p := plainSecret(*content.Object)
			switch {
			case p == nil:
			case manifest.IsPlainSecret(*content.Object):
				plain, first = append(plain, *content.Object), cmp.Or(first, p)
			default:
				problems = append(problems, *p)
			}
		}
	}
	switch len(plain) {
	case 0:
	case 1:
		problems = append(problems, *first)
	default:
		const most = 8
		var names []string
		for _, o := range plain[:min(len(plain), most)] {
			names = append(names, o.ID.Name)
		}
		if more := len(plain) - most; more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		p := manifest.Problem{Reason: first.Reason, Field: first.Field, Next: first.Next,
			Message: fmt.Sprintf("Secrets are not encrypted (%s), and everyone with access to the GitOps repository could read them", strings.Join(names, ", "))}
		problems = append(problems, p.OfAll(plain))
	}
	return problems
}

// plainSecret returns what of a Secret everybody with access to the repository could read.
func plainSecret(o manifest.Object) *manifest.Problem {
	p := manifest.Exposed(o)
	if p != nil {
		p.Next += "; or set spec.plainSecrets: Allow in the Seed."
	}
	return p
}

// Protection is the annotation of Flux by which an object is never pruned, if its value is disabled.
const Protection = change.Protection

// protect keeps the reconciler from ever deleting the object.
func (s *seedState) protect(id manifest.ID) {
	for _, content := range s.contents.Of(id) {
		switch o := content.Object; {
		case o.Encrypted():
			s.warnings = append(s.warnings, Warning{Reason: v1alpha1.ReasonPruneNotDisabled, Object: o.Title(), Message: "it is encrypted, so it cannot be marked as not to be pruned; add annotation " + Protection + ": disabled yourself"})
		case o.Annotation(Protection) != "disabled":
			marked := o.WithAnnotation(Protection, "disabled")
			content.Object = &marked
		}
	}
}

// essential returns the Namespaces that no reconciler may ever delete: those that every cluster
// has, and the reconciler's own.
func (s *seedState) essential(inv *catalog.Inventory) []manifest.ID {
	var out []manifest.ID
	for _, p := range s.placements {
		if isNamespace(p.Object) && slices.ContainsFunc(p.Clusters, func(name string) bool { return isEssential(p.Object.Name, inv.Clusters[name]) }) {
			out = append(out, p.Object)
		}
	}
	return out
}

// isEssential reports whether a cluster needs a namespace, whichever seed contains it: those that
// Kubernetes makes itself, and the one of the cluster's Flux.
func isEssential(namespace string, on catalog.Cluster) bool {
	switch namespace {
	case "default", "kube-system", "kube-public", "kube-node-lease", on.Source.Namespace:
		return true
	}
	return false
}

// ownedByCreators returns the objects that creators refer to, directly or through each other: the
// creator's own controller deletes them in its order. A reconciler that pruned them at once could
// take away the credentials with which that controller deletes machines.
func ownedByCreators(contents placement.Contents) []manifest.ID {
	var owned []manifest.ID
	seen := map[manifest.ID]bool{}
	var visit func(id manifest.ID)
	visit = func(id manifest.ID) {
		for _, content := range contents.Of(id) {
			for _, to := range placement.References(content.Object) {
				if len(contents.Of(to)) > 0 && !seen[to] && !catalog.IsCreator(to.GroupKind()) {
					seen[to] = true
					owned = append(owned, to)
					visit(to)
				}
			}
		}
	}
	for _, id := range contents.IDs() {
		if catalog.IsCreator(id.GroupKind()) {
			visit(id)
		}
	}
	slices.SortFunc(owned, manifest.ID.Compare)
	return owned
}

// object returns an object of the seed in its first content, nil where the seed has none; for
// messages.
func (s *seedState) object(id manifest.ID) *manifest.Object {
	if all := s.contents.Of(id); len(all) > 0 {
		return all[0].Object
	}
	return nil
}

func (c *computation) failedNames() string {
	return strings.Join(quoteAll("seed", sortedKeys(c.failed)), ", ")
}

func quoteAll(noun string, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%s %q", noun, n)
	}
	return out
}

// order draws the graph and finds the tiers, leaving out seeds that fail until all that are left
// can be ordered. The graph is drawn anew each time, because without a seed others lack what it
// brings. At most as many rounds as seeds are necessary; mostly it is one.
func (c *computation) order() {
	for {
		c.holdNeeded()
		alive := c.alive()
		result := c.draw(alive)
		before := len(c.failed)
		c.judge(result)
		if len(c.failed) == before {
			tiering, given, conflict := c.tiers(result.Graph, c.pins(alive))
			if c.separateMoves(result.Graph, given) {
				continue
			}
			if conflict == nil {
				c.graph, c.tiering = tiering.Graph, tiering
				c.given = make(map[dependency.Vertex]int, len(given))
				for _, one := range given {
					c.given[c.graph.Vertex(one.Vertex)] = tiering.Ordinal[one.Vertex]
				}
				c.findReady()
				if c.stageMoves(given); len(c.failed) == before {
					return
				}
				continue
			}
			for _, name := range conflict.Seeds {
				p := conflict.Problem()
				p.Seed, p.Object = name, fmt.Sprintf("seed %q", name)
				c.fail(name, p)
			}
		}
	}
}

// findReady notes what is waited for, and until when.
func (c *computation) findReady() {
	c.waited, c.needed, c.ready, c.beside = make([]bool, c.graph.Len()), make([]bool, c.graph.Len()), map[int32][]string{}, map[int32][]manifest.ID{}
	for _, e := range c.graph.Edges {
		r := c.graph.Reason(e)
		if r.Kind == dependency.Soft || r.Kind == dependency.Weak && !c.weaklyWaited(e) {
			continue
		}
		c.waited[e.To] = true
		c.needed[e.To] = c.needed[e.To] || c.tiering.Level[e.From] > c.tiering.Level[e.To]
		if r.Ready != "" && !slices.Contains(c.ready[e.To], r.Ready) {
			c.ready[e.To] = append(c.ready[e.To], r.Ready)
		}
		if r.Beside != (manifest.ID{}) && !slices.Contains(c.beside[e.To], r.Beside) {
			c.beside[e.To] = append(c.beside[e.To], r.Beside)
		}
	}
}

// weaklyWaited reports whether a weak edge leads to an earlier tier, which has to be ready then. A claim may wait for
// the very pod that needs it.
func (c *computation) weaklyWaited(e dependency.Edge) bool {
	return c.tiering.Level[e.From] > c.tiering.Level[e.To] && c.graph.Object(e.To).GroupKind() != claimKind
}

// graphSeeds makes the seeds of the graph. What leaves a seed that drops it now has no vertex any
// longer. Edges of the plan before are kept only for what leaves or is held; for the rest, rules
// draw them.
func (c *computation) graphSeeds(alive []*seedState) []dependency.Seed {
	seeds := make([]dependency.Seed, 0, len(alive))
	for _, s := range alive {
		seed := dependency.Seed{Name: s.seed.Name, Spec: s.seed.Spec, Contents: s.contents, Placements: c.classes.onFirst(s.placements), Held: s.held, Compact: s.seed.Spec.Tiers == v1alpha1.TiersCompact}
		if !c.dropping[s.seed.Name] {
			seed.Leaving = c.classes.verticesOnFirst(s.leaving)
		}
		if len(seed.Leaving)+len(s.held) > 0 {
			seed.Kept = slices.DeleteFunc(s.previous.kept(), func(e dependency.KeptEdge) bool {
				return !c.classes.isFirst(e.From.Cluster) || s.broken[e.From.Cluster] == "" && (len(seed.Leaving) == 0 || !s.leaves[e.From])
			})
		}
		seeds = append(seeds, seed)
	}
	return seeds
}

// pins returns the tiers that objects have by the plans being replaced.
func (c *computation) pins(alive []*seedState) map[dependency.Vertex]int {
	pins := map[dependency.Vertex]int{}
	for _, s := range alive {
		for cluster := range s.planted.on {
			if !c.classes.isFirst(cluster) {
				continue
			}
			for v, p := range s.planted.at(cluster) {
				pins[v] = p.tier.Ordinal
			}
		}
		if c.verifying { // whether a move is necessary shows where the object was
			for v, m := range s.before {
				if m.Stage == StageMove && m.Goes() {
					pins[v] = m.From
				}
			}
		}
	}
	return pins
}

// judge turns what the rules found into errors and warnings. A missing Namespace or CRD is normally
// a warning, as it may well be on the cluster. It is an error while somebody who may contain it
// cannot be planned, or is being removed, unless the plan in force had the same warning: then
// nothing has become worse.
func (c *computation) judge(result dependency.Result) {
	broken := c.failedNames() // not those that fail below: the graph has their objects
	for _, f := range result.Errors {
		p := c.finding(f)
		if f.Missing && broken != "" {
			p.Next += fmt.Sprintf(" %s cannot be planned and may contain it", broken)
		}
		c.fail(f.Seed, p)
	}
	c.warnings = map[string][]dependency.Finding{}
	leavers := c.leavers()
	for _, f := range result.Warnings {
		switch {
		case f.Missing && broken != "" && !c.warnedBefore(f):
			p := c.finding(f)
			p.Next += fmt.Sprintf(" %s cannot be planned and may contain it", broken)
			c.fail(f.Seed, p)
		case c.in.Strict && f.Missing:
			c.fail(f.Seed, c.finding(f))
		case f.Missing && leavers != "" && !c.warnedBefore(f):
			p := c.finding(f)
			p.Next += fmt.Sprintf(" %s is being removed and may have contained it: put it back, or remove what needs it first", leavers)
			c.fail(f.Seed, p)
		}
		c.warnings[f.Seed] = append(c.warnings[f.Seed], f)
	}
}

// leavers names the seeds that are planted and no longer in the catalog.
func (c *computation) leavers() string {
	var names []string
	for _, name := range sortedKeys(c.in.Previous) {
		previous := c.in.Previous[name]
		if _, there := c.in.Catalog.Seed(name); !there && previous != nil && previous.Plan != nil && !previous.foreign(c.in.identity()) {
			names = append(names, name)
		}
	}
	return strings.Join(quoteAll("seed", names), ", ")
}

// warnedBefore reports whether the plan in force has the same warning.
func (c *computation) warnedBefore(f dependency.Finding) bool {
	s := c.seeds[f.Seed]
	if s.previous == nil || s.previous.Plan == nil {
		return false
	}
	now := warningOf(f)
	return slices.ContainsFunc(s.previous.Plan.Warnings, func(w Warning) bool {
		if f.Objects > 0 { // it is about a cluster, whatever the number of objects
			return w.Reason == f.Reason && strings.HasPrefix(w.Message, f.Message)
		}
		return w.Object == now.Object && w.Message == now.Message
	})
}

// finding makes a problem of what the dependency rules found, at the object's place in its file.
func (c *computation) finding(f dependency.Finding) manifest.Problem {
	if o := c.seeds[f.Seed].object(f.Object); o != nil {
		p := manifest.Problem{Reason: f.Reason, Source: o.Source, Object: o.Title(), Field: f.Field, Seed: f.Seed, Cluster: f.Cluster, Message: f.Message, Next: f.Next}
		if f.Objects > 1 {
			p.Message, p.Object = fmt.Sprintf("%s; first: %s", p.Message, p.Object), fmt.Sprintf("%d objects", f.Objects)
		}
		return p
	}
	return manifest.OfSeed(f.Reason, f.Seed, fmt.Sprintf("%s: %s", f.Object, f.Message), f.Next)
}

// outcomes assembles the plans of the seeds that can be planned and explains the rest. Assembling
// may fail as well, as when a template is wrong; since other tiers may wait for those of the seed,
// all is ordered and assembled again.
func (c *computation) outcomes() map[string]*Outcome {
	for {
		before := len(c.failed)
		out := c.assembleAll()
		if len(c.failed) == before {
			return out
		}
		c.order()
	}
}

// assembleAll returns the outcome of every seed: its plan, or why it has none, then with the plan
// that stays in force, if that is this control plane's.
func (c *computation) assembleAll() map[string]*Outcome {
	out := map[string]*Outcome{}
	for _, s := range c.alive() {
		name := s.seed.Name
		by := c.keptBy(s)
		if c.in.Memo.keeps(name, by) {
			out[name] = &Outcome{Plan: by.plan, Kept: true, Broken: s.broken}
			continue
		}
		o, err := c.assemble(s)
		if c.in.Memo.note(name, by, o); err != nil {
			c.fail(name, err)
			continue
		}
		out[name] = o
	}
	for name, err := range c.failed {
		o := &Outcome{Err: err}
		if p := c.seeds[name].previous; p != nil && p.Plan != nil && !p.foreign(c.in.identity()) {
			o.Plan, o.Kept = p.Plan, true
		}
		out[name] = o
	}
	for name, inherits := range c.inherits {
		out[name].Inherits = inherits
	}
	return out
}
