package v1alpha1

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterRole says what a cluster is for.
//
// +kubebuilder:validation:Enum=Management;Workload
type ClusterRole string

const (
	// RoleManagement is the role of clusters that create and describe other clusters.
	RoleManagement ClusterRole = "Management"
	// RoleWorkload is the role of clusters that run workloads.
	RoleWorkload ClusterRole = "Workload"
)

// Cluster describes one cluster of the fleet. Its name is a DNS label; its
// labels are what seeds and selectors choose it by. A seed that creates a
// cluster may carry a Cluster document for it; without one Furrow takes name
// and labels from the creator.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=fcl,categories=furrow
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.status.role`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Hub",type=string,JSONPath=`.spec.reconciledBy`
// +kubebuilder:printcolumn:name="Plantings",type=integer,JSONPath=`.status.plantings`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && self.metadata.name.size() <= 63",message="the name of a cluster is a DNS label of at most 63 characters"
// +kubebuilder:validation:XValidation:rule="(has(self.spec) && has(self.spec.reconciledBy) ? self.spec.reconciledBy : \"\") == (has(oldSelf.spec) && has(oldSelf.spec.reconciledBy) ? oldSelf.spec.reconciledBy : \"\")",message="reconciledBy cannot be changed: objects would lose their owner"
// +kubebuilder:validation:XValidation:rule="(has(self.spec) && has(self.spec.path) ? self.spec.path : \"\") == (has(oldSelf.spec) && has(oldSelf.spec.path) ? oldSelf.spec.path : \"\")",message="path cannot be changed: the cluster's root syncs it"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ClusterSpec `json:"spec,omitempty"`
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status ClusterStatus `json:"status,omitempty,omitzero"`
}

// ClusterList is a list of clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterStatus is what Furrow knows of the cluster.
type ClusterStatus struct {
	CommonStatus `json:",inline"`

	// Role that the cluster has.
	// +optional
	Role ClusterRole `json:"role,omitempty"`

	// Plantings counts the seeds that are planted on the cluster.
	// +optional
	Plantings int32 `json:"plantings,omitempty"`
}

// ClusterSpec says how the cluster is reached through Git.
//
// +kubebuilder:validation:XValidation:rule="!has(self.defaultClusterType) || has(self.role) && self.role == 'Management'",message="defaultClusterType is for clusters of role Management"
// +kubebuilder:validation:XValidation:rule="!has(self.kubeConfigSecret) || has(self.reconciledBy)",message="kubeConfigSecret is for clusters with a hub; name it in reconciledBy"
type ClusterSpec struct {
	// Role of the cluster: Management or Workload.
	// +optional
	Role ClusterRole `json:"role,omitempty"`

	// Type names the ClusterType, from which the cluster has its reconciler and configuration.
	// Without one the built-in defaults of a Flux cluster apply.
	// +optional
	Type Name `json:"type,omitempty"`

	// GitOpsRepo names the GitOpsRepo that the cluster's reconciler reads. Defaults to that of the
	// hub, else of the type, else to the only GitOpsRepo there is.
	// +optional
	GitOpsRepo Name `json:"gitOpsRepo,omitempty"`

	// Path is the directory in the GitOps repository that the cluster's root syncs, relative to the
	// repository's prefix. Defaults to clusters/<name>.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`

	// ReconciledBy names the hub: the cluster whose reconciler acts for this one through its
	// kubeconfig. Empty when the cluster has a reconciler of its own. Cannot be changed later.
	// +optional
	ReconciledBy Name `json:"reconciledBy,omitempty"`

	// KubeConfigSecret is the Secret on the hub that holds the cluster's kubeconfig under key value.
	// Name defaults to <cluster>-kubeconfig; namespace to that of the creator, else of the root. Of a
	// cluster that a seed creates, another namespace than the creator's must be granted by the hub's
	// kubeConfigNamespaces.
	// +optional
	KubeConfigSecret ObjectReference `json:"kubeConfigSecret,omitempty,omitzero"`

	// KubeConfigNamespaces are namespaces of this cluster in which the kubeconfigs of clusters that seeds
	// create may be read, beside the namespace of their creator. With a controller this counts in
	// Cluster resources only, not in documents of a control-plane repository.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	KubeConfigNamespaces []string `json:"kubeConfigNamespaces,omitempty"`

	// Taints keep seeds off the cluster that do not tolerate them: objects that say nothing of where
	// they go, or select clusters by labels or by an expression. What names the cluster, or belongs
	// on a management cluster, goes there all the same. Objects that are there already leave.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=32
	Taints []ClusterTaint `json:"taints,omitempty"`

	// Provides lists what is on the cluster although no seed contains it.
	// +optional
	Provides ClusterProvides `json:"provides,omitempty,omitzero"`

	// DefaultClusterType names, on a management cluster, the type of clusters that seeds create on it
	// without saying which.
	// +optional
	DefaultClusterType Name `json:"defaultClusterType,omitempty"`
}

