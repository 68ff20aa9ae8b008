// Package catalog reads a control-plane tree: from files to the typed inventory of clusters,
// repositories and templates, and to seeds.
//
//	fs.FS ─▶ Reading.Packages ─▶ Packages ─▶ a renderer for each ─▶ Assemble ─▶ Catalog
//	                                ▲
//	                                └─ Apply: custom resources; Add: a seed that is in no tree yet
//
// Reading and assembling are two steps because renderers come in between, which are processes with
// bounds and do not belong into a pure package. Load does both for packages of plain manifests.
//
// What holds:
//   - A document that cannot be read never hides the others: what is wrong with the inventory is in
//     Catalog.Problems, what is wrong with a seed in its Err.
//   - A cluster whose document is broken is not deleted: check Inventory.Broken before you treat a
//     missing cluster as deleted. The same goes for files that were skipped, see
//     Inventory.BrokenOrLost and Seed.Lost.
//   - The same tree gives the same catalog, whether it is a directory or a commit.
//   - A Catalog is not changed after Assemble and may be shared; whoever adds clusters does so in a
//     Clone of its Inventory.
package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/gitname"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// SeedsDir is the directory of a control-plane tree that holds the seeds.
const SeedsDir = "seeds"

// plantedDir is where GitOps repositories hold what was planted; it is not input if
// control plane and GitOps share a repository.
const plantedDir = "planted"

// written are the patterns of what Furrow writes, below directories of these names:
// with a GitOpsRepo's path in front of it, such a directory lies anywhere.
var written = map[string][]string{
	plantedDir: {"*/*/tier-[0-9]*"},
	"furrow":   {"*/tier-[0-9]*.yaml", "*/*/tier-[0-9]*.yaml"},
}

// Catalog is what a control-plane tree declares.
type Catalog struct {
	// ControlPlane is the document that names the control plane; nil where there is none.
	ControlPlane *v1alpha1.ControlPlane
	identityErr  error
	// Inventory holds the declared clusters.
	Inventory *Inventory
	Repos     map[string]v1alpha1.GitOpsRepo
	Templates map[string]v1alpha1.Template
	// Policies are the rollout policies that can be used.
	Policies map[string]v1alpha1.RolloutPolicy
	// Positions are those of the documents, by kind and name: "Template/patient".
	Positions map[string]manifest.Source
	// lines are those of their fields.
	lines map[string]manifest.Lines
	// Seeds by name, in order.
	Seeds []Seed
	// Problems of the inventory, ordered by position.
	Problems manifest.Problems
	// Skipped names what is not read outside of seeds: each is a warning.
	Skipped manifest.Problems
	// Documents counts the Furrow documents and seeds that were seen, read or not.
	Documents int
	// Overridden are the resources without effect, by position, with the position of
	// the tree's document that overrides each.
	Overridden map[manifest.Source]manifest.Source
	// Unread are files below seeds/ that cannot be read and seem to configure seeds, by
	// the name of the seed that they may be instead.
	Unread map[string]manifest.Source
}

// Failed reports whether some seed may load better next time, although nothing has changed.
func (c *Catalog) Failed() bool {
	return slices.ContainsFunc(c.Seeds, func(s Seed) bool { return s.Failed })
}

