package makes

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/installs"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// Finder returns what an object of some kind makes. Source returns an object that it names as its source, nil
// where there is none.
type Finder func(o *manifest.Object, source func(manifest.ID) *manifest.Object) []Thing

// FinderOf returns the finder of a kind; nil where its objects make nothing.
func FinderOf(kind manifest.GroupKind) Finder {
	switch kind {
	case manifest.GroupKind{Kind: "Secret"}, manifest.GroupKind{Kind: "ConfigMap"}:
		return func(o *manifest.Object, _ func(manifest.ID) *manifest.Object) []Thing { return copies(o, nil) }
	case manifest.GroupKind{Group: "batch", Kind: "Job"}:
		return func(o *manifest.Object, _ func(manifest.ID) *manifest.Object) []Thing { return byJob(o) }
	}
	if manifest.ServedByKubernetes(kind) {
		return nil
	}
	rows := rowsOf(kind)
	fields, elsewhere := rows.fieldsOfSpec()
	return func(o *manifest.Object, source func(manifest.ID) *manifest.Object) []Thing {
		var out []Thing
		if elsewhere || hasAny(o, fields) {
			out = rows.of(o)
		}
		if len(out) > 0 {
			out = append(out, copies(o, out)...)
		}
		for _, p := range installs.Packages(o, source) {
			out = append(out, read().byChart[p.Name].of(o)...)
		}
		return out
	}
}

// hasAny reports whether a custom resource may have something in some fields of its spec. Most have none of those
// that the table names.
func hasAny(o *manifest.Object, fields []string) bool {
	spec, ok := o.Body["spec"].(map[string]any)
	return !ok || slices.ContainsFunc(fields, func(field string) bool { return spec[field] != nil })
}

// By returns what an object makes.
func By(o *manifest.Object, source func(manifest.ID) *manifest.Object) []Thing {
	if find := FinderOf(o.ID.GroupKind()); find != nil {
		return find(o, source)
	}
	return nil
}

// byJob returns the Secret that a Job makes, by the flags of tools that make certificates. Jobs that patch it into
// a webhook configuration have the flags, too.
func byJob(o *manifest.Object) []Thing {
	_, spec := placement.PodsOf(o)
	var out []Thing
	patches := false
	for argument := range placement.Arguments(spec) {
		patches = patches || argument == "patch" || strings.HasPrefix(argument, "--webhook-name")
		for _, flag := range []string{"--secret-name=", "--secret="} {
			if name, ok := strings.CutPrefix(argument, flag); ok {
				out = append(out, Thing{Kind: "Secret", Namespace: o.ID.Namespace, Name: name})
			}
		}
	}
	if patches {
		return nil
	}
	return out
}
