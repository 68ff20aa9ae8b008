// Package kustomize renders packages by Kustomize: an overlay for each variant, with the bases and
// components that it names.
//
//	Render ─▶ run ─▶ worker process: buildAll ─▶ guard ─▶ Kustomize
//	                                               └─ budget, and what may be named
//
// A build has the package's files and nothing else: no network, no plugins, no Helm, and no file
// outside of the package. What would need them is refused by name before Kustomize reads it. Where
// the program can start itself, a build runs in a process of its own, which has no environment, and
// ends with it when it takes too long or too much memory. Kustomize cannot be interrupted
// otherwise, and a goroutine cannot be kept from using up all memory.
package kustomize

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Renderer renders kustomizations.
type Renderer struct{}

// Name is that of the renderer, for people and digests.
func (Renderer) Name() string { return "Kustomize" }

// Markers returns the names of files that make a package a Kustomize package.
func (Renderer) Markers() []string { return konfig.RecognizedKustomizationFileNames() }

// Takes reports whether a package is built by Kustomize: by its Seed document, else for a
// kustomization anywhere in its directory.
func (r Renderer) Takes(p *catalog.Package) bool {
	if render := p.Render(); render != nil && render.Kustomize != nil {
		return true
	}
	for file := range p.Files {
		if p.Root != "" && slices.Contains(r.Markers(), path.Base(file)) {
			return true
		}
	}
	return false
}

// Render builds all variants of a package. What is wrong with the package is in the result; the
// error is for what the package is not to blame for. A variant that cannot be built keeps no other
// from it.
func (Renderer) Render(ctx context.Context, p *catalog.Package) (catalog.Rendered, error) {
	if p.Root == "" {
		return refused(p.Problem(v1alpha1.ReasonInvalidRender, p.RenderAt(), "Kustomize builds a directory, and the seed is none", "Make the seed a directory, or name one directory with -f.")), nil
	}
	pkg := relative(p)
	variants, problem := pkg.variants()
	if problem != nil {
		return refused(*problem), nil
	}
	overlays := make([]string, len(variants))
	for i, v := range variants {
		overlays[i] = v.Name
	}
	builds, err := run(ctx, request{Root: p.Root, Files: pkg.files, Overlays: overlays, Budget: defaultBudget})
	if f := (*fault)(nil); asFault(err, &f) {
		return refused(pkg.problem(f)), nil
	}
	if err != nil {
		return catalog.Rendered{}, err
	}
	var out catalog.Rendered
	warned := manifest.Distinct{}
	for i, b := range builds {
		if b.Fault != nil {
			out.Problems = append(out.Problems, pkg.problem(b.Fault))
			continue
		}
		var problems manifest.Problems
		variants[i].Objects, problems = pkg.objects(b.Objects)
		out.Problems = append(out.Problems, problems...)
		out.Warnings = append(out.Warnings, warned.New(pkg.ambiguities(b.Objects)...)...)
		for _, w := range b.Warnings {
			out.Warnings = append(out.Warnings, warned.New(pkg.problem(&w))...)
		}
		out.Variants = append(out.Variants, variants[i])
	}
	return out, nil
}

func refused(problems ...manifest.Problem) catalog.Rendered {
	return catalog.Rendered{Problems: problems}
}

// pkg is a package by paths relative to its root.
type pkg struct {
	*catalog.Package
	files map[string][]byte
	// parsed are the objects of the files that objects come from.
	parsed map[string][]manifest.Object
}

// relative returns the package with its files by their path below its root, as Kustomize reads
// them.
func relative(p *catalog.Package) *pkg {
	out := &pkg{Package: p, files: map[string][]byte{}, parsed: map[string][]manifest.Object{}}
	for file, data := range p.Files {
		if rel, below := strings.CutPrefix(file, strings.TrimSuffix(p.Root, "/")+"/"); below || p.Root == "." {
			out.files[rel] = data
		}
	}
	return out
}

