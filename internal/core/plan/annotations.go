package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// keepAnnotations are those by which other tools keep an object on the cluster once nobody declares it any
// more.
var keepAnnotations = []struct {
	key   string
	keeps func(value string) bool
}{
	{"helm.sh/resource-policy", is("keep")},
	{"argocd.argoproj.io/sync-options", has("prune=false", "delete=false")},
	{"kapp.k14s.io/delete-strategy", is("orphan")},
	{"client.lifecycle.config.k8s.io/deletion", is("detach")},
	{"cli-utils.sigs.k8s.io/on-remove", is("keep")},
}

func is(want string) func(string) bool {
	return func(value string) bool { return strings.EqualFold(strings.TrimSpace(value), want) }
}

// has is for a list that is separated by commas.
func has(one ...string) func(string) bool {
	return func(value string) bool {
		return slices.ContainsFunc(strings.Split(value, ","), func(item string) bool {
			return slices.Contains(one, strings.ToLower(strings.TrimSpace(item)))
		})
	}
}

// keptBy returns the annotation by which an object stays on its cluster when it leaves the seed; empty
// where there is none.
func keptBy(o *manifest.Object) string {
	for _, a := range keepAnnotations {
		if a.keeps(o.Annotation(a.key)) {
			return a.key
		}
	}
	return ""
}

// translateAnnotations writes, for annotations of Furrow and of other tools, those by which the
// reconciler does the same. It returns the values that nobody understands.
func (s *seedState) translateAnnotations() manifest.Problems {
	var problems manifest.Problems
	kept, first, by, with := 0, (*manifest.Object)(nil), "", holders{}
	for _, id := range s.contents.IDs() {
		keeps := ""
		for _, content := range s.contents.Of(id) {
			if p := recreate(content.Object); p != nil {
				problems = append(problems, *p)
			} else if content.Object.Annotation(v1alpha1.AnnotationRecreate) != "" && !content.Object.Encrypted() {
				marked := content.Object.WithAnnotation(immutable.Recreate, "enabled")
				content.Object = &marked
			}
			if key := keptBy(content.Object); key != "" {
				keeps = key
			}
		}
		if keeps == "" {
			continue
		}
		if kept++; kept == 1 {
			first, by, with = s.object(id), keeps, s.holders()
		}
		s.protect(id)
		for _, holder := range with.of(id) {
			s.protect(holder)
		}
	}
	if kept == 0 {
		return problems
	}
	others := ""
	if kept > 1 {
		others = fmt.Sprintf(" (one of %d objects in the seed that stay)", kept)
	}
	s.warnings = append(s.warnings, warningAt(first.Problem(v1alpha1.ReasonKeptOnCluster, fmt.Sprintf("annotation %s keeps the object on its cluster when it leaves the seed%s: it is marked with %s: disabled", by, others, Protection), "Delete it there yourself when it is no longer needed.")))
	return problems
}

// holders are the objects of a seed with which others would go: Namespaces by name, and definitions by
// the kinds that they define.
type holders struct {
	namespaces  map[string]manifest.ID
	definitions map[manifest.GroupKind]manifest.ID
}

func (s *seedState) holders() holders {
	out := holders{map[string]manifest.ID{}, map[manifest.GroupKind]manifest.ID{}}
	for _, id := range s.contents.IDs() {
		if isNamespace(id) {
			out.namespaces[id.Name] = id
		}
		if defined, _, ok := manifest.DefinedScope(*s.object(id)); ok {
			out.definitions[defined] = id
		}
	}
	return out
}

// of returns what an object would go with.
func (h holders) of(id manifest.ID) []manifest.ID {
	var out []manifest.ID
	if namespace, there := h.namespaces[id.Namespace]; there {
		out = append(out, namespace)
	}
	if definition, there := h.definitions[id.GroupKind()]; there {
		out = append(out, definition)
	}
	return out
}

// recreate returns why the annotation that lets the reconciler create an object again has no effect.
func recreate(o *manifest.Object) *manifest.Problem {
	value := o.Annotation(v1alpha1.AnnotationRecreate)
	var p manifest.Problem
	switch {
	case value == "":
		return nil
	case value != "allow":
		p = o.Problem(v1alpha1.ReasonInvalidField, fmt.Sprintf("annotation %s: %q is not a value that it can have", v1alpha1.AnnotationRecreate, manifest.Printable(value)), "Write allow, or remove it.")
	case o.Encrypted() && !immutable.Recreates(*o):
		p = o.Problem(v1alpha1.ReasonInvalidEncryption, fmt.Sprintf("annotation %s: allow has no effect, because nothing can be added to an object that is encrypted with sops", v1alpha1.AnnotationRecreate), fmt.Sprintf("Annotate it with %s: enabled before encrypting it.", immutable.Recreate))
	default:
		return nil
	}
	p = p.WithField("metadata.annotations[" + v1alpha1.AnnotationRecreate + "]")
	return &p
}
