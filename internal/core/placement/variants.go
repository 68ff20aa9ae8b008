package placement

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Placed is where the objects of a seed go, and what each has there.
//
// Invariant: no two placements have the same object and cluster.
type Placed struct {
	Placements []Placement
	Contents   Contents
	// Variants are the names of the variants with the clusters that get them; nil where the seed has
	// one for all.
	Variants map[string][]string
	// Overrides are what the overrides of the seed change, in their order and that of the objects.
	Overrides []Overridden
	Warnings  []manifest.Problem
}

// Content is what an object has on the clusters that share it.
type Content struct {
	Object *manifest.Object
	// Annotated reports whether the object has annotations. Most have none, and much is about them.
	Annotated bool
	// Names are what the object names (NamesOf).
	Names []Name
	// variants are those that have it, for people.
	variants []string
}

func newContent(o *manifest.Object, variants ...string) *Content {
	return &Content{Object: o, Annotated: o.Map("metadata", "annotations") != nil, Names: NamesOf(o), variants: variants}
}

// Contents are the objects of a seed by cluster. Variants with equal content share it, so
// clusters cost nothing here, and variants only where they differ: 10,000 clusters of one variant
// cost what one costs. A Content may be compared by its pointer.
type Contents struct {
	// variants are those of workload clusters, or, where overrides were applied, of all that the seed
	// goes to; nil where the seed has one for all.
	variants map[string]int
	// objects are in order.
	objects []objectContents
	// management is what objects have on management clusters, where variants differ.
	management map[on]*Content
}

// objectContents are what an object has by variant, nil where a variant lacks it; one where the seed
// has one variant.
type objectContents struct {
	id  manifest.ID
	all []*Content
}

// on is an object on a cluster.
type on struct {
	object  manifest.ID
	cluster string
}

// Of lists the different contents of an object, in order of variants.
func (c Contents) Of(id manifest.ID) []*Content {
	var out []*Content
	seen := map[*Content]bool{nil: true}
	for _, content := range c.find(id) {
		if !seen[content] {
			seen[content] = true
			out = append(out, content)
		}
	}
	return out
}

// On returns what an object has on a cluster, nil where it is not there. Where the cluster has no
// variant, as one that the seed leaves, it is any content of the object.
func (c Contents) On(id manifest.ID, cluster string) *Content {
	return c.choose(id, c.find(id), cluster)
}

// InOrder returns On for who asks for objects in order, which is quicker.
func (c Contents) InOrder() func(id manifest.ID, cluster string) *Content {
	at := 0
	return func(id manifest.ID, cluster string) *Content {
		if at < len(c.objects) && c.objects[at].id != id {
			at++
		}
		if at < len(c.objects) && c.objects[at].id == id {
			return c.choose(id, c.objects[at].all, cluster)
		}
		at, _ = c.search(id)
		return c.On(id, cluster)
	}
}

func (c Contents) search(id manifest.ID) (int, bool) {
	return slices.BinarySearchFunc(c.objects, id, func(o objectContents, id manifest.ID) int { return o.id.Compare(id) })
}

// find returns what an object has by variant; nil where no variant has it.
func (c Contents) find(id manifest.ID) []*Content {
	if at, found := c.search(id); found {
		return c.objects[at].all
	}
	return nil
}

// choose returns what an object has on a cluster of all that it has.
func (c Contents) choose(id manifest.ID, all []*Content, cluster string) *Content {
	if len(all) == 0 {
		return nil
	}
	if variant, chosen := c.variants[cluster]; chosen {
		return all[variant]
	}
	if content, differs := c.management[on{id, cluster}]; differs {
		return content
	}
	return all[slices.IndexFunc(all, func(content *Content) bool { return content != nil })]
}

// IDs returns the objects in order.
func (c Contents) IDs() []manifest.ID {
	ids := make([]manifest.ID, len(c.objects))
	for i, o := range c.objects {
		ids[i] = o.id
	}
	return ids
}

// plainContents returns those of a seed with one variant.
func (s *placer) plainContents(variant string) Contents {
	s.findNamers()
	variants := []string{variant}
	objects, contents, all := make([]objectContents, len(s.all)), make([]Content, len(s.all)), make([]*Content, len(s.all))
	for i, n := range s.all {
		contents[i] = Content{Object: n.object, Annotated: n.annotations != nil, Names: n.names, variants: variants}
		all[i] = &contents[i]
		objects[i] = objectContents{n.object.ID, all[i : i+1 : i+1]}
	}
	return Contents{objects: objects}
}