// Seed returns the seed of a name.
func (c *Catalog) Seed(name string) (*Seed, bool) {
	i, found := slices.BinarySearchFunc(c.Seeds, name, func(s Seed, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return nil, false
	}
	return &c.Seeds[i], true
}

// Load reads a control-plane tree whose packages are all plain manifests, within the default
// limits. The error means that the tree itself could not be read, so nothing can be
// concluded from what is missing in it.
func Load(tree fs.FS) (*Catalog, error) {
	packages, err := Reading{}.Packages(tree)
	if err != nil {
		return nil, err
	}
	return packages.plain(), nil
}

// LoadWith is Load of a tree, or of none, and what resources say of it.
func LoadWith(tree fs.FS, r Resources) (*Catalog, error) {
	packages, err := Reading{}.Packages(tree)
	if err != nil {
		return nil, err
	}
	packages.Apply(r)
	return packages.plain(), nil
}

// plain returns the catalog of packages that are all plain manifests.
func (p *Packages) plain() *Catalog {
	rendered := map[string]Rendered{}
	for _, pkg := range p.Seeds() {
		rendered[pkg.Name] = Manifests(pkg)
	}
	return Assemble(p, rendered)
}

// Assemble makes the catalog of packages and what renderers made of them, by seed. Documents are
// resolved in the order in which they refer to each other: templates, repositories, types, clusters
// with a reconciler of their own, clusters behind a hub, seeds. What refers to a broken document is
// broken as well, with the position of that document.
func Assemble(p *Packages, rendered map[string]Rendered) *Catalog {
	docs := p.docs
	c := &Catalog{ControlPlane: docs.controlPlane, identityErr: docs.ownerUnknown(), Repos: docs.repos, Templates: docs.templates, Policies: docs.policies, Positions: docs.positions, lines: docs.lines, Documents: docs.count + p.count, Overridden: docs.overridden, Unread: docs.settings}
	if len(c.Repos) == 0 && !docs.faults.has("GitOpsRepo") {
		c.Repos[DefaultRepo] = v1alpha1.GitOpsRepo{}
	}
	docs.checkReferences()
	c.Seeds = completeSeeds(p, rendered)
	p.declareClusters(c.Seeds)
	c.Inventory = &Inventory{Clusters: map[string]Cluster{}, types: docs.types, repos: docs.usableRepos(), grants: docs.grants, roots: map[root]string{}, faults: docs.faults, imagined: p.imagined}
	c.Problems = slices.Concat(docs.problems, addClusters(c.Inventory, docs.clusters))
	slices.SortStableFunc(c.Problems, func(a, b manifest.Problem) int { return a.Source.Compare(b.Source) })
	c.Skipped = docs.skipped
	return c
}

// PositionOf returns where a field of a document is, or the nearest field around it. The key is that of
// Positions.
func (c *Catalog) PositionOf(key, field string) manifest.Source {
	return atField(manifest.Problem{Source: c.Positions[key], Field: field}, c.lines[key]).Source
}

// addClusters adds hubs before the clusters that they act for, each group by name. A hub that has a
// hub of its own is an error (checkHubs), so two rounds are enough. A cluster with a fault is left
// out, and the others are added all the same.
func addClusters(inv *Inventory, clusters []declaredCluster) manifest.Problems {
	slices.SortStableFunc(clusters, func(a, b declaredCluster) int {
		return strings.Compare(a.doc.Name, b.doc.Name)
	})
	hubs, roles, lines := map[string]string{}, map[string]v1alpha1.ClusterRole{}, map[string]manifest.Lines{}
	for _, c := range clusters {
		hubs[c.doc.Name], roles[c.doc.Name], lines[c.doc.Name] = "", c.doc.RoleOrDefault(), c.lines
		if hub := c.doc.Spec.ReconciledBy; hub != c.doc.Name {
			hubs[c.doc.Name] = hub
		}
	}
	var problems manifest.Problems
	for _, own := range []bool{true, false} {
		for _, c := range clusters {
			name := c.doc.Name
			if _, faulty := inv.faults.named[documentKey{"Cluster", name}]; faulty || own != (hubs[name] == "") {
				continue
			}
			err := checkHubs(c, hubs)
			if err == nil {
				err = inv.Add(c.doc, c.source, nil)
			}
			if err != nil {
				p := atField(problemIn(c.source, err), c.lines)
				problems = append(problems, p)
				inv.faults.add("Cluster", name, p, c.doc.RoleOrDefault() == v1alpha1.RoleWorkload)
			}
		}
		if own {
			for _, p := range inv.dropOverlaps() {
				p = atField(p, lines[p.Cluster])
				problems = append(problems, p)
				inv.faults.add("Cluster", p.Cluster, p, roles[p.Cluster] == v1alpha1.RoleWorkload)
			}
		}
	}
	return problems
}

// checkHubs follows a cluster from hub to hub; at most one hub is allowed. An
// undeclared hub is found when the cluster is added.
func checkHubs(c declaredCluster, hubs map[string]string) error {
	chain := []string{c.doc.Name}
	for at := hubs[c.doc.Name]; at != ""; at = hubs[at] {
		circle := slices.Contains(chain, at)
		chain = append(chain, at)
		if circle {
			return manifest.Problem{Reason: v1alpha1.ReasonInvalidHub, Source: c.source, Object: "Cluster " + quote(c.doc.Name), Cluster: c.doc.Name, Message: "spec.reconciledBy goes in a circle: " + strings.Join(chain, " → "),
				Next: "Remove it from the cluster whose own reconciler acts for the others."}
		}
	}
	last := chain[len(chain)-1]
	if _, declared := hubs[last]; len(chain) < 3 || !declared {
		return nil
	}
	return manifest.Problem{Reason: v1alpha1.ReasonInvalidHub, Source: c.source, Object: "Cluster " + quote(c.doc.Name), Cluster: c.doc.Name, Message: fmt.Sprintf("spec.reconciledBy names %q, which has no reconciler of its own (%q acts for it)", chain[1], chain[2]),
		Next: "Name " + quote(last) + " instead."}
}

// appendProblem appends the problems of an error, those without a position of their own at source.
func appendProblem(problems manifest.Problems, source manifest.Source, err error) manifest.Problems {
	for _, p := range manifest.ProblemsOf(err) {
		p.Source = cmp.Or(p.Source, source)
		problems = append(problems, p)
	}
	return problems
}

// problemIn returns the first problem of an error.
func problemIn(source manifest.Source, err error) manifest.Problem {
	return appendProblem(nil, source, err)[0]
}

// declaredCluster is a Cluster document, and where it is.
type declaredCluster struct {
	doc    v1alpha1.Cluster
	source manifest.Source
	lines  manifest.Lines
	// imagined reports whether nobody wrote it.
	imagined bool
}

// documents are the Furrow documents outside seeds, by kind and name, while they are read. A
// document with a fault is out of its table at the end, and in faults. positions has where each is,
// also of those with faults, and settings where the settings of each seed are.
type documents struct {
	// grants are the namespaces of clusters in which kubeconfigs may be read.
	grants       map[string][]string
	controlPlane *v1alpha1.ControlPlane
	// identityErr says why the owner is unknown.
	identityErr error
	// unparsed says why a document that may be meant as the ControlPlane cannot be read.
	unparsed  error
	clusters  []declaredCluster
	types     map[string]v1alpha1.ClusterType
	repos     map[string]v1alpha1.GitOpsRepo
	templates map[string]v1alpha1.Template
	policies  map[string]v1alpha1.RolloutPolicy
	positions map[string]manifest.Source
	lines     map[string]manifest.Lines
	problems  manifest.Problems
	faults    *faults
	settings  map[string]manifest.Source
	count     int
	skipped   manifest.Problems
	reading   Reading
	// overridden is Catalog.Overridden.
	overridden map[manifest.Source]manifest.Source
	plugins    plugins
}

func newDocuments(reading Reading) *documents {
	return &documents{
		reading: reading,
		types:   map[string]v1alpha1.ClusterType{}, repos: map[string]v1alpha1.GitOpsRepo{},
		templates: map[string]v1alpha1.Template{}, policies: map[string]v1alpha1.RolloutPolicy{}, positions: map[string]manifest.Source{}, lines: map[string]manifest.Lines{},
		faults: &faults{named: map[documentKey]fault{}}, settings: map[string]manifest.Source{}, grants: map[string][]string{}, plugins: newPlugins(),
	}
}

// addSettings notes the files of Seed documents that cannot be read.
func (d *documents) addSettings(broken []*Package) {
	for _, pkg := range broken {
		d.problems = append(d.problems, pkg.problems...)
		d.settings[pkg.Name] = pkg.problems[0].Source
	}
}

// unreadTree returns the error for a tree that cannot be read itself.
func unreadTree(err error) error {
	return fmt.Errorf("reading the control-plane tree: %w", manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSourceFailed}, err))
}

