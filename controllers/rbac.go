// Package controllers owns the permissions of 'furrow controller': all that the
// packages below it may do on the cluster that they run in stands here, as markers
// that config/rbac and the chart are generated from. There are three roles.
//
// furrow-controller is held in the namespaces that are watched: all, or one. Secrets
// are read by name only, as who may list them sees the content of all. In all
// namespaces that still is any Secret whose name is known; the installation that
// watches one namespace is for those who cannot have that.
//
// furrow-leader-election is held in the controller's own namespace.
//
// furrow-cluster-reader is held on the cluster that the controller runs in where it
// is one of the fleet, and only there: --cluster says its name. It is what a kubeconfig
// for any other cluster needs, and only reads. The plurals of the creators' kinds are
// those of the CRDs that Cluster API, Hive, HyperShift, Rancher and Planter install;
// the kinds are listed in internal/core/catalog/creators.yaml.
package controllers

//go:generate go tool -modfile=../tools/gen/go.mod controller-gen rbac:roleName=furrow-controller paths=./... output:rbac:dir=../config/rbac
//go:generate go run ../config/generate -root ..

// LeaderElectionID is the name of the Lease that the leader holds, in the
// controller's own namespace. The role names it, so that no other can be changed.
const LeaderElectionID = "furrow-controller"

// What people write, and its status. patch of seeds sets the finalizer; update of seeds/finalizers is asked of who
// makes an owner reference that blocks deletion, as every Planting has one.
//
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds/finalizers,verbs=update
// +kubebuilder:rbac:groups=furrow.dev,resources=clusters;clustertypes;gitopsrepos;templates,verbs=get;list;watch
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds/status;plantings/status;clusters/status;clustertypes/status;gitopsrepos/status;templates/status,verbs=patch

// What the controller writes.
//
// +kubebuilder:rbac:groups=furrow.dev,resources=plantings,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// What spec.source and the credentials of a document name.
//
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Leader election, which tells of itself in the older kind of events. create cannot be bound to a name.
//
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups=coordination.k8s.io,resources=leases,resourceNames=furrow-controller,verbs=get;update
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups="",resources=events,verbs=create;patch

// Health of the cluster itself: Flux, creators, the kubeconfigs that creators leave, and whether it answers.
//
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get;list;watch
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=cluster.x-k8s.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=hive.openshift.io,resources=clusterdeployments,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=hypershift.openshift.io,resources=hostedclusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=provisioning.cattle.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=planter.nephio.org,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,urls=/readyz,verbs=get
