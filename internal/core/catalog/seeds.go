package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Seed is one package of objects and how it is to be planted.
type Seed struct {
	Name string
	// Place is the file or directory that the seed stands in.
	Place string
	Spec  v1alpha1.SeedSpec
	// Objects are complete: named, with their namespaces, without duplicates.
	Objects []manifest.Object
	// Clusters are the seed's own documents for clusters that it creates, by name.
	Clusters map[string]v1alpha1.Cluster
	Warnings []manifest.Problem
	// Err says why the seed cannot be planned; all else may then be incomplete.
	Err error
}

// seedPackage is a seed as it was read, before it is completed.
type seedPackage struct {
	name     string
	place    string
	spec     *v1alpha1.SeedSpec
	specAt   manifest.Source
	objects  []manifest.Object
	clusters map[string]v1alpha1.Cluster
	problems manifest.Problems
	// settings says that the file seems to hold nothing but Seed documents; text is
	// then what it has.
	settings bool
	text     []byte
}

// readPackages finds the seeds below seeds/: each directory and each file is
// one, but for files that hold nothing but Seed documents.
//
// A file that seems to hold nothing but Seed documents and cannot be read wholly is
// a problem of the inventory, and of the seeds that it may configure: those that it
// names and that have no other Seed document.
func readPackages(tree fs.FS) (packages map[string]*seedPackage, broken []*seedPackage, err error) {
	packages = map[string]*seedPackage{}
	entries, err := fs.ReadDir(tree, SeedsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return packages, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the control-plane tree: %w", err)
	}
	var beside []manifest.Object
	for _, entry := range entries {
		place := path.Join(SeedsDir, entry.Name())
		if hidden(place) || (!entry.IsDir() && !isManifest(place)) {
			continue
		}
		pkg, settings, err := readPackage(tree, place, entry.IsDir())
		if err != nil {
			return nil, nil, err
		}
		beside = append(beside, settings...)
		if pkg == nil {
			continue
		}
		if pkg.settings && len(pkg.problems) > 0 {
			broken = append(broken, pkg)
			continue
		}
		if other, twice := packages[pkg.name]; twice {
			other.problem(manifest.Source{File: place}, "seed "+quote(pkg.name), "it also stands at "+other.place, "Keep one of the two.")
			continue
		}
		packages[pkg.name] = pkg
	}
	configure(packages, beside)
	for _, settings := range broken {
		for _, pkg := range packages {
			if pkg.spec == nil && bytes.Contains(settings.text, []byte(pkg.name)) {
				pkg.problem(settings.problems[0].Source, "seed "+quote(pkg.name), "it may be configured here, and the file cannot be read wholly", "Correct the file.")
			}
		}
	}
	return packages, broken, nil
}

// readPackage reads one seed, or the Seed documents of a file that holds nothing else.
func readPackage(tree fs.FS, place string, dir bool) (pkg *seedPackage, settings []manifest.Object, err error) {
	name := path.Base(place)
	if !dir {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	pkg = &seedPackage{name: name, place: place}
	var files []string
	if err := fs.WalkDir(tree, place, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the control-plane tree: %w", err)
		}
		if entry.IsDir() && hidden(p) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() && !hidden(p) && isManifest(p) {
			files = append(files, p)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		data, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the control-plane tree: %w", err)
		}
		if !dir {
			documents, whole := seedDocuments(file, data)
			if whole {
				return nil, documents, nil
			}
			if pkg.settings, pkg.text = seemsSettings(data), data; pkg.settings {
				settings = documents
			}
		}
		pkg.parse(file, data)
	}
	return pkg, settings, nil
}

// seedDocuments are the Seeds of a file; whole says that it has nothing else, and
// that all of it can be read.
func seedDocuments(file string, data []byte) (seeds []manifest.Object, whole bool) {
	objects, err := manifest.Parse(file, data)
	for _, o := range objects {
		if o.ID.Group == v1alpha1.Group && o.ID.Kind == "Seed" {
			seeds = append(seeds, o)
		}
	}
	return seeds, err == nil && len(seeds) == len(objects) && len(seeds) > 0
}

// seemsSettings looks at a file that cannot be read wholly line by line: every kind
// in it is Seed, or every API group Furrow's.
func seemsSettings(data []byte) bool {
	all := func(key string, ours func(value string) bool) bool {
		n := 0
		for line := range strings.SplitSeq(string(data), "\n") {
			if value, ok := strings.CutPrefix(line, key); ok {
				if !ours(strings.Trim(value, " \t\r\"'")) {
					return false
				}
				n++
			}
		}
		return n > 0
	}
	return all("kind:", func(kind string) bool { return kind == "Seed" }) ||
		all("apiVersion:", func(group string) bool { return strings.HasPrefix(group, v1alpha1.Group+"/") })
}

func (p *seedPackage) problem(at manifest.Source, object, message, next string) {
	p.problems = append(p.problems, manifest.Problem{Source: at, Object: object, Message: message, Next: next})
}