// readInventory reads the documents outside of seeds/. It walks the whole tree, which may be a
// GitOps repository at the same time, so what Furrow has written there is left out, and only files
// that may hold a document of Furrow, or nearly one, are parsed.
func (d *documents) readInventory(tree fs.FS) error {
	seeds, _, err := seedsIn(tree)
	if err != nil {
		return err
	}
	w := newWalker(tree)
	w.mixed, w.most = true, maxTreeFiles
	w.leave = func(dir string) bool {
		return dir == SeedsDir || dir == seeds || dir == plantedDir || isWritten(tree, dir)
	}
	if err := w.walk("."); err != nil {
		return err
	}
	d.skipped = slices.Concat(d.skipped, w.skipped, w.unnamed)
	d.faults.lost = append(d.faults.lost, w.lost...)
	for _, p := range w.unnamed {
		d.faults.lost = append(d.faults.lost, p.Source)
	}
	for _, file := range w.files {
		name := file.name
		files := NewFiles(d.reading)
		if err := files.addFile(tree, name, name); err != nil {
			return err
		}
		d.skipped = append(d.skipped, files.Problems...)
		for _, p := range files.Problems {
			d.faults.lost = append(d.faults.lost, p.Source)
		}
		text := bytes.ReplaceAll(files.Content[name], []byte{0}, nil) // UTF-16 is refused, and not skipped
		if mayDeclare(text) {
			d.readFile(name, files.Content[name])
		} else if p := manifest.Foreign(name, files.Content[name]); p != nil {
			d.skipped, d.faults.lost = append(d.skipped, *p), append(d.faults.lost, p.Source)
		}
		d.skipped = append(d.skipped, commentedOut(name, text)...)
	}
	return nil
}

