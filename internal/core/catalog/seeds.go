package catalog

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Seed is one package of objects and how it must be planted.
type Seed struct {
	Name string
	// Path is the file or directory that holds the seed.
	Path string
	// SpecAt is the position of Spec, or else Path.
	SpecAt manifest.Source
	Spec   v1alpha1.SeedSpec
	// Lines are those of the Seed document.
	Lines manifest.Lines
	// Variants are what the seed has for different clusters; a plain seed has one.
	Variants []Variant
	// Clusters are the seed's own documents for clusters that it creates, by name.
	Clusters map[string]v1alpha1.Cluster
	// declared are the same with their positions.
	declared map[string]declaredCluster
	// Plugins are those that ran for the seed, in their order.
	Plugins  []RanPlugin
	Warnings []manifest.Problem
	// Skipped names the files of the package that are not read: each is a warning.
	Skipped manifest.Problems
	// Lost are those among them whose content is unknown. Nothing leaves a seed that has any.
	Lost []manifest.Source
	// Err says why the seed cannot be planned; all else may then be incomplete.
	Err error
	// Failed reports whether it is not the seed's fault, so it may be planned when it is
	// loaded again.
	Failed bool
	// files are those of the package, by path.
	files map[string][]byte
}

// FieldAt returns the position of a field of one of the seed's objects, which begins at a line of a file; or that of the
// nearest field around it.
func (s Seed) FieldAt(object manifest.Source, field string) manifest.Source {
	if line, known := manifest.LinesAt(object, s.files[object.File]).Of(field); known {
		object.Line = line
	}
	return object
}

// At returns the position of a field of the Seed document, or that of the nearest field around it.
func (s Seed) At(field string) manifest.Source {
	at := s.SpecAt
	if line, known := s.Lines.Of(field); known {
		at.Line = line
	}
	return at
}

// Objects returns those of all variants.
func (s Seed) Objects() []manifest.Object {
	if len(s.Variants) == 1 {
		return s.Variants[0].Objects
	}
	var out []manifest.Object
	for _, v := range s.Variants {
		out = append(out, v.Objects...)
	}
	return out
}

// Variant is what a seed has for the workload clusters that share its render inputs.
type Variant struct {
	// Name is unique in the seed; empty for the variant of plain manifests.
	Name string
	// Clusters and Selector choose clusters by name and by labels. Where there is neither, the
	// variant is for the clusters that no other one is for.
	Clusters []string
	Selector labels.Selector
	// Objects are complete: named, with their namespaces, without duplicates.
	Objects []manifest.Object
}

// VariantSeparator separates the names in a variant's name: the package's variant, then its overrides.
const VariantSeparator = " + "

// Default reports whether the variant is for the clusters that no other one chooses.
func (v Variant) Default() bool { return len(v.Clusters) == 0 && v.Selector == nil }

// Chooses reports whether the variant is for a cluster.
func (v Variant) Chooses(c Cluster) bool {
	return slices.Contains(v.Clusters, c.Name) || v.Selector != nil && v.Selector.Matches(labels.Set(c.Labels))
}

// SelectorOf returns a label selector of a document; nil where there is none.
func SelectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// Rendered is what a renderer made of a package.
type Rendered struct {
	// Variants have their objects as they were rendered, documents of Furrow among them.
	Variants []Variant
	// Plugins are those that ran for all variants, in their order.
	Plugins  []RanPlugin
	Warnings manifest.Problems
	Problems manifest.Problems
	// Failed reports whether the machine kept the renderer from its work, and not the package.
	Failed bool
}

// RanPlugin is a plugin that made objects of a seed what they are, and all that it depends on.
type RanPlugin struct {
	Name string `yaml:"name"`
	// Digest is that of its program.
	Digest string `yaml:"digest"`
	// Config is the digest of its configuration; empty without one.
	Config string `yaml:"config,omitempty"`
}

// Manifests returns what a package of plain manifests holds. A Helm chart is not read: its templates
// are not manifests.
func Manifests(p *Package) Rendered {
	var r Rendered
	var objects []manifest.Object
	files := slices.Sorted(maps.Keys(p.Files))
	var charts []string
	for _, file := range files {
		if base := path.Base(file); (base == "Chart.yaml" || base == "Chart.yml") && !isBelow(file, charts) {
			charts = append(charts, path.Dir(file))
			r.Problems = append(r.Problems, p.Problem(v1alpha1.ReasonUnsupportedPackage, manifest.Source{File: file}, "the package is a Helm chart", "Commit what 'helm template' prints."))
		}
	}
	for _, file := range files {
		switch base := path.Base(file); {
		case isBelow(file, charts):
			continue
		case strings.TrimSuffix(base, path.Ext(base)) == "kustomization":
			r.Problems = append(r.Problems, p.Problem(v1alpha1.ReasonUnsupportedPackage, manifest.Source{File: file}, "a kustomization is built only as a directory", "Give it a directory of its own, with all that it uses."))
			continue
		}
		found, err := manifest.Parse(file, p.Files[file])
		r.Problems = appendProblem(r.Problems, manifest.Source{File: file}, err)
		objects = append(objects, found...)
	}
	r.Variants = []Variant{{Objects: objects}}
	return r
}

