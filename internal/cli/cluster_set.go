package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/state"
)

// maxNamed is how many clusters or runs of clusters are named where a label says the same.
const maxNamed = 3

// clusterSet is the clusters among which some are named, and what selectors may choose them by.
type clusterSet struct {
	names  []string
	traits traits
}

// traits are the labels and the type of each cluster, as people read them: "region=eu", "type metro".
// nil where they are not known.
type traits map[string][]string

func (t traits) add(cluster string, labels map[string]string, clusterType string) {
	var out []string
	for key, value := range labels {
		out = append(out, key+"="+value)
	}
	slices.Sort(out)
	if clusterType != "" {
		out = append(out, "type "+clusterType)
	}
	t[cluster] = out
}

// traitsIn returns those of the clusters of a catalog, which may be nil.
func traitsIn(cat *catalog.Catalog) traits {
	out := traits{}
	if cat != nil && cat.Inventory != nil {
		for name, c := range cat.Inventory.Clusters {
			out.add(name, c.Labels, c.Type)
		}
	}
	return out
}

// traitsOf returns those of clusters as a run has reported them.
func traitsOf(clusters []state.Cluster) traits {
	out := traits{}
	for _, c := range clusters {
		out.add(c.Name, c.Labels, c.Type)
	}
	return out
}

// fleetIn returns the clusters that plans have tiers on.
func fleetIn(known traits, plans ...*plan.Plan) clusterSet {
	return clusterSet{clustersOf(plans...), known}
}

// on names clusters by what chooses them, and no others, among all: "region=eu (10 clusters)". Where
// their names are a short list, or nothing chooses them, it names them as runsOf does.
func (f clusterSet) on(names []string) string {
	text := runsOf(names, f.names)
	if strings.Count(text, ", ") < maxNamed {
		return text
	}
	if selector := f.selector(names); selector != "" {
		return fmt.Sprintf("%s (%s)", selector, plural(len(distinct(names)), "cluster"))
	}
	return text
}

// counted names clusters, and counts them where their number is not seen.
func (f clusterSet) counted(names []string) string {
	text := f.on(names)
	if len(names) > minFold && !strings.HasSuffix(text, "clusters)") {
		text += fmt.Sprintf(" (%s)", plural(len(names), "cluster"))
	}
	return text
}

// selector returns a trait that the clusters have and no other, or two that no other has both of;
// empty if there are none.
func (f clusterSet) selector(names []string) string {
	var shared []string // by all of them
	for _, trait := range f.traits[names[0]] {
		if !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(f.traits[name], trait) }) {
			shared = append(shared, trait)
		}
	}
	count := len(distinct(names))
	chooses := func(wanted ...string) bool {
		n := 0
		for _, cluster := range f.names {
			if !slices.ContainsFunc(wanted, func(trait string) bool { return !slices.Contains(f.traits[cluster], trait) }) {
				n++
			}
		}
		return n == count
	}
	for _, one := range shared {
		if chooses(one) {
			return one
		}
	}
	for i, one := range shared {
		for _, other := range shared[i+1:] {
			if chooses(one, other) {
				return one + " and " + other
			}
		}
	}
	return ""
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
