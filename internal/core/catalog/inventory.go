package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/gitname"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// DefaultRepo names the GitOps repository that is assumed where the
// control plane declares none; it has no URL, so it can be planned for only.
const DefaultRepo = "gitops"

// Cluster is one cluster with all that follows from its type and its hub: nothing of it has to be
// looked up again. Its maps and slices are shared with the documents; do not change them.
type Cluster struct {
	Name   string
	Labels map[string]string
	Role   v1alpha1.ClusterRole
	Type   string
	// Repo names the GitOpsRepo that holds the cluster's paths.
	Repo string
	// RootPath is the directory that the cluster's own root syncs.
	RootPath string
	// Hub is the cluster whose reconciler acts for this one; empty when it has its own.
	Hub string
	// Source is the reconciler's source object; the root lives in its namespace.
	Source v1alpha1.ObjectReference
	// KubeConfig is the Secret on the hub; empty when there is no hub.
	KubeConfig v1alpha1.ObjectReference
	// kubeConfigAnywhere reports whether no document gives the Secret's namespace, and
	// kubeConfigUnnamed whether none gives its name.
	kubeConfigAnywhere, kubeConfigUnnamed bool
	Decryption                            *v1alpha1.Decryption
	// Reconciler says which kind of reconciler applies tiers to the cluster.
	Reconciler         v1alpha1.ReconcilerKind
	ReconcilerTemplate string
	// Readiness has the rules of the ClusterType.
	Readiness []v1alpha1.ReadinessRule
	Taints    []v1alpha1.ClusterTaint
	Provides  v1alpha1.ClusterProvides
	// DefaultType is the type of clusters that are created on this one.
	DefaultType string
	// CreatedBy is the object that creates the cluster; nil when none does.
	CreatedBy *Creation
	// Imagined reports whether there is no control plane. The cluster does not exist: a seed is only tried on it.
	Imagined bool
	// Declared is the position of the cluster's document; for an implied cluster, of its creator.
	Declared manifest.Source
}

// Creation says which object creates a cluster, and where.
type Creation struct {
	Seed   string
	Object manifest.ID
	// On is the management cluster that the creator goes to.
	On string
	// KubeConfig is where the creator's controller leaves the kubeconfig; what is empty is as Cluster
	// API has it.
	KubeConfig v1alpha1.ObjectReference
}

// KubeConfigOf returns the Secret with the kubeconfig of a cluster that a creator makes, and the
// cluster that it is on.
func (c Cluster) KubeConfigOf() (on string, secret v1alpha1.ObjectReference) {
	return cmp.Or(c.Hub, c.CreatedBy.On), v1alpha1.ObjectReference{
		Namespace: cmp.Or(c.KubeConfig.Namespace, c.CreatedBy.KubeConfig.Namespace, c.CreatedBy.Object.Namespace, c.Source.Namespace),
		Name:      cmp.Or(c.KubeConfig.Name, c.CreatedBy.KubeConfig.Name, c.Name+"-kubeconfig"),
	}
}

// KubeConfigKey returns the key under which the Secret holds the kubeconfig: that of the creator's
// controller, or the usual one in a Secret that a document names.
func (c Cluster) KubeConfigKey() string {
	if c.CreatedBy == nil || !c.kubeConfigUnnamed {
		return defaultKubeConfigKey
	}
	return creators[c.CreatedBy.Object.GroupKind()].KubeConfigKey()
}

// ReconciledOn returns the cluster whose reconciler acts for c.
func (c Cluster) ReconciledOn() string { return cmp.Or(c.Hub, c.Name) }

// HasNamespace reports whether the cluster has a Namespace although no seed contains it: those of
// Kubernetes, of its reconciler, and those that its document lists. A cluster that a seed creates has
// what its creator makes, and no reconciler of its own where a hub acts for it.
func (c Cluster) HasNamespace(name string) bool {
	created := c.CreatedBy != nil
	switch {
	case name == "default", strings.HasPrefix(name, "kube-"):
		return true
	case name == c.Source.Namespace && (!created || c.Hub == ""):
		return true
	case created && creators[c.CreatedBy.Object.GroupKind()].makesNamespace(name):
		return true
	}
	return slices.Contains(c.Provides.AllNamespaces(), name)
}