// isBelow reports whether a file is in one of some directories, or below it.
func isBelow(file string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return dir == "." || strings.HasPrefix(file, dir+"/") })
}

// assembly is a seed while it is built from what was rendered.
type assembly struct {
	*Package
	rendered Rendered
	variants []Variant
	clusters map[string]v1alpha1.Cluster
	declared map[string]declaredCluster
	warnings manifest.Problems
	// Variants repeat what is wrong with what they share.
	reported, warned manifest.Distinct
}

// report adds problems, each once.
func (a *assembly) report(problems ...manifest.Problem) {
	a.problems = append(a.problems, a.reported.New(problems...)...)
}

// warn adds warnings, each once.
func (a *assembly) warn(warnings ...manifest.Problem) {
	a.warnings = append(a.warnings, a.warned.New(warnings...)...)
}

// completeSeeds sorts out what was rendered and fills in what the packages leave out. For the scope
// of a kind the definitions of all seeds count, then what clusters have.
func completeSeeds(p *Packages, rendered map[string]Rendered) []Seed {
	scopes := p.docs.providedScopes()
	assemblies := make([]*assembly, 0, len(p.seeds))
	for _, pkg := range p.Seeds() {
		a := &assembly{Package: pkg, rendered: rendered[pkg.Name], reported: manifest.Distinct{}, warned: manifest.Distinct{}}
		_ = a.reported.New(pkg.problems...) // the package reports these itself
		a.warn(a.rendered.Warnings...)
		a.report(a.rendered.Problems...)
		for _, v := range a.rendered.Variants {
			a.takeVariant(v)
		}
		for _, v := range a.variants {
			for _, o := range v.Objects {
				for _, d := range manifest.Defines(o) {
					scopes[d.Kind] = d.Scope
				}
			}
		}
		if fault, misplaced := p.docs.faults.named[documentKey{"Seed", pkg.Name}]; misplaced {
			a.report(fault.Problem)
		}
		assemblies = append(assemblies, a)
	}
	seeds := make([]Seed, 0, len(assemblies))
	for _, a := range assemblies {
		seeds = append(seeds, a.complete(scopes))
	}
	return seeds
}

// providedScopes returns the scopes of kinds that clusters list. Where clusters differ, the scope is unknown.
func (d *documents) providedScopes() map[manifest.GroupKind]manifest.Scope {
	scopes, differ := map[manifest.GroupKind]manifest.Scope{}, map[manifest.GroupKind]bool{}
	for _, c := range d.clusters {
		for scope, kinds := range map[manifest.Scope][]string{manifest.Namespaced: c.doc.Spec.Provides.NamespacedKinds, manifest.ClusterScoped: c.doc.Spec.Provides.ClusterScopedKinds} {
			for _, text := range kinds {
				kind, _ := manifest.ParseGroupKind(text)
				if other, known := scopes[kind]; known && other != scope {
					differ[kind] = true
				}
				scopes[kind] = scope
			}
		}
	}
	maps.DeleteFunc(scopes, func(kind manifest.GroupKind, _ manifest.Scope) bool { return differ[kind] })
	return scopes
}

// takeVariant keeps the objects of a variant, and takes the documents of Furrow out of it.
func (a *assembly) takeVariant(v Variant) {
	objects := make([]manifest.Object, 0, len(v.Objects))
	inVariant := map[string]bool{}
	for _, o := range v.Objects {
		a.report(o.Faults()...)
		if !a.found[o.Source] {
			a.warn(o.Warnings()...)
		}
		switch {
		case o.ID.Group == "kustomize.config.k8s.io":
			a.report(o.Problem(v1alpha1.ReasonUnsupportedPackage, "it is a kustomization in a file of another name", "Name the file kustomization.yaml."))
		case o.ID.Group != v1alpha1.Group:
			if p, near := nearMiss(o); near {
				a.report(p)
				continue
			}
			objects = append(objects, o)
			a.report(CheckObjectKeys(o)...)
		default:
			a.report(appendProblem(nil, o.Source, a.takeDocument(o, inVariant))...)
		}
	}
	v.Objects = objects
	a.variants = append(a.variants, v)
}

