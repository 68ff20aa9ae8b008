package law

import "slices"

// stack is a control plane: seeds that are planned together.
type stack struct {
	name string
	// clusters are the documents of its fleet.
	clusters string
	packs    []pack
}

// oneCluster is a fleet of one cluster that is simply there.
const oneCluster = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata:
  name: one
`

// management is a fleet of a management cluster and a workload cluster.
const management = oneCluster + `---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata:
  name: mgmt
spec:
  role: Management
`

var (
	certManager = pack{name: "cert-manager", parts: []part{
		namespaceOf("cert-manager"),
		helm("cert-manager/chart", "cert-manager", "cert-manager", "crds.enabled=true"),
		text(`apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata:
  name: self-signed
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: root
  namespace: cert-manager
spec:
  isCA: true
  commonName: root
  secretName: root
  issuerRef:
    kind: ClusterIssuer
    name: self-signed
`),
	}}
	openTelemetry = pack{name: "opentelemetry-operator", namespace: "default", parts: []part{
		kustomize("opentelemetry-operator/default"),
		files("opentelemetry-operator/samples/core_v1alpha1_opentelemetrycollector.yaml", "opentelemetry-operator/samples/instrumentation_v1alpha1_instrumentation.yaml", "opentelemetry-operator/samples/sidecar.yaml"),
	}}
	prometheus = pack{name: "prometheus-operator", namespace: "default", parts: []part{
		files("prometheus-operator/bundle.yaml", "prometheus-operator/example/user-guides/getting-started/example-app-deployment.yaml",
			"prometheus-operator/example/user-guides/getting-started/example-app-service-monitor.yaml",
			"prometheus-operator/example/user-guides/getting-started/example-app-service.yaml",
			"prometheus-operator/example/user-guides/getting-started/prometheus-service.yaml",
			"prometheus-operator/example/user-guides/getting-started/prometheus-service-monitor.yaml",
			"prometheus-operator/example/user-guides/alerting/prometheus-example-rules.yaml",
			"prometheus-operator/example/user-guides/alerting/alertmanager-example.yaml",
			"prometheus-operator/example/rbac/prometheus/prometheus-service-account.yaml",
			"prometheus-operator/example/rbac/prometheus/prometheus-cluster-role.yaml",
			"prometheus-operator/example/rbac/prometheus/prometheus-cluster-role-binding.yaml",
			"prometheus-operator/example/admission-webhook"),
	}}
	argoCD = pack{name: "argo-cd", namespace: "argocd", parts: []part{
		namespaceOf("argocd"),
		files("argo-cd/install.yaml"),
		text(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata:
  name: team
  namespace: argocd
spec:
  sourceRepos: ["*"]
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: guestbook
  namespace: argocd
spec:
  project: team
  source: {repoURL: https://git.example.com/guestbook.git, path: guestbook}
  destination: {name: in-cluster, namespace: guestbook}
`),
	}}
	argoRollouts = pack{name: "argo-rollouts", namespace: "argo-rollouts", parts: []part{
		namespaceOf("argo-rollouts"),
		files("argo-rollouts/install.yaml", "argo-rollouts/examples/analysis-templates.yaml", "argo-rollouts/examples/cluster-analysis-templates.yaml",
			"argo-rollouts/examples/rollout-analysis-step.yaml", "argo-rollouts/examples/rollout-baseline-vs-canary.yaml",
			"argo-rollouts/examples/rollout-bluegreen.yaml", "argo-rollouts/examples/rollout-canary.yaml",
			"argo-rollouts/examples/rollout-rolling-update.yaml"),
	}}
	externalSecrets = pack{name: "external-secrets", parts: []part{
		namespaceOf("external-secrets"),
		helm("external-secrets/chart", "external-secrets", "external-secrets", "installCRDs=false"),
		files("external-secrets/crds"),
		text(`apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata:
  name: fake
spec:
  provider:
    fake:
      data: [{key: /password, value: example}]
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: password
  namespace: default
spec:
  secretStoreRef: {kind: ClusterSecretStore, name: fake}
  target: {name: password}
  data: [{secretKey: password, remoteRef: {key: /password}}]
`),
	}}
	gatewayAPI = pack{name: "gateway-api", namespace: "default", parts: []part{
		kustomize("gateway-api/crds/experimental"),
		files("gateway-api/examples/standard", "gateway-api/examples/experimental"),
	}}
	gatewayConformance = pack{name: "gateway-conformance", namespace: "default", plainSecrets: true, parts: []part{
		// One has an address of no type that its CRD takes.
		replaced(without(files("gateway-api/conformance"), "  name: gateway-static-addresses"), "{GATEWAY_CLASS_NAME}", "law", "{GATEWAY_CONTROLLER_NAME}", "example.com/law"),
	}}
	argoCDHA = pack{name: "argo-cd-ha", namespace: "argocd", parts: []part{
		namespaceOf("argocd"),
		files("argo-cd/ha-install.yaml"),
	}}
	kubePrometheus = pack{name: "kube-prometheus", namespace: "monitoring", parts: []part{files("kube-prometheus")}}
	gatekeeper     = pack{name: "gatekeeper", parts: []part{files("gatekeeper/gatekeeper.yaml")}}
	metricsServer  = pack{name: "metrics-server", parts: []part{kustomize("metrics-server/base")}}
	keda           = pack{name: "keda", parts: []part{kustomize("keda/default")}}
	metalLB        = pack{name: "metallb", namespace: "metallb-system", parts: []part{
		files("metallb/manifests/metallb-native.yaml", "metallb/samples"),
	}}
	contour = pack{name: "contour", namespace: "default", parts: []part{
		files("contour/render/contour.yaml"),
		// No API server takes these: their version, a type, a Namespace that does not exist.
		without(files("contour/example-workload/httpproxy"), "  name: response-timeout", "    fqdn: request-hash.bar.com", "  namespace: example-com", "  namespace: www-admin"),
	}}
	kyverno  = pack{name: "kyverno", parts: []part{files("kyverno/install.yaml"), helm("kyverno/policies", "policies", "kyverno")}}
	training = pack{name: "training-operator", namespace: "default", parts: []part{
		kustomize("training-operator/overlays/standalone"),
		// The name of its storage class is not valid.
		without(files("training-operator/examples"), "  name: strategy-volume"),
	}}
	knative = pack{name: "knative-serving", parts: []part{
		// Their CRDs are in modules that are not published.
		without(files("knative-serving"), "apiVersion: caching.internal.knative.dev/v1alpha1", "apiVersion: networking.internal.knative.dev/v1alpha1"),
		text(`apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: hello
  namespace: default
spec:
  template:
    spec:
      containers: [{name: hello, image: example.invalid/hello:1}]
`),
	}}
	calico = pack{name: "calico", parts: []part{
		files("calico/calico.yaml", "calico/apiserver.yaml"),
		text(`apiVersion: projectcalico.org/v3
kind: GlobalNetworkPolicy
metadata:
  name: deny-egress
spec:
  types: [Egress]
---
apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata:
  name: allow-dns
  namespace: default
spec:
  types: [Egress]
`),
	}}
	istio = pack{name: "istio", namespace: "default", parts: []part{
		namespaceOf("istio-system"),
		helm("istio/base", "istio-base", "istio-system"),
		helm("istio/istiod", "istiod", "istio-system"),
		helm("istio/cni", "istio-cni", "istio-system"),
		helm("istio/ztunnel", "ztunnel", "istio-system"),
		files("istio/samples/addons/grafana.yaml", "istio/samples/addons/jaeger.yaml", "istio/samples/addons/kiali.yaml", "istio/samples/addons/loki.yaml", "istio/samples/addons/prometheus.yaml",
			"istio/samples/bookinfo/platform/kube/bookinfo.yaml", "istio/samples/bookinfo/networking", "istio/samples/httpbin/httpbin.yaml", "istio/samples/httpbin/httpbin-gateway.yaml", "istio/samples/helloworld/helloworld.yaml", "istio/samples/sleep/sleep.yaml", "istio/samples/tcp-echo/tcp-echo.yaml", "istio/samples/tcp-echo/tcp-echo-all-v1.yaml"),
		text(`apiVersion: networking.istio.io/v1
kind: Gateway
metadata:
  name: web
  namespace: default
spec:
  selector: {istio: ingressgateway}
  servers:
  - port: {number: 80, name: http, protocol: HTTP}
    hosts: ["*"]
`),
	}}
	dapr = pack{name: "dapr", namespace: "dapr-system", parts: []part{
		namespaceOf("dapr-system"),
		helm("dapr/chart", "dapr", "dapr-system"),
		text(`apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: state
  namespace: default
spec:
  type: state.in-memory
  version: v1
  metadata: []
---
apiVersion: dapr.io/v2alpha1
kind: Subscription
metadata:
  name: orders
  namespace: default
spec:
  topic: orders
  pubsubname: pubsub
  routes: {default: /orders}
`),
	}}
	chaosMesh = pack{name: "chaos-mesh", namespace: "default", plainSecrets: true, parts: []part{
		namespaceOf("chaos-mesh"),
		helm("chaos-mesh/chart", "chaos-mesh", "chaos-mesh"),
		// It lacks a field that the CRD requires.
		without(files("chaos-mesh/examples"), "kind: RemoteCluster"),
		text(`apiVersion: chaos-mesh.org/v1alpha1
kind: PodChaos
metadata:
  name: kill
  namespace: default
spec:
  action: pod-kill
  mode: one
  selector: {namespaces: [default]}
`),
	}}
	// The cluster that it creates gets the rest of the seed.
	edge = pack{name: "edge", namespace: "default", parts: []part{
		with(files("cluster-api/templates/clusterclass-quick-start.yaml", "cluster-api/templates/cluster-template-development.yaml"),
			"NAMESPACE", "default", "CLUSTER_NAME", "edge-1", "KUBERNETES_VERSION", "v1.36.3",
			"CONTROL_PLANE_MACHINE_COUNT", "1", "WORKER_MACHINE_COUNT", "1"),
		files("contour/render/contour.yaml"),
	}}
	cloudNativePG = pack{name: "cloudnative-pg", namespace: "default", parts: []part{
		files("cloudnative-pg"),
		text(workload{name: "shop", container: "envFrom: [{secretRef: {name: cluster-example-app}}]"}.String()),
	}}
	ingressNGINX = pack{name: "ingress-nginx", parts: []part{
		files("ingress-nginx/deploy.yaml"),
		text("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web, namespace: default}, spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}}}"),
	}}
	kueue = pack{name: "a-kueue", parts: kueueParts}
	// The certificate of the operator is from cert-manager, whose Deployments its webhooks match.
	kueueWithCertManager = pack{name: "kueue-with-cert-manager", parts: slices.Concat(certManager.parts, kueueParts)}
	verticalPod          = pack{name: "vertical-pod-autoscaler", parts: []part{kustomize("vertical-pod-autoscaler")}}
	clusterAPIAWS        = pack{name: "cluster-api-aws", parts: []part{with(kustomize("cluster-api-aws/default"))}}
	clusterAPI           = pack{name: "cluster-api", parts: []part{
		with(kustomize("cluster-api/core/default")),
		with(kustomize("cluster-api/bootstrap/default")),
		with(kustomize("cluster-api/controlplane/default")),
		with(kustomize("cluster-api/docker/default")),
	}}
)