// Inventory is the clusters that exist or will exist, by name.
//
// Invariant: every Type, Repo and Hub that a cluster names is in it; clusters change only by Put
// and Remove. A cluster that is not in it may still be declared: see Broken.
type Inventory struct {
	Clusters map[string]Cluster
	names    []string // of the clusters, in order
	types    map[string]v1alpha1.ClusterType
	repos    map[string]v1alpha1.GitOpsRepo
	// grants are the namespaces of a cluster in which kubeconfigs may be read.
	grants map[string][]string
	// roots says which cluster syncs a directory.
	roots map[root]string
	// faults are the documents that cannot be used; not to be changed once the
	// catalog is loaded.
	faults *faults
	// imagined reports whether there is no control plane.
	imagined bool
	// implied are the clusters that no document declared when they were last planned.
	implied map[string]bool
}

// root is a directory of a repository, folded: two clusters must not have the same.
type root struct{ repo, path string }

func rootOf(c Cluster) root { return root{c.Repo, gitname.Fold(c.RootPath)} }

// Names returns the clusters' names in order.
func (inv *Inventory) Names() []string { return slices.Clone(inv.names) }

// fluxGroups are those that 'flux install' brings to a cluster with a reconciler of its own.
var fluxGroups = []string{
	"helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io", "source.toolkit.fluxcd.io",
}

// HasKind reports whether the cluster has a kind although no seed contains it. Where the cluster does not list kinds,
// it compares by group and by the regular plurals of the kind: only names of definitions and API versions are
// known then. A kind with an irregular plural is reported as missing, which is a warning and blocks nothing.
func (c Cluster) HasKind(kind manifest.GroupKind) bool {
	if c.Hub == "" && slices.Contains(fluxGroups, kind.Group) {
		return true
	}
	if name := kind.String(); slices.Contains(c.Provides.NamespacedKinds, name) || slices.Contains(c.Provides.ClusterScopedKinds, name) {
		return true
	}
	if slices.ContainsFunc(c.Provides.APIVersions, func(version string) bool { return strings.HasPrefix(version, kind.Group+"/") }) {
		return true
	}
	plurals := kind.Plurals()
	return slices.ContainsFunc(c.Provides.CustomResourceDefinitions, func(name string) bool {
		plural, group, _ := strings.Cut(name, ".")
		return group == kind.Group && slices.Contains(plurals, strings.ReplaceAll(plural, "-", ""))
	})
}

// HasObject reports whether the cluster has an object that its document lists.
func (c Cluster) HasObject(id manifest.ID) bool {
	return slices.ContainsFunc(c.Provides.Objects, func(o v1alpha1.ProvidedObject) bool {
		return o.Name == id.Name && o.Namespace == id.Namespace && o.Kind == id.GroupKind().String()
	})
}

// AnyCreated reports whether seeds create clusters.
func (inv *Inventory) AnyCreated() bool {
	for _, c := range inv.Clusters {
		if c.CreatedBy != nil {
			return true
		}
	}
	return false
}

// WithRole returns the names of the clusters of a role, in order.
func (inv *Inventory) WithRole(role v1alpha1.ClusterRole) []string {
	var names []string
	for _, name := range inv.names {
		if inv.Clusters[name].Role == role {
			names = append(names, name)
		}
	}
	return names
}

// Clone returns a copy that clusters can be added to without changing inv.
func (inv *Inventory) Clone() *Inventory {
	return &Inventory{Clusters: maps.Clone(inv.Clusters), names: slices.Clone(inv.names), types: inv.types, repos: inv.repos, grants: inv.grants, roots: maps.Clone(inv.roots), faults: inv.faults, imagined: inv.imagined, implied: maps.Clone(inv.implied)}
}

