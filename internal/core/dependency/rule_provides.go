package dependency

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var provides = Rule{
	Name:  "provides",
	Doc:   "A custom resource waits for all objects that install its kind on its cluster: definitions of other projects, packages that are known to contain it, and what is annotated with furrow.dev/provides.",
	Why:   "An API server refuses an object of an unknown kind, and a package has its kinds only some time after it was applied.",
	Phase: Installed,
	Draw: func(w *World) {
		in := w.installations()
		for _, f := range in.wrong {
			w.Fail(f.vertex, f.Finding)
		}
		if len(in.on) == 0 {
			return
		}
		waited := make([]bool, w.graph.Len())
		for _, e := range w.graph.Edges {
			waited[e.To] = true
		}
		for kind, sources := range w.ByKind {
			if manifest.ServedByKubernetes(kind) {
				continue
			}
			for v := range sources {
				for _, i := range in.of(kind, w.Cluster(v).Name) {
					// What an installation needs itself is not what it installs: that was there before.
					if (waited[v] || in.vertices[v]) && w.Reaches(i.vertex, v) {
						continue
					}
					w.Wait(v, i.vertex, Reason{Field: "kind", Why: fmt.Sprintf("kind: %s (%s)", kind, i.why), Ready: i.ready})
				}
			}
		}
	},
}

// installations are those of all seeds, by the cluster that they install to.
type installations struct {
	on       map[string][]installation
	vertices map[int32]bool
	// unknown are installers by cluster, where it is unknown what they install.
	unknown map[string][]int32
	wrong   []wrongAnnotation
	byKind  map[kindOn][]installation
}

// wrongAnnotation is a finding about a vertex.
type wrongAnnotation struct {
	vertex int32
	Finding
}

// kindOn is a kind on a cluster.
type kindOn struct {
	kind    manifest.GroupKind
	cluster string
}

// installations returns what objects install, which two rules ask for.
func (w *World) installations() *installations {
	if w.installed != nil {
		return w.installed
	}
	in := &installations{on: map[string][]installation{}, vertices: map[int32]bool{}, unknown: map[string][]int32{}, byKind: map[kindOn][]installation{}}
	w.installed = in
	var idle *manifest.Object // installs nothing; it is on many clusters, which come one after the other
	for v, o := range w.mayInstall {
		if o == idle {
			continue
		}
		found, wrong := installed(w, v, o)
		if wrong != "" {
			in.wrong = append(in.wrong, wrongAnnotation{v, Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: v1alpha1.AnnotationProvides,
				Message: fmt.Sprintf("annotation %s: %q is not an API group, nor a kind of one", v1alpha1.AnnotationProvides, wrong), Next: "Write groups as in cert-manager.io or *.upbound.io, or kinds as in Issuer.cert-manager.io."}})
			continue
		}
		if own := o.ID.GroupKind(); o.Annotation(v1alpha1.AnnotationProvides) != "" && len(found.apis) > 0 && !slices.ContainsFunc(found.apis, func(a installs.API) bool { return !a.Has(own) }) {
			in.wrong = append(in.wrong, wrongAnnotation{v, Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: v1alpha1.AnnotationProvides,
				Message: fmt.Sprintf("annotation %s: an object cannot install its own kind, %s", v1alpha1.AnnotationProvides, own), Next: "List what the cluster has in spec.provides.customResourceDefinitions of the Cluster."}})
			continue
		}
		if len(found.apis) == 0 && !installs.IsInstaller(o.ID.GroupKind()) {
			idle = o
			continue
		}
		cluster, known := targetOf(w, v, o)
		if own := w.Cluster(v).Name; known && cluster != own {
			w.result.Connected = append(w.result.Connected, own, cluster)
		}
		switch {
		case !known:
		case len(found.apis) > 0:
			in.on[cluster], in.vertices[v] = append(in.on[cluster], found), true
		default:
			in.unknown[cluster] = append(in.unknown[cluster], v)
		}
	}
	return in
}

// mayInstall visits the vertices that have annotations or are of a kind that installs others.
func (w *World) mayInstall(yield func(int32, *manifest.Object) bool) {
	for _, run := range w.runs {
		ofKind := installs.IsInstaller(run.kind) || definerReady[run.kind] != ""
		such := func(v int32) bool { return w.hasContent(v) && (ofKind || w.annotated(v)) }
		for v, o := range w.those(such, run.first, run.end) {
			if !yield(v, o) {
				return
			}
		}
	}
}

// of lists what installs a kind on a cluster.
func (in *installations) of(kind manifest.GroupKind, cluster string) []installation {
	key := kindOn{kind, cluster}
	list, known := in.byKind[key]
	if known {
		return list
	}
	for _, i := range in.on[cluster] {
		for _, a := range i.apis {
			if a.Has(kind) {
				list = append(list, i)
				break
			}
		}
	}
	in.byKind[key] = list
	return list
}

// next says what to do about a kind that nothing installs on a cluster. An installer of unknown content may
// install it. Of several, next names the one that is called like the API group.
func (in *installations) next(w *World, kind manifest.GroupKind, cluster string) string {
	unknown := slices.DeleteFunc(slices.Clone(in.unknown[cluster]), func(v int32) bool { return w.ID(v).GroupKind() == kind })
	likely := slices.DeleteFunc(slices.Clone(unknown), func(v int32) bool { return !namedAlike(w.ID(v).Name, kind.Group) })
	which := ""
	switch {
	case len(likely) == 1:
		which = w.ID(likely[0]).String()
	case len(unknown) == 1:
		which = w.ID(unknown[0]).String()
	case len(unknown) > 1:
		which = fmt.Sprintf("the one of %d installers in the fleet's seeds that brings it", len(unknown))
	default:
		return "Add it, or list it in spec.provides.customResourceDefinitions of the Cluster."
	}
	return fmt.Sprintf("Add it, or annotate %s with %s: %s if that installs it, or list it in spec.provides.customResourceDefinitions of the Cluster.", which, v1alpha1.AnnotationProvides, kind.Group)
}

// namedAlike reports whether an installer has the name of an API group, as external-dns has that of
// externaldns.k8s.io.
func namedAlike(name, group string) bool {
	letters := strings.NewReplacer("-", "", ".", "").Replace
	for part := range strings.SplitSeq(group, ".") {
		part = letters(part)
		if len(part) > 3 && strings.Contains(letters(name), part) {
			return true
		}
	}
	return len(letters(name)) > 3 && strings.Contains(letters(group), letters(name))
}
