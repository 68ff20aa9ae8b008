// Package catalog owns the reading of a control-plane tree: from files to the
// typed inventory of clusters, repositories and templates, and to seeds.
//
// A document that cannot be read never hides the others: what is wrong with
// the inventory is in Catalog.Problems, what is wrong with a seed in its Err.
// Whoever plans must look at both, for a cluster whose document is broken is
// not a cluster that is gone.
//
// A Catalog is not changed after Load and may be shared.
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

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// SeedsDir is the directory of a control-plane tree that holds the seeds.
const SeedsDir = "seeds"

// plantedDir is where GitOps repositories hold what was planted; it is no
// input where control plane and GitOps share a repository.
const plantedDir = "planted"

// written are the patterns of what Furrow writes, below directories of these names:
// with a GitOpsRepo's path in front of it, such a directory lies anywhere.
var written = map[string][]string{
	plantedDir: {"*/*/tier-[0-9]*"},
	"furrow":   {"*/tier-[0-9]*.yaml", "*/*/tier-[0-9]*.yaml"},
}

// Catalog is what a control-plane tree declares.
type Catalog struct {
	// Inventory holds the declared clusters.
	Inventory *Inventory
	Repos     map[string]v1alpha1.GitOpsRepo
	Templates map[string]v1alpha1.Template
	// Places says where the documents are declared, by kind and name: "Template/patient".
	Places map[string]manifest.Source
	// Seeds by name, in order.
	Seeds []Seed
	// Problems of the inventory, ordered by place.
	Problems manifest.Problems
	// Documents counts the Furrow documents and seeds that were seen, read or not.
	Documents int
	// Overridden are the resources that do not count, by where they stand, with the
	// place of the tree's document that does.
	Overridden map[manifest.Source]manifest.Source
}

// Seed looks a seed up by name.
func (c *Catalog) Seed(name string) (*Seed, bool) {
	i, found := slices.BinarySearchFunc(c.Seeds, name, func(s Seed, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return nil, false
	}
	return &c.Seeds[i], true
}

// Load reads a control-plane tree. The error says that the tree itself could
// not be read, so that nothing can be concluded from what is missing in it.
func Load(tree fs.FS) (*Catalog, error) {
	docs := newDocuments()
	if err := docs.readInventory(tree); err != nil {
		return nil, err
	}
	packages, problems, err := readPackages(tree)
	if err != nil {
		return nil, err
	}
	docs.problems = append(docs.problems, problems...)
	return assemble(docs, packages), nil
}

//go:embed imagined.yaml
var imaginedYAML []byte

// Candidate is a seed that stands in no control plane, yet.
type Candidate struct {
	// Name of the seed; empty for that of its Seed document, else Fallback.
	Name, Fallback string
	Files          map[string][]byte
	// Namespace is given to objects that have none, whatever a Seed document says.
	Namespace string
}

// WithCandidate is the catalog of a control-plane tree with one more seed, and
// that seed's name. Without a tree, base is nil and there are two imagined
// clusters, "management" and "workload".
func WithCandidate(base fs.FS, c Candidate) (*Catalog, string, error) {
	docs, packages := newDocuments(), map[string]*seedPackage{}
	if base == nil {
		docs.readFile("imagined.yaml", imaginedYAML)
	} else {
		if err := docs.readInventory(base); err != nil {
			return nil, "", err
		}
		var problems manifest.Problems
		var err error
		if packages, problems, err = readPackages(base); err != nil {
			return nil, "", err
		}
		docs.problems = append(docs.problems, problems...)
	}
	pkg := c.pack()
	packages[pkg.name] = pkg
	return assemble(docs, packages), pkg.name, nil
}

func (c Candidate) pack() *seedPackage {
	pkg := &seedPackage{name: cmp.Or(c.Name, c.documentName(), c.Fallback)}
	pkg.place = pkg.name
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		pkg.parse(file, c.Files[file])
	}
	if c.Namespace != "" {
		spec := v1alpha1.SeedSpec{}
		if pkg.spec != nil {
			spec = *pkg.spec
		}
		spec.Namespace = c.Namespace
		pkg.spec = &spec
	}
	return pkg
}

// documentName is the name in the candidate's Seed document.
func (c Candidate) documentName() string {
	for _, file := range slices.Sorted(maps.Keys(c.Files)) {
		objects, _ := manifest.Parse(file, c.Files[file]) // its problems are told when the package is parsed
		for _, o := range objects {
			if o.ID.Group == v1alpha1.Group && o.ID.Kind == "Seed" {
				return o.ID.Name
			}
		}
	}
	return ""
}

