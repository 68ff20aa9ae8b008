package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPolicy says how the seeds that name it go out: which tiers share a proposal, in which waves
// of clusters, and when.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,path=rolloutpolicies,shortName=rop,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a rollout policy is a DNS label of at most 63 characters"
type RolloutPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec RolloutPolicySpec `json:"spec"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status RolloutPolicyStatus `json:"status,omitempty,omitzero"`
}

// RolloutPolicyList is a list of rollout policies.
//
// +kubebuilder:object:root=true
type RolloutPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RolloutPolicy `json:"items"`
}

// RolloutPolicyStatus is what Furrow knows of the policy.
type RolloutPolicyStatus struct {
	CommonStatus `json:",inline"`
}

// RolloutPolicySpec is the pace of the seeds that name the policy.
type RolloutPolicySpec struct {
	Pace `json:",inline"`
}

// Pace says which tiers are proposed together, and when.
type Pace struct {
	// GroupBy says which tiers of the seed one proposal carries, of those that are free to be proposed
	// at the same time: Tier, the default, each in a proposal of its own; Level, those of one level
	// on all clusters; Cluster, those of one cluster; Seed, all. What deletes objects is proposed
	// apart from the rest, and a proposal has at most 200 tiers.
	// +optional
	GroupBy GroupBy `json:"groupBy,omitempty"`

	// Waves order the clusters: a wave opens when the one before it is released, and has stayed so for
	// its soak. A cluster belongs to the first wave that selects it; those that no wave selects come
	// last, as a wave named rest. What a wave needs on other clusters goes with it. When the seed is
	// removed, the last wave goes first.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Waves []RolloutWave `json:"waves,omitempty"`

	// MaxOpenProposals is how many proposals of the seed may be open at once in one repository; any
	// number when not given.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxOpenProposals *int32 `json:"maxOpenProposals,omitempty"`

	// AutoMerge says whether Furrow merges proposals itself: Never, the default, or WhenGreen, once
	// their gate is open and the checks of the forge have passed, at least one besides the gate. What
	// deletes objects, drafts, and what a person has edited is left to people.
	// +optional
	AutoMerge AutoMerge `json:"autoMerge,omitempty"`
}

// AutoMerge says whether Furrow merges proposals itself.
//
// +kubebuilder:validation:Enum=Never;WhenGreen
type AutoMerge string

const (
	// AutoMergeNever leaves merging to people.
	AutoMergeNever AutoMerge = "Never"
	// AutoMergeWhenGreen merges a proposal whose gate is open and whose checks have passed.
	AutoMergeWhenGreen AutoMerge = "WhenGreen"
)

// RolloutWave is some of the clusters, and how they are updated.
type RolloutWave struct {
	// Name of the wave, as canary.
	// +required
	Name Name `json:"name"`

	// ClusterSelector selects clusters by their labels; without it, the wave has all clusters that no
	// other wave selects.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// MaxUnavailable is how many clusters of the wave may be under way at once: with an open
	// proposal, or not ready with what was merged. A number, or a percentage of the wave's clusters,
	// rounded down, at least one; any number when not given.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Soak is how long the wave must have been released, without a cluster failing, before the next
	// one opens, as 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Windows are the times at which the wave's tiers are proposed and may be merged; at any time
	// when there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []RolloutWindow `json:"windows,omitempty"`
}

// RolloutWindow is a time of day on some days. What was merged goes on after it has closed.
type RolloutWindow struct {
	// Days of the week; every day when not given.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
	Days []string `json:"days,omitempty"`

	// From is when the window opens, as 09:00. Without from and to it is open all day.
	// +optional
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from,omitempty"`

	// To is when it closes, as 16:30 or 24:00. A time before from is on the next day.
	// +optional
	// +kubebuilder:validation:Pattern=`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	To string `json:"to,omitempty"`

	// TimeZone of all times and dates, as Europe/Berlin; UTC when not given.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`

	// Holidays are dates, as 2026-12-24, on which the window does not open.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=366
	// +kubebuilder:validation:items:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	Holidays []string `json:"holidays,omitempty"`
}

// GroupBy says which tiers one proposal carries.
//
// +kubebuilder:validation:Enum=Tier;Level;Cluster;Seed
type GroupBy string

const (
	// GroupByTier proposes each tier of each cluster alone.
	GroupByTier GroupBy = "Tier"
	// GroupByLevel proposes the tiers of one level together.
	GroupByLevel GroupBy = "Level"
	// GroupByCluster proposes the tiers of one cluster together.
	GroupByCluster GroupBy = "Cluster"
	// GroupBySeed proposes all tiers of the seed together.
	GroupBySeed GroupBy = "Seed"
)
