package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

const (
	// maxListed is how many objects of a tier are listed one by one. More are grouped.
	maxListed = 10
	// maxAbout is how many objects of alike warnings are named.
	maxAbout = 3
	// minAlike is how many objects with one why are a group of their own, and maxAlike how many such
	// groups one rule has at most: more are one group.
	minAlike = 3
	maxAlike = 3
	// maxWarnings is how many different warnings are shown.
	maxWarnings = 20
	// maxAfter is how many of the tiers that a tier waits for are shown.
	maxAfter = 6
	// unlimitedNames is how many names a line has where the width is not limited.
	unlimitedNames = 5
)

// planTable shows a plan for people: what to know first, then the tiers in the order in which they
// are released. Unless whole, equal clusters are one, and the objects of a large tier are grouped by
// kind and why.
func planTable(w io.Writer, p *plan.Plan, known traits, whole bool) {
	v := newPlanView(p, known, whole)
	objects := 0
	for i := range p.Tiers {
		objects += len(p.Objects(&p.Tiers[i]))
	}
	heading(w, fmt.Sprintf("Seed %s: %s in %s on %s", p.Seed, plural(objects, "object"), plural(len(p.Tiers), "tier"), plural(len(v.fleet.names), "cluster")))
	v.warnings(w)
	v.tiers(w)
	part(w, "Rollout", rolloutOf(p, v.fleet))
	part(w, "Differs by cluster", v.differing())
	movesPart(w, p, v.fleet)
	part(w, "Overrides", v.overrides())
	fmt.Fprintln(w)
}

// movesPart shows which objects of a plan move, and what that keeps from changing.
func movesPart(w io.Writer, p *plan.Plan, all clusterSet) {
	moves := movesOf(p, all, func(manifest.ID) bool { return true })
	if slices.ContainsFunc(all.names, func(cluster string) bool { return p != nil && p.HeldOn(cluster) }) {
		moves = append(moves, "Until release 3, nothing else of the seed changes on these clusters.")
	}
	part(w, "Moves", moves)
}

// movesOf lists objects of a plan that move to other tiers, or to or from other seeds.
func movesOf(p *plan.Plan, all clusterSet, counts func(manifest.ID) bool) []string {
	if p == nil {
		return nil
	}
	var out []string
	for i := range p.Moves {
		if m := &p.Moves[i]; counts(m.Object) {
			out = append(out, fmt.Sprintf("- on %s: %s", all.on(m.Clusters), m))
		}
	}
	given := map[plan.Handover][]string{}
	for i := range p.Tiers {
		for _, h := range p.HandedOver(&p.Tiers[i]) {
			given[h] = append(given[h], p.Tiers[i].Cluster)
		}
	}
	for _, h := range slices.SortedFunc(maps.Keys(given), plan.Handover.Compare) {
		if counts(h.Object) {
			out = append(out, fmt.Sprintf("- on %s: %s", all.on(given[h]), h))
		}
	}
	for _, await := range p.Awaits {
		if counts(await.Object) {
			out = append(out, fmt.Sprintf("- on %s: %s", all.on(await.Clusters), await))
		}
	}
	return out
}

// planView is a plan with what its table looks up again and again.
type planView struct {
	plan  *plan.Plan
	fleet clusterSet
	whole bool
	// placements are those of each object.
	placements map[manifest.ID][]plan.Placement
	kinds      kindNames
	// bodies are the objects of tiers by their contents; those by cluster are of contents with an
	// object that is on its clusters for several reasons. numbers has each text of a body once.
	bodies  map[bodyKey]*tierBody
	numbers map[string]int
}

func newPlanView(p *plan.Plan, known traits, whole bool) *planView {
	v := &planView{
		plan: p, fleet: fleetIn(known, p), whole: whole, placements: map[manifest.ID][]plan.Placement{},
		kinds: kindNames{}, bodies: map[bodyKey]*tierBody{}, numbers: map[string]int{},
	}
	for _, c := range p.Contents {
		for _, o := range c.Objects {
			v.kinds.add(o.ID.GroupKind())
		}
	}
	for _, pl := range p.Placements {
		v.placements[pl.Object] = append(v.placements[pl.Object], pl)
	}
	return v
}

