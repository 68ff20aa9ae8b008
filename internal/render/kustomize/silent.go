package kustomize

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// named is an object as selectors see it: in a file that was read, or in the result of the build.
type named struct {
	group, version, kind, namespace, name string
	labels, annotations                   map[string]string
	// source reports whether it is from a file: kustomizations may rename it, and add to it, before a
	// selector is applied.
	source bool
}

// silent returns what Kustomize passes over without a word: images, patches and replacements that
// select nothing, and manifests beside a kustomization that none names. It knows the objects as they
// were read and as they come out, and not as they are between two kustomizations. So it speaks only
// where nothing can have been selected.
func (g *guard) silent(built []named) (warnings []fault) {
	objects, images, patches := slices.Clone(built), map[string]bool{}, g.patches()
	for name, data := range g.seen {
		if patches[name] || g.kustomizations[name] != nil {
			collect(data, nil, images)
		} else {
			collect(data, &objects, images)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(g.kustomizations)) {
		k := g.kustomizations[file]
		warn := func(value, message, next string) {
			warnings = append(warnings, fault{Reason: v1alpha1.ReasonNothingSelected, File: g.within(file), Line: lineOf(g.seen[file], value), Message: message, Next: next})
		}
		for _, image := range k.Images {
			if len(k.Configurations) == 0 && !hasImage(images, image.Name) {
				warn(image.Name, fmt.Sprintf("images changes %q, and no object has an image of that name", image.Name), "Correct the name, without its tag, or remove the entry.")
			}
		}
		for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // Kustomize still reads it
			if p.Target != nil && !selects(*p.Target, objects) {
				warn("target", fmt.Sprintf("no object of the package is the target %s of a patch", selectorText(*p.Target)), "Correct the target, or remove the patch.")
			}
		}
		for _, r := range k.Replacements {
			for _, target := range r.Targets {
				if target != nil && target.Select != nil && !selects(*target.Select, objects) {
					warn("select", fmt.Sprintf("no object of the package is the target %s of a replacement", selectorText(*target.Select)), "Correct the target, or remove it.")
				}
			}
		}
	}
	return append(warnings, g.unlisted()...)
}

// patches returns the files that are patches, and so no objects.
func (g *guard) patches() map[string]bool {
	out := map[string]bool{}
	for file, k := range g.kustomizations {
		for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // Kustomize still reads it
			out[path.Join(path.Dir(file), p.Path)] = p.Path != ""
		}
		for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // Kustomize still reads it
			out[path.Join(path.Dir(file), string(p))] = true
		}
	}
	return out
}

// unlisted names the manifests that belong to a kustomization which was read, and that it does not name.
func (g *guard) unlisted() (warnings []fault) {
	for _, file := range slices.Sorted(maps.Keys(g.Files)) {
		at := path.Join(g.mount(), file)
		data := g.Files[file]
		if _, read := g.seen[at]; read || !isManifest(file) || isKustomization(file) || !isObject(data) {
			continue
		}
		dir := path.Dir(at)
		for dir != g.mount() && g.kustomizationIn(dir) == "" {
			dir = path.Dir(dir)
		}
		if k := g.kustomizationIn(dir); k != "" && g.kustomizations[k] != nil {
			warnings = append(warnings, fault{Reason: v1alpha1.ReasonFileSkipped, File: file, Message: "the file is not read: " + path.Join(g.Root, g.within(k)) + " does not name it", Next: "Add it to resources, or remove it."})
		}
	}
	return warnings
}

func (g *guard) kustomizationIn(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if g.Exists(path.Join(dir, name)) {
			return path.Join(dir, name)
		}
	}
	return ""
}

func isKustomization(file string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(file))
}

func isManifest(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(path.Ext(file)))
}

var hasKind = regexp.MustCompile(`(?m)^\s*"?kind"?:`)

// isObject reports whether a file seems to hold objects that are meant for a cluster.
func isObject(data []byte) bool {
	return hasKind.Match(data) && bytes.Contains(data, []byte("apiVersion")) && !bytes.Contains(data, []byte(v1alpha1.Group+"/"))
}

// collect gathers the images of a file, also those of patches that are written within it, and its
// objects, unless that is nil.
func collect(data []byte, objects *[]named, images map[string]bool) {
	decoder := yaml3.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml3.Node
		if decoder.Decode(&doc) != nil || len(doc.Content) == 0 {
			return
		}
		visit(doc.Content[0], "", objects, images)
	}
}

