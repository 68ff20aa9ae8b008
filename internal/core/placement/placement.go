// Package placement decides where the objects of a seed go, and why.
//
// The rules are one list, in order of precedence; the first that matches decides. Each rule is one
// small file. The flow is
//
//	AddImplied   which clusters the seeds themselves create, into the inventory
//	Place        where each object of one seed goes, variant by variant, and what it has there
//
// AddImplied is first, so everything else can be placed on those clusters.
//
// Most rules answer from the object alone. Followers (a CRD, a Namespace, a Secret, the parts of an
// operator) go where other objects go; resolve.go decides for all of a circle of followers at once,
// so it makes no difference which of them is asked for first.
//
// Everything here is a pure function but AddImplied, which adds to the inventory that it is given.
// Results do not depend on the order of the seed's documents. There is no default beyond the list:
// an object that no rule places is an error.
package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Placement is where one object goes by one rule. Where the variants of a seed go to different
// clusters for different reasons, an object has several.
type Placement struct {
	Object   manifest.ID
	Clusters []string // in order, never empty
	Rule     string
	Why      string
}

// Rule is one placement rule, for documentation and display.
type Rule struct {
	Name string
	// Doc says in one sentence what the rule does.
	Doc   string
	match func(*placer, *node) (decision, error)
}

// decision is a rule's answer: clusters, nodes whose clusters are the answer, or both. With neither
// the rule does not match.
type decision struct {
	clusters []string
	why      string
	// follows are the nodes to follow, and format the why, with a verb for the object that is
	// shown for them; or explain returns it, once they are placed.
	follows []*node
	format  string
	explain func() string
	// shown is the object that a why names for a group with clusters of its own.
	shown *manifest.ID
}

func (d decision) matches() bool { return len(d.clusters)+len(d.follows) > 0 }

// Rules are asked in this order; the first that matches decides. What people wrote on the object
// goes before what is known of its kind, that before what the objects around it suggest, and the
// choice of the seed as a whole comes last.
func Rules() []Rule {
	return []Rule{
		annotation,
		pluginAnnotation,
		namespaceAnnotation,
		seedRules,
		managementAPI,
		namedCluster,
		sameCloud,
		installer,
		inComponent,
		followResources,
		followContent,
		followReferences,
		followTargets,
		operatorNamespace,
		planterDefault,
		followRest,
		selected,
	}
}

// placer is what the rules read of one variant of a seed: its objects, indexed, the inventory, and
// what is already placed. It is for one goroutine.
type placer struct {
	seed      *catalog.Seed
	inventory *catalog.Inventory
	rules     []Rule
	// documents are the variant's objects in the order of the seed, each as a node, and index their
	// positions there. To go through bodies in this order is much faster, because memory has them so.
	documents []node
	index     map[manifest.ID]int
	// all are the same, in order of ids.
	all []*node
	// kinds are in order; resources has the same by their names.
	kinds      []*kind
	resources  map[manifest.GroupKind]*kind
	namespaces map[string]*namespace
	planter    bool
	// given are the Namespaces that other seeds contain for clusters, and makes those that an object of the
	// variant makes on its own cluster.
	given Namespaces
	makes map[string]bool
	// madeSecrets are the Secrets that objects make and that are not in the variant, with the objects
	// that name them; labelled are the workloads whose Pods have a label, and the Services that have it.
	// Made when first asked for.
	madeSecrets map[manifest.ID]*node
	labelled    map[labelIn][]*node
	// operators are the components of the variant; made when first asked for.
	operators *operators
	// seedRules are the seed's own rules once they are compiled, and cost what they have cost.
	seedRules  []*compiledRule
	compiled   bool
	compileErr error
	cost       uint64
	// refs maps an object to the management objects that refer to it; made when first asked for.
	refs map[manifest.ID][]*node
	// engine is Crossplane; installed and installers are what installs others. Made when first asked for.
	engine     *crossplane
	installed  map[*node]*installation
	installers []*installation
	// among are the workload clusters for which the answer counts; nil for all.
	among []string
	// roles and made are the clusters of each role and those that the seed
	// creates; made when first asked for, and again when a cluster was added.
	roles map[v1alpha1.ClusterRole][]string
	made  *[]string
	// kubeConfigs are the clusters with the Secrets of kubeconfigs of clusters that seeds create.
	kubeConfigs map[manifest.ID]string
	// open are the clusters of each role that the seed may select, and the others.
	open map[v1alpha1.ClusterRole][2][]string
	// selection is the answer of the last rule, which is the same for all objects.
	selection *decision
	search    search
}

