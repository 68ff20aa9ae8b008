package pass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// Beyond says what goes with the objects that a seed removes once a person confirms it, although it
// is not the seed's: what they hold or define, whoever made it, and what of that is known to be of
// other seeds.
func (d *Decision) Beyond(seed string) []string {
	s := d.Seeds[seed]
	if s == nil || s.Plan == nil {
		return nil
	}
	var removed []plan.Removed
	for i, status := range s.Result.Tiers {
		if s.Unconfirmed == nil {
			removed = append(removed, status.Unconfirmed...)
			continue
		}
		for _, o := range s.Plan.Objects(&s.Plan.Tiers[i]) {
			if !o.Kept {
				removed = append(removed, plan.Removed{Object: o.ID, Cluster: s.Plan.Tiers[i].Cluster})
			}
		}
	}
	lines := map[string]bool{}
	for _, r := range removed {
		lost := change.Destroys(r.Object.GroupKind())
		if lost == "" {
			continue
		}
		line := fmt.Sprintf("%s on %s: %s, whoever made it", r.Object, r.Cluster, lost)
		if others := d.othersIn(seed, r); others != "" {
			line += "; of other seeds " + others
		}
		lines[line] = true
	}
	return slices.Sorted(maps.Keys(lines))
}

// maxOthers is how many objects of other seeds are named for each removed one.
const maxOthers = 5

// othersIn names the objects of other seeds on the cluster that are in a Namespace, or of the kind
// that a CustomResourceDefinition defines.
func (d *Decision) othersIn(seed string, r plan.Removed) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(d.Seeds)) {
		s := d.Seeds[name]
		if name == seed || s.Plan == nil || s.Plan.Removal {
			continue
		}
		for i := range s.Plan.Tiers {
			t := &s.Plan.Tiers[i]
			if t.Cluster != r.Cluster || t.Gone() {
				continue
			}
			for _, o := range s.Plan.Objects(t) {
				if goesWith(o.ID, r.Object) {
					out = append(out, fmt.Sprintf("%s (seed %s)", o.ID, name))
				}
			}
		}
	}
	if more := len(out) - maxOthers; more > 0 {
		out = append(out[:maxOthers], fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}

// goesWith reports whether an object goes when a Namespace or a CustomResourceDefinition does. The
// name of the latter has the plural of the kind, which begins like the kind itself.
func goesWith(id, removed manifest.ID) bool {
	switch removed.Kind {
	case "Namespace":
		return removed.Group == "" && id.Namespace == removed.Name
	case "CustomResourceDefinition":
		plural, group, _ := strings.Cut(removed.Name, ".")
		kind := strings.ToLower(id.Kind)
		return id.Group == group && len(kind) > 1 && strings.HasPrefix(plural, kind[:len(kind)-1])
	}
	return false
}