// placedObject is an object of a tier with the rule that placed it there, and why.
type placedObject struct {
	id        manifest.ID
	rule, why string
}

type bodyKey struct{ contents, cluster string }

// tierBody is the objects of a tier. Bodies with the same text have the same number.
type tierBody struct {
	objects []placedObject
	text    string
	number  int
}

// body returns the objects of a tier. Tiers of many clusters share their contents, so the cost does
// not grow with the clusters.
func (v *planView) body(t *plan.Tier) *tierBody {
	key := bodyKey{contents: t.Contents}
	if b, ok := v.bodies[key]; ok && b != nil {
		return b
	} else if ok {
		key.cluster = t.Cluster
	}
	if b, ok := v.bodies[key]; ok {
		return b
	}
	b := &tierBody{}
	var text strings.Builder
	for _, o := range v.plan.Objects(t) {
		of := v.placements[o.ID]
		if len(of) > 1 && key.cluster == "" {
			key.cluster = t.Cluster
			v.bodies[bodyKey{contents: t.Contents}] = nil
		}
		pl := placementOn(of, t.Cluster)
		b.objects = append(b.objects, placedObject{o.ID, pl.Rule, pl.Why})
		text.WriteString(o.ID.String() + "\x01" + pl.Why + "\x01" + pl.Rule + "\x00")
	}
	b.text = text.String()
	if _, known := v.numbers[b.text]; !known {
		v.numbers[b.text] = len(v.numbers)
	}
	b.number = v.numbers[b.text]
	v.bodies[key] = b
	return b
}

// placementOn returns why an object goes to a cluster; placements are all of the object. There are
// several where variants of it are placed by different rules.
func placementOn(placements []plan.Placement, cluster string) plan.Placement {
	for _, p := range placements {
		if _, on := slices.BinarySearch(p.Clusters, cluster); on || len(placements) == 1 {
			return p
		}
	}
	return plan.Placement{}
}

// comparable returns a text that two tiers have in common if all that is shown of their objects is
// equal but for the names of their clusters. A body that does not name the cluster is represented by
// its number, between hyphens: no cluster has such a name.
func (b *tierBody) comparable(cluster string) string {
	if strings.Contains(b.text, cluster) {
		return b.text
	}
	return fmt.Sprintf("-%d-", b.number)
}

// tiers shows the tiers, equal clusters as one.
func (v *planView) tiers(w io.Writer) {
	tiers := v.plan.InOrder()
	texts := make([]ofCluster, len(tiers))
	for i, t := range tiers {
		b := v.body(t)
		head := layout.NameOnCluster(t.Ordinal) + ": " + plural(len(b.objects), "object")
		if len(t.Prerequisites) == 0 {
			head += " (waits for nothing)"
		}
		texts[i] = ofCluster{t.Cluster, strings.Join(append([]string{head}, v.after(t)...), "\x01") + "\x00" + b.comparable(t.Cluster)}
	}
	for _, f := range folded(v.fleet, texts, v.whole) {
		t := tiers[f.members[0]]
		text, _, _ := strings.Cut(f.text, "\x00")
		head := strings.Split(text, "\x01")
		fmt.Fprintln(w)
		heading(w, f.on+" "+head[0])
		for _, after := range head[1:] {
			paragraph(w, "    ", afterSame.ReplaceAllString(after, "  after $1 of the same cluster:"))
		}
		objects := v.body(t).objects
		if len(f.members) > 1 {
			objects = withoutCluster(objects, t.Cluster)
		}
		if v.whole || len(objects) <= maxListed {
			v.list(w, objects)
		} else {
			grouped(w, objects, v.kinds)
		}
	}
}

