package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/readiness"
)

// planterAnnotations are those of Planter that have an effect here. It has others,
// which are free, so only what is nearly one of these is a mistake.
var planterAnnotations = []string{v1alpha1.AnnotationPlanterCluster, "planter.nephio.org/dependencies"}

// slip is how many letters a misspelled name may be away from the one that was meant.
const slip = 2

// CheckSeedKeys returns what is wrong with the annotations and labels of a Seed resource.
func CheckSeedKeys(file, name string, annotations, labels map[string]string) manifest.Problems {
	metadata := map[string]any{"annotations": values(annotations), "labels": values(labels)}
	return checkKeys(manifest.Object{
		ID:     manifest.ID{Group: v1alpha1.Group, Kind: "Seed", Name: name},
		Source: manifest.Source{File: file}, Body: map[string]any{"metadata": metadata},
	}, v1alpha1.SeedAnnotations)
}

// CheckObjectKeys returns what is wrong with the annotations and labels of an object of a seed.
func CheckObjectKeys(o manifest.Object) manifest.Problems {
	return slices.Concat(checkKeys(o, v1alpha1.ObjectAnnotations), checkReadiness(o), checkTemplateKeys(o))
}

// checkReadiness refuses an annotation with any other value than ignore, and one on a creator: everything on its
// cluster waits for that.
func checkReadiness(o manifest.Object) manifest.Problems {
	const key = v1alpha1.AnnotationReadiness
	switch value, annotated := o.Annotations()[key]; {
	case annotated && value != readiness.Ignore:
		return manifest.Problems{o.Problem(v1alpha1.ReasonInvalidField, fmt.Sprintf("annotation %s is %q", key, manifest.Printable(value)), "Write "+readiness.Ignore+", or remove it.").WithField(key)}
	case annotated && IsCreator(o.ID.GroupKind()):
		return manifest.Problems{o.Problem(v1alpha1.ReasonMisplacedKey, "annotation "+key+" has no effect on what creates a cluster: everything on the cluster waits for it", "Remove it.").WithField(key)}
	}
	return nil
}

