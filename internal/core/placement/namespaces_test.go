package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// lonely is an object in a Namespace that no seed contains.
func lonely(apiVersion, kind, more string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: x, namespace: nowhere}\n" + more + "\n"
}

func lonelyPod(annotations string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, namespace: nowhere, annotations: {" + annotations + "}}\nspec: {template: {spec: {containers: [{name: c, image: i}]}}}\n"
}

func TestAClusterThatASeedCreatesHasNoNamespaceThatNoSeedContains(t *testing.T) {
	const refused = `seeds/web/web.yaml:5: Deployment "x": NamespaceAbsent seed=web cluster=edge-1`
	inNamespace := func(kind, namespace string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: x, namespace: " + namespace + "}\n"
	}
	described := func(provides string) string {
		return "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {" + provides + "}\n"
	}
	cases := map[string]placeCase{
		"a Secret is for what creates the cluster":            {seed: []string{capi, lonely("v1", "Secret", "")}, of: "core/Secret/nowhere/x", want: where{"mgmt", "selected"}},
		"so is a ConfigMap":                                   {seed: []string{capi, lonely("v1", "ConfigMap", "")}, of: "core/ConfigMap/nowhere/x", want: where{"mgmt", "selected"}},
		"and a ServiceAccount":                                {seed: []string{capi, lonely("v1", "ServiceAccount", "")}, of: "core/ServiceAccount/nowhere/x", want: where{"mgmt", "selected"}},
		"and what makes a Secret":                             {seed: []string{capi, lonely("external-secrets.io/v1", "ExternalSecret", "")}, of: "external-secrets.io/ExternalSecret/nowhere/x", want: where{"mgmt", "selected"}},
		"by any operator":                                     {seed: []string{capi, lonely("secrets.hashicorp.com/v1beta1", "VaultStaticSecret", "spec: {destination: {name: y}}")}, of: "secrets.hashicorp.com/VaultStaticSecret/nowhere/x", want: where{"mgmt", "selected"}},
		"the store of such a Secret goes along":               {seed: []string{capi, lonely("external-secrets.io/v1", "ExternalSecret", "spec: {secretStoreRef: {kind: SecretStore, name: x}}"), lonely("external-secrets.io/v1", "SecretStore", "")}, of: "external-secrets.io/SecretStore/nowhere/x", want: where{"mgmt", "follow-references"}},
		"and the issuer of a certificate":                     {seed: []string{capi, lonely("cert-manager.io/v1", "Certificate", "spec: {secretName: y, issuerRef: {name: x, kind: Issuer, group: cert-manager.io}}"), lonely("cert-manager.io/v1", "Issuer", "")}, of: "cert-manager.io/Issuer/nowhere/x", want: where{"mgmt", "follow-references"}},
		"a workload is refused":                               {seed: []string{capi, lonelyPod("")}, wantError: refused},
		"also with a Secret that it names":                    {seed: []string{capi, lonelyPod(""), lonely("v1", "Secret", "")}, wantError: `seeds/web/web.yaml:5: 2 objects: NamespaceAbsent seed=web cluster=edge-1`},
		"also where people placed it":                         {seed: []string{capi, lonelyPod("furrow.dev/cluster: edge-1")}, wantError: refused},
		"a Secret that people placed there is refused":        {seed: []string{capi, "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: nowhere, annotations: {furrow.dev/cluster: edge-1}}\n"}, wantError: `seeds/web/web.yaml:5: Secret "x": NamespaceAbsent seed=web cluster=edge-1`},
		"an object of a kind that nobody knows is refused":    {seed: []string{capi, lonely("example.com/v1", "Queue", "")}, wantError: `seeds/web/web.yaml:5: Queue "x": NamespaceAbsent seed=web cluster=edge-1`},
		"a Service that selects nothing is refused":           {seed: []string{capi, lonely("v1", "Service", "")}, wantError: `seeds/web/web.yaml:5: Service "x": NamespaceAbsent seed=web cluster=edge-1`},
		"the Namespace in the seed is enough":                 {seed: []string{capi, lonelyPod(""), namespaceOf("nowhere", "")}, of: "apps/Deployment/nowhere/x", want: where{"edge-1", "selected"}},
		"but not on another cluster":                          {seed: []string{capi, lonelyPod("furrow.dev/cluster: edge-1"), namespaceOf("nowhere", "furrow.dev/cluster: mgmt")}, wantError: refused},
		"what the document of the new cluster lists is there": {seed: []string{capi, described("provides: {namespaces: [nowhere]}"), lonelyPod("")}, of: "apps/Deployment/nowhere/x", want: where{"edge-1", "selected"}},
		"every cluster has default":                           {seed: []string{capi, inNamespace("Secret", "default")}, of: "core/Secret/default/x", want: where{"edge-1", "selected"}},
		"and kube-system":                                     {seed: []string{capi, inNamespace("Secret", "kube-system")}, of: "core/Secret/kube-system/x", want: where{"edge-1", "selected"}},
		"the hub has its reconciler's, the new cluster not":   {seed: []string{capi, inNamespace("Secret", "flux-system")}, of: "core/Secret/flux-system/x", want: where{"mgmt", "selected"}},
		"a cluster with a reconciler of its own has that":     {seed: []string{capi, described("reconciledBy: edge-1"), inNamespace("Secret", "flux-system")}, of: "core/Secret/flux-system/x", want: where{"edge-1", "selected"}},
		"a release may make the Namespace": {
			seed: []string{capi, namespaceOf("apps", ""), lonelyPod(""), "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: apps}\nspec: {targetNamespace: nowhere, install: {createNamespace: true}}\n"},
			of:   "apps/Deployment/nowhere/x", want: where{"edge-1", "selected"},
		},
		"but not one on the hub for another cluster": {
			seed:      []string{capi, lonelyPod(""), "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: edge}\nspec: {targetNamespace: nowhere, install: {createNamespace: true}, kubeConfig: {secretRef: {name: edge-1-kubeconfig}}}\n"},
			wantError: refused,
		},
		"an Application may make it, too": {
			seed: []string{capi, namespaceOf("apps", ""), lonelyPod(""), "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: r, namespace: apps}\nspec: {destination: {namespace: nowhere}, syncPolicy: {syncOptions: [CreateNamespace=true]}}\n"},
			of:   "apps/Deployment/nowhere/x", want: where{"edge-1", "selected"},
		},
		"a new OpenShift has its namespaces": {
			seed: []string{"apiVersion: hive.openshift.io/v1\nkind: ClusterDeployment\nmetadata: {name: edge-1, namespace: edge}\n", inNamespace("ConfigMap", "openshift-monitoring")},
			of:   "core/ConfigMap/openshift-monitoring/x", want: where{"edge-1", "selected"},
		},
		"a cluster that is there may have any": {seed: []string{lonelyPod("")}, of: "apps/Deployment/nowhere/x", want: where{"edge-eu", "selected"}},
	}
	for sentence, c := range cases {
		c.clusters = []string{mgmt, edgeEU}
		cases[sentence] = c
	}
	runPlaceCases(t, cases)
}

