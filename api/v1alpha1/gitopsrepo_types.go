package v1alpha1

import (
	"cmp"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GitOpsRepo is a Git repository that Furrow writes to and reconcilers read from.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=gitopsrepos,scope=Namespaced,shortName=fgr,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Forge",type=string,JSONPath=`.status.forge`
// +kubebuilder:printcolumn:name="Proposals",type=integer,JSONPath=`.status.proposals`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a GitOps repository is a DNS label of at most 63 characters"
type GitOpsRepo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec GitOpsRepoSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status GitOpsRepoStatus `json:"status,omitempty,omitzero"`
}

// GitOpsRepoList is a list of GitOps repositories.
//
// +kubebuilder:object:root=true
type GitOpsRepoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitOpsRepo `json:"items"`
}

// GitOpsRepoStatus is what Furrow knows of the repository.
type GitOpsRepoStatus struct {
	CommonStatus `json:",inline"`

	// Forge where proposals are decided about.
	// +optional
	Forge ForgeType `json:"forge,omitempty"`

	// SigningKey is the public key that commits are signed with; empty if they are not signed.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	SigningKey string `json:"signingKey,omitempty"`

	// Head is the commit of the base branch that was seen last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Head string `json:"head,omitempty"`

	// Proposals counts the open ones of Furrow.
	// +optional
	Proposals int32 `json:"proposals,omitempty"`
}

// GitOpsRepoSpec says where the repository is.
//
// +kubebuilder:validation:XValidation:rule="self.url.matches('^((https?://|ssh://([^/@:]+@)?)[^/@]+(/|$)|[^/@:]+@[^/@:]+:[^@]+$)')",message="url is the https or ssh URL of a repository, without credentials in it; name those in credentials"
// +kubebuilder:validation:XValidation:rule="(has(self.branch) ? self.branch : 'main') == (has(oldSelf.branch) ? oldSelf.branch : 'main')",message="branch cannot be changed: what is planted is known by it. Declare another GitOpsRepo"
// +kubebuilder:validation:XValidation:rule="(has(self.path) ? self.path : \"\") == (has(oldSelf.path) ? oldSelf.path : \"\")",message="path cannot be changed: what is planted lies below it. Declare another GitOpsRepo"
type GitOpsRepoSpec struct {
	// URL of the repository: https://…, ssh://…, git@host:path or, for 'furrow run' and a repository
	// on the same machine, a path. Never with credentials in it. A relative path is relative to the control-plane
	// repository's directory.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	URL string `json:"url"`

	// Branch is the base branch, which reconcilers follow.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is a directory of the repository that everything Furrow writes lies under.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// Forge is where people decide about proposals: Plain, where a proposal is a branch, or Gitea
	// (also Forgejo), GitHub or GitLab, where it is a pull request. The server and the repository are
	// those of the URL. By default it is GitHub on github.com, GitLab on gitlab.com, and else Plain.
	// +optional
	Forge ForgeType `json:"forge,omitempty"`

	// Update says when an open proposal that nobody has edited is updated with the base
	// branch: WhenStale, where it can no longer be merged as reviewed, or WhenBehind, whenever the
	// base branch has moved, for repositories that merge only what is up to date.
	// +optional
	Update UpdatePolicy `json:"update,omitempty"`

	// Credentials names what Furrow signs in with: a Secret in the same namespace or, for 'furrow
	// run', a directory, with token, or username and password, ca.crt where the server's authority
	// is a private one, and url, which binds them to what begins with it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Credentials string `json:"credentials,omitempty"`

	// Signing has Furrow sign every commit that it makes in this repository. Only commits with its own
	// keys then count as its own.
	// +optional
	Signing *SigningSpec `json:"signing,omitempty"`

	// Proposals says what proposals in this repository carry beside their text, which the Template
	// named proposal replaces.
	// +optional
	Proposals ProposalsSpec `json:"proposals,omitempty,omitzero"`
}

// SigningSpec says with which key Furrow signs, and whose signatures count.
type SigningSpec struct {
	// Credentials names the set that has the private key: signing.key, an SSH key of type ed25519 or an
	// armored OpenPGP key, and signing.passphrase where it has one. By default it is the set of
	// spec.credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Credentials string `json:"credentials,omitempty"`

	// Create lets 'furrow controller' make the Secret with an SSH key if it does not exist: IfMissing, or
	// Never, the default. The Secret also has the public key, in signing.pub.
	// +optional
	Create KeyCreation `json:"create,omitempty"`

	// PublicKeys count as Furrow's own beside the key that it signs with: keys that it signed with before,
	// and its present one for commands of people who do not have the private key. Each is a line of
	// authorized_keys or an armored OpenPGP key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=32768
	PublicKeys []string `json:"publicKeys,omitempty"`

	// Requesters are keys of people whose requests count, as those of 'furrow confirm', 'retry', 'abandon'
	// and 'rollout'. Each is a line of an allowed signers file of Git, whose first word is the name that is
	// shown, or an armored OpenPGP key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=32768
	Requesters []string `json:"requesters,omitempty"`
}