// checkTemplateKeys refuses Furrow's annotations and labels on what an object makes, such as the Pods of a
// Deployment: nothing acts on them there. Charts often offer annotations for Pods alone. What the object
// has itself is not a mistake: commonAnnotations of Kustomize write it to both.
func checkTemplateKeys(o manifest.Object) manifest.Problems {
	var problems manifest.Problems
	own, _ := o.Body["metadata"].(map[string]any)
	var walk func(path string, body map[string]any)
	walk = func(path string, body map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(body)) {
			at := join(path, key)
			fields, isMap := body[key].(map[string]any)
			switch {
			case slices.Contains(withoutTemplates, key):
			case !isMap:
				items, _ := body[key].([]any)
				for i := range items {
					if item, ok := items[i].(map[string]any); ok {
						walk(fmt.Sprintf("%s[%d]", at, i), item)
					}
				}
			case key != "metadata":
				walk(at, fields)
			default:
				for kind, written := range map[string][]string{"annotations": v1alpha1.WrittenAnnotations, "labels": v1alpha1.WrittenLabels} {
					keys, _ := fields[kind].(map[string]any)
					owned, _ := own[kind].(map[string]any)
					for _, name := range slices.Sorted(maps.Keys(keys)) {
						if ours(name) && !reflect.DeepEqual(owned[name], keys[name]) && !slices.Contains(written, name) {
							problems = append(problems, o.Problem(v1alpha1.ReasonMisplacedKey, fmt.Sprintf("%s %s is in %s, where it has no effect", strings.TrimSuffix(kind, "s"), name, at), "Move it to metadata.annotations of the object.").WithField(name))
						}
					}
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(o.Body)) {
		if body, ok := o.Body[key].(map[string]any); ok && key != "metadata" && !slices.Contains(withoutTemplates, key) {
			walk(key, body)
		}
	}
	slices.SortFunc(problems, func(a, b manifest.Problem) int { return strings.Compare(a.Message, b.Message) })
	return problems
}

// withoutTemplates are fields that are large and in which no object has metadata of others.
var withoutTemplates = []string{"containers", "data", "binaryData", "initContainers", "openAPIV3Schema", "rules", "schema", "status", "stringData", "versions", "volumes"}

func values(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

// checkKeys refuses annotations and labels in Furrow's namespaces that it does not act on;
// effective are the annotations that have an effect on o.
func checkKeys(o manifest.Object, effective []string) manifest.Problems {
	var problems manifest.Problems
	report := func(reason v1alpha1.Reason, key, message, next string) {
		p := o.Problem(reason, message, next)
		p.Field = key
		problems = append(problems, p)
	}
	annotations := o.Annotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if reason, message, next := annotationFault(key, effective); message != "" {
			report(reason, key, message, next)
		}
	}
	_, rendered := annotations[v1alpha1.AnnotationRendered]
	for _, key := range slices.Sorted(maps.Keys(o.Labels())) {
		if rendered && key == v1alpha1.LabelReconciledCluster {
			continue // a reconciler object that was copied from a GitOps repository
		}
		if reason, message, next := labelFault(key, effective); message != "" {
			report(reason, key, message, next)
		}
	}
	return problems
}

// annotationFault returns why an annotation has no effect, if somebody may believe that it has: one
// of Furrow's at the wrong kind of document, an unknown one with Furrow's prefix, or one that is
// nearly another tool's that Furrow reads. Any other annotation is none of its business.
func annotationFault(key string, effective []string) (reason v1alpha1.Reason, message, next string) {
	switch {
	case slices.Contains(effective, key) || slices.Contains(v1alpha1.WrittenAnnotations, key):
		return "", "", ""
	case slices.Contains(v1alpha1.SeedAnnotations, key):
		return v1alpha1.ReasonMisplacedKey, "annotation " + key + " is for Seeds, and has no effect here", "Remove it."
	case slices.Contains(v1alpha1.ObjectAnnotations, key):
		return v1alpha1.ReasonMisplacedKey, "annotation " + key + " is for the objects of a seed, and has no effect here", "Remove it."
	case slices.Contains(v1alpha1.WrittenLabels, key):
		return v1alpha1.ReasonMisplacedKey, key + " is a label that Furrow writes, and has no effect as an annotation", "Remove it."
	case ours(key) && len(effective) == 0:
		return v1alpha1.ReasonUnknownKey, "annotation " + quote(key) + " is unknown", "Remove it."
	case ours(key):
		return v1alpha1.ReasonUnknownKey, "annotation " + quote(key) + " is unknown", correction(key, effective, "Write ")
	}
	if meant := manifest.Nearest(key, planterAnnotations)[0]; key != meant && manifest.Distance(key, meant) <= slip {
		return v1alpha1.ReasonUnknownKey, "annotation " + quote(key) + " is unknown", "Write " + meant + ", or remove it."
	}
	return "", "", ""
}

// labelFault says the same of a label.
func labelFault(key string, effective []string) (reason v1alpha1.Reason, message, next string) {
	switch {
	case slices.Contains(effective, key) || slices.Contains(planterAnnotations, key):
		return v1alpha1.ReasonMisplacedKey, key + " is an annotation, and has no effect as a label", "Move it to metadata.annotations."
	case slices.Contains(v1alpha1.WrittenLabels, key) || !ours(key):
		return "", "", ""
	case len(effective) == 0:
		return v1alpha1.ReasonUnknownKey, "label " + quote(key) + " is unknown", "Remove it."
	}
	return v1alpha1.ReasonUnknownKey, "label " + quote(key) + " is unknown", correction(key, effective, "Write the annotation ")
}

// likely is how much of a key can be mistyped: more is another word.
const likely = 5

// correction returns the next step for an unknown key: the one that was likely meant, if there is
// such a one.
func correction(key string, effective []string, write string) string {
	meant := manifest.Nearest(key, effective)[0]
	if !strings.HasPrefix(meant, key) && manifest.Distance(key, meant) > likely {
		return "Remove it; these have an effect here: " + strings.Join(effective, ", ") + "."
	}
	return write + meant + ", or remove it."
}

// ours reports whether a key has Furrow's prefix, in whatever case.
func ours(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && strings.EqualFold(prefix, v1alpha1.Group)
}