// AddImplied puts the clusters that the seeds create into the inventory. Errors are by seed; the
// clusters of a seed with an error are left out, and clusters that it had marked as created are as
// before. Of two seeds that create one cluster, the later in order of seeds has the error.
func AddImplied(inv *catalog.Inventory, seeds []catalog.Seed) map[string]error {
	failed := map[string]error{}
	for i := range seeds {
		seed := &seeds[i]
		if seed.Err != nil || !createsClusters(seed) {
			continue
		}
		before := declaredClusters(seed, inv)
		if problems := addClustersOf(seed, inv); len(problems) > 0 {
			failed[seed.Name] = inOrder(problems)
			undoImplied(seed, inv, before)
		}
	}
	return failed
}

// declaredClusters returns those that the seed's creators may mark as created.
func declaredClusters(seed *catalog.Seed, inv *catalog.Inventory) map[string]catalog.Cluster {
	found := map[string]catalog.Cluster{}
	for _, o := range seed.Objects() {
		if c, ok := inv.Clusters[o.ID.Name]; ok && catalog.IsCreator(o.ID.GroupKind()) {
			found[c.Name] = c
		}
	}
	return found
}

// undoImplied removes the clusters of a seed with an error, and what it did to others.
func undoImplied(seed *catalog.Seed, inv *catalog.Inventory, before map[string]catalog.Cluster) {
	for _, o := range seed.Objects() {
		if catalog.IsCreator(o.ID.GroupKind()) {
			inv.Remove(o.ID.Name)
		}
	}
	for _, c := range before {
		inv.Put(c)
	}
}

func createsClusters(seed *catalog.Seed) bool {
	return len(seed.Clusters) > 0 || slices.ContainsFunc(seed.Objects(), func(o manifest.Object) bool { return catalog.IsCreator(o.ID.GroupKind()) })
}

// addClustersOf adds the clusters of one seed. Each addition may change what the rules answer for
// the next creator, which may go to a cluster of the same seed, so what the placer knows of the
// inventory is forgotten.
func addClustersOf(seed *catalog.Seed, inv *catalog.Inventory) manifest.Problems {
	var problems manifest.Problems
	for _, name := range sortedKeys(seed.Clusters) {
		if c, declared := inv.Clusters[name]; declared && c.CreatedBy == nil {
			problems = append(problems, describedProblem(v1alpha1.ReasonDuplicateCluster, seed, name, fmt.Sprintf("the seed describes the cluster, which is also declared at %s", c.Declared), "Keep one of the two documents."))
		}
	}
	added := map[manifest.ID]bool{} // variants may share a creator
	for _, v := range seed.Variants {
		s := newPlacer(seed, v.Objects, inv)
		for _, n := range s.creators() {
			if !added[n.object.ID] {
				added[n.object.ID] = true
				problems = appendProblem(problems, s.addCreated(inv, n))
				s.roles, s.made, s.open, s.selection, s.kubeConfigs = nil, nil, nil, nil, nil
				s.seedRules, s.compiled = nil, false
			}
		}
	}
	for _, name := range sortedKeys(seed.Clusters) {
		if len(problems) == 0 && !creates(seed, inv, name) {
			problems = append(problems, describedProblem(v1alpha1.ReasonCreatorMissing, seed, name, "the seed describes the cluster, but no object of it creates it", "Add the creator, or declare the cluster outside the seed."))
		}
	}
	return problems
}

func describedProblem(reason v1alpha1.Reason, seed *catalog.Seed, cluster, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Source: manifest.Source{File: seed.Path}, Object: fmt.Sprintf("Cluster %q", cluster), Cluster: cluster, Message: message, Next: next}
}

func creates(seed *catalog.Seed, inv *catalog.Inventory, cluster string) bool {
	c, ok := inv.Clusters[cluster]
	return ok && c.CreatedBy != nil && c.CreatedBy.Seed == seed.Name
}

// addCreated adds the cluster that one creator creates, or marks a declared one as
// created. What the seed's package does not say about the cluster comes from annotations of the
// creator, and then from the cluster that it is placed on: its default type, and who reconciles it.
func (s *placer) addCreated(inv *catalog.Inventory, n *node) error {
	creator := n.object
	p, err := s.place(n)
	if err != nil {
		return err
	}
	if len(p.Clusters) != 1 {
		return creator.Problem(v1alpha1.ReasonCreatorAmbiguous, "a creator goes to one management cluster, but this one is placed on "+strings.Join(p.Clusters, ", "),
			"Name one in annotation "+v1alpha1.AnnotationCluster+".")
	}
	if why := inv.Broken(creator.ID.Name); why != "" {
		return creator.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("it creates the cluster %q: %s", creator.ID.Name, why), "Correct that document.").WithCluster(creator.ID.Name)
	}
	on := p.Clusters[0]
	creation := catalog.NewCreation(s.seed.Name, creator, on)
	if c, declared := inv.Clusters[creator.ID.Name]; declared {
		if c.CreatedBy != nil {
			return creator.Problem(v1alpha1.ReasonDuplicateCluster, fmt.Sprintf("the cluster %q is also created by %s of seed %q", c.Name, c.CreatedBy.Object, c.CreatedBy.Seed), "Rename one of the two.").WithCluster(c.Name)
		}
		inv.MarkCreated(c.Name, creation)
		return inv.CheckKubeConfig(c.Name)
	}
	doc, described := s.seed.Clusters[creator.ID.Name]
	if !described {
		doc.Name, doc.Labels = creator.ID.Name, creator.Labels()
	}
	doc.Spec.Type = cmp.Or(doc.Spec.Type, creator.Annotation(v1alpha1.AnnotationClusterType), inv.Clusters[on].DefaultType)
	doc.Spec.ReconciledBy = cmp.Or(doc.Spec.ReconciledBy, inv.Clusters[on].ReconciledOn())
	if err := inv.Add(doc, creator.Source, creation); err != nil {
		return err
	}
	return inv.CheckKubeConfig(doc.Name)
}

