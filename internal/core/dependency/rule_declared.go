package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var declared = Rule{
	Name:      "declared",
	Doc:       "An object waits for those that its annotations name.",
	Why:       "Some dependencies are in no field.",
	OrderOnly: true,
	draw: func(s *graphBuilder, from source) {
		for _, d := range dialects {
			for item := range strings.SplitSeq(from.object.Annotation(d.annotation), ",") {
				if item = strings.TrimSpace(item); item != "" {
					s.waitForNamed(from, d, item)
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

// waitForNamed resolves one name of an annotation: the object of that name on the same cluster,
// else on all clusters that have it. So an object on a workload cluster may name one on its
// management cluster and need not name the cluster. A name that nothing has is an error and not a
// warning as in other rules, since somebody wrote it on purpose.
func (s *graphBuilder) waitForNamed(from source, d dialect, item string) {
	v := s.graph.Vertices[from.vertex]
	id, ok := d.parse(item)
	if !ok {
		s.fail(Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: d.annotation, Seed: v.Seed, Object: v.Object, Message: fmt.Sprintf("annotation %s: %q is not of the form %s", d.annotation, item, d.form), Next: "Correct the annotation."})
		return
	}
	why := fmt.Sprintf("%s: %s", d.annotation, manifest.Printable(item))
	if to, ok := s.nearest(v.Seed, s.owners[objectOnCluster{id, v.Cluster}]); ok {
		if to == from.vertex {
			s.fail(Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: d.annotation, Seed: v.Seed, Object: v.Object, Message: fmt.Sprintf("annotation %s names the object itself", d.annotation), Next: "Correct the annotation."})
			return
		}
		s.wait(from, to, why+s.brought(v.Seed, to))
		return
	}
	elsewhere := s.everywhere[id]
	if len(elsewhere) == 0 {
		next := "Add that object, or correct the annotation."
		if _, object, ok := strings.Cut(item, "v1/"); ok && strings.HasPrefix(item, "v1/") {
			next = fmt.Sprintf("The group of an object is without its version, and that of v1 is core: write core/%s.", manifest.Printable(object))
		}
		s.fail(Finding{Reason: v1alpha1.ReasonMissingDependency, Field: d.annotation, Seed: v.Seed, Object: v.Object, Missing: true,
			Message: fmt.Sprintf("annotation %s names %s, which is in no seed", d.annotation, id), Next: next})
		return
	}
	for _, to := range elsewhere {
		s.wait(from, to, why+s.brought(v.Seed, to))
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
