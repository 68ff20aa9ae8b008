package v1alpha1

// ReadinessRule says in CEL when objects of a kind are ready. Flux evaluates inProgress, failed and current in
// this order; if none is true, the object is in progress. The fields of the object are variables: apiVersion,
// kind, metadata, spec, status, data and operation.
type ReadinessRule struct {
	// Group of the API without its version; core for that of Pods.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// Kind of the objects.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// Current is true of an object that is ready.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Current string `json:"current"`

	// InProgress is true of an object that is not ready yet.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	InProgress string `json:"inProgress,omitempty"`

	// Failed is true of an object for which waiting does not help.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Failed string `json:"failed,omitempty"`
}
