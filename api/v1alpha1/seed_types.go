package v1alpha1

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Seed configures one seed: the package of all objects of one workload. A
// seed is a directory, or a file of many documents, under seeds/ of a
// control-plane tree; its name is that of the directory or file.
//
// In the control-plane repository the Seed document may be in the package or next to it in seeds/;
// without one defaults apply. In a cluster that runs the controller, a Seed resource says which
// repository holds the control-plane tree, and that its seed of the same name must be planted. What
// it sets overrides the document in the tree.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=sd,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Tiers",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Proposals",type=integer,JSONPath=`.status.proposals`
// +kubebuilder:printcolumn:name="Waiting For",type=string,JSONPath=`.status.waitingFor`
// +kubebuilder:printcolumn:name="Revision",type=string,priority=1,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a seed is a DNS label of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="has(self.spec) && has(self.spec.source)",message="spec.source is missing: say which repository holds the control-plane tree with the seed"
type Seed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec SeedSpec `json:"spec,omitempty"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status SeedStatus `json:"status,omitempty,omitzero"`
}

// SeedList is a list of seeds.
//
// +kubebuilder:object:root=true
type SeedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Seed `json:"items"`
}

// SeedSpec says how the seed is planted.
//
// +kubebuilder:validation:XValidation:rule="has(self.source) == has(oldSelf.source)",message="source cannot be taken out"
type SeedSpec struct {
	// Source says which repository holds the control-plane tree with the seed. Required in a
	// cluster; in a control-plane repository it has no meaning, and is refused.
	// +optional
	Source *SeedSource `json:"source,omitempty"`

	// Namespace is given to namespaced objects that have none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Role says on which clusters the seed is planted: Workload, the default, on workload clusters;
	// Management on its management cluster, or on those that clusterSelector selects; Any on clusters
	// of both roles. What has a reason of its own to be elsewhere still goes there.
	// +optional
	Role SeedRole `json:"role,omitempty"`

	// ClusterSelector selects, by their labels, the clusters of the seed's role that it is planted on.
	// Without one a seed that creates clusters is planted on those, any other on all workload clusters.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// Tolerations are the taints of clusters that do not keep the seed off.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []ClusterToleration `json:"tolerations,omitempty"`

	// ManagementCluster names the cluster that objects for a management cluster go to. Needed only
	// where the fleet has several.
	// +optional
	ManagementCluster Name `json:"managementCluster,omitempty"`

	// Placement are rules of the seed's own for where its objects go. The first whose objects
	// expression is true of an object decides. Annotations come before them, and they before what
	// is known of kinds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Placement []PlacementRule `json:"placement,omitempty"`

	// Overrides change what objects are on some clusters, in this order. Where an object goes is
	// decided before them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Overrides []Override `json:"overrides,omitempty"`

	// DisabledRules lists the dependency rules that are switched off for this seed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	DisabledRules []string `json:"disabledRules,omitempty"`

	// Tiers says whether an object may share a tier with what it waits for: Separate, the default, never
	// relies on the order within a tier; Compact does where the cluster's reconciler applies the one
	// after the other is ready, as Flux does with Namespaces, CustomResourceDefinitions, ClusterRoles and
	// kinds named Class. That saves tiers, and so proposals. What is planted stays in its tiers.
	// +optional
	Tiers TierPolicy `json:"tiers,omitempty"`

	// Health chooses the objects that must be ready by the rules for their kind: Needed, the default, those
	// that a later tier depends on; Full all of them. Flux judges others by what it knows of any status.
	// +optional
	Health HealthScope `json:"health,omitempty"`

	// Readiness says when objects of a kind are ready. It comes before the readiness of the ClusterType and
	// the ControlPlane, and what Furrow knows of the kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Readiness []ReadinessRule `json:"readiness,omitempty"`

	// PlainSecrets determines whether Secrets whose data anyone with access to Git could
	// read may be written. They hold the seed unless allowed. +optional
	PlainSecrets PlainSecretPolicy `json:"plainSecrets,omitempty"`

	// Render says how objects are made of the seed's package. Without it, a package with a
	// kustomization at its root is built by Kustomize, and any other holds plain manifests.
	// +optional
	Render *SeedRender `json:"render,omitempty"`

	// Plugins names Plugins of the control plane that run for the seed, besides those that run for
	// every seed. Their weights and names say in which order, and not this list.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Plugins []Name `json:"plugins,omitempty"`

	// Rollout says how the seed's tiers are proposed.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// Suspend stops new proposals. What was proposed stays open.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// DeletionPolicy says what becomes of what is planted when the Seed resource is deleted: Remove,
	// the default, proposes its removal in reverse order and waits until it is gone; Orphan leaves
	// all as it is. It may be changed while the resource is being deleted. Refused in a control-plane
	// repository, where a seed is removed by deleting its package.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// DeletionTimeout bounds how long the deletion of a Seed resource waits for what is planted to be
	// removed; 168h when not given. After it the resource goes, and what is planted stays in Git as
	// it is then: a new Seed of the same name continues with it. Refused in a control-plane
	// repository.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="deletionTimeout must be at least 1s"
	DeletionTimeout *metav1.Duration `json:"deletionTimeout,omitempty"`
}

// ClusterToleration tolerates taints of a key.
type ClusterToleration struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`
	// Value that is tolerated; any without it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
}

