package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var declared = Rule{
	Name:      "declared",
	Doc:       "An object waits for those that its annotations name, in the form of Furrow, cli-utils, kapp or Planter, and for those in spec.dependsOn of Flux.",
	Why:       "Some dependencies are in no field.",
	OrderOnly: true,
	Draw: func(w *World) {
		groups := newChangeGroups(w)
		for kind, sources := range w.ByKind {
			for v, o := range sources {
				if fluxKinds[kind] {
					waitForFlux(w, v, o)
				}
				if w.annotated(v) {
					waitForNamed(w, v, o, false)
					waitForSources(w, v, o)
					groups.wait(w, v, o)
				}
			}
		}
	},
}

// waitForNamed draws the edges to what annotations name: where a plugin wrote it, or where a person
// did.
func waitForNamed(w *World, v int32, o *manifest.Object, byPlugin bool) {
	for _, d := range dialects {
		for item := range strings.SplitSeq(o.Annotation(d.annotation), ",") {
			item = strings.TrimSpace(item)
			if plugin := o.WrittenBy(d.annotation, item); item != "" && byPlugin == (plugin != "") {
				d.waitFor(w, v, item, plugin)
			}
		}
	}
}

// dialect is one annotation by which people declare a dependency.
type dialect struct {
	annotation string
	form       string
	parse      func(string) (manifest.ID, bool)
}

// dialects are ours, that of cli-utils, and Planter's.
var dialects = []dialect{
	{v1alpha1.AnnotationDependsOn, "group/Kind/namespace/name", parseOwn},
	{"config.kubernetes.io/depends-on", "group/namespaces/namespace/Kind/name or group/Kind/name", parseConfig},
	{"planter.nephio.org/dependencies", "apiVersion|Kind|namespace|name", parsePlanter},
}

// waitFor resolves one name of an annotation, which a plugin wrote, or a person if plugin is empty.
func (d dialect) waitFor(w *World, v int32, item, plugin string) {
	id, ok := d.parse(item)
	if !ok {
		w.Fail(v, invalid(d.annotation, fmt.Sprintf("annotation %s: %q is not of the form %s", d.annotation, item, d.form), "Correct the annotation."))
		return
	}
	next := "Add that object, or correct the annotation."
	if _, object, ok := strings.Cut(item, "v1/"); ok && strings.HasPrefix(item, "v1/") {
		next = fmt.Sprintf("The group of an object is without its version, and that of v1 is core: write core/%s.", manifest.Printable(object))
	}
	waitForID(w, v, mention{d.annotation, item, plugin}, id, next)
}

func parseOwn(item string) (manifest.ID, bool) {
	id, err := manifest.ParseID(item)
	return id, err == nil
}

// parseConfig reads the form of cli-utils, where the core group is empty.
func parseConfig(item string) (manifest.ID, bool) {
	parts := strings.Split(item, "/")
	switch {
	case len(parts) == 3 && parts[1] != "" && parts[2] != "":
		return manifest.ID{Group: parts[0], Kind: parts[1], Name: parts[2]}, true
	case len(parts) == 5 && parts[1] == "namespaces" && parts[2] != "" && parts[3] != "" && parts[4] != "":
		return manifest.ID{Group: parts[0], Kind: parts[3], Namespace: parts[2], Name: parts[4]}, true
	}
	return manifest.ID{}, false
}

// parsePlanter reads an apiVersion where other forms have a group, so "v1" is the core group.
func parsePlanter(item string) (manifest.ID, bool) {
	parts := strings.Split(item, "|")
	if len(parts) != 4 || parts[1] == "" || parts[3] == "" {
		return manifest.ID{}, false
	}
	group, _, grouped := strings.Cut(parts[0], "/")
	if !grouped {
		group = ""
	}
	return manifest.ID{Group: group, Kind: parts[1], Namespace: parts[2], Name: parts[3]}, true
}
