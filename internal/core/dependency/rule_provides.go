package dependency

import (
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
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
		found, wrong := installs(w, v, o)
		if wrong != "" {
			in.wrong = append(in.wrong, wrongAnnotation{v, Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: v1alpha1.AnnotationProvides,
				Message: fmt.Sprintf("annotation %s: %q is not an API group, nor a kind of one", v1alpha1.AnnotationProvides, wrong), Next: "Write groups as in cert-manager.io or *.upbound.io, or kinds as in Issuer.cert-manager.io."}})
			continue
		}
		_, installer := installers()[o.ID.GroupKind()]
		if len(found.apis) == 0 && !installer {
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
		_, installer := installers()[run.kind]
		ofKind := installer || definerReady[run.kind] != ""
		such := func(v int32) bool { return w.hasContent(v) && (ofKind || w.annotated[v]) }
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
			if a.has(kind) {
				list = append(list, i)
				break
			}
		}
	}
	in.byKind[key] = list
	return list
}

// next says what to do about a kind that nothing installs on a cluster. An installer that is there
// may do so; only its author knows.
func (in *installations) next(w *World, kind manifest.GroupKind, cluster string) string {
	if unknown := in.unknown[cluster]; len(unknown) > 0 {
		return fmt.Sprintf("Add it, or annotate %s with %s: %s if that installs it, or list it in spec.provides.customResourceDefinitions of the Cluster.", w.ID(unknown[0]), v1alpha1.AnnotationProvides, kind.Group)
	}
	return "Add it, or list it in spec.provides.customResourceDefinitions of the Cluster."
}