// kueueParts are Kueue with a certificate of cert-manager instead of the one that it makes itself.
var kueueParts = []part{
	without(replaced(kustomize("kueue/default"),
		"kind: MutatingWebhookConfiguration\nmetadata:\n", "kind: MutatingWebhookConfiguration\nmetadata:\n"+kueueBundle,
		"kind: ValidatingWebhookConfiguration\nmetadata:\n", "kind: ValidatingWebhookConfiguration\nmetadata:\n"+kueueBundle), "kind: Secret"),
	text(`apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: kueue-selfsigned-issuer
  namespace: kueue-system
spec:
  selfSigned: {}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: kueue-serving-cert
  namespace: kueue-system
spec:
  dnsNames: [kueue-webhook-service.kueue-system.svc]
  secretName: kueue-webhook-server-cert
  issuerRef:
    kind: Issuer
    name: kueue-selfsigned-issuer
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: default
`),
}

const kueueBundle = "  annotations:\n    cert-manager.io/inject-ca-from: kueue-system/kueue-serving-cert\n"

// certManagerOfManagement is cert-manager on the management cluster.
var certManagerOfManagement = func() pack {
	p := certManager
	p.parts = nil
	for _, part := range certManager.parts {
		p.parts = append(p.parts, onManagement(part))
	}
	return p
}()

