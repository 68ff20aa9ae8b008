package dependency

import (
	"strings"
	"testing"
)

// guardOfConfigMaps is the operator of testdata with a webhook on ConfigMaps.
func guardOfConfigMaps(t *testing.T) string {
	t.Helper()
	text := read(t, "webhook/guard.yaml")
	at := strings.LastIndex(text, "  - apiGroups: [apps]")
	return text[:at] + "  - apiGroups: ['']\n    apiVersions: [v1]\n    operations: [CREATE, UPDATE]\n    resources: [configmaps]\n"
}

func TestRuleMounts(t *testing.T) {
	const settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"
	mounting := strings.Replace(shopDeployment, "spec: {containers", "spec: {volumes: [{name: c, configMap: {name: settings}}], containers", 1)
	definition := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: certificates.cert-manager.io}\nspec: {group: cert-manager.io, scope: Namespaced, names: {kind: Certificate, plural: certificates}}\n"
	runPairCases(t, "mounts", map[string]pairCase{
		"a workload whose ConfigMap waits for a webhook is not before it": {
			tree: seedOf("guard", guardOfConfigMaps(t)) + seedOf("shop", mounting, settings), want: []string{"Deployment guard needs ServiceAccount guard", "Deployment web needs ConfigMap settings"},
		},
		"nor before what brings its Secret": {
			tree: seedOf("widgets", read(t, "webhook/widgets.yaml"), definition), want: []string{"Deployment controller-manager needs Certificate serving-cert"},
		},
		"where both only wait for their Namespace, nothing is drawn": {
			tree: seedOf("shop", shopNamespace, mounting, settings),
		},
		"also where the ConfigMap waits for the workload, which is a deadlock": {
			tree: seedOf("shop", mounting, strings.Replace(settings, "namespace: shop", "namespace: shop, annotations: {furrow.dev/depends-on: apps/Deployment/shop/web}", 1)),
			want: []string{"Deployment web needs ConfigMap settings"},
		},
	})
}

// TestAWorkloadIsWithWhatItMounts has a ConfigMap that a webhook matches, and a Deployment that mounts
// it: an earlier tier with the Deployment alone would never be ready.
func TestAWorkloadIsWithWhatItMounts(t *testing.T) {
	shop := strings.Replace(shopDeployment, "spec: {containers", "spec: {volumes: [{name: c, configMap: {name: c}}], containers", 1)
	g := graphOf(t, oneCluster+seedOf("guard", guardOfConfigMaps(t))+seedOf("shop", shopNamespace, shop, shopContent)).Graph
	tiering, conflict := g.Tiers(nil)
	if conflict != nil {
		t.Fatal(conflict)
	}
	ordinal := map[string]int{}
	for i := range g.Len() {
		ordinal[g.Object(i).Kind+" "+g.Object(i).Name] = tiering.Ordinal[i]
	}
	if ordinal["Deployment web"] != ordinal["ConfigMap c"] || ordinal["Deployment web"] != 1 {
		t.Errorf("the tiers are %v", ordinal)
	}
}