// Add resolves one more cluster document and puts it into the inventory. creation
// is nil for a cluster that is simply there; its hub must have been added before.
func (inv *Inventory) Add(doc v1alpha1.Cluster, declared manifest.Source, creation *Creation) error {
	c := Cluster{
		Name: doc.Name, Labels: doc.Labels, Role: doc.RoleOrDefault(), Type: doc.Spec.Type,
		Repo: doc.Spec.GitOpsRepo, RootPath: doc.PathOrDefault(), Provides: doc.Spec.Provides, Taints: doc.Spec.Taints,
		DefaultType: doc.Spec.DefaultClusterType, CreatedBy: creation, Declared: declared,
	}
	c.Imagined = inv.imagined
	if other, taken := inv.Clusters[c.Name]; taken {
		return inv.problem(v1alpha1.ReasonDuplicateCluster, c, fmt.Sprintf("the cluster is also declared at %s", other.Declared), "Remove one of the two.")
	}
	if doc.Spec.ReconciledBy != doc.Name {
		c.Hub = doc.Spec.ReconciledBy
	}
	for _, resolve := range []func(*Cluster, v1alpha1.Cluster) error{inv.checkName, inv.checkProvides, inv.resolveHub, inv.resolveType, inv.resolveRepo, inv.checkRoot} {
		if err := resolve(&c, doc); err != nil {
			return err
		}
	}
	inv.Put(c)
	return nil
}

// Put takes in a cluster that was resolved before.
func (inv *Inventory) Put(c Cluster) {
	if at, there := slices.BinarySearch(inv.names, c.Name); !there {
		inv.names = slices.Insert(inv.names, at, c.Name)
	}
	inv.Clusters[c.Name] = c
	inv.roots[rootOf(c)] = c.Name
}

// Remove takes a cluster out of the inventory.
func (inv *Inventory) Remove(name string) {
	if c, ok := inv.Clusters[name]; ok {
		inv.names = slices.DeleteFunc(inv.names, func(n string) bool { return n == name })
		delete(inv.Clusters, name)
		delete(inv.roots, rootOf(c))
	}
}

// MayReadKubeConfig reports whether the kubeconfig of a cluster that a seed creates may be read in
// a namespace of a cluster: in that of its creator, or where the documents of that cluster grant
// it. The author of a seed names the Secret, but must not choose whose Secrets Furrow reads.
func (inv *Inventory) MayReadKubeConfig(on, namespace string, creation Creation) bool {
	ofCreator := on == creation.On && namespace == creation.Object.Namespace && namespace != ""
	return ofCreator || slices.Contains(inv.grants[on], namespace)
}

// CheckKubeConfig refuses a created cluster whose kubeconfig may not be read where it is said to
// be. An imagined cluster grants everything.
func (inv *Inventory) CheckKubeConfig(name string) error {
	if p, lacks := inv.LacksGrant(name); lacks && !inv.imagined {
		return p
	}
	return nil
}

// LacksGrant returns what is wrong with a created cluster whose kubeconfig may not be read where it is
// said to be.
func (inv *Inventory) LacksGrant(name string) (p manifest.Problem, lacks bool) {
	c := inv.Clusters[name]
	on, secret := c.KubeConfigOf()
	if inv.MayReadKubeConfig(on, secret.Namespace, *c.CreatedBy) {
		return p, false
	}
	return inv.problem(v1alpha1.ReasonKubeConfigNotGranted, c, fmt.Sprintf("its kubeconfig would be read in namespace %q of cluster %q, which is not the namespace of its creator %s, and not granted", secret.Namespace, on, c.CreatedBy.Object),
		fmt.Sprintf("Let spec.kubeConfigSecret name the creator's namespace, or add %q to spec.kubeConfigNamespaces of Cluster %q.", secret.Namespace, on)).WithField("spec.kubeConfigSecret"), true
}

// MarkCreated notes that an object of a seed creates a declared cluster. Where no
// document gives the namespace of the kubeconfig, it is the creator's from now on.
func (inv *Inventory) MarkCreated(name string, creation *Creation) {
	c := inv.Clusters[name]
	c.CreatedBy = creation
	if c.Hub != "" && c.kubeConfigAnywhere {
		c.KubeConfig.Namespace = cmp.Or(creation.KubeConfig.Namespace, creation.Object.Namespace, c.KubeConfig.Namespace)
	}
	if c.Hub != "" && c.kubeConfigUnnamed {
		c.KubeConfig.Name = cmp.Or(creation.KubeConfig.Name, c.KubeConfig.Name)
	}
	inv.Put(c)
}

func (inv *Inventory) problem(reason v1alpha1.Reason, c Cluster, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Source: c.Declared, Object: "Cluster " + quote(c.Name), Cluster: c.Name, Message: message, Next: next}
}