// afterSame is the beginning of a line of after, if clusters that are shown as one each wait for a tier
// of their own.
var afterSame = regexp.MustCompile(`^  after ` + anyCluster + ` (tier [0-9]+):`)

// withoutCluster returns objects as they are on each of several clusters that are shown as one.
func withoutCluster(objects []placedObject, cluster string) []placedObject {
	out := slices.Clone(objects)
	for i := range out {
		o := &out[i]
		o.id.Namespace, o.id.Name = general(ofCluster{cluster, o.id.Namespace}), general(ofCluster{cluster, o.id.Name})
		o.why = general(ofCluster{cluster, o.why})
	}
	return out
}

// after returns a line for each of the tiers that a tier waits for, equal clusters as one.
func (v *planView) after(t *plan.Tier) []string {
	texts := make([]ofCluster, len(t.Prerequisites))
	for i, pre := range t.Prerequisites {
		texts[i] = ofCluster{pre.Cluster, pre.Seed + "\x02" + layout.NameOnCluster(pre.Ordinal) + ": " + pre.Why}
	}
	var out []string
	all := folded(v.fleet, texts, v.whole)
	for n, f := range all {
		if n == maxAfter && len(all) > maxAfter+1 && !v.whole {
			return append(out, fmt.Sprintf("  after %d more; -o wide shows each", len(all)-n))
		}
		seed, text, _ := strings.Cut(f.text, "\x02")
		if seed != "" {
			seed = "seed " + seed + " on "
		}
		out = append(out, "  after "+seed+f.on+" "+text)
	}
	return out
}

// list shows objects one by one.
func (v *planView) list(w io.Writer, objects []placedObject) {
	lines := make([][]string, len(objects))
	for i, o := range objects {
		lines[i] = []string{"  - " + o.id.String(), o.why}
	}
	rows(w, lines)
}