// PlacementRule says where objects of a seed go, in CEL.
type PlacementRule struct {
	// Name of the rule, for messages and plans.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Objects is an expression over object that is true of those that the rule is for; of all
	// without it.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Objects string `json:"objects,omitempty"`

	// Clusters is an expression over cluster (name, role, type, labels) and object that is true of
	// the clusters that they go to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Clusters string `json:"clusters"`
}

// Override is a patch of objects on some clusters.
//
// +kubebuilder:validation:XValidation:rule="has(self.strategicMerge) != has(self.jsonPatch)",message="give either strategicMerge or jsonPatch"
type Override struct {
	// Name of the override, for messages and plans; unique in the seed.
	// +required
	Name Name `json:"name"`

	// Clusters chooses clusters of any role by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	Clusters []Name `json:"clusters,omitempty"`

	// ClusterSelector chooses clusters of any role by their labels; with clusters, those that either
	// chooses. An override with neither is for all clusters.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// Target selects the objects that are changed.
	// +required
	Target OverrideTarget `json:"target"`

	// StrategicMerge is merged into the object as 'kubectl patch' does: for the kinds of Kubernetes
	// itself items of lists are merged by their keys; for all others lists are replaced.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	StrategicMerge *runtime.RawExtension `json:"strategicMerge,omitempty"`

	// JSONPatch has the operations of a JSON patch (RFC 6902).
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	JSONPatch []JSONPatchOperation `json:"jsonPatch,omitempty"`
}