// checkName checks what of a cluster ends up in paths and names of objects.
func (inv *Inventory) checkName(c *Cluster, _ v1alpha1.Cluster) error {
	if fault := nameFault(c.Name); fault != "" {
		return inv.problem(v1alpha1.ReasonInvalidName, *c, fault, "Rename the cluster, or give it a Cluster document with a shorter name.")
	}
	if c.Role != v1alpha1.RoleManagement && c.Role != v1alpha1.RoleWorkload {
		return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.role %q is unknown", c.Role), "Write Management or Workload.").WithField("spec.role")
	}
	switch fault := gitname.DirFault(c.RootPath); {
	case fault != "":
		return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.path %q %s", c.RootPath, fault), "Write a directory of the repository that Git and every file system accept, as in clusters/"+c.Name+".").WithField("spec.path")
	case gitname.Within(gitname.Fold(c.RootPath), gitname.Fold(plantedDir)):
		return inv.problem(v1alpha1.ReasonPathConflict, *c, fmt.Sprintf("spec.path %q is in %s/, where the objects of all clusters are: its root would apply them without their tiers", c.RootPath, plantedDir), "Write another directory, as in clusters/"+c.Name+".").WithField("spec.path")
	}
	return nil
}

// checkProvides checks what is read of spec.provides apart from names.
func (inv *Inventory) checkProvides(c *Cluster, _ v1alpha1.Cluster) error {
	if text := c.Provides.KubernetesVersion; text != "" {
		if _, ok := manifest.ParseRelease(text); !ok {
			return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.provides.kubernetesVersion %q is not a release of Kubernetes", text), "Write it as in 1.31 or v1.31.4.").WithField("spec.provides.kubernetesVersion")
		}
	}
	for _, text := range c.Provides.APIVersions {
		if !manifest.IsAPIVersion(text) {
			return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.provides.apiVersions has %q, which is not an API version", text), "Write group/version, as in resource.k8s.io/v1beta1.").WithField("spec.provides.apiVersions")
		}
	}
	for field, kinds := range map[string][]string{"spec.provides.namespacedKinds": c.Provides.NamespacedKinds, "spec.provides.clusterScopedKinds": c.Provides.ClusterScopedKinds} {
		for _, text := range kinds {
			if _, ok := manifest.ParseGroupKind(text); !ok {
				return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("%s has %q, which is not a kind", field, text), "Write Kind.group, as in Certificate.cert-manager.io.").WithField(field)
			}
		}
	}
	for _, o := range c.Provides.Objects {
		if _, ok := manifest.ParseGroupKind(o.Kind); !ok && !isCoreKind(o.Kind) {
			return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.provides.objects has kind %q, which is not a kind of the core group", o.Kind), "Write Kind.group, as in StorageClass.storage.k8s.io.").WithField("spec.provides.objects")
		}
	}
	for _, n := range c.Provides.LabelledNamespaces {
		if len(validation.IsDNS1123Label(n.Name)) > 0 {
			return inv.problem(v1alpha1.ReasonInvalidField, *c, fmt.Sprintf("spec.provides.labelledNamespaces has %q, which is not the name of a Namespace", n.Name), "Correct the name.").WithField("spec.provides.labelledNamespaces")
		}
	}
	return nil
}

func isCoreKind(kind string) bool {
	_, known := manifest.BuiltinScope(manifest.GroupKind{Kind: kind})
	return known
}

