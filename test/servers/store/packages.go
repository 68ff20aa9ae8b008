package store

// Modules that hold manifests of other projects, as they are installed.
var (
	argoCDModule        = module{"github.com/argoproj/argo-cd/v3", "v3.5.7", "h1:Xm1BF+I5OgDKUG3SDK49vn2/Y5AMyaNVko+/JT08gj0="}
	argoRolloutsModule  = module{"github.com/argoproj/argo-rollouts", "v1.8.3", "h1:blbtQva4IK9r6gFh+dWkCrLnFdPOWiv9ubQYu36qeaA="}
	calicoModule        = module{"github.com/projectcalico/calico", "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520", "h1:TXnPEzx4pLWgwzCetIO/VJuz4iBZZrOdNSv16a50YqE="}
	certManagerModule   = module{"github.com/cert-manager/cert-manager", "v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="}
	chaosMeshModule     = module{"github.com/chaos-mesh/chaos-mesh", "v0.9.1-0.20260902003049-47411975a8cb", "h1:0TeWmCELKreoLAXuoPaO2qpJe73foDgOoyU3fdKQN4A="}
	cloudNativePGModule = module{"github.com/cloudnative-pg/cloudnative-pg", "v1.26.0", "h1:X+ayWg6TXqglziSPejKiviPTf/CSh4AmYXx1mrS3i8s="}
	clusterAPIAWSModule = module{"sigs.k8s.io/cluster-api-provider-aws/v2", "v2.13.0", "h1:yQz7GBrIkPLuEJ5MXNuZ/6eUssTJK8reUnZ6t5QIPnU="}
	clusterAPIProviders = module{"sigs.k8s.io/cluster-api/test", "v1.14.2", "h1:nZ/Ql57cR7Huwqd7o3X+2AFSg5kcAmSTUZovLwzIhIs="}
	contourModule       = module{"github.com/projectcontour/contour", "v1.33.8", "h1:QoOfwqWws+CVRFpsRC2+f1DmB5IdurtyUtepIsiWfE0="}
	daprModule          = module{"github.com/dapr/dapr", "v1.14.0", "h1:SIQsNX1kH31JRDIS4k8IZ6eomM/BAcOP844PhQIT+BQ="}
	externalSecrets     = module{"github.com/external-secrets/external-secrets", "v1.3.2", "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ="}
	gatekeeperModule    = module{"github.com/open-policy-agent/gatekeeper/v3", "v3.23.1", "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck="}
	gatewayAPIModule    = module{"sigs.k8s.io/gateway-api", "v1.4.1", "h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8="}
	ingressNGINXModule  = module{"k8s.io/ingress-nginx", "v0.0.0-20240708192948-52c50467d67d", "h1:tZui5g6S4GO1hxLm6yrEoIXLkl4QfeGytlmZqZ+DmdQ="}
	istioModule         = module{"istio.io/istio", "v0.0.0-20260827124520-eed52ebb66ad", "h1:ui9TJjRMAV/hb5ehQaZDq7IUGxuQP6dra9lapT/VjHI="}
	kedaModule          = module{"github.com/kedacore/keda/v2", "v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps="}
	knativeModule       = module{"knative.dev/serving", "v0.51.0", "h1:yN2Q7eYqJgoPfZkATjoBZyGbZ2P1Qhns9HIMU4mF+to="}
	kueueModule         = module{"sigs.k8s.io/kueue", "v0.17.0", "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I="}
	kyvernoModule       = module{"github.com/kyverno/kyverno", "v1.19.1", "h1:/MkgFii3/VlQfKR1JpC9tVwNNVNQTt2S4U6qCsafsTU="}
	metalLBModule       = module{"go.universe.tf/metallb", "v0.16.2", "h1:RCSAGoZmqcvTg0e56+Okbwz8iTuQVX30JpKX5mYEPUM="}
	metricsServerModule = module{"sigs.k8s.io/metrics-server", "v0.9.0", "h1:nlqqZ2H0Xfko8eJC/1qaNVVT17hu4rxndkOi22KTZ4w="}
	openTelemetryModule = module{"github.com/open-telemetry/opentelemetry-operator", "v0.140.0", "h1:yHwVEn1vjQ7n9OoOZX/rsgur+YozIKNjCoWSk6EAhvw="}
	prometheusModule    = module{"github.com/prometheus-operator/prometheus-operator", "v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s="}
	trainingModule      = module{"github.com/kubeflow/training-operator", "v1.8.1", "h1:mVvoBSCInbMBX0gGSn4+Ihj3ycwoLO1iEAw+0qPhQfc="}
	verticalPodModule   = module{"k8s.io/autoscaler/vertical-pod-autoscaler", "v1.8.1", "h1:Pe8bV1wozN4gOKO1rleiIY5alIyAXN+DnXDbXQcL4fI="}
)

