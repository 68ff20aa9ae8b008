package placement

import (
	"strings"
	"testing"
)

func TestServersOfManagementObjectsStayWithThem(t *testing.T) {
	const server = `
apiVersion: v1
kind: Namespace
metadata: {name: ext}
---
apiVersion: v1
kind: Service
metadata: {name: hooks, namespace: ext}
spec: {selector: {app: ext}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: ext, namespace: ext}
spec: {selector: {matchLabels: {app: ext}}, template: {metadata: {labels: {app: ext}}, spec: {serviceAccountName: ext, containers: [{name: c, image: i}], volumes: [{name: v, secret: {secretName: tls}}]}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: ext, namespace: ext}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: ext, namespace: ext}
spec: {secretName: tls, issuerRef: {name: ca}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ext, namespace: ext}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`
	object := func(apiVersion, kind, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: e}\nspec: " + spec + "\n"
	}
	cases := map[string]struct{ object, want string }{
		"a runtime extension":                         {object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "{clientConfig: {service: {name: hooks, namespace: ext, port: 443}}}"), "mgmt"},
		"a runtime extension of the first version":    {object("runtime.cluster.x-k8s.io/v1alpha1", "ExtensionConfig", "{clientConfig: {service: {name: hooks, namespace: ext, path: /x}}}"), "mgmt"},
		"a runtime extension by URL":                  {object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", `{clientConfig: {url: "https://hooks.ext.svc:443/hook"}}`), "mgmt"},
		"an interpreter of Karmada":                   {"apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterWebhookConfiguration\nmetadata: {name: e}\nwebhooks: [{name: h, clientConfig: {service: {name: hooks, namespace: ext}}}]\n", "mgmt"},
		"a server by its whole host":                  {object("kamaji.clastix.io/v1alpha1", "DataStore", `{endpoints: ["hooks.ext.svc.cluster.local:2379"]}`), "mgmt"},
		"a server by the host of one of its Pods":     {object("kamaji.clastix.io/v1alpha1", "DataStore", `{endpoints: ["etcd-0.hooks.ext.svc:2379"]}`), "mgmt"},
		"a Service of another Namespace is another":   {object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "{clientConfig: {service: {name: hooks, namespace: other}}}"), "edge-1"},
		"a host elsewhere says nothing":               {object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", `{clientConfig: {url: "https://hooks.ext.svcs.example.com"}}`), "edge-1"},
		"what is not for management decides nothing":  {object("example.com/v1", "Hook", "{clientConfig: {service: {name: hooks, namespace: ext}}}"), "edge-1"},
		"an extension that people placed elsewhere":   {strings.Replace(object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "{clientConfig: {service: {name: hooks, namespace: ext}}}"), "name: e}", "name: e, annotations: {furrow.dev/cluster: mgmt-2}}", 1), "mgmt-2"},
		"an extension in a seed without any creation": {object("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "{clientConfig: {service: {name: hooks, namespace: ext}}}"), "mgmt"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got, why, err := placed(seedOf(t, spec("managementCluster: mgmt"), capi, c.object, server), inventoryOf(t, mgmt, mgmt2, edgeEU))
			if err != nil {
				t.Fatal(err)
			}
			for id, w := range got {
				if (strings.Contains(id, "/ext/") || id == "core/Namespace/ext") && w.Clusters != c.want {
					t.Errorf("%s goes to %s by %s (%s), want %s", id, w.Clusters, w.Rule, why[id], c.want)
				}
			}
		})
	}
}

