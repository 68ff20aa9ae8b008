// Package v1alpha1 owns the documents that people write for Furrow: seeds,
// clusters, cluster types, GitOps repositories and templates, in API group
// furrow.dev; and the plantings that Furrow shows them.
//
// The types are read from a control-plane repository (decoded strictly, an
// unknown field is an error), and are custom resources of a cluster that runs the
// controller. No default is written into a resource, so both read the same:
// optional fields have default accessors beside
// their type; nobody else spells a default. Values are not changed after they
// were decoded, so they may be shared.
//
// +kubebuilder:object:generate=true
// +groupName=furrow.dev
package v1alpha1

//go:generate go tool -modfile=../../tools/gen/go.mod controller-gen object crd:crdVersions=v1 paths=. output:crd:dir=../../config/crd/bases

const (
	// Group is the API group of all Furrow documents.
	Group = "furrow.dev"
	// Version is the version of the types in this package.
	Version = "v1alpha1"
	// APIVersion is what documents write in apiVersion.
	APIVersion = Group + "/" + Version
)

// Annotations that people write on the objects of a seed.
const (
	// AnnotationCluster names the clusters that an object goes to, separated by commas.
	AnnotationCluster = Group + "/cluster"
	// AnnotationClusterSelector selects the clusters that an object goes to by their labels.
	AnnotationClusterSelector = Group + "/cluster-selector"
	// AnnotationRole sends an object to all selected clusters of a role: Management or Workload.
	AnnotationRole = Group + "/role"
	// AnnotationClusterType names, on a creator, the type of the cluster that it creates.
	AnnotationClusterType = Group + "/cluster-type"
	// AnnotationDependsOn names objects that must be ready before this one, separated by commas:
	// group/Kind/namespace/name, or group/Kind/name for cluster-scoped objects.
	AnnotationDependsOn = Group + "/depends-on"
	// AnnotationProvides lists the APIs that an object installs, separated by commas: groups such as
	// cert-manager.io and *.upbound.io, or kinds such as Issuer.cert-manager.io.
	AnnotationProvides = Group + "/provides"
	// AnnotationRecreate lets the reconciler delete an object and create it again where an API server
	// refuses a change of it. Its only value is allow.
	AnnotationRecreate = Group + "/recreate"
	// AnnotationHandedOverFrom names the seed that an object is to come from: until that one gives it up, both
	// may contain it.
	AnnotationHandedOverFrom = Group + "/handed-over-from"
	// AnnotationReadiness with the value ignore keeps the health of an object from counting for its tier.
	AnnotationReadiness = Group + "/readiness"
)

// AnnotationPlanterCluster is Planter's: SELF, or "namespace|name" of a Cluster in the seed.
const AnnotationPlanterCluster = "planter.nephio.org/cluster"

// AnnotationRendered is written by Furrow on every reconciler object: the
// digest of what was rendered, by which a live object is known to be the one in Git.
const AnnotationRendered = Group + "/rendered"
