package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// checkReferences warns of objects that name others which no seed has: their Pods would not start, or
// their rule would allow nothing. What the seed mentions elsewhere, such as the argument of a Job that
// makes a Secret, and what cannot be read now, counts as there.
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
		for _, p := range s.placements {
			for _, content := range s.contents.Of(p.Object) {
				missing := slices.DeleteFunc(placement.RequiredBy(content.Object), func(id manifest.ID) bool { return known[id] })
				if len(missing) > 0 && words == nil {
					words = s.mentions()
				}
				missing = slices.DeleteFunc(missing, func(id manifest.ID) bool { return words[id.Name] })
				if len(missing) > 0 {
					s.warnings = append(s.warnings, referencesMissing(content.Object, missing))
				}
			}
		}
	}
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

func referencesMissing(o *manifest.Object, missing []manifest.ID) Warning {
	names := make([]string, len(missing))
	for i, id := range missing {
		names[i] = fmt.Sprintf("%s %q", id.Kind, manifest.Printable(id.Name))
	}
	list := names[len(names)-1]
	if n := len(names) - 1; n > 0 {
		list = strings.Join(names[:n], ", ") + " and " + list
	}
	return warningAt(manifest.Problem{Reason: v1alpha1.ReasonReferenceMissing, Source: o.Source, Object: o.Title(), Message: "it names " + list + ", and no seed has that",
		Next: "Add it, correct the name, or make sure that something else creates it."})
}
