package dependency

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

var crd = Rule{
	Name: "crd",
	Doc:  "A custom resource waits for the CustomResourceDefinition of its group and kind.",
	Why:  "An API server refuses an object of an unknown kind.",
	Draw: func(w *World) {
		definitions, in, aggregated := definitionsOf(w), w.installations(), aggregatedBy(w)
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
				if _, served := w.Nearest(v, aggregated[groupVersion{kind.Group, o.Version}]); served {
					continue
				}
				c := w.Cluster(v)
				if Provides(*c, kind) || len(in.of(kind, c.Name)) > 0 {
					continue
				}
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

// missingKind is what one finding is about, however many objects have the kind.
type missingKind struct {
	seed    int32
	kind    manifest.GroupKind
	cluster string
}

var definitionKind = manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definitionsOf lists the CustomResourceDefinitions of each kind.
func definitionsOf(w *World) map[manifest.GroupKind][]int32 {
	definitions := map[manifest.GroupKind][]int32{}
	for v, o := range w.VerticesOf(definitionKind) {
		if kind, _, ok := manifest.DefinedScope(*o); ok {
			definitions[kind] = append(definitions[kind], v)
		}
	}
	for _, list := range definitions {
		w.Sort(list)
	}
	return definitions
}

// Provides reports whether a cluster has the kind although no seed contains it. It compares by group
// and by the regular plurals of the kind, because names of CRDs and API versions are all that is known
// of what a cluster provides. A kind with an irregular plural is reported as missing, which is a warning and
// blocks nothing.
func Provides(c catalog.Cluster, kind manifest.GroupKind) bool {
	singular := strings.ToLower(kind.Kind)
	plurals := []string{singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies", singular}
	for _, version := range c.Provides.APIVersions {
		if strings.HasPrefix(version, kind.Group+"/") {
			return true
		}
	}
	for _, name := range c.Provides.CustomResourceDefinitions {
		plural, group, _ := strings.Cut(name, ".")
		if group == kind.Group && slices.Contains(plurals, strings.ReplaceAll(plural, "-", "")) {
			return true
		}
	}
	return false
}
