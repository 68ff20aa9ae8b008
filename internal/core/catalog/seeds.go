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
	// Skipped names the files of the package that are not read: each is a warning.
	Skipped manifest.Problems
	// Lost are those among them of which nobody knows what they hold, so that nothing
	// leaves a seed that has any.
	Lost []manifest.Source
	// Err says why the seed cannot be planned; all else may then be incomplete.
	Err error
}

// seedPackage is a seed as it was read, before it is completed.
type seedPackage struct {
	name  string
	place string
	// candidate says that the seed is in no control plane, so that --seed may name it.
	candidate bool
	spec      *v1alpha1.SeedSpec
	specAt    manifest.Source
	objects   []manifest.Object
	clusters  map[string]v1alpha1.Cluster
	problems  manifest.Problems
	// skipped is Seed.Skipped.
	skipped manifest.Problems
	// lost is Seed.Lost.
	lost []manifest.Source
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
func (d *documents) readPackages(tree fs.FS) (packages map[string]*seedPackage, broken []*seedPackage, err error) {
	packages = map[string]*seedPackage{}
	dir, found, err := seedsIn(tree)
	if err != nil || !found {
		return packages, nil, err
	}
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, nil, err
	}
	var beside []manifest.Object
	for _, entry := range entries {
		pkg, settings, err := d.readPackage(tree, path.Join(dir, entry.Name()), entry)
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
			other.problem(v1alpha1.ReasonDuplicateSeed, manifest.Source{File: pkg.place}, "seed "+quote(pkg.name), "it also stands at "+other.place, "Keep one of the two.")
			continue
		}
		packages[pkg.name] = pkg
	}
	configure(packages, beside)
	for _, settings := range broken {
		for _, pkg := range packages {
			if pkg.spec == nil && bytes.Contains(settings.text, []byte(pkg.name)) {
				pkg.problem(v1alpha1.ReasonBrokenDocument, settings.problems[0].Source, "seed "+quote(pkg.name), "it may be configured here, and the file cannot be read wholly", "Correct the file.")
			}
		}
	}
	return packages, broken, nil
}

// readPackage reads the seed at a path of a tree, or the Seed documents of a file that
// holds nothing else; neither, where the entry is not one to be read.
func (d *documents) readPackage(tree fs.FS, at string, entry fs.DirEntry) (pkg *seedPackage, settings []manifest.Object, err error) {
	w := newWalker(tree)
	err = w.visit(at, entry.Type())
	if err != nil && !errors.Is(err, errTooManyFiles) {
		return nil, nil, err
	}
	pkg = packageAt(path.Join(SeedsDir, entry.Name()), w)
	switch {
	case pkg == nil:
		d.skipped = append(d.skipped, w.allSkipped(SeedsDir, asItIs)...)
		return nil, nil, nil
	case err != nil:
		pkg.problem(v1alpha1.ReasonPackageTooLarge, manifest.Source{File: pkg.place}, "seed "+quote(pkg.name), "it has "+err.Error(), "Split it into several seeds.")
		return pkg, nil, nil
	}
	files := NewFiles(d.limits)
	if err := files.addWalk(w, pkg.place, asItIs); err != nil {
		return nil, nil, err
	}
	if w.dirs == 0 {
		for file, data := range files.Content {
			documents, whole := seedDocuments(file, data)
			if whole {
				return nil, documents, nil
			}
			if pkg.settings, pkg.text = seemsSettings(data), data; pkg.settings {
				settings = documents
			}
		}
	}
	pkg.parseAll(files)
	return pkg, settings, nil
}

// asItIs shows the path that a file has in the tree.
func asItIs(name string) string { return name }

// seedsIn is where the directory of seeds is in a tree. One that is there and cannot be
// read is an error: it is not known which seeds there are.
func seedsIn(tree fs.FS) (dir string, found bool, err error) {
	if _, err := fs.Lstat(tree, SeedsDir); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	dir, kind, fault, err := resolve(tree, SeedsDir)
	switch {
	case err != nil:
		return "", false, err
	case fault != "":
		return "", false, unreadableSeeds("is a link that " + fault)
	case kind&fs.ModeIrregular != 0 || kind.IsDir() && isRepository(tree, dir):
		return "", false, unreadableSeeds("is a submodule, or a repository of its own" + notRead)
	case !kind.IsDir():
		return "", false, unreadableSeeds("is not a directory")
	}
	return dir, true, nil
}

// unreadableSeeds says why the directory of seeds cannot be read.
func unreadableSeeds(fault string) error {
	return manifest.Problem{Reason: v1alpha1.ReasonFileUnreadable, Source: manifest.Source{File: SeedsDir}, Message: "the directory of seeds " + fault, Next: "Make it a directory of the repository."}
}