// Place decides for every object of a seed. The inventory has the implied clusters. The error is
// manifest.Problems with every problem, not only the first.
//
// Each variant is placed by itself, as if it were the whole seed, because followers must find what
// they follow within the variant. What comes out counts for the workload clusters that choose the
// variant, and for all management clusters: no variant is chosen there, and several of them may put
// objects there.
//
// What the overrides of the seed change comes last: they say what an object is on a cluster, and not
// where it goes.
func Place(seed *catalog.Seed, inv *catalog.Inventory) (Placed, error) {
	return place(seed, inv, Namespaces{})
}

// place is Place of a seed beside others, which bring Namespaces.
func place(seed *catalog.Seed, inv *catalog.Inventory, given Namespaces) (Placed, error) {
	if err := checkSettings(seed, inv); err != nil {
		return Placed{}, err
	}
	placed, err := placeVariants(seed, inv, given)
	if err == nil {
		err = applyOverrides(seed, inv, &placed)
	}
	if err != nil {
		return Placed{}, err
	}
	unused, err := unusedRules(seed, inv)
	placed.Warnings = append(append(placed.Warnings, unused...), imaginedGrants(seed, inv)...)
	return placed, err
}

// imaginedGrants warns of created clusters whose kubeconfig may be read only because the cluster that it is on is
// imagined.
func imaginedGrants(seed *catalog.Seed, inv *catalog.Inventory) []manifest.Problem {
	var warnings []manifest.Problem
	for _, name := range inv.Names() {
		if !creates(seed, inv, name) {
			continue
		}
		if p, lacks := inv.LacksGrant(name); lacks {
			p.Message += "; planned as if it were, because there is no control plane"
			warnings = append(warnings, p)
		}
	}
	return warnings
}

func placeVariants(seed *catalog.Seed, inv *catalog.Inventory, given Namespaces) (Placed, error) {
	if len(seed.Variants) == 1 && seed.Variants[0].Default() {
		s := newPlacer(seed, seed.Variants[0].Objects, inv)
		s.given = given
		placements, problems, warnings := s.placeAll()
		if len(problems) > 0 {
			return Placed{}, inOrder(problems)
		}
		return Placed{Placements: placements, Contents: s.plainContents(seed.Variants[0].Name), Warnings: warnings}, nil
	}
	m := &merge{seed: seed, inventory: inv, given: given, choice: newChoice(seed, inv), unchosen: map[string]bool{}, index: map[reason]int{}, placed: map[on][]int{}}
	for i := range seed.Variants {
		m.add(i)
	}
	return m.result()
}

// placeVariant decides for the objects of one variant, as if it were for all clusters. among
// are the workload clusters that count in the end; nil where all do.
func (m *merge) placeVariant(variant int, among []string) (placements []Placement, problems, warnings manifest.Problems) {
	s := newPlacer(m.seed, m.seed.Variants[variant].Objects, m.inventory)
	s.given, s.among = m.given, among
	return s.placeAll()
}

// placeAll decides for all objects.
func (s *placer) placeAll() (placements []Placement, problems, warnings manifest.Problems) {
	placements = make([]Placement, 0, len(s.all))
	for _, n := range s.all {
		p, err := s.place(n)
		problems = appendProblem(problems, err)
		placements = append(placements, p)
		if w, mixed := s.warnOfMixed(n.object, p); mixed {
			warnings = append(warnings, w)
		}
	}
	if len(problems) == 0 {
		problems = s.checkCreators()
	}
	return placements, problems, warnings
}

// choice says which variant each workload cluster gets. A variant lists clusters or selects them;
// one without either is the default and gets the rest. Variants are indices into Seed.Variants.
type choice struct {
	of map[string]int
	// twice are clusters that two variants choose.
	twice map[string][2]int
	used  []bool
	// by are the workload clusters of each variant, and rest those that have none, or two.
	by   [][]string
	rest []string
}