// ClusterTaint is a property of a cluster that seeds have to tolerate.
type ClusterTaint struct {
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`
}

// ClusterProvides lists what was installed on a cluster by other means.
type ClusterProvides struct {
	// KubernetesVersion is the release of Kubernetes that the cluster runs, as in 1.31. Objects of kinds
	// and versions that this release does not serve are refused; where it is unknown, only those that no
	// supported release serves.
	// +optional
	// +kubebuilder:validation:Pattern=`^v?1\.[0-9]{1,4}([.+-][0-9A-Za-z.+-]*)?$`
	// +kubebuilder:validation:MaxLength=64
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIVersions that the API server serves beside the defaults of its release: group/version, such as
	// resource.k8s.io/v1beta1. If a group of custom resources is listed, its other versions are refused.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=317
	APIVersions []string `json:"apiVersions,omitempty"`

	// Namespaces that exist on the cluster, beside default, kube-* and the reconciler's.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`

	// LabelledNamespaces exist as well, and their labels are known: an admission webhook or policy that
	// selects Namespaces by labels is matched against these. Without labels it may match.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	LabelledNamespaces []LabelledNamespace `json:"labelledNamespaces,omitempty"`

	// CustomResourceDefinitions that are installed, by name: <plural>.<group>.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1024
	// +kubebuilder:validation:items:MaxLength=253
	CustomResourceDefinitions []string `json:"customResourceDefinitions,omitempty"`

	// NamespacedKinds are kinds of custom resources whose objects have a namespace, as
	// Certificate.cert-manager.io. It counts where no seed contains the definition of a kind.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2048
	// +kubebuilder:validation:items:MaxLength=317
	NamespacedKinds []string `json:"namespacedKinds,omitempty"`

	// ClusterScopedKinds are kinds of custom resources whose objects have no namespace, as
	// ClusterIssuer.cert-manager.io.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2048
	// +kubebuilder:validation:items:MaxLength=317
	ClusterScopedKinds []string `json:"clusterScopedKinds,omitempty"`

	// Objects that are on the cluster, and that objects of seeds may name: classes, networks, Secrets and
	// the like. Nothing is warned of that names them, and nothing waits for what else may make them.
	// 'furrow discover' lists classes and networks.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=4096
	Objects []ProvidedObject `json:"objects,omitempty"`

	// WebhookConfigurations that are on the cluster. What their webhooks match waits for the workload
	// behind the webhook's Service, if a seed has that; otherwise they order nothing, because the
	// workload is there already.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	WebhookConfigurations []ProvidedWebhookConfiguration `json:"webhookConfigurations,omitempty"`
}

// ProvidedObject is an object on a cluster.
type ProvidedObject struct {
	// Kind of the object with its group, as Secret or StorageClass.storage.k8s.io.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Kind string `json:"kind"`

	// Namespace of the object, empty for one of the whole cluster.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProvidedWebhookConfiguration is a ValidatingWebhookConfiguration or MutatingWebhookConfiguration on
// a cluster.
type ProvidedWebhookConfiguration struct {
	// Kind of the object.
	// +required
	// +kubebuilder:validation:Enum=ValidatingWebhookConfiguration;MutatingWebhookConfiguration
	Kind string `json:"kind"`

	// Name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Webhooks that fail closed and are called through a Service.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Webhooks []ProvidedWebhook `json:"webhooks,omitempty"`
}

// ProvidedWebhook is a webhook on a cluster; its fields are those of Kubernetes.
type ProvidedWebhook struct {
	// Name of the webhook.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// ClientConfig has the Service that is called.
	// +required
	ClientConfig ProvidedWebhookClient `json:"clientConfig"`

	// Rules say which resources and operations the webhook is for.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Rules []ProvidedWebhookRule `json:"rules,omitempty"`

	// MatchPolicy is Exact if the webhook is not for other versions of the resources.
	// +optional
	// +kubebuilder:validation:Enum=Exact;Equivalent
	MatchPolicy string `json:"matchPolicy,omitempty"`

	// NamespaceSelector selects the Namespaces of the objects.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// ObjectSelector selects the objects.
	// +optional
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty"`

	// MatchConditions must all be true of a request.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	MatchConditions []ProvidedMatchCondition `json:"matchConditions,omitempty"`
}

// ProvidedWebhookClient is how an API server calls a webhook.
type ProvidedWebhookClient struct {
	// Service that is called.
	// +required
	Service ObjectReference `json:"service"`
}

// ProvidedWebhookRule says which requests a webhook is for.
type ProvidedWebhookRule struct {
	// APIGroups of the resources, * for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=253
	APIGroups []string `json:"apiGroups,omitempty"`
	// APIVersions of the resources, * for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=63
	APIVersions []string `json:"apiVersions,omitempty"`
	// Resources by their plural, as deployments or pods/exec, * for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MaxLength=253
	Resources []string `json:"resources,omitempty"`
	// Operations such as CREATE, * for all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=16
	Operations []string `json:"operations,omitempty"`
	// Scope is Cluster or Namespaced; all otherwise.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Namespaced;*
	Scope string `json:"scope,omitempty"`
}

// ProvidedMatchCondition is a condition of a webhook in CEL.
type ProvidedMatchCondition struct {
	// Name of the condition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Expression over request, object and the like.
	// +required
	// +kubebuilder:validation:MaxLength=10240
	Expression string `json:"expression"`
}

// LabelledNamespace is a Namespace with its labels.
type LabelledNamespace struct {
	// Name of the Namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Labels of the Namespace, all of them.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Labels map[string]string `json:"labels,omitempty"`
}

// AllNamespaces returns the Namespaces that are listed, with labels or without.
func (p ClusterProvides) AllNamespaces() []string {
	names := slices.Clone(p.Namespaces)
	for _, n := range p.LabelledNamespaces {
		names = append(names, n.Name)
	}
	return names
}

// LabelsOf returns the labels of a Namespace, false where they are not listed.
func (p ClusterProvides) LabelsOf(namespace string) (map[string]string, bool) {
	for _, n := range p.LabelledNamespaces {
		if n.Name == namespace {
			return n.Labels, true
		}
	}
	return nil, false
}

// RoleOrDefault is the cluster's role; Workload when none is given.
func (c Cluster) RoleOrDefault() ClusterRole { return cmp.Or(c.Spec.Role, RoleWorkload) }

// PathOrDefault is the cluster's root path; clusters/<name> when none is given.
func (c Cluster) PathOrDefault() string { return cmp.Or(c.Spec.Path, "clusters/"+c.Name) }