func TestWhichSeedContainsTheNamespace(t *testing.T) {
	secret := lonely("v1", "Secret", "")
	selects := "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: app}\nspec: {clusterSelector: {matchLabels: {region: eu}}}\n"
	brings := func(cluster string) map[string]string {
		return map[string]string{"brings": namespaceOf("nowhere", "furrow.dev/cluster: "+cluster)}
	}
	cases := map[string]struct {
		seed    []string // web's
		others  map[string]string
		planted map[string][]NamespaceOn
		want    string
		failed  map[string]string
	}{
		"another seed has it for the new cluster":                {seed: []string{capi, secret}, others: brings("edge-1"), want: "edge-1"},
		"another seed has it for management alone":               {seed: []string{capi, secret}, others: brings("mgmt"), want: "mgmt"},
		"a seed that cannot be planned has it there":             {seed: []string{capi, secret}, planted: map[string][]NamespaceOn{"gone": {{"nowhere", "edge-1"}}}, want: "edge-1"},
		"a seed that cannot be planned has it on another one":    {seed: []string{capi, secret}, planted: map[string][]NamespaceOn{"gone": {{"nowhere", "edge-2"}}}, want: "mgmt"},
		"a seed that is planned again no longer brings it there": {seed: []string{capi, secret}, others: brings("mgmt"), planted: map[string][]NamespaceOn{"brings": {{"nowhere", "edge-1"}}}, want: "mgmt"},
		"what another seed has for the cluster is not for what creates it": {
			seed: []string{capi}, others: map[string]string{"app": join(selects, secret)},
			failed: map[string]string{"app": `seeds/app/app.yaml:6: Secret "x": NamespaceAbsent seed=app cluster=edge-1`},
		},
		"what moves away takes its Namespace along": {
			seed:   []string{capi, secret},
			others: map[string]string{"brings": join("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-2, namespace: nowhere}\n", namespaceOf("nowhere", ""))},
			want:   "mgmt",
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			inv := inventoryOf(t, mgmt)
			seeds := []catalog.Seed{seedOf(t, c.seed...)}
			for _, name := range sortedKeys(c.others) {
				seeds = append(seeds, namedSeed(t, name, c.others[name]))
			}
			if failed := AddImplied(inv, seeds); len(failed) > 0 {
				t.Fatal(failed)
			}
			var all []*catalog.Seed
			for i := range seeds {
				all = append(all, &seeds[i])
			}
			placed, failed := PlaceAll(all, inv, c.planted)
			reasons := map[string]string{}
			for name, err := range failed {
				reasons[name] = fields(err)
			}
			if diff := cmp.Diff(c.failed, reasons); diff != "" && len(c.failed)+len(reasons) > 0 {
				t.Errorf("the refused seeds differ (-want +got):\n%s", diff)
			}
			for _, p := range placed["web"].Placements {
				if p.Object.Name == "x" && p.Clusters[0] != c.want {
					t.Errorf("the object goes to %v (%s), want %s", p.Clusters, p.Why, c.want)
				}
			}
		})
	}
}