// among returns the workload clusters for which a variant is asked.
func (c choice) among(variant int) []string {
	names := slices.Concat(c.by[variant], c.rest)
	slices.Sort(names)
	return names
}

// newChoice asks each variant about each cluster. A cluster that two variants choose is noted and
// no error yet: the seed may not go there at all (see merge.checkChoice).
func newChoice(seed *catalog.Seed, inv *catalog.Inventory) choice {
	c := choice{of: map[string]int{}, twice: map[string][2]int{}, used: make([]bool, len(seed.Variants)), by: make([][]string, len(seed.Variants))}
	fallback := slices.IndexFunc(seed.Variants, catalog.Variant.Default)
	for _, name := range inv.Names() {
		cluster := inv.Clusters[name]
		chosen := false
		for i, v := range seed.Variants {
			if !v.Chooses(cluster) {
				continue
			}
			if c.used[i] = true; cluster.Role == v1alpha1.RoleManagement {
				continue
			}
			if chosen {
				c.twice[name] = [2]int{c.of[name], i}
				break
			}
			c.of[name], chosen = i, true
		}
		if cluster.Role == v1alpha1.RoleManagement {
			continue
		}
		if !chosen && fallback >= 0 {
			c.of[name], c.used[fallback], chosen = fallback, true, true
		}
		if _, twice := c.twice[name]; twice || !chosen {
			c.rest = append(c.rest, name)
		} else {
			c.by[c.of[name]] = append(c.by[c.of[name]], name)
		}
	}
	return c
}

// reason is what placements of one object must have in common to be shown as one.
type reason struct {
	object    manifest.ID
	rule, why string
}

// merge puts the placements of a seed's variants together, in order of variants. placements has one
// for each object, rule and reason (index); the clusters of several variants are joined there.
type merge struct {
	seed      *catalog.Seed
	inventory *catalog.Inventory
	given     Namespaces
	choice    choice
	problems  manifest.Problems
	warnings  []manifest.Problem
	// unchosen are the clusters that something would go to and that no variant is for.
	unchosen   map[string]bool
	placements []Placement
	index      map[reason]int
	// placed are the variants that have an object on a cluster: one, but for management clusters.
	placed map[on][]int
}

func (m *merge) name(variant int) string { return m.seed.Variants[variant].Name }

func (m *merge) problem(reason v1alpha1.Reason, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Source: m.seed.SpecAt, Object: fmt.Sprintf("Seed %q", m.seed.Name), Seed: m.seed.Name, Message: message, Next: next}
}

// add places one variant, among the clusters that chose it, and keeps of its placements the
// clusters that the variant is for. An object that goes to none of them is lost, with a warning.
func (m *merge) add(variant int) {
	if !m.choice.used[variant] {
		m.addUnused(variant)
		return
	}
	placements, problems, warnings := m.placeVariant(variant, m.choice.among(variant))
	m.problems = append(m.problems, problems...)
	m.warnings = append(m.warnings, warnings...)
	if len(problems) > 0 {
		return
	}
	for _, p := range placements {
		var clusters []string
		for _, cluster := range p.Clusters {
			if m.isFor(variant, p.Object, cluster) {
				clusters = append(clusters, cluster)
			}
		}
		if len(clusters) == 0 {
			m.warnOfLost(variant, p)
			continue
		}
		p.Clusters = clusters
		m.addPlacement(p)
	}
}

// isFor reports whether an object goes to a cluster by this variant, and not by an earlier one, and
// notes who has what where. On a management cluster several variants may have the object; the first
// brings the placement, and checkManagement compares what they have.
func (m *merge) isFor(variant int, object manifest.ID, cluster string) bool {
	key := on{object, cluster}
	if m.inventory.Clusters[cluster].Role == v1alpha1.RoleManagement {
		m.placed[key] = append(m.placed[key], variant)
		return len(m.placed[key]) == 1
	}
	chosen, ok := m.choice.of[cluster]
	if _, twice := m.choice.twice[cluster]; twice || !ok {
		m.unchosen[cluster] = true
		return false
	}
	if chosen != variant {
		return false
	}
	m.placed[key] = []int{variant}
	return true
}

