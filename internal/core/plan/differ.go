package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Differing is an object that has not the same content on all its clusters.
type Differing struct {
	Object   manifest.ID
	Contents []ContentOn
}

// ContentOn is what an object has on some clusters.
type ContentOn struct {
	Hash layout.Hash
	// Clusters are in order, never empty.
	Clusters []string
	// Variants are those of the clusters that have one.
	Variants []string
	From     string
}

// Differ lists the objects that differ by cluster, in order. What leaves counts for nothing. It
// goes through the contents, which equal clusters share, and not through the objects of each tier:
// a fleet of a thousand clusters has few contents and millions of objects.
func (p *Plan) Differ() []Differing {
	clusters := map[string][]string{} // by contents
	for i := range p.Tiers {
		clusters[p.Tiers[i].Contents] = append(clusters[p.Tiers[i].Contents], p.Tiers[i].Cluster)
	}
	variants := map[string]string{}
	for _, v := range p.Variants {
		for _, cluster := range v.Clusters {
			variants[cluster] = v.Name
		}
	}
	found := map[manifest.ID][]ContentOn{}
	for _, c := range p.Contents {
		for _, o := range c.Objects {
			if o.Leaving {
				continue
			}
			all := found[o.ID]
			at := slices.IndexFunc(all, func(on ContentOn) bool { return on.Hash == o.Hash })
			if at < 0 {
				at, all = len(all), append(all, ContentOn{Hash: o.Hash, From: o.From})
			}
			all[at].Clusters = append(all[at].Clusters, clusters[c.ID]...)
			found[o.ID] = all
		}
	}
	var out []Differing
	for _, id := range slices.SortedFunc(maps.Keys(found), manifest.ID.Compare) {
		all := found[id]
		if len(all) < 2 {
			continue
		}
		for i := range all {
			slices.Sort(all[i].Clusters)
			for _, cluster := range all[i].Clusters {
				name := p.variantOf(id, cluster, variants[cluster])
				if name != "" && !slices.Contains(all[i].Variants, name) {
					all[i].Variants = append(all[i].Variants, name)
				}
			}
		}
		slices.SortFunc(all, func(a, b ContentOn) int { return cmp.Compare(a.Clusters[0], b.Clusters[0]) })
		out = append(out, Differing{Object: id, Contents: all})
	}
	return out
}

// variantOf returns the parts of a variant's name that matter to an object on a cluster: without the
// overrides that change other objects only.
func (p *Plan) variantOf(id manifest.ID, cluster, variant string) string {
	parts := strings.Split(variant, catalog.VariantSeparator)
	return strings.Join(slices.DeleteFunc(parts, func(name string) bool {
		override, changes := false, false
		for _, o := range p.Overrides {
			if o.Name != name {
				continue
			}
			override = true
			_, on := slices.BinarySearch(o.Clusters, cluster)
			changes = changes || on && slices.ContainsFunc(o.Objects, func(one OverriddenObject) bool { return one.ID == id })
		}
		return override && !changes
	}), catalog.VariantSeparator)
}

// Elsewhere returns the first clusters on which an object has another content than the given one, and
// how many more there are. It is asked for each tier, so it does not go through all clusters.
func (d Differing) Elsewhere(hash layout.Hash, most int) (first []string, more int) {
	for _, c := range d.Contents {
		if c.Hash == hash {
			continue
		}
		more += len(c.Clusters)
		first = append(first, c.Clusters[:min(len(c.Clusters), most)]...)
		if len(first) > 2*most {
			slices.Sort(first)
			first = first[:most]
		}
	}
	slices.Sort(first)
	first = first[:min(len(first), most)]
	return first, more - len(first)
}