// maxVariants bounds what one seed renders.
const maxVariants = 256

// variants returns what the Seed document lists, else the kustomization at the root of the package.
// Names of overlays are unique, and at most one variant is the default.
func (p *pkg) variants() ([]catalog.Variant, *manifest.Problem) {
	refuse := func(message, next string) *manifest.Problem {
		problem := p.Problem(v1alpha1.ReasonInvalidRender, p.RenderAt(), message, next)
		return &problem
	}
	render := p.Render()
	if render == nil || render.Kustomize == nil {
		if p.kustomization(".") == "" {
			return nil, refuse("the package has kustomizations, and none at its root",
				fmt.Sprintf("Say in spec.render.kustomize.variants of the Seed which clusters get which overlay (%s), or add %s.", strings.Join(p.overlays(), ", "), path.Join(p.Root, "kustomization.yaml")))
		}
		return []catalog.Variant{{Name: "."}}, nil
	}
	listed := render.Kustomize.Variants
	if len(listed) == 0 || len(listed) > maxVariants {
		return nil, refuse(fmt.Sprintf("spec.render.kustomize.variants has %d overlays", len(listed)), fmt.Sprintf("List 1 to %d.", maxVariants))
	}
	var out []catalog.Variant
	for _, v := range listed {
		made, message, next := p.variant(v)
		same := slices.IndexFunc(out, func(other catalog.Variant) bool { return other.Name == made.Name || other.Default() && made.Default() })
		switch {
		case message != "":
			return nil, refuse(message, next)
		case same >= 0 && out[same].Name == made.Name:
			return nil, refuse(fmt.Sprintf("spec.render.kustomize.variants lists overlay %q twice", made.Name), "List it once, with the clusters of both.")
		case same >= 0:
			return nil, refuse(fmt.Sprintf("spec.render.kustomize.variants has two defaults, overlays %q and %q: neither has clusters or a clusterSelector", out[same].Name, made.Name), "Choose clusters for one of them.")
		}
		out = append(out, made)
	}
	return out, nil
}

// variant reads one entry of the list; message and next are empty if it is in order.
func (p *pkg) variant(v v1alpha1.KustomizeVariant) (out catalog.Variant, message, next string) {
	dir := path.Clean(v.Overlay)
	selector, err := catalog.SelectorOf(v.ClusterSelector)
	out = catalog.Variant{Name: dir, Clusters: v.Clusters, Selector: selector}
	switch {
	case err != nil:
		return out, fmt.Sprintf("the clusterSelector of overlay %q is invalid: %v", dir, err), "Correct spec.render.kustomize.variants of the Seed."
	case v.Overlay == "" || path.IsAbs(dir) || dir == ".." || strings.HasPrefix(dir, "../"):
		return out, fmt.Sprintf("overlay %q is not a directory inside the package", v.Overlay), "Write its path relative to " + p.Root + ", without '..'."
	case p.kustomization(dir) == "":
		return out, fmt.Sprintf("overlay %q has no kustomization", dir), fmt.Sprintf("Add %s, or correct spec.render.kustomize.variants of the Seed.", path.Join(p.Root, dir, "kustomization.yaml"))
	}
	return out, "", ""
}

// kustomization returns the path of the kustomization of a directory; empty where it has none.
func (p *pkg) kustomization(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if _, ok := p.files[path.Join(dir, name)]; ok {
			return path.Join(dir, name)
		}
	}
	return ""
}

// overlays returns the directories with kustomizations, the first ones of many.
func (p *pkg) overlays() []string {
	var dirs []string
	for _, file := range slices.Sorted(maps.Keys(p.files)) {
		if dir := path.Dir(file); p.kustomization(dir) == file {
			dirs = append(dirs, dir)
		}
	}
	const most = 5
	if len(dirs) > most {
		dirs = append(dirs[:most], "…")
	}
	return dirs
}

