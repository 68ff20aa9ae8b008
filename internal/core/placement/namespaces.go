package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// NamespaceOn is a Namespace on a cluster.
type NamespaceOn struct{ Namespace, Cluster string }

func (n NamespaceOn) compare(other NamespaceOn) int {
	return cmp.Or(cmp.Compare(n.Cluster, other.Cluster), cmp.Compare(n.Namespace, other.Namespace))
}

// Namespaces are the Namespaces that seeds contain for clusters. With Anywhere, each is on every cluster.
type Namespaces struct {
	On       map[NamespaceOn]bool
	Anywhere map[string]bool
}

func (n Namespaces) has(namespace, cluster string) bool {
	return n.Anywhere[namespace] || n.On[NamespaceOn{namespace, cluster}]
}

// madeNamespace returns the Namespace that an object is, or makes on its own cluster; empty where there
// is none.
func madeNamespace(o *manifest.Object) string {
	switch o.ID.GroupKind() {
	case namespaceKind:
		return o.ID.Name
	case manifest.GroupKind{Group: "hnc.x-k8s.io", Kind: "SubnamespaceAnchor"}:
		return o.ID.Name
	case manifest.GroupKind{Group: "helm.toolkit.fluxcd.io", Kind: "HelmRelease"}:
		if o.Map("spec", "install")["createNamespace"] == true && !installsElsewhere(o) {
			return o.Text("spec", "targetNamespace")
		}
	case manifest.GroupKind{Group: "helm.cattle.io", Kind: "HelmChart"}:
		if o.Map("spec")["createNamespace"] == true {
			return o.Text("spec", "targetNamespace")
		}
	case manifest.GroupKind{Group: "argoproj.io", Kind: "Application"}:
		if slices.Contains(texts(o.Map("spec", "syncPolicy")["syncOptions"]), "CreateNamespace=true") && !installsElsewhere(o) {
			return o.Text("spec", "destination", "namespace")
		}
	}
	return ""
}

// isNowhere reports whether the seed creates all of some clusters, and none of them has the Namespace of
// an object: nobody makes another one on a cluster that does not exist yet.
func (s *placer) isNowhere(n *node, clusters []string) bool {
	namespace := n.object.ID.Namespace
	if namespace == "" || n.namespace.object != nil || s.makesNamespace(namespace) {
		return false
	}
	return !slices.ContainsFunc(clusters, func(name string) bool {
		return !creates(s.seed, s.inventory, name) || s.inventory.Clusters[name].HasNamespace(namespace) || s.given.has(namespace, name)
	})
}

// makesNamespace reports whether an object of the variant makes a Namespace.
func (s *placer) makesNamespace(name string) bool {
	if s.makes == nil {
		s.makes = map[string]bool{}
		for _, n := range s.all {
			if made := madeNamespace(n.object); made != "" {
				s.makes[made] = true
			}
		}
	}
	return s.makes[name]
}

// PlaceAll places seeds that are planned together. Planted are the Namespaces that each seed has by its
// plan in force, also of seeds that are not among these: they count while a seed cannot be planned.
//
// A cluster that a seed creates has no Namespace but those that seeds contain. What goes there in
// another one belongs to management clusters, as credentials of the controllers there do, or its seed is
// refused. Which Namespaces go to a cluster is known only after placement: seeds are placed first as if
// all Namespaces were everywhere, and then again where that was wrong. What moves to a management
// cluster stays there, which ends the loop.
func PlaceAll(seeds []*catalog.Seed, inv *catalog.Inventory, planted map[string][]NamespaceOn) (map[string]Placed, map[string]error) {
	a := &allSeeds{inventory: inv, planted: maps.Clone(planted), placed: map[string]Placed{}, failed: map[string]error{}}
	given := Namespaces{Anywhere: map[string]bool{}}
	for _, seed := range seeds {
		for _, o := range seed.Objects() {
			if made := madeNamespace(&o); made != "" {
				given.Anywhere[made] = true
			}
		}
	}
	for _, all := range planted {
		for _, n := range all {
			given.Anywhere[n.Namespace] = true
		}
	}
	for _, seed := range seeds {
		a.place(seed, given)
	}
	for moved := inv.AnyCreated(); moved; {
		moved, given = false, a.given()
		for _, seed := range seeds {
			if before := a.homeless(seed.Name, given); len(before) > 0 {
				a.place(seed, given)
				moved = moved || len(a.homeless(seed.Name, given)) < len(before)
			}
		}
	}
	for _, seed := range seeds {
		if homeless := a.homeless(seed.Name, given); len(homeless) > 0 {
			a.failed[seed.Name] = a.refuse(seed, homeless)
			delete(a.placed, seed.Name)
		}
	}
	return a.placed, a.failed
}

