package placement

import "testing"

func TestRuleSameCloud(t *testing.T) {
	granted := "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, kubeConfigNamespaces: [crossplane-system, flux-system]}\n"
	doc := func(apiVersion, kind, name, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
	}
	gke := doc("container.gcp.upbound.io/v1beta1", "Cluster", "gke-2", "{forProvider: {}, writeConnectionSecretToRef: {name: c, namespace: crossplane-system}}")
	providerConfig := doc("gcp.upbound.io/v1beta1", "ProviderConfig", "default", "{credentials: {source: Secret, secretRef: {namespace: crossplane-system, name: gcp, key: c}}}")
	credentials := "apiVersion: v1\nkind: Secret\nmetadata: {name: gcp, namespace: crossplane-system}\n"
	fleet := []string{granted, edgeEU}
	xrd := doc("apiextensions.crossplane.io/v2", "CompositeResourceDefinition", "apps.acme.org", "{group: acme.org, names: {kind: App, plural: apps}}")
	app := "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: a, namespace: default}\n"
	function := doc("pkg.crossplane.io/v1", "Function", "patch", "{package: x.example.com/f}")
	configuration := doc("pkg.crossplane.io/v1", "Configuration", "platform", "{package: x.example.com/platform}")
	runPlaceCases(t, map[string]placeCase{
		"the configuration that a cluster of a cloud uses without naming it": {
			clusters: fleet, seed: []string{gke, providerConfig, credentials}, of: "gcp.upbound.io/ProviderConfig/default", want: where{"mgmt", "same-cloud"}},
		"and its credentials": {
			clusters: fleet, seed: []string{gke, providerConfig, credentials}, of: "core/Secret/crossplane-system/gcp", want: where{"mgmt", "follow-references"}},
		"and a network that nothing names": {
			clusters: fleet, seed: []string{gke, doc("compute.gcp.upbound.io/v1beta1", "Network", "net", "{}")}, of: "compute.gcp.upbound.io/Network/net", want: where{"mgmt", "same-cloud"}},
		"and what Crossplane composes beside it": {
			clusters: fleet, seed: []string{gke, xrd, app}, of: "acme.org/App/default/a", want: where{"mgmt", "same-cloud"}},
		"the definition of that goes along": {
			clusters: fleet, seed: []string{gke, xrd, app}, of: "apiextensions.crossplane.io/CompositeResourceDefinition/apps.acme.org", want: where{"mgmt", "management-api"}},
		"a configuration of the namespaced kind": {
			clusters: fleet, seed: []string{"apiVersion: eks.aws.m.upbound.io/v1beta1\nkind: Cluster\nmetadata: {name: eks-1, namespace: clouds}\n", doc("aws.m.upbound.io/v1beta1", "ClusterProviderConfig", "default", "{}")}, of: "aws.m.upbound.io/ClusterProviderConfig/default", want: where{"mgmt", "same-cloud"}},
		"a context of Config Connector": {
			clusters: fleet, seed: []string{"apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerCluster\nmetadata: {name: gke-3, namespace: flux-system}\n", "apiVersion: core.cnrm.cloud.google.com/v1beta1\nkind: ConfigConnectorContext\nmetadata: {name: c, namespace: flux-system}\n"}, of: "core.cnrm.cloud.google.com/ConfigConnectorContext/flux-system/c", want: where{"mgmt", "same-cloud"}},
		"people may have Crossplane elsewhere as well": {
			clusters: fleet, seed: []string{gke, "apiVersion: s3.aws.upbound.io/v1beta1\nkind: Bucket\nmetadata: {name: b, annotations: {furrow.dev/cluster: edge-eu}}\n", function}, of: "pkg.crossplane.io/Function/patch", want: where{"edge-eu,mgmt", "management-api"}},
		"without a cluster of the cloud its resources are for the workload clusters": {
			clusters: fleet, seed: []string{providerConfig, credentials}, of: "gcp.upbound.io/ProviderConfig/default", want: where{"edge-eu", "selected"}},

		"a function goes where the composite goes": {
			clusters: fleet, seed: []string{xrd, app, function}, of: "pkg.crossplane.io/Function/patch", want: where{"edge-eu", "management-api"}},
		"also one that people placed": {
			clusters: fleet, seed: []string{xrd, "apiVersion: acme.org/v1\nkind: App\nmetadata: {name: a, namespace: default, annotations: {furrow.dev/role: Management}}\n", function}, of: "pkg.crossplane.io/Function/patch", want: where{"mgmt", "management-api"}},
		"a composition alone says which kind it is for": {
			clusters: fleet, seed: []string{doc("apiextensions.crossplane.io/v1", "Composition", "app", "{compositeTypeRef: {apiVersion: acme.org/v1, kind: App}}"), app, function}, of: "pkg.crossplane.io/Function/patch", want: where{"edge-eu", "management-api"}},
		"a claim counts like its composite": {
			clusters: fleet, seed: []string{doc("apiextensions.crossplane.io/v1", "CompositeResourceDefinition", "xapps.acme.org", "{group: acme.org, names: {kind: XApp, plural: xapps}, claimNames: {kind: App, plural: apps}}"), app, function}, of: "pkg.crossplane.io/Function/patch", want: where{"edge-eu", "management-api"}},
		"so does what configures its runtime": {
			clusters: fleet, seed: []string{xrd, app, doc("pkg.crossplane.io/v1beta1", "DeploymentRuntimeConfig", "default", "{}")}, of: "pkg.crossplane.io/DeploymentRuntimeConfig/default", want: where{"edge-eu", "management-api"}},
		"a Configuration goes where a resource goes that only it can bring": {
			clusters: fleet, seed: []string{configuration, app}, of: "pkg.crossplane.io/Configuration/platform", want: where{"edge-eu", "management-api"}},
		"but not where a kind goes that something else brings": {
			clusters: fleet, seed: []string{configuration, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: k, namespace: default}\nspec: {chart: {spec: {chart: kueue}}}\n", "apiVersion: kueue.x-k8s.io/v1beta1\nkind: Unheard\nmetadata: {name: q}\n"}, of: "pkg.crossplane.io/Configuration/platform", want: where{"mgmt", "management-api"}},
		"its annotation says what it brings": {
			clusters: fleet, seed: []string{"apiVersion: pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: platform, annotations: {furrow.dev/provides: acme.org}}\n", app, "apiVersion: other.org/v1\nkind: Thing\nmetadata: {name: t, namespace: default, annotations: {furrow.dev/role: Management}}\n"}, of: "pkg.crossplane.io/Configuration/platform", want: where{"edge-eu", "management-api"}},
		"by itself it goes to the management cluster": {
			clusters: fleet, seed: []string{configuration}, of: "pkg.crossplane.io/Configuration/platform", want: where{"mgmt", "management-api"}},
		"the engine itself goes along": {
			clusters: fleet, seed: []string{xrd, app, function, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crossplane, namespace: default}\nspec: {chart: {spec: {chart: crossplane}}}\n"}, of: "helm.toolkit.fluxcd.io/HelmRelease/default/crossplane", want: where{"edge-eu", "installer"}},
		"as manifests, too": {
			clusters: fleet, seed: []string{xrd, app, function, doc("apiextensions.k8s.io/v1", "CustomResourceDefinition", "functions.pkg.crossplane.io", "{group: pkg.crossplane.io, scope: Cluster, names: {kind: Function, plural: functions}}")}, of: "apiextensions.k8s.io/CustomResourceDefinition/functions.pkg.crossplane.io", want: where{"edge-eu", "component"}},
	})
}