// addPlacement joins placements of one object by the same rule and reason, of several variants.
func (m *merge) addPlacement(p Placement) {
	key := reason{p.Object, p.Rule, p.Why}
	at, there := m.index[key]
	if !there {
		m.index[key] = len(m.placements)
		m.placements = append(m.placements, p)
		return
	}
	m.placements[at].Clusters = append(m.placements[at].Clusters, p.Clusters...)
}

// addUnused warns of a variant that no cluster gets. It must not create clusters: they would
// have none of its objects.
func (m *merge) addUnused(variant int) {
	v := m.seed.Variants[variant]
	for _, o := range v.Objects {
		if catalog.IsCreator(o.ID.GroupKind()) {
			m.problems = append(m.problems, o.Problem(v1alpha1.ReasonVariantUnused, fmt.Sprintf("variant %s creates the cluster %q and is for no cluster", v.Name, o.ID.Name), "Let the variant choose that cluster.").WithCluster(o.ID.Name))
			return
		}
	}
	if why := m.mayBeChosen(v); why != "" && m.onManagement(variant) {
		m.problems = append(m.problems, m.problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("variant %s has objects for a management cluster, and it is unknown whether a cluster gets it: %s", v.Name, why), "Correct that document."))
		return
	}
	m.warnings = append(m.warnings, m.problem(v1alpha1.ReasonVariantUnused, fmt.Sprintf("no cluster gets variant %s, so nothing of it is planned", v.Name), "Correct its clusters or clusterSelector, or remove it."))
}

// mayBeChosen returns why a cluster that cannot be read may get a variant; empty where none may.
func (m *merge) mayBeChosen(v catalog.Variant) string {
	for _, name := range v.Clusters {
		if why := m.inventory.BrokenOrLost(name); why != "" {
			return fmt.Sprintf("of %s, %s", name, why)
		}
	}
	if at, uncertain := m.inventory.MayDeclareMore(); uncertain && (v.Selector != nil || v.Default()) {
		return fmt.Sprintf("%s cannot be used and may declare one", at)
	}
	return ""
}

// onManagement reports whether a variant puts something on a management cluster, or may.
func (m *merge) onManagement(variant int) bool {
	placements, problems, _ := m.placeVariant(variant, nil)
	return len(problems) > 0 || slices.ContainsFunc(placements, func(p Placement) bool {
		return slices.ContainsFunc(p.Clusters, func(name string) bool { return m.inventory.Clusters[name].Role == v1alpha1.RoleManagement })
	})
}

// warnOfLost warns of an object that goes only to clusters that get other variants, which lack it.
// People mean something by it, and nothing of it would be planned.
func (m *merge) warnOfLost(variant int, p Placement) {
	o, _ := find(m.seed.Variants[variant].Objects, p.Object)
	for _, cluster := range p.Clusters {
		other, chosen := m.choice.of[cluster]
		if !chosen || other == variant {
			continue
		}
		if _, has := find(m.seed.Variants[other].Objects, p.Object); !has {
			m.warnings = append(m.warnings, o.Problem(v1alpha1.ReasonVariantMismatch, fmt.Sprintf("it is in variant %s and goes to cluster %s (%s), which gets variant %s: it is planned nowhere", m.name(variant), cluster, p.Why, m.name(other)), "Move it to that variant, or correct where it goes.").WithCluster(cluster))
			return
		}
	}
}

func find(objects []manifest.Object, id manifest.ID) (*manifest.Object, bool) {
	for i := range objects {
		if objects[i].ID == id {
			return &objects[i], true
		}
	}
	return nil, false
}

// result returns what all variants come to, sorted, or all problems at once.
func (m *merge) result() (Placed, error) {
	m.checkChoice()
	contents := m.contents()
	m.checkManagement(&contents)
	if len(m.problems) > 0 {
		return Placed{}, inOrder(m.problems)
	}
	out := Placed{Placements: m.placements, Contents: contents, Variants: map[string][]string{}, Warnings: m.warnings}
	for i := range out.Placements {
		out.Placements[i].Clusters = union(out.Placements[i].Clusters)
	}
	slices.SortFunc(out.Placements, func(a, b Placement) int {
		return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Clusters[0], b.Clusters[0]))
	})
	variants := map[string]bool{}
	for key := range m.placed {
		variants[key.cluster] = true
	}
	for _, cluster := range sortedKeys(variants) {
		if variant, chosen := m.choice.of[cluster]; chosen {
			out.Variants[m.name(variant)] = append(out.Variants[m.name(variant)], cluster)
		}
	}
	return out, nil
}