// visit gathers what a value has. key is that of the value.
func visit(n *yaml3.Node, key string, objects *[]named, images map[string]bool) {
	switch n.Kind {
	case yaml3.MappingNode:
		if o := namedOf(n); o.kind != "" && objects != nil {
			*objects = append(*objects, o)
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value != "images" || key != "" {
				visit(n.Content[i+1], n.Content[i].Value, objects, images)
				continue
			}
			for _, image := range n.Content[i+1].Content { // what an entry makes, another one may change
				images[field(image, "newName")] = true
			}
		}
	case yaml3.SequenceNode:
		for _, item := range n.Content {
			visit(item, listKey, objects, images)
		}
	case yaml3.ScalarNode:
		switch {
		case key == "image" || key == "value":
			images[n.Value] = true
		case strings.Contains(n.Value, "\n") && (key == "patch" || key == listKey): // a patch in the kustomization
			collect([]byte(n.Value), nil, images)
		}
	}
}

// listKey is that of the items of a list.
const listKey = "[]"

// field returns the text at a path of keys.
func field(n *yaml3.Node, keys ...string) string {
	for _, key := range keys {
		if n = child(n, key); n == nil {
			return ""
		}
	}
	return n.Value
}

func child(n *yaml3.Node, key string) *yaml3.Node {
	for i := 0; n != nil && n.Kind == yaml3.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// namedOf returns a mapping as an object; kind is empty where it is none.
func namedOf(n *yaml3.Node) named {
	o := named{kind: field(n, "kind"), name: field(n, "metadata", "name"), namespace: field(n, "metadata", "namespace"), source: true}
	group, version, grouped := strings.Cut(field(n, "apiVersion"), "/")
	if o.group, o.version = group, version; !grouped {
		o.group, o.version = "", group
	}
	if o.version == "" {
		o.kind = ""
	}
	o.labels, o.annotations = texts(child(child(n, "metadata"), "labels")), texts(child(child(n, "metadata"), "annotations"))
	return o
}

func texts(n *yaml3.Node) map[string]string {
	out := map[string]string{}
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		out[n.Content[i].Value] = n.Content[i+1].Value
	}
	return out
}

// hasImage reports whether an image has a name, whatever its tag or digest.
func hasImage(images map[string]bool, name string) bool {
	for image := range images {
		if rest, ok := strings.CutPrefix(image, name); ok && (rest == "" || rest[0] == ':' || rest[0] == '@') {
			return true
		}
	}
	return false
}

// selects reports whether a selector may select one of some objects.
func selects(s types.Selector, objects []named) bool {
	return slices.ContainsFunc(objects, func(o named) bool {
		return matches(s.Group, o.group, false) && matches(s.Version, o.version, false) && matches(s.Kind, o.kind, false) &&
			matches(s.Name, o.name, o.source) && (matches(s.Namespace, o.namespace, false) || o.source) &&
			(s.LabelSelector == "" || matchesLabels(s.LabelSelector, o.labels)) && (s.AnnotationSelector == "" || matchesLabels(s.AnnotationSelector, o.annotations))
	})
}

// matches reports whether a pattern of a selector fits a value. A value that may have been renamed
// fits where it is part of the pattern.
func matches(pattern, value string, renamed bool) bool {
	if pattern == "" || renamed && value != "" && strings.Contains(pattern, value) {
		return true
	}
	fits, err := regexp.MatchString("^(?:"+pattern+")$", value)
	return fits || err != nil // Kustomize says what is wrong with it
}

func matchesLabels(selector string, of map[string]string) bool {
	s, err := labels.Parse(selector)
	return err != nil || s.Matches(labels.Set(of))
}

// selectorText writes a selector for people.
func selectorText(s types.Selector) string {
	var parts []string
	for _, part := range []struct{ name, value string }{
		{"group", s.Group}, {"version", s.Version}, {"kind", s.Kind}, {"name", s.Name}, {"namespace", s.Namespace},
		{"labelSelector", s.LabelSelector}, {"annotationSelector", s.AnnotationSelector},
	} {
		if part.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", part.name, part.value))
		}
	}
	return strings.Join(parts, ", ")
}
