package placement

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/override"
)

// Overridden is what an override of the seed changes about an object on some clusters.
type Overridden struct {
	Object   manifest.ID
	Override string
	// Source is the position of the override.
	Source   manifest.Source
	Clusters []string // in order, never empty
	// Changes are the fields that change, and More counts others; there are none where Hidden reports
	// that the values are secret.
	Changes []change.Field
	More    int
	Hidden  bool
}

// overriding applies the overrides of a seed to what its objects have on clusters. Clusters for
// which the same overrides count are one class, for which an object is patched once; and what
// comes out equal is one Content. So it costs what the classes cost, and not what the clusters do.
type overriding struct {
	seed      *catalog.Seed
	overrides []*override.Override
	placed    *Placed
	// classes are of clusters, in order of their first cluster.
	classes []*class
	// patched has each object that was patched, by what was done to it, and known the contents of
	// each object by their bytes.
	patched map[patchKey]*patched
	known   map[manifest.ID]map[string]*Content
	// named has the clusters on which an override makes an object name another one.
	named map[naming][]string
	// used reports which overrides changed something.
	used     []bool
	problems manifest.Problems
}

// class is the clusters that have the same contents and for which the same overrides count.
type class struct {
	index    int
	selected []int // overrides, by their index
	clusters []string
	// effective are those that change something on its clusters.
	effective map[int]bool
}

// patchKey is a content and the indices of the overrides that are applied to it.
type patchKey struct {
	content   *Content
	overrides string
}

// patched is what overrides make of a content.
type patched struct {
	content *Content
	steps   []step
	// named has the objects of the seed that it names only since an override changed it.
	named map[manifest.ID]int
}

// naming is an object that names another one since an override changed it.
type naming struct {
	override      int
	object, named manifest.ID
}

func (n naming) compare(other naming) int {
	return cmp.Or(cmp.Compare(n.override, other.override), n.object.Compare(other.object), n.named.Compare(other.named))
}

// step is what one override changed.
type step struct {
	override int
	fields   []change.Field
	more     int
	hidden   bool
}

// applyOverrides changes what objects have where, as the overrides of the seed say. What an override
// is for is decided by the objects as they were before all of them.
func applyOverrides(seed *catalog.Seed, inv *catalog.Inventory, placed *Placed) error {
	if len(seed.Spec.Overrides) == 0 {
		return nil
	}
	overrides, err := override.New(seed)
	if err != nil {
		return err
	}
	a := &overriding{
		seed: seed, overrides: overrides, placed: placed, patched: map[patchKey]*patched{}, known: map[manifest.ID]map[string]*Content{},
		named: map[naming][]string{}, used: make([]bool, len(overrides)),
	}
	targets := a.targets()
	of := a.classify(inv)
	a.apply(targets, of)
	if len(a.problems) > 0 {
		return inOrder(a.problems)
	}
	a.nameVariants()
	a.warnOfMissing()
	for i, o := range overrides {
		_, uncertain := inv.MayDeclareMore()
		if !a.used[i] && !uncertain {
			placed.Warnings = append(placed.Warnings, o.Unused())
		}
	}
	return nil
}

// targets returns the overrides of each object, of any variant, that are for it.
func (a *overriding) targets() map[manifest.ID][]int {
	out := map[manifest.ID][]int{}
	for i, o := range a.overrides {
		found := false
		for v := range a.seed.Variants {
			for j := range a.seed.Variants[v].Objects {
				object := &a.seed.Variants[v].Objects[j]
				if o.Targets(object) {
					found = true
					if has := out[object.ID]; len(has) == 0 || has[len(has)-1] != i {
						out[object.ID] = append(has, i)
					}
				}
			}
		}
		if !found {
			a.problems = append(a.problems, o.NoTarget())
		}
	}
	return out
}

