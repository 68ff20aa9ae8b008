package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// checkReferences warns of objects that name others which no seed has: their Pods would not start, or
// their rule would allow nothing. What the seed mentions elsewhere, such as the argument of a Job that
// makes a Secret, what operators are known to make, what its clusters provide, and what cannot be read now, counts
// as there. Objects that name the same are one warning.
func (c *computation) checkReferences() {
	known := map[manifest.ID]bool{}
	for i := range c.in.Catalog.Seeds {
		for _, o := range c.in.Catalog.Seeds[i].Objects() {
			known[o.ID] = true
		}
	}
	for name := range c.in.Previous {
		for id := range c.plantedOf(name).objects() {
			known[id] = true
		}
	}
	for _, s := range c.alive() {
		if len(s.seed.Lost) > 0 {
			continue
		}
		var words map[string]bool
		var found []missingReferences
		at := map[string]int{} // where in found, by what is missing
		for _, p := range s.placements {
			for _, content := range s.contents.Of(p.Object) {
				missing := slices.DeleteFunc(placement.RequiredBy(content.Object), func(id manifest.ID) bool { return known[id] })
				if len(missing) > 0 && words == nil {
					words = s.mentions()
				}
				missing = slices.DeleteFunc(missing, func(id manifest.ID) bool { return words[id.Name] || c.isMade(id) || c.isProvided(id, p.Clusters) })
				if len(missing) == 0 {
					continue
				}
				key := namesOf(missing)
				f, counted := at[key]
				if !counted {
					f, at[key] = len(found), len(found)
					found = append(found, missingReferences{first: content.Object, missing: missing})
				}
				found[f].objects++
			}
		}
		for _, m := range found {
			s.warnings = append(s.warnings, m.warning())
		}
	}
}

// isMade reports whether an object of some seed is known to make one.
func (c *computation) isMade(id manifest.ID) bool {
	if c.made == nil {
		c.made = &makes.Index[struct{}]{}
		objects := map[manifest.ID]*manifest.Object{}
		for i := range c.in.Catalog.Seeds {
			for _, o := range c.in.Catalog.Seeds[i].Objects() {
				objects[o.ID] = &o
			}
		}
		source := func(id manifest.ID) *manifest.Object { return objects[id] }
		for i := range c.in.Catalog.Seeds {
			for _, o := range c.in.Catalog.Seeds[i].Objects() {
				c.made.Add(struct{}{}, makes.By(&o, source))
			}
		}
	}
	return len(c.made.MakersOf(id.Kind, id.Namespace, id.Name, false)) > 0
}

// isProvided reports whether all of some clusters list an object.
func (c *computation) isProvided(id manifest.ID, clusters []string) bool {
	return len(clusters) > 0 && !slices.ContainsFunc(clusters, func(name string) bool { return !c.in.Catalog.Inventory.Clusters[name].HasObject(id) })
}

// mentions returns the words by which objects of the seed may name what they make.
func (s *seedState) mentions() map[string]bool {
	words := map[string]bool{}
	for _, id := range s.contents.IDs() {
		for _, content := range s.contents.Of(id) {
			placement.Mentions(content.Object, words)
		}
	}
	return words
}

// missingReferences are objects that name the same, which no seed has.
type missingReferences struct {
	first   *manifest.Object
	missing []manifest.ID
	objects int
}

func (m missingReferences) warning() Warning {
	p := manifest.Problem{Reason: v1alpha1.ReasonReferenceMissing, Source: m.first.Source, Object: m.first.Title(), Message: "it names " + namesOf(m.missing) + ", and no seed has that",
		Next: "Add it, correct the name, make sure that something else creates it, or list it in spec.provides.objects of the Cluster."}
	if m.objects > 1 {
		p.Message, p.Object = fmt.Sprintf("they name %s, and no seed has that; first: %s", namesOf(m.missing), p.Object), fmt.Sprintf("%d objects", m.objects)
	}
	return warningAt(p)
}

func namesOf(ids []manifest.ID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprintf("%s %q", id.Kind, manifest.Printable(id.Name))
	}
	list := names[len(names)-1]
	if n := len(names) - 1; n > 0 {
		list = strings.Join(names[:n], ", ") + " and " + list
	}
	return list
}
