package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// definerReady are the kinds whose objects define others, with what is true of an object once API
// servers serve what it defines. Of a CustomResourceDefinition its health says so.
var definerReady = map[manifest.GroupKind]string{
	{Group: "apiextensions.crossplane.io", Kind: "CompositeResourceDefinition"}: "has(status.conditions) && status.conditions.exists(c, c.type == 'Established' && c.status == 'True')",
	{Group: "templates.gatekeeper.sh", Kind: "ConstraintTemplate"}:              "has(status.created) && status.created",
	{Group: "kro.run", Kind: "ResourceGraphDefinition"}:                         "has(status.state) && status.state == 'Active'",
}

// installation is what an object installs, on a cluster.
type installation struct {
	vertex int32
	apis   []installs.API
	ready  string
	// field and why are those of the edges.
	field, why string
}

// installed returns what an object other than a CustomResourceDefinition provides; false where it
// provides nothing that is known. Its annotation counts, else what it defines, else what the tables
// have of its name. problem is a part of the annotation that is not an API.
func installed(w *World, v int32, o *manifest.Object) (found installation, problem string) {
	found = installation{vertex: v, ready: definerReady[o.ID.GroupKind()]}
	if o.Annotation(v1alpha1.AnnotationProvides) != "" {
		found.apis, problem = installs.Annotated(o)
		found.field, found.why = "metadata.annotations["+v1alpha1.AnnotationProvides+"]", v1alpha1.AnnotationProvides
		return found, problem
	}
	if found.ready != "" {
		for _, d := range manifest.Defines(*o) {
			found.apis = append(found.apis, installs.Of(d.Kind))
		}
		found.why = "it defines the kind"
		return found, ""
	}
	for _, p := range installs.Packages(o, w.sourceOf(v)) {
		for _, a := range p.APIs {
			if !slices.Contains(found.apis, a) {
				found.apis = append(found.apis, a)
			}
		}
		found.why = fmt.Sprintf("it installs %s", manifest.Printable(p.Name))
	}
	return found, ""
}

// sourceOf returns how to find the sources that an object names.
func (w *World) sourceOf(v int32) func(manifest.ID) *manifest.Object {
	return func(id manifest.ID) *manifest.Object {
		if at, ok := w.Beside(v, id); ok {
			return w.Object(at)
		}
		return nil
	}
}

// targetOf returns the cluster that an object installs to, which is another one where it names a
// kubeconfig or a destination; false where that is none that is known.
func targetOf(w *World, v int32, o *manifest.Object) (string, bool) {
	own := w.Cluster(v).Name
	if o.ID.Group == "argoproj.io" {
		server, name := o.Text("spec", "destination", "server"), o.Text("spec", "destination", "name")
		if name != "" && name != "in-cluster" {
			_, known := w.Inventory.Clusters[name]
			return name, known
		}
		return own, server == "" || server == "https://kubernetes.default.svc"
	}
	secret := o.Text("spec", "kubeConfig", "secretRef", "name")
	if secret == "" {
		return own, o.Map("spec", "kubeConfig") == nil
	}
	for _, name := range w.Inventory.Names() {
		c := w.Inventory.Clusters[name]
		reachedBy, on := c.KubeConfig.Name, c.Hub
		if c.CreatedBy != nil {
			at, kubeConfig := c.KubeConfigOf()
			reachedBy, on = kubeConfig.Name, at
		}
		if reachedBy == secret && on == own {
			return name, true
		}
	}
	return "", false
}