// classify finds the classes of the clusters that the seed goes to, and the class of each cluster.
func (a *overriding) classify(inv *catalog.Inventory) map[string]*class {
	names := map[string]bool{}
	for _, p := range a.placed.Placements {
		for _, name := range p.Clusters {
			names[name] = true
		}
	}
	of := make(map[string]*class, len(names))
	known := map[string]*class{}
	for _, name := range sortedKeys(names) {
		variant, chosen := a.placed.Contents.variants[name]
		var selected []int
		key := binary.AppendVarint(nil, int64(variant))
		if !chosen && a.placed.Contents.variants != nil { // it may have objects of several variants
			key = append(append(key, name...), 0)
		}
		for i, o := range a.overrides {
			if o.Selects(inv.Clusters[name]) {
				selected = append(selected, i)
				key = binary.AppendUvarint(key, uint64(i)) //nolint:gosec // an index
			}
		}
		c := known[string(key)]
		if c == nil {
			c = &class{index: len(a.classes), selected: selected, effective: map[int]bool{}}
			known[string(key)] = c
			a.classes = append(a.classes, c)
		}
		c.clusters = append(c.clusters, name)
		of[name] = c
	}
	return of
}

// apply patches the objects on the clusters that they go to, and makes the contents of the seed
// those of the classes.
func (a *overriding) apply(targets map[manifest.ID][]int, of map[string]*class) {
	before := a.placed.Contents
	after := Contents{variants: make(map[string]int, len(of)), objects: make([]objectContents, len(before.objects))}
	for name, c := range of {
		after.variants[name] = c.index
	}
	for at, o := range before.objects {
		all := make([]*Content, len(a.classes))
		for i, c := range a.classes {
			all[i] = before.choose(o.id, o.all, c.clusters[0])
		}
		after.objects[at] = objectContents{o.id, all}
	}
	rows := map[row]*Overridden{}
	there := map[manifest.ID][]bool{} // by class
	for _, p := range a.placed.Placements {
		if len(targets[p.Object]) == 0 {
			continue
		}
		if there[p.Object] == nil {
			there[p.Object] = make([]bool, len(a.classes))
		}
		clusters := make([][]string, len(a.classes))
		for _, name := range p.Clusters {
			clusters[of[name].index] = append(clusters[of[name].index], name)
		}
		for i, names := range clusters {
			all := after.find(p.Object)
			if len(names) == 0 || all[i] == nil {
				continue
			}
			there[p.Object][i] = true
			done := a.patch(before.On(p.Object, names[0]), a.classes[i].selected)
			all[i] = done.content
			a.note(rows, p.Object, a.classes[i], done.steps, names)
			for id, by := range done.named {
				key := naming{by, p.Object, id}
				a.named[key] = append(a.named[key], names...)
			}
		}
	}
	for id, in := range there {
		all := after.find(id)
		for i := range all {
			if !in[i] && all[i] != nil { // it has no content of its own where it does not go
				all[i] = all[slices.Index(in, true)]
			}
		}
	}
	a.placed.Contents = after
	for _, key := range slices.SortedFunc(maps.Keys(rows), row.compare) {
		rows[key].Clusters = union(rows[key].Clusters)
		a.placed.Overrides = append(a.placed.Overrides, *rows[key])
	}
}

// row is what Overridden has in common: an object, an override, and its changes.
type row struct {
	object   manifest.ID
	override int
	changes  string
}

func (r row) compare(other row) int {
	return cmp.Or(cmp.Compare(r.override, other.override), r.object.Compare(other.object), cmp.Compare(r.changes, other.changes))
}

// note adds what the overrides of a class changed about an object on some of its clusters.
func (a *overriding) note(rows map[row]*Overridden, id manifest.ID, c *class, steps []step, clusters []string) {
	for _, s := range steps {
		a.used[s.override], c.effective[s.override] = true, true
		var text []byte
		for _, f := range s.fields {
			text = append(append(text, f.String()...), 0)
		}
		key := row{id, s.override, string(text)}
		o := rows[key]
		if o == nil {
			by := a.overrides[s.override]
			o = &Overridden{Object: id, Override: by.Name, Source: by.Source, Changes: s.fields, More: s.more, Hidden: s.hidden}
			rows[key] = o
		}
		o.Clusters = append(o.Clusters, clusters...)
	}
}

