package law

import (
	"cmp"
	"strings"
)

// needRules are the rules that keep a tier from waiting for a later one.
var needRules = []string{"mounts", "references", "controller", "storage", "routes", "bundle", "patches", "network", "last"}

// input is a minimal stack in which one thing needs another.
type input struct {
	stack
	// refused are the rules without which something is refused, or lost. If there are none, a tier waits for a later
	// one without needRules.
	refused []string
	// ready reports whether other rules than needRules bring it into order.
	ready bool
}

// inputs are what people reported of many tools, in as few objects as possible.
var inputs = []input{
	{stack: minimal("database",
		crd("postgresql.cnpg.io/v1", "Cluster", "clusters"), custom("postgresql.cnpg.io/v1", "Cluster", "shop", "{}"),
		workload{name: "web", pod: mounts("shop-app")}.String())},
	{stack: minimal("queue",
		crd("rabbitmq.com/v1beta1", "RabbitmqCluster", "rabbitmqclusters"), custom("rabbitmq.com/v1beta1", "RabbitmqCluster", "mq", "{}"),
		workload{name: "worker", container: "envFrom: [{secretRef: {name: mq-default-user}}]"}.String())},
	{stack: minimal("secret-behind-a-webhook",
		operatorOf("eso", "external-secrets.io", "externalsecrets"), crd("external-secrets.io/v1", "ExternalSecret", "externalsecrets"),
		custom("external-secrets.io/v1", "ExternalSecret", "web", "{target: {name: web-password}}"),
		workload{name: "web", pod: mounts("web-password")}.String())},
	{stack: minimal("connection-of-any-kind",
		crd("sql.example.com/v1", "Database", "databases"), custom("sql.example.com/v1", "Database", "db", "{writeConnectionSecretToRef: {name: conn}}"),
		workload{name: "web", pod: mounts("conn")}.String())},
	{stack: minimal("bundle-of-authorities",
		crd("trust.cert-manager.io/v1alpha1", "Bundle", "bundles"), custom("trust.cert-manager.io/v1alpha1", "Bundle", "roots", "{}"),
		workload{name: "web", pod: "volumes: [{name: ca, configMap: {name: roots}}]"}.String())},
	{stack: minimal("certificate-of-an-authority",
		operatorOf("manager", "cert-manager.io", "issuers"), crd("cert-manager.io/v1", "Certificate", "certificates"), crd("cert-manager.io/v1", "Issuer", "issuers"),
		custom("cert-manager.io/v1", "Issuer", "self", "{selfSigned: {}}"), custom("cert-manager.io/v1", "Certificate", "root", "{secretName: root, issuerRef: {kind: Issuer, name: self}}"),
		custom("cert-manager.io/v1", "Issuer", "ca", "{ca: {secretName: root}}"), custom("cert-manager.io/v1", "Certificate", "web", "{secretName: web-tls, issuerRef: {kind: Issuer, name: ca}}"),
		workload{name: "web", pod: mounts("web-tls")}.String())},
	{stack: minimal("pool-of-a-class",
		crd("ceph.rook.io/v1", "CephBlockPool", "cephblockpools"), custom("ceph.rook.io/v1", "CephBlockPool", "pool", "{}"),
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: block}, provisioner: rbd.example.com, parameters: {pool: pool}}", claim,
		workload{name: "db", pod: "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"}.String())},
	{stack: minimal("driver-of-a-class",
		namespace("csi"), workload{name: "driver", namespace: "csi", container: "args: [--drivername=csi.example.com]"}.String(),
		"{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: block}, provisioner: csi.example.com}", claim,
		workload{name: "db", pod: "volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]"}.String())},
	{stack: minimal("additional-network",
		crd("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "network-attachment-definitions"), custom("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", "n3", "{}"),
		workload{name: "upf", podAnnotation: "k8s.v1.cni.cncf.io/networks: n3"}.String())},
	{stack: minimal("network-that-a-policy-makes",
		crd("sriovnetwork.openshift.io/v1", "SriovNetwork", "sriovnetworks"), custom("sriovnetwork.openshift.io/v1", "SriovNetwork", "n6", "{networkNamespace: default}"),
		crd("sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy", "sriovnetworknodepolicies"), custom("sriovnetwork.openshift.io/v1", "SriovNetworkNodePolicy", "nics", "{resourceName: nics}"),
		workload{name: "upf", podAnnotation: `k8s.v1.cni.cncf.io/networks: '[{"name": "n6"}]'`, container: "resources: {limits: {openshift.io/nics: 1}}"}.String())},
	{stack: minimal("device-plugin",
		namespace("plugin"), workload{kind: "DaemonSet", name: "plugin", namespace: "plugin", pod: "volumes: [{name: d, hostPath: {path: /var/lib/kubelet/device-plugins}}]"}.String(),
		workload{name: "model", container: "resources: {limits: {gpu.example.com/card: 1}}"}.String())},
	{stack: minimal("class-of-a-runtime",
		crd("nvidia.com/v1", "ClusterPolicy", "clusterpolicies"), custom("nvidia.com/v1", "ClusterPolicy", "gpus", "{}"),
		workload{name: "model", pod: "runtimeClassName: nvidia"}.String())},
	{stack: minimal("scheduler",
		namespace("batch"), workload{name: "scheduler", namespace: "batch", container: "args: [--scheduler-name=gang]"}.String(),
		workload{name: "train", pod: "schedulerName: gang"}.String())},
	{stack: minimal("address",
		crd("metallb.io/v1beta1", "IPAddressPool", "ipaddresspools"), custom("metallb.io/v1beta1", "IPAddressPool", "pool", "{addresses: [192.0.2.0/24]}"),
		"{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}}")},
	{stack: minimal("class-of-an-ingress",
		namespace("edge"), workload{name: "proxy", namespace: "edge", container: "args: [--controller-class=example.com/proxy]"}.String(),
		"{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: proxy}, spec: {controller: example.com/proxy}}",
		"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: default}, spec: {ingressClassName: proxy, defaultBackend: {service: {name: web, port: {number: 80}}}}}")},
	{stack: minimal("values-of-a-chart",
		operatorOf("eso", "external-secrets.io", "externalsecrets"), crd("external-secrets.io/v1", "ExternalSecret", "externalsecrets"), crd("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases"),
		custom("external-secrets.io/v1", "ExternalSecret", "values", "{target: {name: values}}"),
		custom("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", "{interval: 1h, chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: charts}}}, valuesFrom: [{kind: Secret, name: values}]}"))},
	{stack: minimal("hook-after-the-installation", hooked(`helm.sh/hook: "post-install,pre-upgrade"`)...), ready: true},
	{stack: minimal("hook-before-the-installation", hooked("argocd.argoproj.io/hook: PreSync")...)},
	{stack: stack{"database-of-another-seed", oneCluster, []pack{
		{name: "aa", parts: []part{text(workload{name: "web", pod: mounts("shop-app")}.String())}},
		{name: "db", parts: []part{text(crd("postgresql.cnpg.io/v1", "Cluster", "clusters") + "\n---\n" + custom("postgresql.cnpg.io/v1", "Cluster", "shop", "{}"))}},
	}}},
	{stack: minimal("new-cluster",
		crd("cluster.x-k8s.io/v1beta1", "Cluster", "clusters"), crd("infrastructure.cluster.x-k8s.io/v1beta1", "DockerCluster", "dockerclusters"),
		custom("cluster.x-k8s.io/v1beta1", "Cluster", "site", "{infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerCluster, name: site}}"),
		custom("infrastructure.cluster.x-k8s.io/v1beta1", "DockerCluster", "site", "{}"),
		namespace("flannel"), workload{kind: "DaemonSet", name: "flannel", namespace: "flannel", pod: "hostNetwork: true, volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}]"}.String(),
		workload{name: "web", namespace: "kube-system"}.String())},
	{stack: minimal("limits-of-pods",
		"{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {limits.cpu: 10}}}",
		"{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: default}, spec: {limits: [{type: Container, default: {cpu: 1}}]}}",
		workload{kind: "Pod", name: "bare"}.String()), refused: []string{"admission"}},
	{stack: minimal("policy-with-parameters",
		crd("teams.example.com/v1", "Owner", "owners"), custom("teams.example.com/v1", "Owner", "shop", "{team: shop}"),
		"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: owned}, spec: {policyName: owned, paramRef: {name: shop, namespace: default, parameterNotFoundAction: Deny}}}",
		mutatingPolicy, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: default, labels: {owned: by}}}"), refused: []string{"policy"}},
	{stack: minimal("addresses-of-services",
		"{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: more}, spec: {cidrs: [10.9.0.0/24]}}",
		"{apiVersion: v1, kind: Service, metadata: {name: dns, namespace: default}, spec: {clusterIP: 10.9.0.10, selector: {app: dns}, ports: [{port: 53}]}}"), refused: []string{"admission"}},
	{stack: minimal("token-of-an-account",
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: default}}",
		"{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: robot, namespace: default, annotations: {kubernetes.io/service-account.name: robot}}}",
		workload{name: "web", pod: mounts("robot")}.String()), refused: []string{"admission"}},
}