// grouped shows objects by why and kind, with as many names of a kind as fit on its line. Kinds of one
// object each share a line.
func grouped(w io.Writer, objects []placedObject, names kindNames) {
	for _, g := range byWhy(objects) {
		paragraph(w, "    ", "  "+g.title())
		kinds := map[manifest.GroupKind][]string{}
		for _, o := range g.objects {
			kinds[o.id.GroupKind()] = append(kinds[o.id.GroupKind()], shortName(o.id))
		}
		order := slices.SortedFunc(maps.Keys(kinds), func(a, b manifest.GroupKind) int {
			return cmp.Or(cmp.Compare(len(kinds[b]), len(kinds[a])), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
		})
		single := slices.IndexFunc(order, func(k manifest.GroupKind) bool { return len(kinds[k]) == 1 })
		if single < 0 || len(order)-single < minAlike {
			single = len(order)
		}
		digits := len(fmt.Sprint(max(len(kinds[order[0]]), len(order)-single)))
		indent := strings.Repeat(" ", len("    ")+digits+len(" "))
		for _, k := range order[:single] {
			line := fmt.Sprintf("    %*d %s: ", digits, len(kinds[k]), names.of(k))
			fitted(w, indent, line, kinds[k])
		}
		if single < len(order) {
			var others []string
			for _, k := range order[single:] {
				others = append(others, names.of(k)+"/"+kinds[k][0])
			}
			paragraph(w, indent, fmt.Sprintf("    %*d of one kind each: %s", digits, len(others), strings.Join(others, ", ")))
		}
	}
}

// fitted writes a line that ends with as many names as fit on it, or with all if they are few.
func fitted(w io.Writer, indent, line string, names []string) {
	room := 0
	if width := widthOf(w); width > 0 {
		room = max(minColumn, width-columns(line))
	}
	if len(names) <= minAlike {
		line += strings.Join(names, ", ")
	} else {
		line += someOf(names, room)
	}
	if width := widthOf(w); width > 0 && columns(line) > width {
		paragraph(w, indent, line)
		return
	}
	fmt.Fprintln(w, line)
}

// whyGroup is objects of one tier that are there for one reason, or by one rule for a reason each.
type whyGroup struct {
	rule, why string
	same      bool
	objects   []placedObject
}

// title says why the objects are there.
func (g *whyGroup) title() string {
	if g.same {
		return g.why
	}
	return fmt.Sprintf("rule %s, such as: %s", g.rule, g.why)
}

// byWhy groups objects, the largest group first. Those that have their reason in common with few
// others are grouped by rule: many reasons of one rule differ only in what they name.
func byWhy(objects []placedObject) []*whyGroup {
	type reason struct{ rule, why string }
	alike := map[reason]int{}
	for _, o := range objects {
		alike[reason{o.rule, o.why}]++
	}
	ofRule := map[string]int{}
	for key, n := range alike {
		if n >= minAlike {
			ofRule[key.rule]++
		}
	}
	groups := map[reason]*whyGroup{}
	var out []*whyGroup
	for _, o := range objects {
		key := reason{o.rule, o.why}
		if alike[key] < minAlike || ofRule[o.rule] > maxAlike {
			key.why = ""
		}
		g := groups[key]
		if g == nil {
			g = &whyGroup{rule: o.rule, why: o.why, same: true}
			groups[key] = g
			out = append(out, g)
		}
		g.same = g.same && g.why == o.why
		g.objects = append(g.objects, o)
	}
	slices.SortStableFunc(out, func(a, b *whyGroup) int { return cmp.Compare(len(b.objects), len(a.objects)) })
	return out
}

// shortName returns namespace/name, which is an end of the object's id.
func shortName(id manifest.ID) string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// someOf returns the names that fit into a room, at least one, and how many there are besides.
func someOf(names []string, room int) string {
	text := ""
	for i, name := range names {
		next := name
		if i > 0 {
			next = text + ", " + name
		}
		rest := ""
		if more := len(names) - i - 1; more > 0 {
			rest = fmt.Sprintf(" and %d more", more)
		}
		if i > 0 && (room > 0 && columns(next+rest) > room || room == 0 && i >= unlimitedNames) {
			return fmt.Sprintf("%s and %d more", text, len(names)-i)
		}
		text = next
	}
	return text
}

// kindNames are some kinds by their names alone, and with their group those that share a
// name.
type kindNames map[string]map[manifest.GroupKind]bool

func newKindNames(objects []placedObject) kindNames {
	n := kindNames{}
	for _, o := range objects {
		n.add(o.id.GroupKind())
	}
	return n
}

func (n kindNames) add(k manifest.GroupKind) {
	if n[k.Kind] == nil {
		n[k.Kind] = map[manifest.GroupKind]bool{}
	}
	n[k.Kind][k] = true
}

func (n kindNames) of(k manifest.GroupKind) string {
	if len(n[k.Kind]) > 1 {
		return k.String()
	}
	return k.Kind
}

// warnings shows what is to know first. Unless whole, warnings that say the same of several objects
// or clusters are one.
func (v *planView) warnings(w io.Writer) {
	if len(v.plan.Warnings) == 0 {
		return
	}
	fmt.Fprintln(w)
	heading(w, "Warnings")
	groups := v.alike()
	for n, g := range groups {
		if n == maxWarnings && len(groups) > maxWarnings+1 && !v.whole {
			paragraph(w, "    ", fmt.Sprintf("  ! and %d more; -o wide shows each", len(groups)-n))
			break
		}
		if len(g.members) == 1 {
			stateParagraph(w, "    ", "  ! "+g.members[0].String(), "!")
			continue
		}
		stateParagraph(w, "    ", "  ! "+g.text(v.fleet), "!")
		paragraph(w, "      ", "    "+g.about())
	}
}

// warningGroup is warnings that say the same, each of another object or another cluster.
type warningGroup struct {
	// message has anyCluster instead of the name of a cluster.
	message string
	members []plan.Warning
	// clusters are those that the messages name.
	clusters map[string]bool
}

// alike groups the warnings by what they say, the largest group first; where whole, each is alone.
func (v *planView) alike() []*warningGroup {
	known := map[string]bool{}
	for _, c := range v.fleet.names {
		known[c] = true
	}
	groups := map[string]*warningGroup{}
	var out []*warningGroup
	for _, warning := range v.plan.Warnings {
		message, names := warning.Message, namesIn(warning.Message, known)
		if len(names) == 1 {
			message = general(ofCluster{names[0], message})
		}
		g := groups[message]
		if g == nil || v.whole {
			g = &warningGroup{message: message, clusters: map[string]bool{}}
			groups[message] = g
			out = append(out, g)
		}
		g.members = append(g.members, warning)
		for _, name := range names {
			g.clusters[name] = true
		}
	}
	slices.SortStableFunc(out, func(a, b *warningGroup) int { return cmp.Compare(len(b.members), len(a.members)) })
	return out
}

// text returns what the warnings say, and on which clusters.
func (g *warningGroup) text(all clusterSet) string {
	if len(g.clusters) < 2 {
		return g.members[0].Message
	}
	return fmt.Sprintf("on %s: %s", all.on(slices.Collect(maps.Keys(g.clusters))), g.message)
}

// about returns how many objects the warnings are about, and some of them.
func (g *warningGroup) about() string {
	var names []string
	seen := map[string]bool{}
	for _, warning := range g.members {
		name := warning.Object
		if warning.From != "" {
			name = strings.TrimSpace(name + " (" + warning.From + ")")
		}
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return plural(len(g.members), "warning")
	case len(names) <= maxAbout:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, such as %s", plural(len(names), "object"), strings.Join(names[:maxAbout-1], ", "))
}

// differing returns a line for each object that is not the same on all clusters, or for all that
// differ in the same way.
func (v *planView) differing() []string {
	objects := map[string][]string{}
	var order []string
	for _, d := range v.plan.Differ() {
		var on []string
		for _, c := range d.Contents {
			on = append(on, contentOn(c, v.fleet))
		}
		text := strings.Join(on, "; ")
		if objects[text] == nil {
			order = append(order, text)
		}
		objects[text] = append(objects[text], d.Object.String())
	}
	var out []string
	for _, text := range order {
		if names := objects[text]; !v.whole && len(names) > maxListed {
			out = append(out, fmt.Sprintf("- %s and %d more: %s", names[0], len(names)-1, text))
			continue
		}
		for _, name := range objects[text] {
			out = append(out, fmt.Sprintf("- %s: %s", name, text))
		}
	}
	return out
}

// overrides returns a line for each object that an override changes, or for all of many that it changes
// in the same way.
func (v *planView) overrides() []string {
	var out []string
	for _, o := range v.plan.Overrides {
		objects := map[string][]string{}
		var order []string
		for _, one := range o.Objects {
			changes := overrideChanges(one.Changes)
			if objects[changes] == nil {
				order = append(order, changes)
			}
			objects[changes] = append(objects[changes], one.ID.String())
		}
		where := "- " + overrideOn(o, v.fleet.on(o.Clusters))
		for _, changes := range order {
			names := objects[changes]
			if !v.whole && len(names) > maxListed {
				names = []string{fmt.Sprintf("%s and %d more", names[0], len(names)-1)}
			}
			for _, name := range names {
				out = append(out, fmt.Sprintf("%s: %s: %s", where, name, changes))
			}
		}
	}
	return out
}

// overrideOn names an override and the clusters on which it changes something.
func overrideOn(o plan.Override, clusters string) string {
	return fmt.Sprintf("%s (%s) on %s", o.Name, o.From, clusters)
}

// overrideChanges says what an override changes about an object.
func overrideChanges(changes []string) string {
	if len(changes) == 0 {
		return "values that are not shown"
	}
	return strings.Join(changes, "; ")
}