// isWritten reports whether a directory holds what Furrow has written.
func isWritten(tree fs.FS, dir string) bool {
	for _, pattern := range written[path.Base(dir)] {
		if found, err := fs.Glob(tree, dir+"/"+pattern); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// readFile takes the documents of a file. One that cannot be parsed may be anything: it is noted as
// such in faults.
func (d *documents) readFile(file string, data []byte) {
	objects, err := manifest.Parse(file, data)
	d.problems = appendProblem(d.problems, manifest.Source{File: file}, err)
	if err != nil {
		d.count++
		d.faults.unread = appendProblem(d.faults.unread, manifest.Source{File: file}, err)
	}
	if err != nil && mayHoldControlPlane(data) {
		d.unparsed = cmp.Or(d.unparsed, err)
	}
	if err != nil && mayHoldPlugin(data) {
		d.plugins.unparsed = cmp.Or(d.plugins.unparsed, problemIn(manifest.Source{File: file}, err).Source)
	}
	for _, o := range objects {
		if o.ID.Group == v1alpha1.Group {
			d.skipped = append(d.skipped, o.Warnings()...)
			d.count++
			d.problems = appendProblem(d.problems, o.Source, d.take(o))
		} else if p, near := nearMiss(o); near {
			d.count++
			if mayBeControlPlane(o.ID.Kind) {
				d.unparsed = cmp.Or(d.unparsed, error(p))
			}
			d.problems, d.faults.unread = appendProblem(d.problems, o.Source, p), appendProblem(d.faults.unread, o.Source, p)
		}
	}
}

// take adds a document. One that cannot be used is remembered by its name, if that
// says what it is for: what depends on it has to wait.
func (d *documents) take(o manifest.Object) error {
	key := o.ID.Kind + "/" + o.ID.Name
	var err error
	if first, twice := d.positions[key]; twice {
		err = o.Problem(v1alpha1.ReasonDuplicateDocument, "it is also declared at "+first.String(), "Remove one of the two.")
	} else {
		d.positions[key], d.lines[key] = o.Source, o.Lines
		err = d.decode(o)
	}
	switch {
	case err == nil:
	case slices.Contains(kinds, o.ID.Kind):
		d.faults.add(o.ID.Kind, o.ID.Name, problemIn(o.Source, err), o.Map("spec")["role"] == string(v1alpha1.RoleWorkload))
	default: // it may be meant as any of them
		if mayBeControlPlane(o.ID.Kind) {
			d.unparsed = cmp.Or(d.unparsed, err)
		}
		d.faults.unread = appendProblem(d.faults.unread, o.Source, err)
	}
	return err
}

// kinds of documents that people write.
var kinds = []string{"Cluster", "ClusterType", "ControlPlane", "GitOpsRepo", "Plugin", "RolloutPolicy", "Template", "Seed"}

// unknownKind returns the error for a kind that Furrow does not have, with the one that may be
// meant.
func unknownKind(o manifest.Object) error {
	next := "Use " + strings.Join(kinds[:len(kinds)-1], ", ") + " or " + kinds[len(kinds)-1] + "."
	if like := likeKind(o.ID.Kind); like != "" {
		next = "Write kind: " + like + "."
	}
	return o.Problem(v1alpha1.ReasonUnknownKind, "Furrow has no kind "+o.ID.Kind, next)
}

// decode adds a document to the table of its kind; a second one of its name never comes here.
func (d *documents) decode(o manifest.Object) error {
	switch o.ID.Kind {
	case "Cluster":
		doc, err := decode[v1alpha1.Cluster](o)
		if err == nil {
			d.clusters = append(d.clusters, declaredCluster{doc: doc, source: o.Source, lines: o.Lines, imagined: o.Source.File == imaginedFile})
			d.grants[doc.Name] = doc.Spec.KubeConfigNamespaces
		}
		return err
	case "ClusterType":
		return keep(d.types, o)
	case "GitOpsRepo":
		return keep(d.repos, o)
	case "Template":
		return keep(d.templates, o)
	case "RolloutPolicy":
		return keep(d.policies, o)
	case "Plugin":
		return d.takePlugin(o)
	case "ControlPlane":
		return d.takeControlPlane(o)
	case "Seed":
		return o.Problem(v1alpha1.ReasonMisplacedDocument, "a Seed document is outside of "+SeedsDir+"/", "Move it into the seed's package, or next to it in "+SeedsDir+"/.")
	}
	return unknownKind(o)
}

// checkReferences finds what is wrong with documents that were decoded, and what
// they name and nobody declares. Templates and types that are broken are not used.
func (d *documents) checkReferences() {
	d.checkTemplates()
	dropFaulty(d.faults, "Template", d.templates)
	d.checkPolicies()
	dropFaulty(d.faults, "RolloutPolicy", d.policies)
	d.checkRepos()
	d.checkTypes()
	dropFaulty(d.faults, "ClusterType", d.types)
}

// dropFaulty removes the documents with a fault from a table: what is built from it must not rely
// on them, and names of them are looked up in the faults.
func dropFaulty[T any](f *faults, kind string, table map[string]T) {
	maps.DeleteFunc(table, func(name string, _ T) bool {
		_, faulty := f.named[documentKey{kind, name}]
		return faulty
	})
}

// report notes what is wrong with a document that was decoded.
func (d *documents) report(reason v1alpha1.Reason, kind, name, field, message, next string) {
	p := manifest.Problem{Reason: reason, Source: d.positions[kind+"/"+name], Object: kind + " " + quote(name), Field: field, Message: message, Next: next}
	p = atField(p, d.lines[kind+"/"+name])
	d.problems = append(d.problems, p)
	d.faults.add(kind, name, p, true)
}

// checkTypes checks what a ClusterType names once all documents are read. A reference to a document
// with a fault of its own is reported with that fault, and not as missing.
func (d *documents) checkTypes() {
	for _, name := range slices.Sorted(maps.Keys(d.types)) {
		spec := d.types[name].Spec
		for _, p := range readinessProblems(spec.Readiness, "ClusterType "+quote(name), d.positions["ClusterType/"+name], d.lines["ClusterType/"+name]) {
			d.problems = append(d.problems, p)
			d.faults.add("ClusterType", name, p, true)
		}
		if spec.Reconciler != "" && spec.Reconciler != v1alpha1.ReconcilerFlux {
			d.report(v1alpha1.ReasonInvalidField, "ClusterType", name, "spec.reconciler", fmt.Sprintf("spec.reconciler %q is unknown", spec.Reconciler), "Write Flux.")
		}
		if c := spec.Decryption; c != nil && c.Provider != "sops" {
			d.report(v1alpha1.ReasonInvalidField, "ClusterType", name, "spec.decryption.provider", fmt.Sprintf("spec.decryption.provider %q is unknown", c.Provider), "Write sops.")
		}
		if t := spec.ReconcilerTemplate; t != "" && d.templates[t].Spec.Type != v1alpha1.TemplateReconciler {
			d.report(v1alpha1.ReasonUnknownTemplate, "ClusterType", name, "spec.reconcilerTemplate", cmp.Or(d.faults.of("Template", t), fmt.Sprintf("there is no Template %q of type Reconciler", t)), "Declare it, or correct the name.")
		}
		if r := spec.GitOpsRepo; r != "" {
			if _, ok := d.usableRepos()[r]; !ok {
				d.report(v1alpha1.ReasonUnknownRepository, "ClusterType", name, "spec.gitOpsRepo", cmp.Or(d.faults.of("GitOpsRepo", r), fmt.Sprintf("there is no GitOpsRepo %q", r)), "Declare it, or correct the name.")
			}
		}
	}
}

// checkTemplates checks what of a Template does not depend on what it is rendered with.
func (d *documents) checkTemplates() {
	for _, name := range slices.Sorted(maps.Keys(d.templates)) {
		spec := d.templates[name].Spec
		switch {
		case spec.Type != v1alpha1.TemplateReconciler && spec.Type != v1alpha1.TemplateProposal:
			d.report(v1alpha1.ReasonInvalidField, "Template", name, "spec.type", fmt.Sprintf("spec.type %q is unknown", spec.Type), "Write Reconciler or Proposal.")
		case spec.Text == "":
			d.report(v1alpha1.ReasonMissingField, "Template", name, "spec.text", "spec.text is missing", "Write the Go template.")
		}
	}
}

// checkRepos keeps broken repositories for what is planted there, if they can be read;
// no cluster may use them. Of two documents of one repository only the first counts.
func (d *documents) checkRepos() {
	urls, folded := map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(d.repos)) {
		spec := d.repos[name].Spec
		if err := CheckCredentials(spec.Credentials); spec.Credentials != "" && err != nil {
			d.report(v1alpha1.ReasonInvalidField, "GitOpsRepo", name, "spec.credentials", "spec.credentials: "+manifest.ProblemOf(err).Message, "Name a directory in that of --credentials or, with a controller, a Secret.")
		}
		if spec.URL == "" && d.positions["GitOpsRepo/"+name] != (manifest.Source{}) {
			d.report(v1alpha1.ReasonMissingField, "GitOpsRepo", name, "spec.url", "spec.url is missing", "Write where the repository is.")
		}
		fault := gitname.DirFault(spec.Path)
		if slices.Contains(strings.Split(gitname.Fold(spec.Path), "/"), gitname.Fold(plantedDir)) {
			fault = cmp.Or(fault, "is in "+plantedDir+"/, where the objects of all clusters are")
		}
		if spec.Path != "" && fault != "" {
			d.report(v1alpha1.ReasonInvalidField, "GitOpsRepo", name, "spec.path", fmt.Sprintf("spec.path %q %s", spec.Path, fault), "Write a directory of the repository that Git and every file system accept, or remove the field.")
		}
		if fault := gitname.BaseFault(spec.BranchOrDefault()); fault != "" {
			d.report(v1alpha1.ReasonInvalidField, "GitOpsRepo", name, "spec.branch", fmt.Sprintf("spec.branch %q %s", spec.Branch, fault), "Write the name of the branch that reconcilers follow, as in main.")
		}
		key := CanonicalURL(spec.URL) + " " + spec.BranchOrDefault()
		if other, alike := folded[strings.ToLower(key)]; alike && spec.URL != "" && urls[key] == "" {
			d.skipped = append(d.skipped, manifest.Problem{Reason: v1alpha1.ReasonDuplicateDocument, Source: d.positions["GitOpsRepo/"+name], Object: "GitOpsRepo " + quote(name), Field: "spec.url", Message: fmt.Sprintf("its URL differs only by case from that of GitOpsRepo %q, so most servers have one repository for both", other), Next: "Keep one of the two documents."})
		}
		folded[strings.ToLower(key)] = name
		if other, twice := urls[key]; twice && spec.URL != "" {
			d.report(v1alpha1.ReasonDuplicateDocument, "GitOpsRepo", name, "spec.url", fmt.Sprintf("it is the same repository and branch as GitOpsRepo %q", other), "Keep one of the two documents.")
			delete(d.repos, name)
			continue
		}
		urls[key] = name
	}
}

// usableRepos returns the repositories that clusters may use.
func (d *documents) usableRepos() map[string]v1alpha1.GitOpsRepo {
	usable := maps.Clone(d.repos)
	dropFaulty(d.faults, "GitOpsRepo", usable)
	return usable
}

func keep[T any](table map[string]T, o manifest.Object) error {
	doc, err := decode[T](o)
	if err == nil {
		table[o.ID.Name] = doc
	}
	return err
}