// inOrder sorts problems by position and drops duplicates: followers repeat the problems of the
// object that they follow. What several objects have in common is one problem.
func inOrder(problems manifest.Problems) manifest.Problems {
	slices.SortStableFunc(problems, func(a, b manifest.Problem) int { return a.Source.Compare(b.Source) })
	seen := map[manifest.Problem]bool{}
	count := map[manifest.Problem]int{}
	var first manifest.Problems
	for _, p := range problems {
		if seen[p] {
			continue
		}
		seen[p] = true
		if count[cause(p)]++; count[cause(p)] == 1 {
			first = append(first, p)
		}
	}
	for i, p := range first {
		if n := count[cause(p)]; n > 1 {
			first[i].Object, first[i].Message = fmt.Sprintf("%d objects", n), fmt.Sprintf("%s; first: %s", p.Message, p.Object)
		}
	}
	return first
}

// cause returns a problem without the object that has it.
func cause(p manifest.Problem) manifest.Problem {
	p.Source, p.Object = manifest.Source{}, ""
	return p
}

// withRole returns the clusters of a role, in order; not to be changed.
func (s *placer) withRole(role v1alpha1.ClusterRole) []string {
	if role == v1alpha1.RoleWorkload && len(s.among) > 0 {
		return s.among
	}
	if s.roles == nil {
		s.roles = map[v1alpha1.ClusterRole][]string{}
	}
	names, known := s.roles[role]
	if !known {
		names = s.inventory.WithRole(role)
		s.roles[role] = names
	}
	return names
}

// management returns the management cluster that the seed's objects go to: the one that the seed
// names, else the only one that is declared. Management clusters that seeds create do not count, so
// a seed with a second one does not make others ambiguous. While a document that may declare
// another one cannot be read, the answer is an error: a guess would move objects when the document
// is corrected.
func (s *placer) management(o *manifest.Object) (string, error) {
	all := s.withRole(v1alpha1.RoleManagement)
	if name := s.seed.Spec.ManagementCluster; name != "" {
		if !slices.Contains(all, name) {
			if why := s.inventory.Broken(name); why != "" {
				return "", o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("the seed's managementCluster is %q: %s", name, why), "Correct that document.").WithField("spec.managementCluster").WithCluster(name)
			}
			return "", o.Problem(v1alpha1.ReasonUnknownCluster, fmt.Sprintf("the seed's managementCluster %q is not a declared management cluster", name), "Declare it with spec.role Management, or correct the name.").WithField("spec.managementCluster").WithCluster(name)
		}
		return name, nil
	}
	declared := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return s.inventory.Clusters[name].CreatedBy != nil })
	at, uncertain := s.inventory.MayManage()
	switch {
	case len(declared) < 2 && uncertain:
		return "", o.Problem(v1alpha1.ReasonBrokenDocument, fmt.Sprintf("it belongs on a management cluster, and %s cannot be used and may declare one", at), "Correct that document, or set spec.managementCluster of the Seed.")
	case len(declared) == 1:
		return declared[0], nil
	case len(declared) == 0:
		return "", o.Problem(v1alpha1.ReasonNoManagementCluster, "it belongs on a management cluster, but none is declared", "Declare a Cluster with spec.role Management.")
	}
	return "", o.Problem(v1alpha1.ReasonManagementClusterAmbiguous, "it belongs on a management cluster, and there are several: "+strings.Join(declared, ", "), "Set spec.managementCluster of the Seed.")
}

// union returns the clusters in order, each once. Lists that are like that already are shared:
// rules return slices of the inventory, and many objects go to the same clusters.
func union(clusters []string) []string {
	if isUnion(clusters) {
		return slices.Clip(clusters)
	}
	out := slices.Clone(clusters)
	slices.Sort(out)
	return slices.Compact(out)
}

func isUnion(clusters []string) bool {
	for i := 1; i < len(clusters); i++ {
		if clusters[i-1] >= clusters[i] {
			return false
		}
	}
	return true
}

func appendProblem(problems manifest.Problems, err error) manifest.Problems {
	return append(problems, manifest.ProblemsOf(err)...)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