func TestWhatIsForAControlPlaneThatTheSeedMakes(t *testing.T) {
	karmada := "apiVersion: operator.karmada.io/v1alpha1\nkind: Karmada\nmetadata: {name: fed, namespace: flux-system}\n"
	other := strings.Replace(karmada, "fed", "fed-2", 1)
	policy := func(annotations string) string {
		return "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: p, namespace: app, annotations: {" + annotations + "}}\nspec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}\n"
	}
	const thePolicy = "policy.karmada.io/PropagationPolicy/app/p"
	app := join(namespaceOf("app", ""), "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, namespace: app}\nspec: {template: {spec: {containers: [{name: c, image: i}]}}}\n")
	member := "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: member}\nspec: {secretRef: {namespace: karmada-cluster, name: member}}\n"
	fleet := []string{mgmt, edgeEU}
	runPlaceCases(t, map[string]placeCase{
		"a policy goes onto it":                              {clusters: fleet, seed: []string{karmada, policy(""), app}, of: thePolicy, want: where{"fed", "management-api"}},
		"as what it propagates":                              {clusters: fleet, seed: []string{karmada, policy(""), app}, of: "apps/Deployment/app/app", want: where{"fed", "selected"}},
		"and its Namespace":                                  {clusters: fleet, seed: []string{karmada, policy(""), namespaceOf("app", "")}, of: "core/Namespace/app", want: where{"fed", "follow-content"}},
		"a policy for all namespaces":                        {clusters: fleet, seed: []string{karmada, "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterOverridePolicy\nmetadata: {name: p}\n"}, of: "policy.karmada.io/ClusterOverridePolicy/p", want: where{"fed", "management-api"}},
		"an interpreter":                                     {clusters: fleet, seed: []string{karmada, "apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterCustomization\nmetadata: {name: p}\n"}, of: "config.karmada.io/ResourceInterpreterCustomization/p", want: where{"fed", "management-api"}},
		"a member of the federation":                         {clusters: fleet, seed: []string{karmada, member}, of: "cluster.karmada.io/Cluster/member", want: where{"fed", "management-api"}},
		"and the credentials of the member":                  {clusters: fleet, seed: []string{karmada, member, "apiVersion: v1\nkind: Secret\nmetadata: {name: member, namespace: karmada-cluster}\n"}, of: "core/Secret/karmada-cluster/member", want: where{"fed", "follow-references"}},
		"what makes it stays":                                {clusters: fleet, seed: []string{karmada, policy(""), app}, of: "operator.karmada.io/Karmada/flux-system/fed", want: where{"mgmt", "management-api"}},
		"of two, both":                                       {clusters: fleet, seed: []string{karmada, other, policy(""), app}, of: thePolicy, want: where{"fed,fed-2", "management-api"}},
		"of two, the one that people name":                   {clusters: fleet, seed: []string{karmada, other, policy("furrow.dev/cluster: fed-2"), app}, of: thePolicy, want: where{"fed-2", "annotation"}},
		"without one it belongs to the management cluster":   {clusters: fleet, seed: []string{policy(""), app}, of: thePolicy, want: where{"mgmt", "management-api"}},
		"the profile of Sveltos is for its management":       {clusters: fleet, seed: []string{capi, "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: p}\nspec: {policyRefs: [{kind: ConfigMap, name: c, namespace: ops}]}\n"}, of: "config.projectsveltos.io/ClusterProfile/p", want: where{"mgmt", "management-api"}},
		"with what it distributes":                           {clusters: fleet, seed: []string{capi, namespaceOf("ops", ""), "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nmetadata: {name: p}\nspec: {policyRefs: [{kind: ConfigMap, name: c, namespace: ops}]}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: ops}\n"}, of: "core/ConfigMap/ops/c", want: where{"mgmt", "follow-references"}},
		"and the events of Sveltos":                          {clusters: fleet, seed: []string{capi, "apiVersion: lib.projectsveltos.io/v1beta1\nkind: EventTrigger\nmetadata: {name: p}\n"}, of: "lib.projectsveltos.io/EventTrigger/p", want: where{"mgmt", "management-api"}},
		"its chart as well":                                  {clusters: fleet, seed: []string{capi, namespaceOf("ops", ""), "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: s, namespace: ops}\nspec: {chart: {spec: {chart: projectsveltos}}}\n"}, of: "helm.toolkit.fluxcd.io/HelmRelease/ops/s", want: where{"mgmt", "installer"}},
		"what Sveltos has on managed clusters stays":         {clusters: fleet, seed: []string{"apiVersion: lib.projectsveltos.io/v1beta1\nkind: Reloader\nmetadata: {name: p}\n"}, of: "lib.projectsveltos.io/Reloader/p", want: where{"edge-eu", "selected"}},
		"a provider's manifests, which it selects by labels": {clusters: fleet, seed: []string{"apiVersion: turtles-capi.cattle.io/v1alpha1\nkind: CAPIProvider\nmetadata: {name: core, namespace: default}\nspec: {fetchConfig: {selector: {matchLabels: {provider: core}}}}\n", namespaceOf("manifests", ""), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v1, namespace: manifests, labels: {provider: core}}\n"}, of: "core/ConfigMap/manifests/v1", want: where{"mgmt", "follow-references"}},
		"an operator's Namespace with nothing but a Secret":  {clusters: fleet, seed: []string{capi, namespaceOf("capa-system", ""), "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: capa-system}\n"}, of: "core/Secret/capa-system/s", want: where{"mgmt", "operator-namespace"}},
		"is that of its operator":                            {clusters: fleet, seed: []string{capi, namespaceOf("capa-system", "")}, of: "core/Namespace/capa-system", want: where{"mgmt", "operator-namespace"}},
		"unless nothing of the seed needs such an operator":  {clusters: fleet, seed: []string{namespaceOf("capa-system", "")}, of: "core/Namespace/capa-system", want: where{"edge-eu", "selected"}},
		"a Namespace of another operator is none of its":     {clusters: fleet, seed: []string{capi, namespaceOf("capsule-system", "")}, of: "core/Namespace/capsule-system", want: where{"edge-1", "selected"}},
	})
}