// problem returns what is wrong with a build, by the file as people know it.
func (p *pkg) problem(f *fault) manifest.Problem {
	at := manifest.Source{File: p.Path}
	if f.File != "" {
		at = manifest.Source{File: path.Join(p.Root, f.File), Line: f.Line}
	}
	return p.Problem(f.Reason, at, f.Message, f.Next)
}

// objects returns those of a build, each with the file that it comes from.
func (p *pkg) objects(built []object) ([]manifest.Object, manifest.Problems) {
	var out []manifest.Object
	var problems manifest.Problems
	for _, b := range built {
		source := manifest.Source{File: path.Join(p.Root, b.Origin), Line: p.line(b)}
		if encrypted, changed := p.encrypted(b); changed {
			problem := manifest.Problem{Reason: v1alpha1.ReasonInvalidEncryption, Source: source, Object: fmt.Sprintf("%s %q", b.Kind, b.Name), Message: "SOPS encrypted the document, and the kustomization changes it, so it could not be decrypted", Next: "Leave it out of what is patched, labelled and renamed, or encrypt what 'kustomize build' prints."}
			problems = append(problems, problem)
			continue
		} else if encrypted != nil {
			encrypted.Source = source
			out = append(out, *encrypted)
			continue
		}
		o, err := manifest.NewJSON(source, b.JSON)
		if several := (manifest.Problems)(nil); errors.As(err, &several) {
			problems = append(problems, several...)
			continue
		}
		out = append(out, o)
	}
	return out, problems
}

// ambiguities returns what is ambiguous in the files that the objects of a build come from: Kustomize reads
// some of it otherwise than kubectl does.
func (p *pkg) ambiguities(built []object) (warnings manifest.Problems) {
	asked := map[string]bool{}
	for _, b := range built {
		if asked[b.Origin] {
			continue
		}
		asked[b.Origin] = true
		for _, o := range p.objectsIn(b.Origin) {
			for _, w := range o.Warnings() {
				if w.Reason == v1alpha1.ReasonAmbiguousYAML {
					w.Source.File = path.Join(p.Root, b.Origin)
					warnings = append(warnings, w)
				}
			}
		}
	}
	return warnings
}

// encrypted returns the document of an object that SOPS encrypted, byte for byte as it is in its
// file; nil where the object is not encrypted. changed means that the build has another one.
// Kustomize writes documents anew, with keys in another order, which would break the checksum of
// SOPS. So the original is used if the build left its values as they are.
func (p *pkg) encrypted(b object) (document *manifest.Object, changed bool) {
	var body map[string]any
	if json.Unmarshal(b.JSON, &body) != nil || body["sops"] == nil {
		return nil, false
	}
	for _, o := range p.objectsIn(b.Origin) {
		was, err := json.Marshal(o.Body)
		if is, again := json.Marshal(body); o.Encrypted() && err == nil && again == nil && bytes.Equal(was, is) {
			return &o, false
		}
	}
	return nil, true
}

// objectsIn returns the objects of a file of the package.
func (p *pkg) objectsIn(file string) []manifest.Object {
	objects, known := p.parsed[file]
	if !known {
		objects, _ = manifest.Parse(file, p.files[file])
		p.parsed[file] = objects
	}
	return objects
}

// line is that of an object in the file that it comes from: of the only object of its kind
// there, else of the one whose name is in the object's name, to which overlays may have added
// something. It is 0 if unknown.
func (p *pkg) line(b object) int {
	ofKind := slices.DeleteFunc(slices.Clone(p.objectsIn(b.Origin)), func(o manifest.Object) bool { return o.ID.Kind != b.Kind })
	if len(ofKind) == 1 {
		return ofKind[0].Source.Line
	}
	line, longest := 0, 0
	for _, o := range ofKind {
		if n := len(o.ID.Name); n > longest && strings.Contains(b.Name, o.ID.Name) {
			line, longest = o.Source.Line, n
		}
	}
	return line
}
