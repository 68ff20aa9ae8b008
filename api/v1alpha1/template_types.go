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
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=ftpl,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a template is a DNS label of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="self.spec.type != 'Proposal' || self.metadata.name == 'proposal'",message="a Template of type Proposal is used when it is named proposal"
type Template struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec TemplateSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status TemplateStatus `json:"status,omitempty,omitzero"`
}

// TemplateList is a list of templates.
//
// +kubebuilder:object:root=true
type TemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Template `json:"items"`
}

// TemplateStatus is what Furrow knows of the template.
type TemplateStatus struct {
	CommonStatus `json:",inline"`
}

// TemplateSpec holds the text.
//
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type cannot be changed: make another Template"
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
