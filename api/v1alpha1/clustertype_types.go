package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReconcilerKind is the kind of GitOps reconciler that clusters of a type run.
//
// +kubebuilder:validation:Enum=Flux
type ReconcilerKind string

// ReconcilerFlux is Flux: tiers become Kustomizations of kustomize.toolkit.fluxcd.io/v1.
const ReconcilerFlux ReconcilerKind = "Flux"

// ClusterType is a class of clusters with one reconciler and configuration.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=fct,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.gitOpsRepo`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusters`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a cluster type is a DNS label of at most 63 characters"
type ClusterType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ClusterTypeSpec `json:"spec,omitempty"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status ClusterTypeStatus `json:"status,omitempty,omitzero"`
}

// ClusterTypeList is a list of cluster types.
//
// +kubebuilder:object:root=true
type ClusterTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterType `json:"items"`
}

// ClusterTypeStatus is what Furrow knows of the type.
type ClusterTypeStatus struct {
	CommonStatus `json:",inline"`

	// Clusters counts the clusters of the type.
	// +optional
	Clusters int32 `json:"clusters,omitempty"`
}

// ClusterTypeSpec describes the reconcilers of such clusters.
type ClusterTypeSpec struct {
	// Reconciler that the clusters run.
	// +optional
	Reconciler ReconcilerKind `json:"reconciler,omitempty"`

	// ReconcilerTemplate names the Template of type Reconciler that tiers are rendered with.
	// Without one the built-in template is used.
	// +optional
	ReconcilerTemplate Name `json:"reconcilerTemplate,omitempty"`

	// GitOpsRepo names the GitOpsRepo of the clusters that do not name one themselves.
	// +optional
	GitOpsRepo Name `json:"gitOpsRepo,omitempty"`

	// Source is the Flux GitRepository that the clusters' roots were set up with. Name and
	// namespace default to flux-system. Roots live in the same namespace.
	// +optional
	Source ObjectReference `json:"source,omitempty,omitzero"`

	// Readiness says when objects of a kind are ready on these clusters. It overrides the rules of the
	// ControlPlane, and a Seed overrides it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Readiness []ReadinessRule `json:"readiness,omitempty"`

	// Decryption is copied to the reconciler of every tier.
	// +optional
	Decryption *Decryption `json:"decryption,omitempty"`
}

// Decryption says how a reconciler decrypts documents.
type Decryption struct {
	// Provider of the decryption.
	// +required
	// +kubebuilder:validation:Enum=sops
	Provider string `json:"provider"`

	// SecretName names the Secret with the keys, in the namespace of the reconciler objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
}

// DefaultFluxName is the name, and the namespace, that Flux's own bootstrap gives its objects.
const DefaultFluxName = "flux-system"

// SourceOrDefault is the source object's name and namespace.
func (s ClusterTypeSpec) SourceOrDefault() ObjectReference {
	return ObjectReference{
		Name:      cmp.Or(s.Source.Name, DefaultFluxName),
		Namespace: cmp.Or(s.Source.Namespace, DefaultFluxName),
	}
}
