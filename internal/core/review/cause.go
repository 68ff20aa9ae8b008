package review

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// documentPrefix marks a cause that is a document.
const documentPrefix = "document "

// Causes are what tiers follow from in the control plane: paths of its tree, and documents by kind
// and name. The newest commit that changed any of them is the one that a proposal of the tiers
// comes from. One cause is on each line, in order, so equal causes are equal texts.
type Causes string

// Document is a cause that is a document, "Kind/name". File is where it is; empty where it is no
// longer declared, so it may have been anywhere.
type Document struct{ Name, File string }

// CausesOf returns the causes of tiers of a plan: the files of the seed, its rollout policy and its
// plugins; the documents of the tiers' clusters and of their hubs, even where the catalog no longer
// has them; and the types, repositories and templates that these clusters use.
func CausesOf(cat *catalog.Catalog, p *plan.Plan, tiers []*plan.Tier) Causes {
	causes := map[string]bool{}
	document := func(kind, name string) {
		if name != "" {
			at := cat.Positions[kind+"/"+name]
			causes[strings.TrimSpace(documentPrefix+kind+"/"+name+" "+at.File)] = true
		}
	}
	file := func(at string) {
		if at != "" {
			causes[path.Clean(at)] = true
		}
	}
	file(p.From)
	for _, ran := range p.Plugins {
		document("Plugin", ran.Name)
	}
	if seed, ok := cat.Seed(p.Seed); ok {
		file(seed.Path)
		file(seed.SpecAt.File)
		if seed.Spec.Rollout != nil {
			document("RolloutPolicy", string(seed.Spec.Rollout.Policy))
		}
		for _, ran := range seed.Plugins {
			document("Plugin", ran.Name)
		}
	}
	for _, t := range tiers {
		document("GitOpsRepo", t.Repo)
		for _, name := range []string{t.Cluster, t.Object.Cluster} {
			document("Cluster", name)
			cluster := cat.Inventory.Clusters[name]
			document("ClusterType", cluster.Type)
			document("Template", cluster.ReconcilerTemplate)
		}
	}
	return Causes(strings.Join(slices.Sorted(maps.Keys(causes)), "\n"))
}

// Parse returns the causes that are paths, and those that are documents.
func (c Causes) Parse() (paths []string, documents []Document) {
	for line := range strings.SplitSeq(string(c), "\n") {
		if document, is := strings.CutPrefix(line, documentPrefix); is {
			name, file, _ := strings.Cut(document, " ")
			documents = append(documents, Document{name, file})
		} else if line != "" {
			paths = append(paths, line)
		}
	}
	return paths, documents
}
