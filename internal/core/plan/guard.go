package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Removed is an object that is to go from a cluster.
type Removed struct {
	Object  manifest.ID
	Cluster string
}

// Guarded returns the objects that a tier loses with its plan and that only a person may let go,
// however few they are: with them goes what they hold or create.
func (t *Tier) Guarded() []Removed {
	if t.Leaving == nil {
		return nil
	}
	var out []Removed
	for _, o := range t.Leaving.Objects {
		if change.Destroys(o.ID.GroupKind()) != "" && !o.Kept {
			out = append(out, Removed{o.ID, t.Cluster})
		}
	}
	return out
}

// Describe names what is removed for people, an object that goes from several clusters once.
func Describe(removed []Removed) []string {
	clusters := map[manifest.ID][]string{}
	for _, r := range removed {
		clusters[r.Object] = append(clusters[r.Object], r.Cluster)
	}
	var out []string
	for _, id := range slices.SortedFunc(maps.Keys(clusters), manifest.ID.Compare) {
		name := id.Kind + " " + strings.TrimPrefix(id.Namespace+"/"+id.Name, "/")
		slices.Sort(clusters[id])
		switch on := slices.Compact(clusters[id]); len(on) {
		case 1:
			out = append(out, fmt.Sprintf("%s on %s", name, on[0]))
		default:
			out = append(out, fmt.Sprintf("%s on %d clusters", name, len(on)))
		}
	}
	return out
}

// maxNamed is how many objects a message names.
const maxNamed = 4

// List returns what Describe says, in one phrase.
func List(removed []Removed) string {
	names := Describe(removed)
	if n := len(names) - maxNamed; n > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("%d more", n))
	}
	if last := len(names) - 1; last > 0 {
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return cmp.Or(names...)
}
