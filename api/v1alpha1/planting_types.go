package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Planting is one seed on one cluster, with the state of its tiers. Furrow makes
// it for each cluster of a seed's plan and keeps it up to date; nobody else writes
// it. It belongs to the Seed, goes with it, and holds no manifests: those are in
// Git.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=plt,categories=furrow
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.spec.seed`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Tiers",type=string,JSONPath=`.status.progress`
// +kubebuilder:printcolumn:name="Tier",type=string,JSONPath=`.status.current`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Waiting For",type=string,JSONPath=`.status.waitingFor`
// +kubebuilder:printcolumn:name="Proposal",type=string,priority=1,JSONPath=`.status.proposal`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Planting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec PlantingSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status PlantingStatus `json:"status,omitempty,omitzero"`
}

// PlantingList is a list of plantings.
//
// +kubebuilder:object:root=true
type PlantingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Planting `json:"items"`
}

// PlantingSpec says which seed and which cluster.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a planting is of one seed and one cluster for good"
type PlantingSpec struct {
	// Seed that is planted.
	// +required
	Seed Name `json:"seed"`
	// Cluster that it is planted on.
	// +required
	Cluster Name `json:"cluster"`
}

// MaxTiers is how many tiers a planting shows.
const MaxTiers = 64

// PlantingStatus is how far the seed is on the cluster.
type PlantingStatus struct {
	CommonStatus `json:",inline"`

	// State of the tier that most needs attention.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state,omitempty"`

	// Current is the number of that tier: "02".
	// +optional
	// +kubebuilder:validation:MaxLength=8
	Current string `json:"current,omitempty"`

	// Progress is how many tiers are where they should be: "2/5".
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Progress string `json:"progress,omitempty"`

	// WaitingFor says what that tier waits for.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	WaitingFor string `json:"waitingFor,omitempty"`

	// Proposal is where people decide about that tier; empty while it must not be merged.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Proposal string `json:"proposal,omitempty"`

	// Tiers of the seed on the cluster, by ordinal.
	// +optional
	// +listType=map
	// +listMapKey=ordinal
	// +kubebuilder:validation:MaxItems=64
	Tiers []PlantingTier `json:"tiers,omitempty"`

	// OmittedTiers counts the tiers that are too many to be shown.
	// +optional
	OmittedTiers int32 `json:"omittedTiers,omitempty"`
}

// MaxWaits is how many waits a tier of a planting shows, MaxForeign how many files of others.
const (
	MaxWaits   = 3
	MaxForeign = 8
)

// PlantingTier is the state of one tier.
type PlantingTier struct {
	// Ordinal of the tier on the cluster.
	// +required
	Ordinal int32 `json:"ordinal"`
	// Level orders the tiers of all clusters: those of a lower level come first.
	// +optional
	Level int32 `json:"level,omitempty"`
	// Wave is the name of the wave of the rollout that the tier goes in.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave,omitempty"`

	// State: Blocked, Queued, Proposed, Outdated, Held, Rejected, Reverted, Merged, Progressing,
	// Failed, Released or Gone.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state"`
	// Since is when the tier was first seen in that state.
	// +required
	Since metav1.Time `json:"since"`
	// Reason is why, one of the list that the documentation has.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason Reason `json:"reason,omitempty"`
	// Message says why, and the next step.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// Digest is the digest of the tier's entries.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Digest string `json:"digest,omitempty"`
	// Objects counts them.
	// +optional
	Objects int32 `json:"objects,omitempty"`
	// Amended says how to show what a person changed before merging.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Amended string `json:"amended,omitempty"`
	// Retry reports whether 'kubectl furrow retry' has the tier proposed again.
	// +optional
	Retry bool `json:"retry,omitempty"`
	// Waits are the first of the tiers that it waits for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Waits []TierWait `json:"waits,omitempty"`
	// OmittedWaits counts those that are not shown.
	// +optional
	OmittedWaits int32 `json:"omittedWaits,omitempty"`
	// Foreign are the first of the files at the tier's paths on the base branch that others
	// put there. The tier's proposal deletes or replaces them, once a person retries it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Foreign []string `json:"foreign,omitempty"`
	// OmittedForeign counts those that are not shown.
	// +optional
	OmittedForeign int32 `json:"omittedForeign,omitempty"`
	// Proposal is the open proposal, or the rejected one.
	// +optional
	Proposal *ProposalLink `json:"proposal,omitempty"`
}

// TierWait is a tier that another one waits for.
type TierWait struct {
	// Tier that must be Released first: "mgmt tier 01".
	// +required
	// +kubebuilder:validation:MaxLength=256
	Tier string `json:"tier"`
	// State that it is in.
	// +required
	// +kubebuilder:validation:MaxLength=32
	State string `json:"state"`
	// Reason is why, one of the list that the documentation has.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason Reason `json:"reason,omitempty"`
	// Why it is waited for.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Why string `json:"why,omitempty"`
}

// ProposalLink says where people find a proposal.
type ProposalLink struct {
	// Repo is the GitOpsRepo.
	// +required
	Repo Name `json:"repo"`
	// Branch of the proposal.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Branch string `json:"branch"`
	// Title of the proposal.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Title string `json:"title,omitempty"`
	// URL of its page, where the forge has one.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url,omitempty"`
	// Gate says why the proposal must not be merged now; empty when it may be.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Gate string `json:"gate,omitempty"`
}

// PlantingName is the name of the Planting of a seed on a cluster. Both are DNS
// labels, so it is unambiguous.
func PlantingName(seed, cluster string) string { return seed + "." + cluster }
