package dependency

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestLabelsOfNamespacesOnTheClusterCount(t *testing.T) {
	guard := strings.Replace(read(t, "webhook/guard.yaml"), "  failurePolicy", "  namespaceSelector: {matchLabels: {guard: 'on'}}\n  failurePolicy", 1)
	for labels, want := range map[string]bool{"{guard: 'on'}": true, "{guard: 'off'}": false, "{}": false} {
		fleet := strings.Replace(oneCluster, "namespaces: [shop]", "labelledNamespaces: [{name: shop, labels: "+labels+"}]", 1)
		g := graphOf(t, fleet+seedOf("guard", guard)+seedOf("shop", shopDeployment)).Graph
		got := false
		for _, e := range g.Edges {
			if r := g.Reason(e); r.Rule == "webhook" && g.Object(e.From).Name == "web" {
				got = true
				if strings.Contains(r.Why, "may match") {
					t.Errorf("%s: %s", labels, r.Why)
				}
			}
		}
		if got != want {
			t.Errorf("%s: an edge %t, want %t", labels, got, want)
		}
	}
}

func TestAClusterProvidesTheKindsOfItsAPIVersions(t *testing.T) {
	c := catalog.Cluster{Provides: v1alpha1.ClusterProvides{APIVersions: []string{"cert-manager.io/v1"}}}
	for kind, want := range map[manifest.GroupKind]bool{{Group: "cert-manager.io", Kind: "Issuer"}: true, {Group: "acme.cert-manager.io", Kind: "Order"}: false, {Group: "cert-manager.i", Kind: "Issuer"}: false} {
		if got := Provides(c, kind); got != want {
			t.Errorf("%s: %t, want %t", kind, got, want)
		}
	}
}