// resolveHub checks the hub, which must have a reconciler of its own, and finds the Secret with
// which that reaches c.
func (inv *Inventory) resolveHub(c *Cluster, doc v1alpha1.Cluster) error {
	if c.Hub == "" {
		return nil
	}
	hub, ok := inv.Clusters[c.Hub]
	if !ok {
		if why := inv.Broken(c.Hub); why != "" {
			return inv.problem(v1alpha1.ReasonBrokenDocument, *c, fmt.Sprintf("spec.reconciledBy names the cluster %q: %s", c.Hub, why), "Correct that document.").WithField("spec.reconciledBy")
		}
		return inv.problem(v1alpha1.ReasonUnknownCluster, *c, fmt.Sprintf("spec.reconciledBy names the cluster %q, which is not declared", c.Hub), "Declare it, or correct the name.").WithField("spec.reconciledBy")
	}
	if hub.Hub != "" {
		return inv.problem(v1alpha1.ReasonInvalidHub, *c, fmt.Sprintf("spec.reconciledBy names %q, which has no reconciler of its own (%q acts for it)", c.Hub, hub.Hub), "Name "+quote(hub.Hub)+" instead.").WithField("spec.reconciledBy")
	}
	c.KubeConfig = doc.Spec.KubeConfigSecret
	var creation Creation
	if c.CreatedBy != nil {
		creation = *c.CreatedBy
	}
	c.kubeConfigAnywhere, c.kubeConfigUnnamed = c.KubeConfig.Namespace == "", c.KubeConfig.Name == ""
	c.KubeConfig.Name = cmp.Or(c.KubeConfig.Name, creation.KubeConfig.Name, c.Name+"-kubeconfig")
	c.KubeConfig.Namespace = cmp.Or(c.KubeConfig.Namespace, creation.KubeConfig.Namespace, creation.Object.Namespace, hub.Source.Namespace)
	return nil
}

// resolveType adds what the cluster's type says. The source of a cluster behind a hub is the hub's,
// whose reconciler reads it.
func (inv *Inventory) resolveType(c *Cluster, _ v1alpha1.Cluster) error {
	var spec v1alpha1.ClusterTypeSpec
	if c.Type != "" {
		doc, ok := inv.types[c.Type]
		if !ok {
			if why := inv.faults.of("ClusterType", c.Type); why != "" {
				return inv.problem(v1alpha1.ReasonBrokenDocument, *c, why, "Correct that document.").WithField("spec.type")
			}
			return inv.problem(v1alpha1.ReasonUnknownClusterType, *c, fmt.Sprintf("the cluster type %q is not declared", c.Type), "Declare a ClusterType of that name, or correct spec.type.").WithField("spec.type")
		}
		spec = doc.Spec
	}
	c.Source = spec.SourceOrDefault()
	if c.Hub != "" {
		c.Source = inv.Clusters[c.Hub].Source
	}
	c.Reconciler = cmp.Or(spec.Reconciler, v1alpha1.ReconcilerFlux)
	c.Decryption, c.ReconcilerTemplate, c.Readiness = spec.Decryption, spec.ReconcilerTemplate, spec.Readiness
	c.Repo = cmp.Or(c.Repo, inv.hubRepo(*c), spec.GitOpsRepo)
	return nil
}

// hubRepo returns the repository of a cluster's hub, which is also the cluster's: what the hub
// applies it reads from there. Empty without a hub.
func (inv *Inventory) hubRepo(c Cluster) string {
	if c.Hub == "" {
		return ""
	}
	return inv.Clusters[c.Hub].Repo
}

// resolveRepo finds the repository that holds the cluster's paths: the one that is named, the
// hub's, the type's, or the only one there is.
func (inv *Inventory) resolveRepo(c *Cluster, _ v1alpha1.Cluster) error {
	if declared := inv.declaredRepos(); c.Repo == "" && len(declared) > 1 {
		return inv.problem(v1alpha1.ReasonRepositoryAmbiguous, *c, "no GitOps repository is named and there are several: "+strings.Join(declared, ", "),
			"Set spec.gitOpsRepo of the cluster or of its type.").WithField("spec.gitOpsRepo")
	} else if c.Repo == "" && len(declared) == 1 {
		c.Repo = declared[0]
	}
	if _, ok := inv.repos[c.Repo]; !ok {
		if why := inv.faults.of("GitOpsRepo", c.Repo); why != "" {
			return inv.problem(v1alpha1.ReasonBrokenDocument, *c, why, "Correct that document.").WithField("spec.gitOpsRepo")
		}
		return inv.problem(v1alpha1.ReasonUnknownRepository, *c, fmt.Sprintf("the GitOps repository %q is not declared", c.Repo), "Declare a GitOpsRepo of that name, or correct spec.gitOpsRepo.").WithField("spec.gitOpsRepo")
	}
	if hubRepo := inv.hubRepo(*c); hubRepo != "" && hubRepo != c.Repo {
		return inv.problem(v1alpha1.ReasonRepositoryMismatch, *c, fmt.Sprintf("its GitOps repository is %q, but its hub %q reads %q", c.Repo, c.Hub, hubRepo), "Leave spec.gitOpsRepo empty: a hub's clusters are written to the hub's repository.").WithField("spec.gitOpsRepo")
	}
	return nil
}

