// Package controllers owns the permissions of 'furrow controller' on the cluster that
// it runs in, for all packages below this one. They are markers, from which config/rbac
// and the chart are generated. There are three roles.
//
// furrow-controller applies to the watched namespaces: all, or one. Secrets are read by
// name only, because the right to list them exposes the contents of all. With all
// namespaces, the controller can still read any Secret whose name is known; the
// installation for one namespace avoids that.
//
// furrow-leader-election applies to the controller's own namespace.
//
// furrow-cluster-reader applies to the cluster that the controller runs in, if that is
// part of the fleet (--cluster has its name). It only reads. A kubeconfig for any other
// cluster needs the same rights. The plurals of the creators' kinds are those of the
// CRDs of their projects; the kinds are listed in internal/core/catalog/creators.yaml.
package controllers

//go:generate go tool -modfile=../tools/gen/go.mod controller-gen rbac:roleName=furrow-controller paths=./... output:rbac:dir=../config/rbac
//go:generate go run ../config/generate -root ..

// LeaderElectionID is the name of the Lease that the leader holds, in the
// controller's own namespace. The role allows changes to this Lease only.
const LeaderElectionID = "furrow-controller"

// Resources of people, and their statuses. patch of seeds sets the finalizer; update of seeds/finalizers is required to
// create owner references that block deletion, which every Planting has.
//
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds/finalizers,verbs=update
// +kubebuilder:rbac:groups=furrow.dev,resources=clusters;clustertypes;gitopsrepos;rolloutpolicies;templates,verbs=get;list;watch
// +kubebuilder:rbac:groups=furrow.dev,resources=seeds/status;plantings/status;clusters/status;clustertypes/status;gitopsrepos/status;rolloutpolicies/status;templates/status,verbs=patch

// What the controller writes.
//
// +kubebuilder:rbac:groups=furrow.dev,resources=plantings,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// What spec.source and the credentials of a document name.
//
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Leader election, which uses the older API of events. create cannot be restricted to a name.
//
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups=coordination.k8s.io,resources=leases,resourceNames=furrow-controller,verbs=get;update
// +kubebuilder:rbac:roleName=furrow-leader-election,namespace=furrow-system,groups="",resources=events,verbs=create;patch

// Health of the cluster itself: Flux, creators, the kubeconfigs that creators write, and the API server.
//
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get;list;watch
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=source.toolkit.fluxcd.io,resources=gitrepositories,verbs=get;list;watch
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=cluster.x-k8s.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=hive.openshift.io,resources=clusterdeployments,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=hypershift.openshift.io,resources=hostedclusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=provisioning.cattle.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=planter.nephio.org,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=kamaji.clastix.io,resources=tenantcontrolplanes,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=k0smotron.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=anywhere.eks.amazonaws.com,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=core.gardener.cloud,resources=shoots,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=operator.karmada.io,resources=karmadas,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=eks.services.k8s.aws,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=container.cnrm.cloud.google.com,resources=containerclusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=containerservice.azure.com,resources=managedclusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=eks.aws.upbound.io;eks.aws.m.upbound.io;container.gcp.upbound.io;container.gcp.m.upbound.io,resources=clusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,groups=containerservice.azure.upbound.io;containerservice.azure.m.upbound.io,resources=kubernetesclusters,verbs=get
// +kubebuilder:rbac:roleName=furrow-cluster-reader,urls=/readyz,verbs=get
