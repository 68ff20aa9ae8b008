package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// maxNamed is how many clusters or runs of clusters are named where a label says the same.
const maxNamed = 3

// fleetLabels are the labels of clusters, by name; nil where they are not known.
type fleetLabels map[string]map[string]string

func labelsIn(cat *catalog.Catalog) fleetLabels {
	out := fleetLabels{}
	if cat != nil && cat.Inventory != nil {
		for name, c := range cat.Inventory.Clusters {
			out[name] = c.Labels
		}
	}
	return out
}

// on names clusters by the label that chooses them among all, "region=eu (10 clusters)", where their
// names would be a long list and there is such a label; else as runsOf does.
func (l fleetLabels) on(names, all []string) string {
	text := runsOf(names, all)
	if strings.Count(text, ", ") < maxNamed {
		return text
	}
	for _, key := range slices.Sorted(maps.Keys(l[names[0]])) {
		value, chosen := l[names[0]][key], 0
		for _, cluster := range all {
			if had, has := l[cluster][key]; has && had == value {
				chosen++
			}
		}
		alike := func(name string) bool { had, has := l[name][key]; return has && had == value }
		if chosen == len(names) && !slices.ContainsFunc(names, func(name string) bool { return !alike(name) }) {
			return fmt.Sprintf("%s=%s (%s)", key, value, plural(chosen, "cluster"))
		}
	}
	return text
}
