package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// cluster is one simulated cluster: the state of its API server.
type cluster struct {
	spec Cluster
	up   bool // its API server is there; false while it is being created
	// creator created it, on creatorHost; nil for one that was there
	// from the start.
	creator     *live
	creatorHost *cluster
	// epoch rises when the cluster is wiped, which voids what was due on it.
	epoch          int
	objects        map[manifest.ID]*live
	kinds          map[manifest.GroupKind]*kind // of custom resources
	pruned         map[manifest.ID]prunedBy
	kustomizations map[key]*kustomization
	root           *kustomization
	snapshot       *snapshot // what its source has fetched
	fetching       bool
}

// live is an object in a simulated API server.
type live struct {
	id        manifest.ID
	object    manifest.Object // as it was last applied
	owner     *kustomization  // its name is what Flux's owner labels say, nil without labels
	changedAt int             // tick in which its spec last changed
	deleting  bool

	// What the simulator adds to some kinds.
	kubeConfigOf  string         // the cluster that this Secret gives access to
	conceived     bool           // of a creator: its cluster is being created
	initialised   bool           // of a creator: the control plane is up
	kustomization *kustomization // of a Kustomization: its controller's state
	permanent     bool           // a Namespace that cannot be deleted
}

// key names a namespaced object, here a Kustomization.
type key struct{ namespace, name string }

func (k key) String() string { return k.namespace + "/" + k.name }

func (k key) compare(other key) int {
	return cmp.Or(strings.Compare(k.namespace, other.namespace), strings.Compare(k.name, other.name))
}

// kind is a custom resource that the API server serves.
type kind struct {
	establishedAt int
	versions      []string // served ones; nil means all
	scope         manifest.Scope
	terminating   bool
	// definition has the rules for updates.
	definition *immutable.Definition
}

var (
	namespaceKind     = manifest.GroupKind{Kind: "Namespace"}
	secretKind        = manifest.GroupKind{Kind: "Secret"}
	podKind           = manifest.GroupKind{Kind: "Pod"}
	definitionKind    = manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	kustomizationKind = manifest.GroupKind{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"}
)

// permanentNamespaces are on every cluster, and an API server or an operator
// keeps them from being deleted.
var permanentNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease", defaultNamespace}

// addDefaults gives a cluster what it has before anything is reconciled, and nothing else: what was
// there is forgotten.
func (s *Simulator) addDefaults(c *cluster) {
	c.epoch++
	c.objects = map[manifest.ID]*live{}
	c.kinds = map[manifest.GroupKind]*kind{}
	c.pruned = map[manifest.ID]prunedBy{}
	c.kustomizations = map[key]*kustomization{}
	c.root, c.snapshot, c.fetching = nil, nil, false
	for _, name := range slices.Concat(permanentNamespaces, c.spec.Namespaces) {
		c.keep(name)
	}
	for _, gk := range c.spec.CRDs {
		c.kinds[gk] = &kind{establishedAt: s.schedule.now}
	}
	s.plantRoot(c)
	for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
		other := s.clusters[name]
		if kc := other.spec.KubeConfig; kc.Hub == c.spec.Name {
			c.keep(kc.Namespace)
			c.addKubeConfig(kc.Namespace, name)
		}
	}
}

// keep adds a Namespace that nobody can delete.
func (c *cluster) keep(name string) {
	id := namespaceID(name)
	if name != "" && c.objects[id] == nil {
		c.objects[id] = &live{id: id, permanent: true}
	}
}

func namespaceID(name string) manifest.ID { return manifest.ID{Kind: namespaceKind.Kind, Name: name} }

// kubeConfigName returns the name of the Secret that opens a cluster.
func kubeConfigName(cluster string) string { return cluster + "-kubeconfig" }

func (c *cluster) addKubeConfig(namespace, of string) {
	id := manifest.ID{Kind: secretKind.Kind, Namespace: namespace, Name: kubeConfigName(of)}
	if have := c.objects[id]; have != nil {
		have.kubeConfigOf = of
		return
	}
	c.objects[id] = &live{id: id, kubeConfigOf: of}
}

// identify returns the id under which the API server keeps an object: one
// without a namespace goes to default, and a cluster-scoped one has none.
func (c *cluster) identify(o *manifest.Object) manifest.ID {
	id := o.ID
	scope, known := manifest.BuiltinScope(id.GroupKind())
	if k := c.kinds[id.GroupKind()]; !known && k != nil {
		scope = k.scope
	}
	switch {
	case scope == manifest.ClusterScoped:
		id.Namespace = ""
	case scope == manifest.Namespaced && id.Namespace == "":
		id.Namespace = "default"
	}
	return id
}

func (c *cluster) sortedKustomizations() []*kustomization {
	return slices.SortedFunc(maps.Values(c.kustomizations), func(a, b *kustomization) int { return a.key.compare(b.key) })
}

// in returns the objects of a namespace by id.
func (c *cluster) in(namespace string) []*live {
	return c.sorted(func(l *live) bool { return l.id.Namespace == namespace })
}

// of returns the objects of a kind by id.
func (c *cluster) of(gk manifest.GroupKind) []*live {
	return c.sorted(func(l *live) bool { return l.id.GroupKind() == gk })
}

func (c *cluster) sorted(want func(*live) bool) []*live {
	var found []*live
	for _, l := range c.objects {
		if want(l) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *live) int { return a.id.Compare(b.id) })
	return found
}

// reachable reports whether others get an answer from the cluster's API server.
func (s *Simulator) reachable(c *cluster) bool { return c != nil && c.up && !s.silent[c.spec.Name] }

// title names an object as Flux does: Kind/namespace/name.
func title(id manifest.ID) string {
	if id.Namespace == "" {
		return id.Kind + "/" + id.Name
	}
	return fmt.Sprintf("%s/%s/%s", id.Kind, id.Namespace, id.Name)
}
