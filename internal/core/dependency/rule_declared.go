package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var declared = Rule{
	Name: "declared",
	Doc:  "An object waits for those that its annotations name.",
	Why:  "Some dependencies are in no field.",
	Draw: func(w *World) {
		for v, o := range w.Sources {
			if o.Map("metadata", "annotations") == nil {
				continue
			}
			for _, d := range dialects {
				for item := range strings.SplitSeq(o.Annotation(d.annotation), ",") {
					if item = strings.TrimSpace(item); item != "" {
						d.waitFor(w, v, item)
					}
				}
			}
		}
	},
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

// waitFor resolves one name of an annotation: the object of that name on the same cluster,
// else on all clusters that have it. So an object on a workload cluster may name one on its
// management cluster and need not name the cluster. A name that nothing has is an error and not a
// warning as in other rules, since somebody wrote it on purpose.
func (d dialect) waitFor(w *World, v int32, item string) {
	fail := func(reason v1alpha1.Reason, message, next string) {
		w.Fail(v, Finding{Reason: reason, Field: d.annotation, Missing: reason == v1alpha1.ReasonMissingDependency, Message: "annotation " + d.annotation + message, Next: next})
	}
	id, ok := d.parse(item)
	if !ok {
		fail(v1alpha1.ReasonInvalidDependency, fmt.Sprintf(": %q is not of the form %s", item, d.form), "Correct the annotation.")
		return
	}
	reason := Reason{Field: "metadata.annotations[" + d.annotation + "]", Why: fmt.Sprintf("%s: %s", d.annotation, manifest.Printable(item)), OrderOnly: true}
	if to, ok := w.Beside(v, id); ok {
		if to == v {
			fail(v1alpha1.ReasonInvalidDependency, " names the object itself", "Correct the annotation.")
			return
		}
		w.Wait(v, to, reason)
		return
	}
	elsewhere := w.Everywhere(id)
	if len(elsewhere) == 0 {
		next := "Add that object, or correct the annotation."
		if _, object, ok := strings.Cut(item, "v1/"); ok && strings.HasPrefix(item, "v1/") {
			next = fmt.Sprintf("The group of an object is without its version, and that of v1 is core: write core/%s.", manifest.Printable(object))
		}
		fail(v1alpha1.ReasonMissingDependency, fmt.Sprintf(" names %s, which is in no seed", id), next)
		return
	}
	for _, to := range elsewhere {
		w.Wait(v, to, reason)
	}
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
