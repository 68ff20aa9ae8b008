package catalog

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Reading says how a control-plane tree is read.
type Reading struct {
	Limits Limits
	// Markers are names of files that make a package more than plain manifests: of a package
	// with any of them all files are read, and not only manifests.
	Markers []string
}

// Packages is a control-plane tree as it was read: documents outside of seeds, and the files
// of seeds. Assemble makes a catalog of it, once, and uses it up.
type Packages struct {
	docs  *documents
	seeds map[string]*Package
	// count is how many packages the tree has, wanted or not.
	count int
	// imagined reports whether there is no control plane: clusters are imagined, or are those that the
	// candidate declares.
	imagined bool
}

// Seeds returns the packages in the order of their names.
func (p *Packages) Seeds() []*Package {
	out := make([]*Package, 0, len(p.seeds))
	for _, name := range slices.Sorted(maps.Keys(p.seeds)) {
		out = append(out, p.seeds[name])
	}
	return out
}

// Package is a seed as it was read: its files, unparsed, and what its Seed documents say.
type Package struct {
	Name string
	// Path is the file or directory that holds the seed.
	Path string
	// Root is the directory that holds all files of the package; empty where it is not one
	// directory.
	Root string
	// Files by path, Root and all.
	Files map[string][]byte

	// candidate reports whether the seed is in no control plane, so --seed may name it.
	candidate bool
	spec      *v1alpha1.SeedSpec
	specAt    manifest.Source
	lines     manifest.Lines
	// found are the Seed documents in the package's files that were read already.
	found    map[manifest.Source]bool
	problems manifest.Problems
	// skipped is Seed.Skipped, and lost Seed.Lost.
	skipped manifest.Problems
	lost    []manifest.Source
	// settings reports whether the file seems to hold nothing but Seed documents; text is
	// then what it has.
	settings bool
	text     []byte
}

// Render returns what the Seed document says about rendering; nil where it says nothing.
func (p *Package) Render() *v1alpha1.SeedRender {
	if p.spec == nil {
		return nil
	}
	return p.spec.Render
}

// RenderAt returns the position of that Seed document, or else of the package.
func (p *Package) RenderAt() manifest.Source {
	return cmp.Or(p.specAt, manifest.Source{File: p.Path})
}

// Problem returns a problem of the seed as a whole.
func (p *Package) Problem(reason v1alpha1.Reason, at manifest.Source, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Source: at, Object: "seed " + quote(p.Name), Seed: p.Name, Message: message, Next: next}
}

func (p *Package) problem(reason v1alpha1.Reason, at manifest.Source, message, next string) {
	p.problems = append(p.problems, p.Problem(reason, at, message, next))
}

// Packages reads a control-plane tree; without one there are no documents and no seeds.
func (r Reading) Packages(tree fs.FS) (*Packages, error) {
	d := newDocuments(r)
	p := &Packages{docs: d, seeds: map[string]*Package{}}
	if tree == nil {
		return p, nil
	}
	err := d.readInventory(tree)
	if err == nil {
		err = d.readModules(tree)
	}
	if err == nil {
		var broken []*Package
		p.seeds, broken, err = d.readPackages(tree)
		d.addSettings(broken)
	}
	if err != nil {
		return nil, unreadTree(err)
	}
	p.count = len(p.seeds)
	return p, nil
}

//go:embed imagined.yaml
var imaginedYAML []byte

const imaginedFile = "imagined.yaml"

// Imagine declares two clusters, "management" and "workload", each unless the candidate declares others
// of its role.
func (p *Packages) Imagine() {
	p.imagined = true
	p.docs.readFile(imaginedFile, imaginedYAML)
}

// declareClusters takes the Cluster documents of a candidate for what they would be in a control plane,
// where clusters are imagined: those of clusters that nothing in the candidate creates.
func (p *Packages) declareClusters(seeds []Seed) {
	if !p.imagined {
		return
	}
	for i := range seeds {
		seed := &seeds[i]
		for _, name := range slices.Sorted(maps.Keys(seed.Clusters)) {
			creates := func(o manifest.Object) bool { return o.ID.Name == name && IsCreator(o.ID.GroupKind()) }
			if slices.ContainsFunc(seed.Objects(), creates) {
				continue
			}
			doc := seed.Clusters[name]
			p.docs.clusters = slices.DeleteFunc(p.docs.clusters, func(c declaredCluster) bool {
				return c.imagined && (c.doc.Name == name || c.doc.RoleOrDefault() == doc.RoleOrDefault())
			})
			p.docs.clusters = append(p.docs.clusters, seed.declared[name])
			p.docs.grants[name] = doc.Spec.KubeConfigNamespaces
			delete(seed.Clusters, name)
		}
	}
}

// Candidate is a seed that is not in a control plane yet.
type Candidate struct {
	// Name of the seed; empty for that of its Seed document, else Fallback.
	Name, Fallback string
	// Path is where the seed is, for messages; its name if empty.
	Path  string
	Files *Files
	// Namespace is given to objects that have none, whatever a Seed document says.
	Namespace string
}

