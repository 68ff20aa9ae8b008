package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GitOpsRepo is a Git repository that Furrow writes to and reconcilers read from.
//
// +kubebuilder:object:root=true
type GitOpsRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec GitOpsRepoSpec `json:"spec"`
}

// GitOpsRepoSpec says where the repository is.
type GitOpsRepoSpec struct {
	// URL of the repository: https://… or, for a repository on the same machine, a path. Never with
	// credentials in it. A relative path is relative to the control-plane repository's directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Branch is the base branch, which reconcilers follow.
	// +optional
	// +kubebuilder:default=main
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is a directory of the repository that everything Furrow writes lies under.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// Forge is where people decide about proposals: Plain, where a proposal is a branch, or Gitea
	// (also Forgejo), where it is a pull request. The server and the repository are those of the URL.
	// +optional
	// +kubebuilder:default=Plain
	Forge ForgeType `json:"forge,omitempty"`

	// Update says when an open proposal that nobody has edited is brought up to date with the base
	// branch: WhenStale, where it can no longer be merged as reviewed, or WhenBehind, whenever the
	// base branch has moved, for repositories that merge only what is up to date.
	// +optional
	// +kubebuilder:default=WhenStale
	Update UpdatePolicy `json:"update,omitempty"`

	// Credentials names what Furrow signs in with: a directory of that name with the files token,
	// or username and password, and ca.crt where the server's authority is a private one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Credentials string `json:"credentials,omitempty"`
}

// ForgeType names a kind of forge.
//
// +kubebuilder:validation:Enum=Plain;Gitea
type ForgeType string

const (
	// ForgePlain is any Git server: a proposal is a branch.
	ForgePlain ForgeType = "Plain"
	// ForgeGitea is Gitea or Forgejo: a proposal is a pull request.
	ForgeGitea ForgeType = "Gitea"
)

// UpdatePolicy says when open proposals are brought up to date.
//
// +kubebuilder:validation:Enum=WhenStale;WhenBehind
type UpdatePolicy string

const (
	// UpdateWhenStale brings up to date what can no longer be merged as reviewed.
	UpdateWhenStale UpdatePolicy = "WhenStale"
	// UpdateWhenBehind brings up to date what the base branch has moved ahead of.
	UpdateWhenBehind UpdatePolicy = "WhenBehind"
)

// ForgeOrDefault is the kind of forge; Plain when none is given.
func (s GitOpsRepoSpec) ForgeOrDefault() ForgeType { return cmp.Or(s.Forge, ForgePlain) }

// BranchOrDefault is the base branch; main when none is given.
func (s GitOpsRepoSpec) BranchOrDefault() string { return cmp.Or(s.Branch, "main") }