// OverrideTarget selects the objects for which all of its fields hold. One that is left out holds
// for every object, but not all of them may be.
//
// +kubebuilder:validation:MinProperties=1
type OverrideTarget struct {
	// Group of the API without its version; core for that of Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group,omitempty"`
	// Version of the API.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
	// Kind of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// Namespace of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name of the objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// LabelSelector selects objects by their labels, as they are before any override.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// JSONPatchOperation is one operation of a JSON patch (RFC 6902).
type JSONPatchOperation struct {
	// Op is what is done: add, replace, remove, move, copy or test.
	// +required
	Op JSONPatchOp `json:"op"`
	// Path is the JSON pointer of the field, as /spec/replicas. "~1" is a slash in a key.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path"`
	// From is the JSON pointer of what is moved or copied.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from,omitempty"`
	// Value that is added, or replaces or equals that of the field; not null.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value *runtime.RawExtension `json:"value,omitempty"`
}

// JSONPatchOp is what an operation of a JSON patch does.
//
// +kubebuilder:validation:Enum=add;replace;remove;move;copy;test
type JSONPatchOp string

// The operations of a JSON patch.
const (
	JSONPatchAdd     JSONPatchOp = "add"
	JSONPatchReplace JSONPatchOp = "replace"
	JSONPatchRemove  JSONPatchOp = "remove"
	JSONPatchMove    JSONPatchOp = "move"
	JSONPatchCopy    JSONPatchOp = "copy"
	JSONPatchTest    JSONPatchOp = "test"
)

// SeedRole is the role of the clusters that a seed is planted on.
//
// +kubebuilder:validation:Enum=Workload;Management;Any
type SeedRole string

const (
	// SeedRoleWorkload plants a seed on workload clusters.
	SeedRoleWorkload SeedRole = "Workload"
	// SeedRoleManagement plants a seed on management clusters.
	SeedRoleManagement SeedRole = "Management"
	// SeedRoleAny plants a seed on clusters of both roles.
	SeedRoleAny SeedRole = "Any"
)

// SeedRender names one renderer and its options.
type SeedRender struct {
	// Kustomize builds the package as 'kustomize build' does, without network, plugins and Helm.
	// +optional
	Kustomize *KustomizeRender `json:"kustomize,omitempty"`
}

// KustomizeRender says which overlays of the package are built for which clusters.
type KustomizeRender struct {
	// Variants are the overlays. A cluster that the seed goes to must be chosen by exactly one.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	Variants []KustomizeVariant `json:"variants"`
}

// KustomizeVariant is an overlay and the workload clusters that get it. With neither clusters
// nor clusterSelector it is the default: for the clusters that no other variant chooses.
type KustomizeVariant struct {
	// Overlay is the directory of a kustomization in the package, as overlays/east; "." for the package itself.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Overlay string `json:"overlay"`

	// Clusters chooses clusters by name.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	Clusters []Name `json:"clusters,omitempty"`

	// ClusterSelector chooses clusters by their labels; with clusters, those that either chooses.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`
}

// SeedSource says where a control-plane tree is.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.gitRepositoryRef)",message="give either url or gitRepositoryRef"
// +kubebuilder:validation:XValidation:rule="!has(self.gitRepositoryRef) || !has(self.credentials)",message="with gitRepositoryRef, the credentials are those of the GitRepository"
// +kubebuilder:validation:XValidation:rule="has(self.url) == has(oldSelf.url) && (!has(self.url) || self.url == oldSelf.url)",message="source.url cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
// +kubebuilder:validation:XValidation:rule="has(self.gitRepositoryRef) == has(oldSelf.gitRepositoryRef) && (!has(self.gitRepositoryRef) || self.gitRepositoryRef.name == oldSelf.gitRepositoryRef.name)",message="source.gitRepositoryRef cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : \"\") == (has(oldSelf.path) ? oldSelf.path : \"\")",message="source.path cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
// +kubebuilder:validation:XValidation:rule="(has(self.revision) ? self.revision.split('@')[0] : \"\") == (has(oldSelf.revision) ? oldSelf.revision.split('@')[0] : \"\")",message="the branch in source.revision cannot be changed: the plan belongs to the control plane that made it. Make another Seed"
type SeedSource struct {
	// URL of the repository: https://…, ssh://… or git@host:path, without credentials in it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^((https?://|ssh://([^/@:]+@)?)[^/@]+(/|$)|[^/@:]+@[^/@:]+:[^@]+$)')",message="url is the https or ssh URL of a repository, without credentials in it; name those in credentials"
	URL string `json:"url,omitempty"`

	// GitRepositoryRef names a GitRepository of Flux in the same namespace, whose URL, branch and
	// credentials are used. Its news of a push is acted on at once.
	// +optional
	GitRepositoryRef *LocalReference `json:"gitRepositoryRef,omitempty"`

	// Revision is the branch that people commit to or, to stay at one commit of it,
	// <branch>@sha1:<commit>. Defaults to the branch of the GitRepository, else main.
	// +optional
	// +kubebuilder:validation:MaxLength=320
	// +kubebuilder:validation:Pattern=`^[^@\s]+(@sha1:[0-9a-f]{40})?$`
	Revision string `json:"revision,omitempty"`

	// Path is the directory of the control-plane tree in the repository. Defaults to its root.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.contains('..')",message="path is a directory inside the repository, without '..'"
	Path string `json:"path,omitempty"`

	// Credentials names the Secret in the same namespace that Furrow signs in with: token, or
	// username and password, and ca.crt where the server's authority is a private one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Credentials string `json:"credentials,omitempty"`
}

// LocalReference names an object in the same namespace.
type LocalReference struct {
	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// Rollout says how tiers are proposed.
type Rollout struct {
	// Policy names a RolloutPolicy. What is set here comes before what it says, field by field.
	// +optional
	Policy Name `json:"policy,omitempty"`

	Pace `json:",inline"`
}

// DeletionPolicy says what becomes of what a deleted Seed has planted.
//
// +kubebuilder:validation:Enum=Remove;Orphan
type DeletionPolicy string

const (
	// DeletionRemove proposes the removal, and waits for it.
	DeletionRemove DeletionPolicy = "Remove"
	// DeletionOrphan leaves everything as it is.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// DefaultDeletionTimeout is how long a deletion waits when the Seed does not say.
const DefaultDeletionTimeout = 7 * 24 * time.Hour

// DeletionPolicyOrDefault is the deletion policy; Remove when none is given.
func (s SeedSpec) DeletionPolicyOrDefault() DeletionPolicy {
	return cmp.Or(s.DeletionPolicy, DeletionRemove)
}

// DeletionTimeoutOrDefault is how long a deletion waits; a week when nothing is given.
func (s SeedSpec) DeletionTimeoutOrDefault() time.Duration {
	if s.DeletionTimeout == nil {
		return DefaultDeletionTimeout
	}
	return s.DeletionTimeout.Duration
}

// SeedStatus is how far the seed is. It is a projection of what Git, the forge and
// the clusters say, for people: nothing is decided by it.
type SeedStatus struct {
	CommonStatus `json:",inline"`

	// State summarizes the tiers: Stalled, or the state of the tier that most needs attention.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// Progress is how many of the tiers are where they should be: "7/12".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`

	// WaitingFor says what the seed waits for first.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	WaitingFor string `json:"waitingFor,omitempty"`

	// Revision of the control-plane repository that was observed last: <branch>@sha1:<commit>.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Revision string `json:"revision,omitempty"`

	// Plan is the plan in force.
	// +optional
	Plan *PlanSummary `json:"plan,omitempty"`

	// Tiers counts the tiers by their state.
	// +optional
	// +listType=map
	// +listMapKey=state
	// +kubebuilder:validation:MaxItems=16
	Tiers []StateCount `json:"tiers,omitempty"`

	// Proposals counts the open ones.
	// +optional
	Proposals int32 `json:"proposals,omitempty"`

	// Rollout is how far the waves are, and what people asked of the rollout.
	// +optional
	Rollout *RolloutProgress `json:"rollout,omitempty"`

	// Blockers most need attention, the most urgent first; the plantings list all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Blockers []Blocker `json:"blockers,omitempty"`

	// Warnings counts those of the plan.
	// +optional
	Warnings int32 `json:"warnings,omitempty"`

	// Unconfirmed are the first of what 'kubectl furrow confirm' begins to remove.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Unconfirmed []string `json:"unconfirmed,omitempty"`

	// OmittedUnconfirmed counts what is not shown of that.
	// +optional
	OmittedUnconfirmed int32 `json:"omittedUnconfirmed,omitempty"`

	// Confirmed says who confirmed what the deletion guard held, and when; empty if nobody did, or nothing
	// of it is left to do.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Confirmed string `json:"confirmed,omitempty"`

	// Abandoned are the first of the clusters that the seed is on and that were abandoned.
	// +optional
	// +listType=map
	// +listMapKey=cluster
	// +kubebuilder:validation:MaxItems=8
	Abandoned []AbandonedCluster `json:"abandoned,omitempty"`

	// Handled are the requests of people that were acted on, by annotation.
	// +optional
	Handled HandledRequests `json:"handled,omitempty,omitzero"`
}

// AbandonedCluster is a cluster that was given up.
type AbandonedCluster struct {
	// Cluster is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster"`
	// By says who abandoned it, and when.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	By string `json:"by,omitempty"`
}

// RolloutProgress is how far the waves of a seed are.
type RolloutProgress struct {
	// Waves in the order in which they go.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=66
	Waves []WaveProgress `json:"waves,omitempty"`

	// Paused says who paused the rollout, when and why.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Paused string `json:"paused,omitempty"`

	// Unpaced says who asked for everything to be proposed at once, when and why.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Unpaced string `json:"unpaced,omitempty"`
}

// WaveProgress is how far a wave is.
type WaveProgress struct {
	// Name of the wave.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// State of the wave: Waiting, Progressing, Failed, Soaking, Complete or Skipped.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state"`

	// Leaving reports whether it is about what leaves the clusters.
	// +optional
	Leaving bool `json:"leaving,omitempty"`

	// Clusters counts those of the wave.
	// +required
	Clusters int32 `json:"clusters"`

	// Done counts those whose tiers are all where they should be.
	// +required
	Done int32 `json:"done"`

	// Reason says why it waits.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason Reason `json:"reason,omitempty"`

	// Message says what it waits for.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// Until is when it goes on by itself.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// MaxBlockers is how many tiers that need a person a Seed names.
const MaxBlockers = 8

// MaxUnconfirmed is how much of what waits for a confirmation a Seed shows.
const MaxUnconfirmed = 8

// MaxRepos is how many GitOps repositories a summary names.
const MaxRepos = 64

// PlanSummary says which plan is in force; the plan itself is in Git.
type PlanSummary struct {
	// Revision of the control-plane repository that the plan was made of.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Revision string `json:"revision,omitempty"`

	// Inputs is the digest of what the plan was made of.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Inputs string `json:"inputs,omitempty"`

	// Branch of the GitOps repositories that holds the plan.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Branch string `json:"branch,omitempty"`

	// Repos are the GitOps repositories that hold it, the first ones of very many.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	Repos []string `json:"repos,omitempty"`

	// Removal reports whether the plan removes the seed.
	// +optional
	Removal bool `json:"removal,omitempty"`

	// Clusters, Tiers and Objects count what the plan has.
	// +optional
	Clusters int32 `json:"clusters,omitempty"`
	// +optional
	Tiers int32 `json:"tiers,omitempty"`
	// +optional
	Objects int32 `json:"objects,omitempty"`
}

// StateCount says how many tiers are in a state.
type StateCount struct {
	// State of the tiers.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state"`
	// Count of them.
	// +required
	Count int32 `json:"count"`
}

// Blocker is a tier that needs attention, and what to do.
type Blocker struct {
	// Tier by cluster and ordinal: "edge-1 tier 02".
	// +required
	// +kubebuilder:validation:MaxLength=128
	Tier string `json:"tier"`
	// State of the tier.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state"`
	// Reason is why, one of the list that the documentation has.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason Reason `json:"reason,omitempty"`
	// Message says why, and the next step.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// URL of the proposal, where there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// Gate says why the proposal must not be merged now; empty when it may be.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Gate string `json:"gate,omitempty"`
}

// How long annotations may be by which people ask for something: MaxRequest those of retry, confirm-removal
// and rollout, which say who asks and why, and MaxAbandon that of abandon, which has room for a thousand
// clusters.
const (
	MaxRequest = 512
	MaxAbandon = 65536
)

// HandledRequests are the values of the annotations by which people ask for
// something, when it was done.
type HandledRequests struct {
	// Retry is the last value of furrow.dev/retry that was acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Retry string `json:"retry,omitempty"`
	// Confirm is the last value of furrow.dev/confirm-removal that was acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Confirm string `json:"confirm,omitempty"`
	// Rollout is the last value of furrow.dev/rollout that was acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Rollout string `json:"rollout,omitempty"`
	// Abandon is the last value of furrow.dev/abandon that was acted on.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	Abandon string `json:"abandon,omitempty"`
}

// TierPolicy says which objects may share a tier.
//
// +kubebuilder:validation:Enum=Separate;Compact
type TierPolicy string

const (
	// TiersSeparate never relies on the order in which a reconciler applies the objects of a tier.
	TiersSeparate TierPolicy = "Separate"
	// TiersCompact does where that order is known.
	TiersCompact TierPolicy = "Compact"
)

// HealthScope says which objects are judged by the rules for their kind.
//
// +kubebuilder:validation:Enum=Needed;Full
type HealthScope string

const (
	// HealthNeeded judges the objects that a later tier depends on.
	HealthNeeded HealthScope = "Needed"
	// HealthFull judges all objects.
	HealthFull HealthScope = "Full"
)

// PlainSecretPolicy says what becomes of Secrets in plain text.
//
// +kubebuilder:validation:Enum=Refuse;Allow
type PlainSecretPolicy string

const (
	// PlainSecretsRefuse holds a seed with a Secret in plain text.
	PlainSecretsRefuse PlainSecretPolicy = "Refuse"
	// PlainSecretsAllow writes Secrets as they are.
	PlainSecretsAllow PlainSecretPolicy = "Allow"
)

// RuleEnabled reports whether the dependency rule of this name is on.
func (s SeedSpec) RuleEnabled(rule string) bool { return !slices.Contains(s.DisabledRules, rule) }