// allSeeds are seeds while they are placed.
type allSeeds struct {
	inventory *catalog.Inventory
	planted   map[string][]NamespaceOn
	placed    map[string]Placed
	failed    map[string]error
}

func (a *allSeeds) place(seed *catalog.Seed, given Namespaces) {
	placed, err := place(seed, a.inventory, given)
	if err != nil {
		a.failed[seed.Name] = err
		delete(a.placed, seed.Name)
		return
	}
	a.placed[seed.Name] = placed
}

// given returns the Namespaces that all seeds contain for the clusters that seeds create.
func (a *allSeeds) given() Namespaces {
	given := Namespaces{On: map[NamespaceOn]bool{}}
	for name, all := range a.planted {
		if _, anew := a.placed[name]; anew {
			continue
		}
		for _, n := range all {
			given.On[n] = true
		}
	}
	for _, placed := range a.placed {
		for _, p := range placed.Placements {
			for _, content := range placed.Contents.Of(p.Object) {
				made := madeNamespace(content.Object)
				if made == "" {
					continue
				}
				for _, cluster := range p.Clusters {
					given.On[NamespaceOn{made, cluster}] = true
				}
			}
		}
	}
	return given
}

// homeless returns the objects of a seed by the Namespace that is missing where they go.
func (a *allSeeds) homeless(seed string, given Namespaces) map[NamespaceOn][]manifest.Object {
	found := map[NamespaceOn][]manifest.Object{}
	placed := a.placed[seed]
	for _, p := range placed.Placements {
		if p.Object.Namespace == "" {
			continue
		}
		for _, name := range p.Clusters {
			c := a.inventory.Clusters[name]
			if c.CreatedBy == nil || c.HasNamespace(p.Object.Namespace) || given.has(p.Object.Namespace, name) {
				continue
			}
			at := NamespaceOn{p.Object.Namespace, name}
			found[at] = append(found[at], *placed.Contents.On(p.Object, name).Object)
		}
	}
	return found
}

// refuse returns one problem for each Namespace that is missing.
func (a *allSeeds) refuse(seed *catalog.Seed, homeless map[NamespaceOn][]manifest.Object) error {
	var problems manifest.Problems
	for _, at := range slices.SortedFunc(maps.Keys(homeless), NamespaceOn.compare) {
		created := a.inventory.Clusters[at.Cluster].CreatedBy
		p := manifest.Problem{Reason: v1alpha1.ReasonNamespaceAbsent, Seed: seed.Name, Cluster: at.Cluster,
			Message: fmt.Sprintf("no seed contains Namespace %q for cluster %s, which %s creates, so an API server would refuse the object", at.Namespace, at.Cluster, created.Object),
			Next:    fmt.Sprintf("Add the Namespace to the seed; or annotate the object with %s: %s if it is for what creates the cluster; or list the Namespace in spec.provides.namespaces of Cluster %q.", v1alpha1.AnnotationRole, v1alpha1.RoleManagement, at.Cluster)}
		problems = append(problems, p.OfAll(homeless[at]))
	}
	return inOrder(problems)
}
