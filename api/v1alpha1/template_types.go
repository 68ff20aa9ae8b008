package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TemplateType says what a template renders.
//
// +kubebuilder:validation:Enum=Reconciler;Proposal
type TemplateType string

const (
	// TemplateReconciler renders the reconciler object of a tier.
	TemplateReconciler TemplateType = "Reconciler"
	// TemplateProposal renders title and body of a proposal. The one named "proposal" is used.
	TemplateProposal TemplateType = "Proposal"
)

// Template replaces one of the texts that Furrow has built in. It is a Go
// template; the documentation lists its variables and functions.
//
// +kubebuilder:object:root=true
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TemplateSpec `json:"spec"`
}

// TemplateSpec holds the text.
type TemplateSpec struct {
	// Type of the template.
	// +required
	Type TemplateType `json:"type"`

	// Text is the Go template.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	Text string `json:"text"`
}