// Add adds a candidate, which replaces the tree's seed of that name.
func (p *Packages) Add(c Candidate) {
	name := c.SeedName()
	pkg := &Package{Name: name, Path: cmp.Or(c.Path, name), candidate: true}
	pkg.take(c.Files)
	if c.Namespace != "" {
		spec := v1alpha1.SeedSpec{}
		if pkg.spec != nil {
			spec = *pkg.spec
		}
		spec.Namespace = c.Namespace
		pkg.spec = &spec
	}
	p.seeds[name] = pkg
	p.count = len(p.seeds)
}

// SeedName returns the name of the seed.
func (c Candidate) SeedName() string { return cmp.Or(c.Name, c.documentName(), c.Fallback) }

// documentName returns the name in the candidate's Seed document.
func (c Candidate) documentName() string {
	for _, file := range slices.Sorted(maps.Keys(c.Files.Content)) {
		if seeds, _ := seedDocuments(file, c.Files.Content[file]); len(seeds) > 0 {
			return seeds[0].ID.Name
		}
	}
	return ""
}

// readPackages finds the seeds below seeds/: each directory and each file is
// one, but for files that hold nothing but Seed documents.
//
// A file that seems to hold nothing but Seed documents and cannot be read wholly is
// a problem of the inventory, and of the seeds that it may configure: those that it
// names and that have no other Seed document.
func (d *documents) readPackages(tree fs.FS) (packages map[string]*Package, broken []*Package, err error) {
	packages = map[string]*Package{}
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
		if other, twice := packages[pkg.Name]; twice {
			other.problems = append(other.problems, pkg.Problem(v1alpha1.ReasonDuplicateSeed, manifest.Source{File: pkg.Path}, "it is also declared at "+other.Path, "Keep one of the two."))
			continue
		}
		packages[pkg.Name] = pkg
	}
	configure(packages, beside)
	for _, settings := range broken {
		for _, pkg := range packages {
			if pkg.spec == nil && bytes.Contains(settings.text, []byte(pkg.Name)) {
				pkg.problem(v1alpha1.ReasonBrokenDocument, settings.problems[0].Source, "its settings may be in this file, which cannot be read completely", "Correct the file.")
			}
		}
	}
	return packages, broken, nil
}

// readPackage reads the seed at a path of a tree, or the Seed documents of a file that holds
// nothing else; neither, if the entry is not one to be read. A directory that has a marker of a
// renderer is walked again, this time with all its files, because the renderer may read any of
// them.
func (d *documents) readPackage(tree fs.FS, at string, entry fs.DirEntry) (pkg *Package, settings []manifest.Object, err error) {
	w := newWalker(tree)
	if name := entry.Name(); !openable(name) {
		if w.meant(name, entry.Type()) { // the name is refused with the seed
			pkg = &Package{Name: strings.ToValidUTF8(name, "\ufffd"), Path: manifest.Printable(SeedsDir + "/" + name)}
		}
		return pkg, nil, nil
	}
	w.markers = d.reading.Markers
	err = w.visit(at, entry.Type())
	if w.marked && err == nil {
		w = w.again()
		err = w.visit(at, entry.Type())
	}
	if err != nil && !errors.Is(err, errTooManyFiles) {
		return nil, nil, err
	}
	pkg = packageAt(path.Join(SeedsDir, entry.Name()), w)
	switch {
	case pkg == nil:
		d.skipped = append(d.skipped, w.allSkipped(SeedsDir, asItIs)...)
		return nil, nil, nil
	case err != nil:
		pkg.problem(v1alpha1.ReasonPackageTooLarge, manifest.Source{File: pkg.Path}, "it has "+err.Error(), "Split it into several seeds.")
		return pkg, nil, nil
	}
	files := NewFiles(d.reading)
	if err := files.addWalk(w, pkg.Path, asItIs); err != nil {
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
	} else if files.Root, _, _, err = resolve(tree, at); err != nil {
		return nil, nil, err
	}
	pkg.take(files)
	return pkg, settings, nil
}

// asItIs shows the path that a file has in the tree.
func asItIs(name string) string { return name }

// seedsIn returns where the directory of seeds is in a tree. One that is there and cannot be read
// is an error: it is not known which seeds there are.
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