// checkRoot refuses a root path that is that of another cluster, and for a cluster that a seed creates
// also one above or below another: see overlaps. Those of declared clusters are compared once all
// are known.
func (inv *Inventory) checkRoot(c *Cluster, _ v1alpha1.Cluster) error {
	at := rootOf(*c)
	if other, taken := inv.roots[at]; taken && (c.Hub != "" || c.CreatedBy != nil) {
		return inv.overlap(*c, inv.Clusters[other])
	}
	if c.CreatedBy == nil || c.Hub != "" {
		return nil
	}
	first := ""
	for r, name := range inv.roots {
		if name != c.Name && at.nests(r) && inv.Clusters[name].Hub == "" && (first == "" || name < first) {
			first = name
		}
	}
	if first != "" {
		return inv.overlap(*c, inv.Clusters[first])
	}
	return nil
}

// nests reports whether one of two roots is the other one, or lies below it.
func (r root) nests(other root) bool {
	return r.repo == other.repo && (gitname.Within(r.path, other.path) || gitname.Within(other.path, r.path))
}

// overlaps reports whether the root path of a cluster is that of another, or lies above or below it:
// the reconciler that reads the upper one applies what is meant for the other cluster. A cluster
// behind a hub has no root, so only an equal path is a mistake.
func overlaps(a, b Cluster) bool {
	ra, rb := rootOf(a), rootOf(b)
	return a.Name != b.Name && (ra == rb || a.Hub == "" && b.Hub == "" && ra.nests(rb))
}

// overlap returns the problem of a cluster whose root path overlaps with that of another.
func (inv *Inventory) overlap(c, other Cluster) error {
	mine, others := rootOf(c).path, rootOf(other).path
	how := "lies below that of"
	switch {
	case c.RootPath == other.RootPath:
		how = "is also that of"
	case mine == others:
		how = "differs only by case from that of"
	case gitname.Within(others, mine):
		how = "contains that of"
	}
	p := inv.problem(v1alpha1.ReasonPathConflict, c, fmt.Sprintf("its root path %q %s cluster %q (%s), so one reconciler would apply what is meant for the other cluster", c.RootPath, how, other.Name, position(other)), "Give each cluster a spec.path beside those of all others.").WithField("spec.path")
	p.Other = other.Declared
	return p
}

// position names a root path and the document that it is from.
func position(c Cluster) string { return fmt.Sprintf("%q, %s", c.RootPath, c.Declared) }

// dropOverlaps removes the clusters with reconcilers of their own whose root paths overlap, and returns
// what is wrong with each. It is not known which path is the mistake, so none of them is planned.
func (inv *Inventory) dropOverlaps() manifest.Problems {
	byPath := slices.Clone(inv.names)
	slices.SortStableFunc(byPath, func(a, b string) int {
		ra, rb := rootOf(inv.Clusters[a]), rootOf(inv.Clusters[b])
		return cmp.Or(strings.Compare(ra.repo, rb.repo), strings.Compare(ra.path+"/", rb.path+"/"))
	})
	with := map[string]Cluster{}
	var above []Cluster // those whose paths contain the present one
	for _, name := range byPath {
		c := inv.Clusters[name]
		for len(above) > 0 && !overlaps(above[len(above)-1], c) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			upper := above[len(above)-1]
			with[name] = upper
			if _, known := with[upper.Name]; !known {
				with[upper.Name] = c
			}
		}
		above = append(above, c)
	}
	var problems manifest.Problems
	for _, name := range slices.Sorted(maps.Keys(with)) {
		problems = append(problems, manifest.ProblemOf(inv.overlap(inv.Clusters[name], with[name])))
	}
	for name := range with {
		inv.Remove(name)
	}
	return problems
}

// declaredRepos returns the names of all repositories, also of those that cannot be used.
func (inv *Inventory) declaredRepos() []string {
	names := slices.Collect(maps.Keys(inv.repos))
	for key := range inv.faults.named {
		if key.kind == "GitOpsRepo" {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