// KeyCreation says whether a key is made where there is none.
//
// +kubebuilder:validation:Enum=Never;IfMissing
type KeyCreation string

const (
	// CreateNever refuses to go on without a key.
	CreateNever KeyCreation = "Never"
	// CreateIfMissing makes a key.
	CreateIfMissing KeyCreation = "IfMissing"
)

// ProposalsSpec says what proposals carry beside their text. Forges that do not have something
// leave it out. What a forge refuses is a warning, and is tried again later.
type ProposalsSpec struct {
	// Labels of proposals, in place of those that Furrow has built in. Each is a Go template with
	// the variables of a Template of type Proposal; every line that it renders is a label, of at
	// most 50 characters. Labels of the state come on top. An empty list means no labels at all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	Labels []string `json:"labels,omitzero"`

	// Reviewers are users that are asked to review proposals; a name with a slash is a team.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=255
	Reviewers []string `json:"reviewers,omitempty"`

	// Assignees are users that proposals are assigned to.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=255
	Assignees []string `json:"assignees,omitempty"`

	// Milestone is the title of the milestone of proposals.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Milestone string `json:"milestone,omitempty"`

	// MaxOpen is how many pull requests Furrow has open at once in the repository, of all seeds; 50
	// when none is given. Servers test all open ones again after each merge. It does not count on
	// plain Git.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxOpen int32 `json:"maxOpen,omitempty"`
}

// DefaultMaxOpen is how many pull requests are open at once when the GitOpsRepo does not say.
const DefaultMaxOpen = 50

// MaxOpenOrDefault is how many pull requests may be open at once.
func (p ProposalsSpec) MaxOpenOrDefault() int32 {
	if p.MaxOpen <= 0 {
		return DefaultMaxOpen
	}
	return p.MaxOpen
}

// ForgeType names a kind of forge.
//
// +kubebuilder:validation:Enum=Plain;Gitea;GitHub;GitLab
type ForgeType string

const (
	// ForgePlain is any Git server: a proposal is a branch.
	ForgePlain ForgeType = "Plain"
	// ForgeGitea is Gitea or Forgejo: a proposal is a pull request.
	ForgeGitea ForgeType = "Gitea"
	// ForgeGitHub is github.com or GitHub Enterprise: a proposal is a pull request.
	ForgeGitHub ForgeType = "GitHub"
	// ForgeGitLab is gitlab.com or a GitLab of one's own: a proposal is a merge request.
	ForgeGitLab ForgeType = "GitLab"
)

// hostedForges are the forges of well-known hosts, also of those that serve SSH at port 443.
var hostedForges = map[string]ForgeType{
	"github.com": ForgeGitHub, "ssh.github.com": ForgeGitHub, "gitlab.com": ForgeGitLab, "altssh.gitlab.com": ForgeGitLab,
}

// remoteHost finds the host in https://[user@]host[:port]/path, ssh://[user@]host[:port]/path and
// [user@]host:path.
var remoteHost = regexp.MustCompile(`^(?:(?:https?|ssh)://)?(?:[^@/]*@)?([^:/@]+)(?:[:/])`)

// UpdatePolicy says when open proposals are updated.
//
// +kubebuilder:validation:Enum=WhenStale;WhenBehind
type UpdatePolicy string

const (
	// UpdateWhenStale updates what can no longer be merged as reviewed.
	UpdateWhenStale UpdatePolicy = "WhenStale"
	// UpdateWhenBehind updates what the base branch has moved ahead of.
	UpdateWhenBehind UpdatePolicy = "WhenBehind"
)

// ForgeOrDefault is the kind of forge. When none is given it is that of the URL's host, or Plain.
func (s GitOpsRepoSpec) ForgeOrDefault() ForgeType {
	host := ""
	if found := remoteHost.FindStringSubmatch(s.URL); found != nil {
		host = strings.ToLower(found[1])
	}
	return cmp.Or(s.Forge, hostedForges[host], ForgePlain)
}

// BranchOrDefault is the base branch; main when none is given.
func (s GitOpsRepoSpec) BranchOrDefault() string { return cmp.Or(s.Branch, "main") }
