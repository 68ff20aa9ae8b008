package placement

import (
	"strings"
	"testing"
)

// With a cluster that the seed creates, an object for management clusters that names a Secret in some
// way, and an application with a Secret of its own.
func TestCredentialsStayWithWhatNamesThem(t *testing.T) {
	const app = `
apiVersion: v1
kind: Namespace
metadata: {name: app}
---
apiVersion: v1
kind: Secret
metadata: {name: app, namespace: app}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, namespace: app}
spec: {template: {spec: {containers: [{name: c, image: i, envFrom: [{secretRef: {name: app}}]}]}}}
`
	clusterScoped := func(group, kind, spec string) string {
		return "apiVersion: " + group + "/v1\nkind: " + kind + "\nmetadata: {name: namer}\nspec: " + spec + "\n"
	}
	namespaced := func(group, kind, spec string) string {
		return "apiVersion: " + group + "/v1\nkind: " + kind + "\nmetadata: {name: namer, namespace: edge}\nspec: " + spec + "\n"
	}
	secret := func(namespace string) string {
		return join(namespaceOf(namespace, ""), "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: "+namespace+"}\n")
	}
	infra := "infrastructure.cluster.x-k8s.io"
	cases := map[string]struct{ namer, secret, namespace string }{
		"by name alone, of a Namespace that the seed has": {clusterScoped(infra, "AWSClusterStaticIdentity", "{secretRef: keys}"), secret("capa-system"), "capa-system"},
		"of a Namespace of any name":                      {clusterScoped(infra, "AWSClusterStaticIdentity", "{secretRef: keys}"), secret("clouds"), "clouds"},
		"by a field that ends in Name":                    {clusterScoped(infra, "VSphereClusterIdentity", "{secretName: keys}"), secret("clouds"), "clouds"},
		"by a reference with its namespace":               {clusterScoped("kamaji.clastix.io", "DataStore", "{basicAuth: {password: {secretReference: {name: keys, namespace: clouds, keyPath: p}}}}"), secret("clouds"), "clouds"},
		"by a reference under another name":               {clusterScoped("kamaji.clastix.io", "DataStore", "{tlsConfig: {clientCertificate: {privateKey: {material: {name: keys, namespace: clouds}}}}}"), secret("clouds"), "clouds"},
		"of another namespace than the object's":          {namespaced(infra, "AzureClusterIdentity", "{clientSecret: {name: keys, namespace: clouds}}"), secret("clouds"), "clouds"},
		"with the namespace in one text, after a colon":   {namespaced("provisioning.cattle.io", "NodeThing", `{cloudCredentialSecretName: "cattle-global-data:keys"}`), secret("cattle-global-data"), "cattle-global-data"},
		"with the namespace in one text, after a slash":   {namespaced("hypershift.openshift.io", "NodePool", `{platform: {creds: "clouds/keys"}}`), secret("clouds"), "clouds"},
		"in a list":               {clusterScoped(infra, "OpenStackClusterIdentity", `{allowed: ["clouds/keys"]}`), secret("clouds"), "clouds"},
		"by a Rancher credential": {namespaced("management.cattle.io", "NodeTemplate", `{cloudCredentialName: "cattle-global-data:keys"}`), secret("cattle-global-data"), "cattle-global-data"},
		"by a convention, in the Namespace of the operator":       {namespaced("anywhere.eks.amazonaws.com", "VSphereDatacenterConfig", "{server: s}"), secret("eksa-system"), "eksa-system"},
		"by a convention of Metal³":                               {namespaced("metal3.io", "BareMetalHost", "{online: true}"), secret("baremetal-operator-system"), "baremetal-operator-system"},
		"as the binding of a Gardener":                            {namespaced("security.gardener.cloud", "CredentialsBinding", "{credentialsRef: {apiVersion: v1, kind: Secret, name: keys, namespace: garden}}"), secret("garden"), "garden"},
		"made by an ExternalSecret":                               {clusterScoped(infra, "AWSClusterStaticIdentity", "{secretRef: keys}"), join(namespaceOf("clouds", ""), "apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: e, namespace: clouds}\nspec: {target: {name: keys}}\n"), "clouds"},
		"made under its own name by 1Password":                    {clusterScoped(infra, "AWSClusterStaticIdentity", "{secretRef: keys}"), join(namespaceOf("clouds", ""), "apiVersion: onepassword.com/v1\nkind: OnePasswordItem\nmetadata: {name: keys, namespace: clouds}\n"), "clouds"},
		"in a Namespace of Kubernetes, which every cluster has":   {clusterScoped(infra, "AWSClusterStaticIdentity", "{secretRef: keys}"), "apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: kube-system}\n", "kube-system"},
		"a name that an application's Secret has means the other": {clusterScoped(infra, "AWSClusterStaticIdentity", "{identity: app, key: keys}"), secret("clouds"), "clouds"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got, why, err := placed(seedOf(t, capi, c.namer, c.secret, app), inventoryOf(t, mgmt, edgeEU))
			if err != nil {
				t.Fatal(err)
			}
			for id, w := range got {
				if strings.Contains(id, "/"+c.namespace+"/") && w.Clusters != "mgmt" {
					t.Errorf("%s goes to %s by %s (%s), want mgmt", id, w.Clusters, w.Rule, why[id])
				}
			}
			if w := got["core/Secret/app/app"]; w.Clusters != "edge-1" {
				t.Errorf("the application's Secret goes to %s (%s), want edge-1", w.Clusters, why["core/Secret/app/app"])
			}
		})
	}
}
