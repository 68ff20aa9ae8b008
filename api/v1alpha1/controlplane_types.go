package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ControlPlane names a control plane, and has the settings that belong to its repository. It is a document of the
// repository, not a custom resource: it names the owner of the plans that are made from the repository, no matter
// which process makes them. There is at most one.
type ControlPlane struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has the name: the id of the control plane, the first part of the owner of its plans.
	Metadata metav1.ObjectMeta `json:"metadata"`

	// +optional
	Spec ControlPlaneSpec `json:"spec,omitempty,omitzero"`
}

// ControlPlaneSpec is what counts for the whole repository.
type ControlPlaneSpec struct {
	// DeletionGuard is the percentage of all plantings, from 0 to 100, that may be removed at once
	// without a person's confirmation. It takes precedence over the flag --deletion-guard.
	// +optional
	DeletionGuard *int `json:"deletionGuard,omitempty"`

	// Strict makes an error of a namespace or kind that no seed or cluster provides, as the flag --strict does.
	// +optional
	Strict bool `json:"strict,omitempty"`

	// Validation says what becomes of a seed with a field that the schema of its kind refuses: Warn, the default,
	// reports it; Enforce holds the seed, as the flag --strict does.
	// +optional
	Validation ValidationPolicy `json:"validation,omitempty"`

	// Readiness says when objects of a kind are ready, as that of ClusterTypes and Seeds does. Those come first.
	// +optional
	Readiness []ReadinessRule `json:"readiness,omitempty"`

	// Verify has only commits planned that are signed by these keys. A commit is judged by what the last
	// verified one says here.
	// +optional
	Verify *VerifySpec `json:"verify,omitempty"`
}

// ValidationPolicy says what becomes of a seed whose objects do not fit the schemas of their kinds.
//
// +kubebuilder:validation:Enum=Warn;Enforce
type ValidationPolicy string

const (
	// ValidationWarn reports what does not fit.
	ValidationWarn ValidationPolicy = "Warn"
	// ValidationEnforce holds the seed.
	ValidationEnforce ValidationPolicy = "Enforce"
)

// VerifySpec says whose commits are planned.
type VerifySpec struct {
	// Signers are at most 100 keys of people: lines of an allowed signers file of Git, or armored OpenPGP
	// keys.
	Signers []string `json:"signers,omitempty"`

	// Forge are at most 20 keys with which the forge signs what it merges. They allow whatever the forge
	// signs, also what people edit on its pages: who may merge there is up to its branch protection.
	// +optional
	Forge []string `json:"forge,omitempty"`
}
