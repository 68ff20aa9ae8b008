package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seed configures one seed: the package of all objects of one workload. A
// seed is a directory, or a file of many documents, under seeds/; its name is
// that of the directory or file. The Seed document may stand in the package or
// beside it in seeds/. Without one defaults apply.
//
// +kubebuilder:object:root=true
type Seed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec SeedSpec `json:"spec,omitempty"`
}

// SeedSpec says how the seed is planted.
type SeedSpec struct {
	// Namespace is given to namespaced objects that have none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// ClusterSelector selects, by their labels, the workload clusters that the seed is planted on.
	// Without one a seed that creates clusters is planted on those, any other on all workload clusters.
	// +optional
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// ManagementCluster names the cluster that objects for a management cluster go to. Needed only
	// where the fleet has several.
	// +optional
	ManagementCluster Name `json:"managementCluster,omitempty"`

	// DisabledRules lists the dependency rules that are switched off for this seed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=63
	DisabledRules []string `json:"disabledRules,omitempty"`

	// PlainSecrets says whether Secrets whose data anyone with access to Git could read may be
	// written. They hold the seed unless allowed.
	// +optional
	// +kubebuilder:default=Refuse
	PlainSecrets PlainSecretPolicy `json:"plainSecrets,omitempty"`

	// Suspend stops new proposals. What was proposed stays open.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

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

// RuleEnabled says whether the dependency rule of this name is on.
func (s SeedSpec) RuleEnabled(rule string) bool { return !slices.Contains(s.DisabledRules, rule) }