// patch applies the overrides of a class that are for an object, one after another.
func (a *overriding) patch(content *Content, selected []int) *patched {
	var key []byte
	var apply []int
	for _, i := range selected {
		if a.overrides[i].Targets(content.Object) {
			apply = append(apply, i)
			key = binary.AppendUvarint(key, uint64(i)) //nolint:gosec // an index
		}
	}
	if known := a.patched[patchKey{content, string(key)}]; known != nil {
		return known
	}
	done := &patched{content: content, named: map[manifest.ID]int{}}
	a.patched[patchKey{content, string(key)}] = done
	object := content.Object
	for _, i := range apply {
		after, err := a.overrides[i].Apply(object)
		if err != nil {
			a.problems = appendProblem(a.problems, err)
			return done
		}
		if after == object {
			continue
		}
		fields, more, hidden := change.Fields(*object, *after)
		done.steps = append(done.steps, step{i, fields, more, hidden})
		a.newlyNamed(done, i, object, after)
		a.placed.Warnings = append(a.placed.Warnings, a.overrides[i].Dropped(object, after)...)
		object = after
	}
	if object != content.Object {
		done.content = a.shared(object, content)
	}
	return done
}

// newlyNamed notes what an object names after an override, and did not before.
func (a *overriding) newlyNamed(done *patched, by int, before, after *manifest.Object) {
	was, is := namedBy(before), namedBy(after)
	maps.DeleteFunc(done.named, func(id manifest.ID, _ int) bool { return !slices.Contains(is, id) })
	for _, id := range is {
		if !slices.Contains(was, id) && len(a.placed.Contents.find(id)) > 0 {
			done.named[id] = by
		}
	}
}

func namedBy(o *manifest.Object) []manifest.ID {
	var ids []manifest.ID
	for _, n := range NamesOf(o) {
		ids = append(ids, n.ID)
	}
	return ids
}

// warnOfMissing warns of what objects name only since overrides changed them, and that does not go to
// their clusters: what is named follows objects as they were before.
func (a *overriding) warnOfMissing() {
	named, there := map[manifest.ID]bool{}, map[on]bool{}
	for key := range a.named {
		named[key.named] = true
	}
	for _, p := range a.placed.Placements {
		if !named[p.Object] {
			continue
		}
		for _, name := range p.Clusters {
			there[on{p.Object, name}] = true
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(a.named), naming.compare) {
		missing := slices.DeleteFunc(union(a.named[key]), func(name string) bool { return there[on{key.named, name}] })
		if len(missing) > 0 {
			a.placed.Warnings = append(a.placed.Warnings, a.overrides[key.override].MissingReference(key.object, key.named, missing))
		}
	}
}

// shared returns the content of an object that others have already, or a new one.
func (a *overriding) shared(object *manifest.Object, of *Content) *Content {
	text, err := object.Bytes()
	if err != nil {
		a.problems = appendProblem(a.problems, err)
		return of
	}
	id := object.ID
	if a.known[id] == nil {
		a.known[id] = map[string]*Content{}
		for _, content := range a.placed.Contents.Of(id) {
			if has, err := content.Object.Bytes(); err == nil {
				a.known[id][string(has)] = content
			}
		}
	}
	content := a.known[id][string(text)]
	if content == nil {
		content = newContent(object, of.variants...)
		a.known[id][string(text)] = content
	}
	return content
}

// nameVariants names the clusters that have something else by the overrides that changed it.
func (a *overriding) nameVariants() {
	base := map[string]string{}
	for name, clusters := range a.placed.Variants {
		for _, cluster := range clusters {
			base[cluster] = name
		}
	}
	variants := map[string][]string{}
	for _, c := range a.classes {
		var names []string
		for _, i := range slices.Sorted(maps.Keys(c.effective)) {
			names = append(names, a.overrides[i].Name)
		}
		for _, cluster := range c.clusters {
			of := names
			if base[cluster] != "" {
				of = append([]string{base[cluster]}, names...)
			}
			if name := strings.Join(of, catalog.VariantSeparator); name != "" {
				variants[name] = append(variants[name], cluster)
			}
		}
	}
	for name := range variants {
		slices.Sort(variants[name])
	}
	if len(variants) > 0 {
		a.placed.Variants = variants
	}
}
