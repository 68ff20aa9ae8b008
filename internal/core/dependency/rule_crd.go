package dependency

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// CRD is the name of the rule by which custom resources wait for their CustomResourceDefinitions.
const CRD = "crd"

var crd = Rule{
	Name: CRD,
	Doc:  "A custom resource waits for the CustomResourceDefinition of its group and kind.",
	Why:  "An API server refuses an object of an unknown kind.",
	Draw: func(w *World) {
		definitions, in := w.definitions(), w.installations()
		missing := map[missingKind]*Finding{}
		var order []*Finding
		for kind, sources := range w.ByKind {
			if manifest.ServedByKubernetes(kind) {
				continue
			}
			defined, reason := definitions[kind], Reason{Field: "kind", Why: "kind: " + kind.String()}
			for v, o := range sources {
				if to, ok := w.Nearest(v, defined); ok {
					w.Wait(v, to, reason)
					continue
				}
				if !w.isUnknown(v, o) {
					continue
				}
				c := w.Cluster(v)
				key := missingKind{w.graph.vertices[v].seed, kind, c.Name}
				if missing[key] == nil {
					missing[key] = &Finding{Reason: v1alpha1.ReasonMissingDependency, Seed: w.Vertex(v).Seed, Object: o.ID, Cluster: c.Name, Missing: true,
						Message: fmt.Sprintf("no seed contains the CustomResourceDefinition of %s for cluster %s", kind, c.Name), Next: in.next(w, kind, c.Name)}
					order = append(order, missing[key])
				}
				missing[key].Objects++
			}
		}
		for _, f := range order {
			w.result.Warnings = append(w.result.Warnings, *f)
		}
	},
}

// isUnknown reports whether nothing is known to bring the kind of an object to its cluster.
func (w *World) isUnknown(v int32, o *manifest.Object) bool {
	kind := o.ID.GroupKind()
	if _, defined := w.Nearest(v, w.definitions()[kind]); defined {
		return false
	}
	if w.aggregated == nil {
		w.aggregated = aggregatedBy(w)
	}
	if _, served := w.Nearest(v, w.aggregated[groupVersion{kind.Group, o.Version}]); served {
		return false
	}
	c := w.Cluster(v)
	return !c.HasKind(kind) && len(w.installations().of(kind, c.Name)) == 0
}

// missingKind is what one finding is about, however many objects have the kind.
type missingKind struct {
	seed    int32
	kind    manifest.GroupKind
	cluster string
}

var definitionKind = manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definitions lists the CustomResourceDefinitions of each kind.
func (w *World) definitions() map[manifest.GroupKind][]int32 {
	if w.defined != nil {
		return w.defined
	}
	definitions := map[manifest.GroupKind][]int32{}
	for v, o := range w.VerticesOf(definitionKind) {
		if kind, _, ok := manifest.DefinedScope(*o); ok {
			definitions[kind] = append(definitions[kind], v)
		}
	}
	for _, list := range definitions {
		w.Sort(list)
	}
	w.defined = definitions
	return definitions
}