func assemble(docs *documents, packages map[string]*seedPackage) *Catalog {
	c := &Catalog{Repos: docs.repos, Templates: docs.templates, Places: docs.places, Problems: docs.problems, Documents: docs.count + len(packages), Overridden: docs.overridden}
	if len(c.Repos) == 0 {
		c.Repos = map[string]v1alpha1.GitOpsRepo{DefaultRepo: {}}
	}
	c.Inventory = &Inventory{Clusters: map[string]Cluster{}, types: docs.types, repos: c.Repos, roots: map[root]string{}}
	c.Problems = append(c.Problems, docs.checkReferences()...)
	c.Problems = append(c.Problems, addClusters(c.Inventory, docs.clusters)...)
	slices.SortStableFunc(c.Problems, func(a, b manifest.Problem) int { return a.Source.Compare(b.Source) })
	c.Seeds = completeSeeds(packages)
	return c
}

// addClusters adds hubs before the clusters that they act for.
func addClusters(inv *Inventory, clusters []declaredCluster) manifest.Problems {
	slices.SortStableFunc(clusters, func(a, b declaredCluster) int {
		return strings.Compare(a.doc.Name, b.doc.Name)
	})
	var problems manifest.Problems
	for _, hubs := range []bool{true, false} {
		for _, c := range clusters {
			own := c.doc.Spec.ReconciledBy == "" || c.doc.Spec.ReconciledBy == c.doc.Name
			if own == hubs {
				problems = appendProblem(problems, c.source, inv.Add(c.doc, c.source, nil))
			}
		}
	}
	return problems
}

func appendProblem(problems manifest.Problems, source manifest.Source, err error) manifest.Problems {
	if err == nil {
		return problems
	}
	if several, ok := errors.AsType[manifest.Problems](err); ok {
		return append(problems, several...)
	}
	if one, ok := errors.AsType[manifest.Problem](err); ok {
		return append(problems, one)
	}
	return append(problems, manifest.Problem{Source: source, Message: err.Error()})
}

type declaredCluster struct {
	doc    v1alpha1.Cluster
	source manifest.Source
}

// documents are the Furrow documents outside seeds.
type documents struct {
	clusters  []declaredCluster
	types     map[string]v1alpha1.ClusterType
	repos     map[string]v1alpha1.GitOpsRepo
	templates map[string]v1alpha1.Template
	places    map[string]manifest.Source
	problems  manifest.Problems
	count     int
	// overridden is Catalog.Overridden.
	overridden map[manifest.Source]manifest.Source
}

func newDocuments() *documents {
	return &documents{
		types: map[string]v1alpha1.ClusterType{}, repos: map[string]v1alpha1.GitOpsRepo{},
		templates: map[string]v1alpha1.Template{}, places: map[string]manifest.Source{},
	}
}

func (d *documents) readInventory(tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading the control-plane tree: %w", err)
		}
		if entry.IsDir() && (p == SeedsDir || p == plantedDir || hidden(p) || isWritten(tree, p)) {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || hidden(p) || !isManifest(p) {
			return nil
		}
		data, err := fs.ReadFile(tree, p)
		if err != nil {
			return fmt.Errorf("reading the control-plane tree: %w", err)
		}
		if bytes.Contains(data, []byte(v1alpha1.Group+"/")) {
			d.readFile(p, data)
		}
		return nil
	})
}

