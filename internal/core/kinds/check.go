package kinds

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// Seed is one seed with its placements.
type Seed struct {
	Name       string
	Contents   placement.Contents
	Placements []placement.Placement
}

// Finding is one fault of objects of a seed that have a kind and version in common. Its problem is
// at the first of them.
type Finding struct {
	manifest.Problem
	// Refused reports whether no API server takes the objects; else some do.
	Refused bool
}

// versioned is what is judged: a kind in one of its versions.
type versioned struct {
	manifest.GroupKind
	version string
}

func (v versioned) compare(other versioned) int {
	return cmp.Or(v.GroupKind.Compare(other.GroupKind), cmp.Compare(v.version, other.version))
}

func (v versioned) apiVersion() string { return apiVersion(v.Group, v.version) }

func apiVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}

// use is an object with its clusters, where it has the version that is judged.
type use struct {
	content  *placement.Content
	clusters []string
	// varies reports whether the object has other contents on some of the clusters.
	varies bool
}

// definition is a definition of a seed, such as a CustomResourceDefinition, in one content.
type definition struct {
	seed     string
	object   *manifest.Object
	versions []string
	// listed reports whether the definition lists versions at all.
	listed   bool
	clusters map[string]bool
}

// checker has what the judgement reads, made once for all seeds.
type checker struct {
	inventory *catalog.Inventory
	defined   map[manifest.GroupKind][]definition
	// releases are those of all clusters together.
	releases manifest.Releases
	// listed are the groups whose versions some cluster lists.
	listed map[string]bool
	// served has the versions that clusters list, by cluster and group.
	served map[string]map[string][]string
}

// Check returns what is wrong with the objects of seeds, by seed and in order of kinds.
func Check(seeds []Seed, inv *catalog.Inventory) map[string][]Finding {
	c := newChecker(seeds, inv)
	found := map[string][]Finding{}
	for _, seed := range seeds {
		uses := usesOf(seed)
		for _, v := range slices.SortedFunc(maps.Keys(uses), versioned.compare) {
			if !c.fine(v) {
				found[seed.Name] = append(found[seed.Name], c.check(seed, v, uses[v])...)
			}
		}
	}
	return found
}

func newChecker(seeds []Seed, inv *catalog.Inventory) *checker {
	c := &checker{inventory: inv, defined: map[manifest.GroupKind][]definition{}, releases: manifest.SupportedReleases(), listed: map[string]bool{}, served: map[string]map[string][]string{}}
	for name, cluster := range inv.Clusters {
		releases := releasesOf(cluster)
		c.releases.First, c.releases.Last = min(c.releases.First, releases.First), max(c.releases.Last, releases.Last)
		for _, listed := range cluster.Provides.APIVersions {
			group, version, ok := strings.Cut(listed, "/")
			if !ok {
				group, version = "", listed
			}
			if c.served[name] == nil {
				c.served[name] = map[string][]string{}
			}
			c.listed[group] = true
			c.served[name][group] = append(c.served[name][group], version)
		}
	}
	for _, seed := range seeds {
		for _, p := range seed.Placements {
			if definesVersions[p.Object.GroupKind()] {
				c.define(seed, p)
			}
		}
	}
	return c
}

// definesVersions are the kinds whose objects list the versions of what they define.
var definesVersions = map[manifest.GroupKind]bool{
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:           true,
	{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"}: true,
}

// define takes in a definition of a seed.
func (c *checker) define(seed Seed, p placement.Placement) {
	for _, content := range seed.Contents.Of(p.Object) {
		d := definition{seed: seed.Name, object: content.Object, clusters: map[string]bool{}}
		d.versions, d.listed = manifest.DefinedVersions(*content.Object)
		for _, cluster := range p.Clusters {
			if seed.Contents.On(p.Object, cluster) == content {
				d.clusters[cluster] = true
			}
		}
		for _, defined := range manifest.Defines(*content.Object) {
			c.defined[defined.Kind] = append(c.defined[defined.Kind], d)
		}
	}
}

// usesOf returns the objects of a seed by kind and version.
func usesOf(seed Seed) map[versioned][]use {
	uses := map[versioned][]use{}
	for _, p := range seed.Placements {
		contents := seed.Contents.Of(p.Object)
		for _, content := range contents {
			v := versioned{p.Object.GroupKind(), content.Object.Version}
			uses[v] = append(uses[v], use{content, p.Clusters, len(contents) > 1})
		}
	}
	return uses
}

// releasesOf returns the releases that a cluster may run.
func releasesOf(c catalog.Cluster) manifest.Releases {
	if minor, ok := manifest.ParseRelease(c.Provides.KubernetesVersion); ok {
		return manifest.Release(minor)
	}
	return manifest.SupportedReleases()
}

// fine reports whether every cluster takes a version of a kind, whatever is on it. It keeps the
// usual case from asking about each cluster.
func (c *checker) fine(v versioned) bool {
	if c.listed[v.Group] {
		return false
	}
	if !manifest.ServedByKubernetes(v.GroupKind) {
		return !slices.ContainsFunc(c.defined[v.GroupKind], func(d definition) bool { return !d.serves(v.version) })
	}
	kind, known := manifest.Served(v.GroupKind)
	releases, served := kind.Versions[v.version]
	return known && kind.Applied && served && releases.Includes(c.releases) && byDefault(v, releases)
}

func (d definition) serves(version string) bool {
	return !d.listed || slices.Contains(d.versions, version)
}

// check judges the objects of one kind and version on each of their clusters, and returns one
// finding for each cause.
func (c *checker) check(seed Seed, v versioned, uses []use) []Finding {
	type group struct {
		objects  []manifest.Object
		last     *placement.Content
		clusters []string
	}
	groups := map[fault]*group{}
	verdicts := map[string]*fault{}
	var order []fault
	for _, u := range uses {
		for _, cluster := range u.clusters {
			if u.varies && seed.Contents.On(u.content.Object.ID, cluster) != u.content {
				continue
			}
			verdict, judged := verdicts[cluster]
			if !judged {
				verdict = c.judge(seed.Name, v, cluster)
				verdicts[cluster] = verdict
			}
			if verdict == nil {
				continue
			}
			g := groups[*verdict]
			if g == nil {
				g = &group{}
				groups[*verdict], order = g, append(order, *verdict)
			}
			if g.last != u.content {
				g.objects, g.last = append(g.objects, *u.content.Object), u.content
			}
			g.clusters = append(g.clusters, cluster)
		}
	}
	var findings []Finding
	for _, f := range order {
		g := groups[f]
		slices.Sort(g.clusters)
		findings = append(findings, f.finding(seed.Name, g.objects, slices.Compact(g.clusters)))
	}
	return findings
}

// finding makes one problem of all objects that have a fault.
func (f fault) finding(seed string, objects []manifest.Object, clusters []string) Finding {
	p := manifest.Problem{Reason: f.reason, Field: f.field, Seed: seed, Other: f.other, Message: f.message, Next: f.next}
	if f.ofCluster {
		p.Message, p.Cluster = fmt.Sprintf(p.Message, names(clusters)), clusters[0]
	}
	return Finding{p.OfAll(objects), f.refused}
}

// names lists clusters for people, a few of many.
func names(clusters []string) string {
	const most = 3
	switch {
	case len(clusters) == 1:
		return "cluster " + clusters[0]
	case len(clusters) <= most:
		return "clusters " + strings.Join(clusters[:len(clusters)-1], ", ") + " and " + clusters[len(clusters)-1]
	}
	return fmt.Sprintf("clusters %s and %d others", strings.Join(clusters[:most-1], ", "), len(clusters)-most+1)
}