func (p *seedPackage) parse(file string, data []byte) {
	if base := path.Base(file); base == "Chart.yaml" || base == "Chart.yml" {
		p.problem(manifest.Source{File: file}, "seed "+quote(p.name), "the package is a Helm chart", "Commit what 'helm template' prints.")
		return
	}
	if base := strings.TrimSuffix(path.Base(file), path.Ext(file)); base == "kustomization" {
		p.problem(manifest.Source{File: file}, "seed "+quote(p.name), "the package is a Kustomize package", "Commit what 'kustomize build' prints.")
		return
	}
	objects, err := manifest.Parse(file, data)
	p.problems = appendProblem(p.problems, manifest.Source{File: file}, err)
	for _, o := range objects {
		switch {
		case o.ID.Group == "kustomize.config.k8s.io":
			p.problems = append(p.problems, problemOf(o, "the package is a Kustomize package", "Commit what 'kustomize build' prints."))
		case o.ID.Group != v1alpha1.Group:
			p.objects = append(p.objects, o)
			p.problems = append(p.problems, checkKeys(o, v1alpha1.ObjectAnnotations)...)
		default:
			p.problems = appendProblem(p.problems, o.Source, p.take(o))
		}
	}
}

// take reads a Furrow document of the package.
func (p *seedPackage) take(o manifest.Object) error {
	switch o.ID.Kind {
	case "Seed":
		if o.ID.Name != p.name {
			return problemOf(o, fmt.Sprintf("it stands in the package of seed %q", p.name), "Give the document that name, or move it beside the package.")
		}
		return p.configure(o)
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err != nil {
			return err
		}
		if _, twice := p.clusters[doc.Name]; twice {
			return problemOf(o, "the seed declares it twice", "Remove one of the two.")
		}
		if p.clusters == nil {
			p.clusters = map[string]v1alpha1.Cluster{}
		}
		p.clusters[doc.Name] = doc
		return nil
	}
	return problemOf(o, "a seed cannot hold a Furrow document of this kind", "Move it out of "+SeedsDir+"/.")
}

func (p *seedPackage) configure(o manifest.Object) error {
	doc, err := decode[v1alpha1.Seed](o)
	if err != nil {
		return err
	}
	if p.spec != nil {
		return problemOf(o, "the seed is also configured at "+p.specAt.String(), "Keep one of the two Seed documents.")
	}
	if err := checkDocument(doc.Spec); err != nil {
		return problemOf(o, err.Error(), "")
	}
	p.spec, p.specAt = &doc.Spec, o.Source
	return nil
}

// configure hands the Seed documents that stand beside the packages to their seeds.
func configure(packages map[string]*seedPackage, settings []manifest.Object) {
	for _, o := range settings {
		pkg, ok := packages[o.ID.Name]
		if !ok {
			pkg = &seedPackage{name: o.ID.Name, place: o.Source.File}
			pkg.problems = manifest.Problems{problemOf(o, "there is no package for it", fmt.Sprintf("Add the directory %s/%s or the file %s/%s.yaml.", SeedsDir, o.ID.Name, SeedsDir, o.ID.Name))}
			packages[o.ID.Name] = pkg
			continue
		}
		pkg.problems = appendProblem(pkg.problems, o.Source, pkg.configure(o))
	}
}

// completeSeeds fills in what the packages leave out. The CRDs of all seeds
// count for the scope of a kind.
func completeSeeds(packages map[string]*seedPackage) []Seed {
	scopes := map[manifest.GroupKind]manifest.Scope{}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		for _, o := range packages[name].objects {
			if kind, scope, ok := manifest.DefinedScope(o); ok {
				scopes[kind] = scope
			}
		}
	}
	seeds := make([]Seed, 0, len(packages))
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		seeds = append(seeds, packages[name].complete(scopes))
	}
	return seeds
}

func (p *seedPackage) complete(scopes map[manifest.GroupKind]manifest.Scope) Seed {
	seed := Seed{Name: p.name, Place: p.place, Clusters: p.clusters}
	if p.spec != nil {
		seed.Spec = *p.spec
	}
	at := manifest.Source{File: p.place}
	if errs := validation.IsDNS1123Label(p.name); len(errs) > 0 {
		p.problem(at, "seed "+quote(p.name), "the name is no DNS label: "+errs[0], "Rename the file or directory.")
	}
	result, err := manifest.Complete(p.objects, manifest.Options{Namespace: seed.Spec.Namespace, Scopes: scopes})
	p.problems = appendProblem(p.problems, at, err)
	seed.Objects, seed.Warnings = result.Objects, result.Warnings
	if len(p.problems) == 0 && len(seed.Objects) == 0 {
		p.problem(at, "seed "+quote(p.name), "it holds no object", "Add objects, or delete the package to remove the seed.")
	}
	if len(p.problems) > 0 {
		seed.Err = p.problems
	}
	return seed
}