// mutatingPolicy writes the team of an Owner into the ConfigMaps that it matches.
const mutatingPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: owned}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  paramKind: {apiVersion: teams.example.com/v1, kind: Owner}
  matchConstraints:
    objectSelector: {matchLabels: {owned: by}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"owned": string(params.spec.team)}}}'}}]
`

const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: default}, spec: {storageClassName: block, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}"

// hooked are a database and a Job with a hook that needs its password, which an operator makes.
func hooked(hook string) []string {
	return []string{
		"{apiVersion: v1, kind: ServiceAccount, metadata: {name: migrate, namespace: default}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: schema, namespace: default}}",
		workload{name: "web"}.String(),
		workload{kind: "Job", name: "migrate", annotation: hook, pod: "serviceAccountName: migrate, restartPolicy: Never", container: "envFrom: [{configMapRef: {name: schema}}]"}.String(),
	}
}

// minimal is a stack of one seed for one cluster.
func minimal(name string, documents ...string) stack {
	clusters := oneCluster
	if strings.Contains(strings.Join(documents, ""), "cluster.x-k8s.io") {
		clusters = management
	}
	return stack{name, clusters, []pack{{name: name, parts: []part{text(strings.Join(documents, "\n---\n"))}}}}
}

// crd defines a kind in namespaces that takes any content.
func crd(apiVersion, kind, plural string) string {
	group, version, _ := strings.Cut(apiVersion, "/")
	return strings.NewReplacer("GROUP", group, "VERSION", version, "KIND", kind, "PLURAL", plural, "SINGULAR", strings.ToLower(kind)).Replace(
		`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP}