// packageData is what of these modules is used. It is downloaded and never committed.
var packageData = []data{
	{argoCDModule, "manifests/install.yaml", "packages/argo-cd/install.yaml"},
	{argoCDModule, "manifests/ha/install.yaml", "packages/argo-cd/ha-install.yaml"},
	{argoRolloutsModule, "manifests/install.yaml", "packages/argo-rollouts/install.yaml"},
	{argoRolloutsModule, "examples", "packages/argo-rollouts/examples"},
	{calicoModule, "manifests/calico.yaml", "packages/calico/calico.yaml"},
	{calicoModule, "manifests/apiserver.yaml", "packages/calico/apiserver.yaml"},
	{certManagerModule, "deploy/charts/cert-manager", "packages/cert-manager/chart"},
	{chaosMeshModule, "helm/chaos-mesh", "packages/chaos-mesh/chart"},
	{chaosMeshModule, "examples", "packages/chaos-mesh/examples"},
	{cloudNativePGModule, "releases/cnpg-1.26.0.yaml", "packages/cloudnative-pg/cnpg.yaml"},
	{cloudNativePGModule, "docs/src/samples/cluster-example.yaml", "packages/cloudnative-pg/cluster-example.yaml"},
	{clusterAPIAWSModule, "config", "packages/cluster-api-aws"},
	{clusterAPIModule, "core/config", "packages/cluster-api/core"},
	{clusterAPIModule, "bootstrap/kubeadm/config", "packages/cluster-api/bootstrap"},
	{clusterAPIModule, "controlplane/kubeadm/config", "packages/cluster-api/controlplane"},
	{clusterAPIProviders, "infrastructure/docker/config", "packages/cluster-api/docker"},
	{clusterAPIProviders, "infrastructure/docker/templates", "packages/cluster-api/templates"},
	{contourModule, "examples", "packages/contour"},
	{daprModule, "charts/dapr", "packages/dapr/chart"},
	{externalSecrets, "deploy/charts/external-secrets", "packages/external-secrets/chart"},
	{externalSecrets, "config/crds/bases", "packages/external-secrets/crds"},
	{gatekeeperModule, "deploy", "packages/gatekeeper"},
	{gatewayAPIModule, "config/crd", "packages/gateway-api/crds"},
	{gatewayAPIModule, "examples", "packages/gateway-api/examples"},
	{gatewayAPIModule, "conformance/base", "packages/gateway-api/conformance/base"},
	{gatewayAPIModule, "conformance/mesh", "packages/gateway-api/conformance/mesh"},
	{gatewayAPIModule, "conformance/tests", "packages/gateway-api/conformance/tests"},
	{ingressNGINXModule, "deploy/static/provider/cloud/deploy.yaml", "packages/ingress-nginx/deploy.yaml"},
	{istioModule, "manifests/charts/base", "packages/istio/base"},
	{istioModule, "manifests/charts/istio-control/istio-discovery", "packages/istio/istiod"},
	{istioModule, "manifests/charts/istio-cni", "packages/istio/cni"},
	{istioModule, "manifests/charts/ztunnel", "packages/istio/ztunnel"},
	{istioModule, "samples", "packages/istio/samples"},
	{kedaModule, "config", "packages/keda"},
	{knativeModule, "config/core", "packages/knative-serving"},
	{kueueModule, "config", "packages/kueue"},
	{kyvernoModule, "charts/kyverno", "packages/kyverno/chart"},
	{kyvernoModule, "config/install-latest-testing.yaml", "packages/kyverno/install.yaml"},
	{kyvernoModule, "charts/kyverno-policies", "packages/kyverno/policies"},
	{metalLBModule, "config/manifests", "packages/metallb/manifests"},
	{metalLBModule, "configsamples", "packages/metallb/samples"},
	{metalLBModule, "dev-env/kube-prometheus/manifests", "packages/kube-prometheus"},
	{metricsServerModule, "manifests", "packages/metrics-server"},
	{openTelemetryModule, "config", "packages/opentelemetry-operator"},
	{prometheusModule, "bundle.yaml", "packages/prometheus-operator/bundle.yaml"},
	{prometheusModule, "example", "packages/prometheus-operator/example"},
	{trainingModule, "manifests", "packages/training-operator"},
	{trainingModule, "examples", "packages/training-operator/examples"},
	{verticalPodModule, "deploy", "packages/vertical-pod-autoscaler"},
}