// packageAt is the seed of an entry of the directory of seeds, without its objects; nil
// where the entry is none. A seed that cannot be read is not a seed that is gone.
func packageAt(place string, w *walker) *seedPackage {
	name := path.Base(place)
	if isManifest(name) && w.dirs == 0 {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	pkg := &seedPackage{name: name, place: place}
	switch {
	case w.dirs > 0 && w.visited == w.dirs:
		w.skip(v1alpha1.ReasonFileSkipped, place, "the directory is empty, and Git does not keep it", "Add manifests, or remove it. If it is a submodule, commit its files instead.")
		return nil
	case w.dirs == 0 && len(w.lost) > 0:
		pkg.problems, w.skipped = aboutSeed(name, w.skipped), nil
	case w.dirs == 0 && len(w.files) == 0:
		return nil
	}
	return pkg
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

func (p *seedPackage) problem(reason v1alpha1.Reason, at manifest.Source, object, message, next string) {
	p.problems = append(p.problems, manifest.Problem{Reason: reason, Source: at, Object: object, Seed: p.name, Message: message, Next: next})
}

// aboutSeed says which seed problems of files are about.
func aboutSeed(name string, problems manifest.Problems) manifest.Problems {
	for i := range problems {
		problems[i].Object, problems[i].Seed = "seed "+quote(name), name
	}
	return problems
}

// parseAll takes in the files of the package.
func (p *seedPackage) parseAll(files *Files) {
	p.skipped = append(p.skipped, aboutSeed(p.name, files.Skipped)...)
	p.lost = append(p.lost, files.Lost...)
	p.problems = append(p.problems, aboutSeed(p.name, files.Problems)...)
	for _, file := range slices.Sorted(maps.Keys(files.Content)) {
		p.parse(file, files.Content[file])
	}
}

func (p *seedPackage) parse(file string, data []byte) {
	if base := path.Base(file); base == "Chart.yaml" || base == "Chart.yml" {
		p.problem(v1alpha1.ReasonUnsupportedPackage, manifest.Source{File: file}, "seed "+quote(p.name), "the package is a Helm chart", "Commit what 'helm template' prints.")
		return
	}
	if base := strings.TrimSuffix(path.Base(file), path.Ext(file)); base == "kustomization" {
		p.problem(v1alpha1.ReasonUnsupportedPackage, manifest.Source{File: file}, "seed "+quote(p.name), "the package is a Kustomize package", "Commit what 'kustomize build' prints.")
		return
	}
	objects, err := manifest.Parse(file, data)
	p.problems = appendProblem(p.problems, manifest.Source{File: file}, err)
	for _, o := range objects {
		switch {
		case o.ID.Group == "kustomize.config.k8s.io":
			p.problems = append(p.problems, problemOf(v1alpha1.ReasonUnsupportedPackage, o, "the package is a Kustomize package", "Commit what 'kustomize build' prints."))
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
			next := "Give the document that name, or move it beside the package."
			if p.candidate {
				next = "Give the document that name; all files that -f names are one seed."
			}
			return problemOf(v1alpha1.ReasonMisplacedDocument, o, fmt.Sprintf("it is in the package of seed %q", p.name), next)
		}
		return p.configure(o)
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err != nil {
			return err
		}
		if _, twice := p.clusters[doc.Name]; twice {
			return problemOf(v1alpha1.ReasonDuplicateCluster, o, "the seed declares it twice", "Remove one of the two.")
		}
		if p.clusters == nil {
			p.clusters = map[string]v1alpha1.Cluster{}
		}
		p.clusters[doc.Name] = doc
		return nil
	}
	switch {
	case !slices.Contains(kinds, o.ID.Kind):
		return unknownKind(o)
	case p.candidate:
		return problemOf(v1alpha1.ReasonMisplacedDocument, o, "a seed cannot hold a Furrow document of this kind", "Name the control plane that it belongs to with --control-plane instead.")
	}
	return problemOf(v1alpha1.ReasonMisplacedDocument, o, "a seed cannot hold a Furrow document of this kind", "Move it out of "+SeedsDir+"/.")
}

func (p *seedPackage) configure(o manifest.Object) error {
	doc, err := decode[v1alpha1.Seed](o)
	if err != nil {
		return err
	}
	if p.spec != nil {
		return problemOf(v1alpha1.ReasonDuplicateDocument, o, "the seed is also configured at "+p.specAt.String(), "Keep one of the two Seed documents.")
	}
	if err := checkDocument(o, doc.Spec); err != nil {
		return err
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
			pkg.problems = manifest.Problems{problemOf(v1alpha1.ReasonMisplacedDocument, o, "there is no package for it", fmt.Sprintf("Add the directory %s/%s or the file %s/%s.yaml.", SeedsDir, o.ID.Name, SeedsDir, o.ID.Name))}
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

// nameFault says why a name is not a DNS label, empty when it is one.
func nameFault(name string) string {
	switch {
	case len(validation.IsDNS1123Label(name)) == 0:
		return ""
	case len(name) > validation.DNS1123LabelMaxLength:
		return fmt.Sprintf("the name is not a valid DNS label (at most %d characters)", validation.DNS1123LabelMaxLength)
	}
	return "the name is not a valid DNS label (lower case letters, digits, and '-' in between)"
}

func (p *seedPackage) complete(scopes map[manifest.GroupKind]manifest.Scope) Seed {
	seed := Seed{Name: p.name, Place: p.place, Clusters: p.clusters}
	if p.spec != nil {
		seed.Spec = *p.spec
	}
	at := manifest.Source{File: p.place}
	if fault := nameFault(p.name); fault != "" {
		next := "Rename the file or directory."
		if p.candidate {
			next = "Name the seed with --seed."
		}
		p.problem(v1alpha1.ReasonInvalidName, at, "seed "+quote(p.name), fault, next)
	}
	result, err := manifest.Complete(p.objects, manifest.Options{Namespace: seed.Spec.Namespace, Scopes: scopes})
	p.problems = appendProblem(p.problems, at, err)
	seed.Objects, seed.Warnings = result.Objects, result.Warnings
	seed.Skipped, seed.Lost = p.skipped, p.lost
	if len(p.problems) == 0 && len(seed.Objects) == 0 {
		next := "Add objects, or delete the package to remove the seed."
		if p.candidate {
			next = "Add objects to it."
		}
		p.problem(v1alpha1.ReasonEmptySeed, at, "seed "+quote(p.name), "it holds no object", next)
		p.problems, seed.Skipped = append(p.problems, p.skipped...), nil
	}
	if len(p.problems) > 0 {
		seed.Err = p.problems
	}
	return seed
}