// checkChoice refuses clusters that the seed goes to and that not exactly one variant chooses.
func (m *merge) checkChoice() {
	var none []string
	for _, cluster := range sortedKeys(m.unchosen) {
		if both, twice := m.choice.twice[cluster]; twice {
			m.problems = append(m.problems, m.problem(v1alpha1.ReasonVariantAmbiguous, fmt.Sprintf("cluster %s is chosen by variants %s and %s", cluster, m.name(both[0]), m.name(both[1])), "Let exactly one of them choose it.").WithCluster(cluster))
			continue
		}
		none = append(none, cluster)
	}
	if len(none) > 0 {
		m.problems = append(m.problems, m.problem(v1alpha1.ReasonNoVariant, "no variant chooses "+strings.Join(first(none, 8), ", "), "Add a variant for it, or one without clusters and clusterSelector as the default; or leave the cluster out by spec.clusterSelector.").WithCluster(none[0]))
	}
	if len(m.problems) == 0 && len(m.placements) == 0 {
		m.problems = append(m.problems, m.problem(v1alpha1.ReasonNoVariant, "no cluster gets any of its variants", "Correct the clusters and clusterSelectors in spec.render."))
	}
}

// contents finds the objects that variants share, by their canonical bytes. Each object is compared
// with those of earlier variants, which are few.
func (m *merge) contents() Contents {
	objects := map[manifest.ID][]*Content{}
	texts := map[*Content][]byte{}
	for i, v := range m.seed.Variants {
		if !m.choice.used[i] {
			continue
		}
		for j := range v.Objects {
			o := &v.Objects[j]
			all := objects[o.ID]
			if all == nil {
				all = make([]*Content, len(m.seed.Variants))
				objects[o.ID] = all
			}
			text, err := o.Bytes()
			if err != nil {
				m.problems = appendProblem(m.problems, err)
				continue
			}
			same := slices.IndexFunc(all, func(other *Content) bool { return other != nil && bytes.Equal(texts[other], text) })
			if same >= 0 {
				all[i] = all[same]
				all[i].variants = append(all[i].variants, v.Name)
				continue
			}
			all[i] = newContent(o, v.Name)
			texts[all[i]] = text
		}
	}
	c := Contents{variants: m.choice.of, management: map[on]*Content{}}
	for _, id := range slices.SortedFunc(maps.Keys(objects), manifest.ID.Compare) {
		c.objects = append(c.objects, objectContents{id, objects[id]})
	}
	return c
}

// checkManagement refuses what several variants have differently on one management cluster.
func (m *merge) checkManagement(c *Contents) {
	for _, key := range slices.SortedFunc(maps.Keys(m.placed), on.compare) {
		if _, workload := m.choice.of[key.cluster]; workload {
			continue
		}
		all := c.find(key.object)
		firstContent := all[m.placed[key][0]]
		if len(c.Of(key.object)) > 1 {
			c.management[key] = firstContent
		}
		for _, variant := range m.placed[key][1:] {
			if other := all[variant]; other != firstContent && firstContent != nil && other != nil {
				m.problems = append(m.problems, conflict(firstContent, other, key.cluster))
				break
			}
		}
	}
}

// conflict returns the problem that two variants have an object differently on one cluster, and
// names both sources, unless both have it from one document, which their overlays patch.
func conflict(a, b *Content, cluster string) manifest.Problem {
	in := func(c *Content) string { return c.variants[0] }
	source := a.Object.Source
	if source != b.Object.Source {
		in = func(c *Content) string { return fmt.Sprintf("%s (%s)", c.variants[0], c.Object.Source) }
	} else {
		source = manifest.Source{}
	}
	p := b.Object.Problem(v1alpha1.ReasonVariantConflict, fmt.Sprintf("variants %s and %s have different content for it, and both put it on management cluster %s", in(a), in(b), cluster),
		"Give it one name for each variant, as with namePrefix, or the same content in all.").WithCluster(cluster)
	p.Other = source
	return p
}

func (k on) compare(other on) int {
	return cmp.Or(k.object.Compare(other.object), cmp.Compare(k.cluster, other.cluster))
}
