package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CommonStatus is what the status of every kind has.
type CommonStatus struct {
	// ObservedGeneration is the generation of the spec that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready sums up; Reconciling and Stalled are there while they are true, as kstatus
	// reads them; each stage has one of its own.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions that every kind has.
const (
	// ConditionReady means that all is as it should be.
	ConditionReady = "Ready"
	// ConditionReconciling is there while something is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is there while a person, or a new spec, is needed.
	ConditionStalled = "Stalled"
)

// Conditions of stages.
const (
	// ConditionSourceReady says, of a Seed, that its control-plane tree was read.
	ConditionSourceReady = "SourceReady"
	// ConditionPlanned says, of a Seed, that a plan of the present tree is in force.
	ConditionPlanned = "Planned"
	// ConditionProposed says, of a Seed or Planting, that all tiers have been proposed.
	ConditionProposed = "Proposed"
	// ConditionMerged says, of a Seed or Planting, that all tiers have been merged.
	ConditionMerged = "Merged"
	// ConditionReleased says, of a Seed or Planting, that the clusters run all tiers and are healthy.
	ConditionReleased = "Released"
	// ConditionAccepted says, of a Cluster, ClusterType, Template, RolloutPolicy or GitOpsRepo, that it is valid and in force.
	ConditionAccepted = "Accepted"
	// ConditionReachable says, of a GitOpsRepo, that Git and forge answer.
	ConditionReachable = "Reachable"
)

// Annotations by which people ask something of the controller, on a Seed. The
// value is any text that was not there before, such as the time; kubectl furrow
// writes them.
const (
	// AnnotationRetry asks for the seed's plan to be proposed again, with what was
	// rejected, reverted or is in the way; of some tiers only where the value names any, as
	// in edge-1/01.
	AnnotationRetry = Group + "/retry"
	// AnnotationConfirm asks for a removal that the deletion guard holds.
	AnnotationConfirm = Group + "/confirm-removal"
	// AnnotationRollout asks for a rollout to be paused, resumed or sped up: pause, resume, skip and the
	// name of a wave, or now; then the time, and, where they are given, by and who, because and why.
	AnnotationRollout = Group + "/rollout"
	// AnnotationAbandon lists, separated by commas, clusters that are given up: removals do not wait
	// for them. By and who may follow.
	AnnotationAbandon = Group + "/abandon"
)

// Finalizer is on Seeds whose plantings must be removed before the Seed is deleted.
const Finalizer = Group + "/finalizer"

// LabelSeed and LabelCluster are on every Planting; LabelSeed, LabelReconciledCluster and
// LabelTier on every reconciler object, by which health channels follow it.
const (
	LabelSeed              = Group + "/seed"
	LabelCluster           = Group + "/cluster-name"
	LabelReconciledCluster = Group + "/cluster"
	LabelTier              = Group + "/tier"
)