// packageAt returns the seed of an entry of the directory of seeds, without its files; nil where
// the entry is none. A seed that cannot be read is not a seed that is gone.
func packageAt(dir string, w *walker) *Package {
	name := path.Base(dir)
	if isManifest(name) && w.dirs == 0 {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	pkg := &Package{Name: name, Path: dir}
	switch {
	case w.dirs > 0 && w.visited == w.dirs:
		w.skip(v1alpha1.ReasonFileSkipped, dir, "the directory is empty, and Git does not keep it", "Add manifests, or remove it. If it is a submodule, commit its files instead.")
		return nil
	case w.dirs == 0 && len(w.lost) > 0:
		pkg.problems, w.skipped = aboutSeed(name, w.skipped), nil
	case w.dirs == 0 && len(w.files) == 0:
		return nil
	}
	return pkg
}

// seedDocuments returns the Seeds of a file; whole reports whether it has nothing else, and that
// all of it can be read.
//
// Other documents are parsed only until one of them is something else: renderers parse them all, and
// that costs more than anything else in reading a large seed.
func seedDocuments(file string, data []byte) (seeds []manifest.Object, whole bool) {
	if !maySeed(data) {
		return nil, false
	}
	whole = true
	objects, err := manifest.ParseSome(file, data, func(text []byte) bool {
		if whole && !maySeed(text) {
			others, err := manifest.Parse(file, text)
			whole = err == nil && len(others) == 0
		}
		return maySeed(text)
	})
	for _, o := range objects {
		if isSeed(o) {
			seeds = append(seeds, o)
		}
	}
	return seeds, whole && err == nil && len(seeds) == len(objects) && len(seeds) > 0
}

// maySeed reports whether a text may have a Seed document.
func maySeed(text []byte) bool {
	return bytes.Contains(text, []byte(v1alpha1.Group)) && bytes.Contains(text, []byte("Seed"))
}

func isSeed(o manifest.Object) bool { return o.ID.Group == v1alpha1.Group && o.ID.Kind == "Seed" }

// seemsSettings scans a file that cannot be parsed, line by line: it returns true if
// every kind is Seed, or every API group is Furrow's.
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

// aboutSeed says which seed problems of files are about.
func aboutSeed(name string, problems manifest.Problems) manifest.Problems {
	for i := range problems {
		problems[i].Object, problems[i].Seed = "seed "+quote(name), name
	}
	return problems
}

// take takes in the files of the package and what its Seed documents say, which comes
// before rendering. A file of Seed documents that cannot be read is a problem whether a
// renderer reads it or not.
func (p *Package) take(files *Files) {
	p.Root, p.Files, p.found = files.Root, files.Content, map[manifest.Source]bool{}
	p.skipped = append(p.skipped, aboutSeed(p.Name, files.Skipped)...)
	p.lost = append(p.lost, files.Lost...)
	p.problems = append(p.problems, aboutSeed(p.Name, files.Problems)...)
	for _, file := range slices.Sorted(maps.Keys(p.Files)) {
		data := p.Files[file]
		seeds, _ := seedDocuments(file, data)
		for _, o := range seeds {
			p.found[o.Source] = true
			p.problems = appendProblem(p.problems, o.Source, p.takeSeed(o))
		}
		if isManifest(file) && seemsSettings(data) {
			objects, err := manifest.Parse(file, data)
			p.problems = appendProblem(p.problems, manifest.Source{File: file}, err)
			for _, o := range objects {
				if o.ID.Group == v1alpha1.Group && !slices.Contains(kinds, o.ID.Kind) {
					p.problems = appendProblem(p.problems, o.Source, unknownKind(o))
				}
			}
		}
	}
}

// takeSeed takes in a Seed document of the package.
func (p *Package) takeSeed(o manifest.Object) error {
	if o.ID.Name == p.Name {
		return p.configure(o)
	}
	next := "Give the document that name, or move it beside the package."
	if p.candidate {
		next = "Give the document that name; all files that -f names are one seed."
	}
	return o.Problem(v1alpha1.ReasonMisplacedDocument, fmt.Sprintf("it is in the package of seed %q", p.Name), next)
}

// configure takes the settings of a Seed document; a package has at most one.
func (p *Package) configure(o manifest.Object) error {
	doc, err := decode[v1alpha1.Seed](o)
	if err != nil {
		return err
	}
	if p.spec != nil {
		return o.Problem(v1alpha1.ReasonDuplicateDocument, "the seed is also configured at "+p.specAt.String(), "Keep one of the two Seed documents.")
	}
	if err := checkDocument(o, doc.Spec); err != nil {
		return err
	}
	p.spec, p.specAt, p.lines = &doc.Spec, o.Source, o.Lines
	p.skipped = append(p.skipped, o.Warnings()...)
	return nil
}

// configure gives the Seed documents next to the packages to their seeds.
func configure(packages map[string]*Package, settings []manifest.Object) {
	for _, o := range settings {
		pkg, ok := packages[o.ID.Name]
		if !ok {
			pkg = &Package{Name: o.ID.Name, Path: o.Source.File}
			pkg.problems = manifest.Problems{o.Problem(v1alpha1.ReasonMisplacedDocument, "there is no package for it", fmt.Sprintf("Add the directory %[1]s/%[2]s or the file %[1]s/%[2]s.yaml, or delete this document to remove the seed.", SeedsDir, o.ID.Name))}
			packages[o.ID.Name] = pkg
			continue
		}
		pkg.problems = appendProblem(pkg.problems, o.Source, pkg.configure(o))
	}
}