spec:
  group: GROUP
  names: {kind: KIND, listKind: KINDList, plural: PLURAL, singular: SINGULAR}
  scope: Namespaced
  versions: [{name: VERSION, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]`)
}

// custom is an object in the namespace default.
func custom(apiVersion, kind, name, spec string) string {
	return "{apiVersion: " + apiVersion + ", kind: " + kind + ", metadata: {name: " + name + ", namespace: default}, spec: " + spec + "}"
}

func namespace(name string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"
}

// mounts is the field of pods that mount a Secret.
func mounts(secret string) string {
	return "volumes: [{name: s, secret: {secretName: " + secret + "}}]"
}

// workload is one with further fields of its pods and of their container. It is a Deployment in the namespace default
// unless it says otherwise.
type workload struct {
	kind, name, namespace, annotation, podAnnotation, pod, container string
}

func (w workload) String() string {
	pod := "{" + w.pod
	if w.pod != "" {
		pod += ", "
	}
	pod += "containers: [{name: c, image: registry.example.com/c:1"
	if w.container != "" {
		pod += ", " + w.container
	}
	pod += "}]}"
	spec := "{template: {metadata: {labels: {app: " + w.name + "}, annotations: {" + w.podAnnotation + "}}, spec: " + pod + "}"
	version, kind := "apps/v1", cmp.Or(w.kind, "Deployment")
	switch kind {
	case "Pod":
		version, spec = "v1", pod
	case "Job":
		version, spec = "batch/v1", spec+"}"
	default:
		spec += ", selector: {matchLabels: {app: " + w.name + "}}}"
	}
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: " + w.name + ", namespace: " + cmp.Or(w.namespace, "default") + ", annotations: {" + w.annotation + "}}, spec: " + spec + "}"
}

// operatorOf is an operator with a webhook for a kind, and the right to write its objects.
func operatorOf(name, group, plural string) string {
	return strings.NewReplacer("NAME", name, "GROUP", group, "PLURAL", plural, "WORKLOAD", workload{name: name, namespace: name, pod: "serviceAccountName: " + name}.String()).Replace(
		`apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME, namespace: NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME}
rules: [{apiGroups: [GROUP], resources: ["*"], verbs: [get, list, watch, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME}
subjects: [{kind: ServiceAccount, name: NAME, namespace: NAME}]
---
WORKLOAD
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAME}
spec: {selector: {app: NAME}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: v.NAME.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: NAME, namespace: NAME}}
  rules: [{apiGroups: [GROUP], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [PLURAL]}]`)
}