// isWritten says that a directory holds what Furrow has written.
func isWritten(tree fs.FS, dir string) bool {
	for _, pattern := range written[path.Base(dir)] {
		if found, err := fs.Glob(tree, dir+"/"+pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

func hidden(p string) bool { return p != "." && strings.HasPrefix(path.Base(p), ".") }

func isManifest(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

func (d *documents) readFile(file string, data []byte) {
	objects, err := manifest.Parse(file, data)
	d.problems = appendProblem(d.problems, manifest.Source{File: file}, err)
	if err != nil {
		d.count++
	}
	for _, o := range objects {
		if o.ID.Group == v1alpha1.Group {
			d.count++
			d.problems = appendProblem(d.problems, o.Source, d.take(o))
		}
	}
}

func (d *documents) take(o manifest.Object) error {
	key := o.ID.Kind + "/" + o.ID.Name
	if first, twice := d.places[key]; twice {
		return problemOf(o, "it is also declared at "+first.String(), "Remove one of the two.")
	}
	d.places[key] = o.Source
	switch o.ID.Kind {
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err == nil {
			d.clusters = append(d.clusters, declaredCluster{doc, o.Source})
		}
		return err
	case "ClusterType":
		return keep(d.types, o)
	case "GitOpsRepo":
		return keep(d.repos, o)
	case "Template":
		return keep(d.templates, o)
	case "Seed":
		return problemOf(o, "a Seed document stands outside "+SeedsDir+"/", "Move it into the seed's package, or beside it in "+SeedsDir+"/.")
	}
	return problemOf(o, "Furrow has no kind "+o.ID.Kind, "Use Cluster, ClusterType, GitOpsRepo, Template or Seed.")
}

// checkReferences finds what the documents name and nobody declares.
func (d *documents) checkReferences() manifest.Problems {
	var problems manifest.Problems
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		spec := d.types[name].Spec
		at := manifest.Problem{Source: d.places["ClusterType/"+name], Object: "ClusterType " + quote(name), Next: "Declare it, or correct the name."}
		if spec.Reconciler != "" && spec.Reconciler != v1alpha1.ReconcilerFlux {
			at := at
			at.Message, at.Next = fmt.Sprintf("spec.reconciler %q is unknown", spec.Reconciler), "Write Flux."
			problems = append(problems, at)
		}
		if c := spec.Decryption; c != nil && c.Provider != "sops" {
			at := at
			at.Message, at.Next = fmt.Sprintf("spec.decryption.provider %q is unknown", c.Provider), "Write sops."
			problems = append(problems, at)
		}
		if t := spec.ReconcilerTemplate; t != "" && d.templates[t].Spec.Type != v1alpha1.TemplateReconciler {
			at.Message = fmt.Sprintf("there is no Template %q of type Reconciler", t)
			problems = append(problems, at)
		}
		if r := spec.GitOpsRepo; r != "" {
			if _, ok := d.repos[r]; !ok {
				at.Message = fmt.Sprintf("there is no GitOpsRepo %q", r)
				problems = append(problems, at)
			}
		}
	}
	return append(append(problems, d.checkRepos()...), d.checkTemplates()...)
}

func (d *documents) checkTemplates() manifest.Problems {
	var problems manifest.Problems
	for _, name := range slices.Sorted(maps.Keys(d.templates)) {
		spec := d.templates[name].Spec
		at := manifest.Problem{Source: d.places["Template/"+name], Object: "Template " + quote(name)}
		switch {
		case spec.Type != v1alpha1.TemplateReconciler && spec.Type != v1alpha1.TemplateProposal:
			at.Message, at.Next = fmt.Sprintf("spec.type %q is unknown", spec.Type), "Write Reconciler or Proposal."
		case spec.Text == "":
			at.Message, at.Next = "spec.text is missing", "Write the Go template."
		default:
			continue
		}
		problems = append(problems, at)
	}
	return problems
}

func (d *documents) checkRepos() manifest.Problems {
	var problems manifest.Problems
	urls := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(d.repos)) {
		spec := d.repos[name].Spec
		at := manifest.Problem{Source: d.places["GitOpsRepo/"+name], Object: "GitOpsRepo " + quote(name)}
		if c := spec.Credentials; c != "" && len(validation.IsDNS1123Label(c)) > 0 {
			at.Message, at.Next = fmt.Sprintf("spec.credentials %q is no name of credentials", c), "Write the name of a set of credentials: lower case letters, digits and '-'."
			problems = append(problems, at)
		}
		key := CanonicalURL(spec.URL) + " " + spec.BranchOrDefault()
		if other, twice := urls[key]; twice && spec.URL != "" {
			at.Message, at.Next = fmt.Sprintf("it is the same repository and branch as GitOpsRepo %q", other), "Keep one of the two documents."
			problems = append(problems, at)
		}
		urls[key] = name
		if spec.URL == "" {
			problems = append(problems, manifest.Problem{Source: d.places["GitOpsRepo/"+name], Object: "GitOpsRepo " + quote(name), Message: "spec.url is missing", Next: "Write where the repository is."})
		}
		if spec.Path != "" && !cleanPath(spec.Path) {
			problems = append(problems, manifest.Problem{Source: d.places["GitOpsRepo/"+name], Object: "GitOpsRepo " + quote(name),
				Message: fmt.Sprintf("spec.path %q is no directory inside the repository", spec.Path), Next: "Write a relative path without '..'."})
		}
	}
	return problems
}

func keep[T any](table map[string]T, o manifest.Object) error {
	doc, err := decode[T](o)
	if err == nil {
		table[o.ID.Name] = doc
	}
	return err
}

// decode is strict: an unknown field is an error, for it is a setting that
// somebody believes to be in force.
func decode[T any](o manifest.Object) (T, error) {
	var doc T
	if o.APIVersion() != v1alpha1.APIVersion {
		return doc, problemOf(o, "apiVersion "+o.APIVersion()+" is unknown", "Write "+v1alpha1.APIVersion+".")
	}
	var annotations []string
	if o.ID.Kind == "Seed" {
		annotations = v1alpha1.SeedAnnotations
	}
	if problems := checkKeys(o, annotations); len(problems) > 0 {
		return doc, problems
	}
	data, err := yaml.Marshal(o.Body)
	if err != nil {
		return doc, problemOf(o, err.Error(), "Correct the document.")
	}
	if err := yaml.UnmarshalStrict(data, &doc); err != nil {
		message := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")
		return doc, problemOf(o, message, "Compare it with the example in the reference documentation.")
	}
	return doc, nil
}

func problemOf(o manifest.Object, message, next string) manifest.Problem {
	return manifest.Problem{Source: o.Source, Object: o.ID.Kind + " " + quote(o.ID.Name), Message: message, Next: next}
}