// takeDocument reads a Furrow document of the package. inVariant has the clusters that the variant
// declared. Each variant has its own copy of what their common base declares: equal copies count
// once, and different ones are an error.
func (a *assembly) takeDocument(o manifest.Object, inVariant map[string]bool) error {
	switch o.ID.Kind {
	case "Seed":
		if a.found[o.Source] {
			return nil
		}
		err := a.takeSeed(o)
		if err == nil && a.Render() != nil {
			err = o.Problem(v1alpha1.ReasonInvalidRender, "spec.render is not found before rendering", "Write the document without escapes, in a file of its own.")
		}
		return err
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err != nil {
			return err
		}
		before, known := a.clusters[doc.Name]
		if inVariant[doc.Name] {
			return o.Problem(v1alpha1.ReasonDuplicateCluster, "the seed declares it twice", "Remove one of the two.")
		}
		if known && !reflect.DeepEqual(before, doc) {
			return o.Problem(v1alpha1.ReasonVariantConflict, "variants of the seed declare it differently", "Declare it outside of the overlays, as in their base.")
		}
		if a.clusters == nil {
			a.clusters, a.declared = map[string]v1alpha1.Cluster{}, map[string]declaredCluster{}
		}
		a.declared[doc.Name] = declaredCluster{doc: doc, source: o.Source, lines: o.Lines}
		a.clusters[doc.Name], inVariant[doc.Name] = doc, true
		return nil
	}
	switch {
	case !slices.Contains(kinds, o.ID.Kind):
		return unknownKind(o)
	case a.candidate:
		return o.Problem(v1alpha1.ReasonMisplacedDocument, "a seed cannot hold a Furrow document of this kind", "Name the control plane that it belongs to with --control-plane instead.")
	}
	return o.Problem(v1alpha1.ReasonMisplacedDocument, "a seed cannot hold a Furrow document of this kind", "Move it out of "+SeedsDir+"/.")
}

// nameFault returns why a name is not a DNS label, empty when it is one.
func nameFault(name string) string {
	switch {
	case len(validation.IsDNS1123Label(name)) == 0:
		return ""
	case len(name) > validation.DNS1123LabelMaxLength:
		return fmt.Sprintf("the name is not a valid DNS label (at most %d characters)", validation.DNS1123LabelMaxLength)
	}
	return "the name is not a valid DNS label (lower case letters, digits, and '-' in between)"
}

// complete makes the seed: each variant is completed by itself, and what variants have in common is
// reported once. A seed with problems has Err and keeps what could be read, for those who ask what
// it would have.
func (a *assembly) complete(scopes map[manifest.GroupKind]manifest.Scope) Seed {
	seed := Seed{Name: a.Name, Path: a.Path, SpecAt: a.RenderAt(), Lines: a.lines, Clusters: a.clusters, declared: a.declared, Skipped: a.skipped, Lost: a.lost, Failed: a.rendered.Failed, Plugins: a.rendered.Plugins, files: a.Files}
	if a.spec != nil {
		seed.Spec = *a.spec
	}
	a.report(seed.checkHealth()...)
	at := manifest.Source{File: a.Path}
	if fault := nameFault(a.Name); fault != "" {
		next := "Rename the file or directory."
		if a.candidate {
			next = "Name the seed with --seed."
		}
		a.problem(v1alpha1.ReasonInvalidName, at, fault, next)
	}
	for _, v := range a.variants {
		result, err := manifest.Complete(v.Objects, manifest.Options{Namespace: seed.Spec.Namespace, Scopes: scopes})
		a.report(appendProblem(nil, at, err)...)
		a.warn(result.Warnings...)
		v.Objects = result.Objects
		seed.Variants = append(seed.Variants, v)
		if len(a.problems) == 0 && len(v.Objects) == 0 {
			a.reportEmpty(v)
			a.report(a.skipped...)
			seed.Skipped = nil
		}
	}
	seed.Warnings = a.warnings
	if len(a.problems) > 0 {
		seed.Err = a.problems
	}
	return seed
}

// reportEmpty refuses a variant without objects.
func (a *assembly) reportEmpty(v Variant) {
	what, next := "it holds no object", "Add objects, or delete the package to remove the seed."
	if a.candidate {
		next = "Add objects to it."
	}
	switch v.Name {
	case "":
	case ".":
		what, next = "its kustomization has no objects", "Add resources to it."
	default:
		what, next = fmt.Sprintf("variant %s has no objects", v.Name), "Add resources to its kustomization."
	}
	a.problem(v1alpha1.ReasonEmptySeed, manifest.Source{File: a.Path}, what, next)
}