// stacks are all that is tested.
var stacks = []stack{
	{"cert-manager", oneCluster, []pack{certManager}},
	{"opentelemetry-operator", oneCluster, []pack{certManager, openTelemetry}},
	{"prometheus-operator", oneCluster, []pack{prometheus}},
	{"argo-cd", oneCluster, []pack{argoCD}},
	{"argo-rollouts", oneCluster, []pack{argoRollouts}},
	{"external-secrets", oneCluster, []pack{externalSecrets}},
	{"gateway-api", oneCluster, []pack{gatewayAPI, gatewayConformance}},
	{"argo-cd-ha", oneCluster, []pack{argoCDHA}},
	{"kube-prometheus", oneCluster, []pack{kubePrometheus}},
	{"gatekeeper", oneCluster, []pack{gatekeeper}},
	{"metrics-server", oneCluster, []pack{metricsServer}},
	{"keda", oneCluster, []pack{keda}},
	{"metallb", oneCluster, []pack{metalLB}},
	{"contour", oneCluster, []pack{contour}},
	{"kueue", oneCluster, []pack{kueue, certManager}},
	{"kueue-with-cert-manager", oneCluster, []pack{kueueWithCertManager}},
	{"cloudnative-pg", oneCluster, []pack{cloudNativePG}},
	{"ingress-nginx", oneCluster, []pack{ingressNGINX}},
	{"ingress-nginx-with-metallb", oneCluster, []pack{ingressNGINX, metalLB}},
	{"kyverno", oneCluster, []pack{kyverno}},
	{"training-operator", oneCluster, []pack{training}},
	{"knative-serving", oneCluster, []pack{knative}},
	{"calico", oneCluster, []pack{calico}},
	{"istio", oneCluster, []pack{gatewayAPI, istio}},
	{"dapr", oneCluster, []pack{dapr}},
	{"chaos-mesh", oneCluster, []pack{chaosMesh}},
	{"vertical-pod-autoscaler", oneCluster, []pack{verticalPod}},
	{"cluster-api", management, []pack{certManagerOfManagement, clusterAPI, clusterAPIAWS}},
	{"edge", management, []pack{certManagerOfManagement, clusterAPI, edge, prometheus}},
}

// without returns a stack with some rules switched off.
func (s stack) without(rules []string) stack {
	s.packs = slices.Clone(s.packs)
	for i := range s.packs {
		s.packs[i].disabledRules = rules
	}
	return s
}

// repeats reports whether a seed is also in a stack before this one. Its tiers go through their
// random orders there.
func (s stack) repeats(seed string) bool {
	for _, other := range stacks {
		if other.name == s.name {
			return false
		}
		if slices.ContainsFunc(other.packs, func(p pack) bool { return p.name == seed }) {
			return true
		}
	}
	return false
}
