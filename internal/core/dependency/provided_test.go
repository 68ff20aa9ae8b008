package dependency

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		if got := c.HasKind(kind); got != want {
			t.Errorf("%s: %t, want %t", kind, got, want)
		}
	}
}

// guardOnCluster is the configuration of testdata/webhook/guard.yaml, as something that is on a cluster.
const guardOnCluster = `webhookConfigurations: [{kind: ValidatingWebhookConfiguration, name: guard, webhooks: [{name: guard.example.org, clientConfig: {service: {namespace: guard-system, name: guard-webhook}},
    rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]NAMESPACES}]}]`

func TestWebhookConfigurationsOnTheClusterCount(t *testing.T) {
	guard := read(t, "webhook/guard.yaml")
	workload := guard[:strings.LastIndex(guard, "---\n")]
	fleet := func(namespaces string) string {
		return strings.Replace(oneCluster, "namespaces: [shop]", "namespaces: [shop], "+strings.Replace(guardOnCluster, "NAMESPACES", namespaces, 1), 1)
	}
	waits := []string{"Deployment web waits for Deployment guard", "Deployment web waits for Service guard-webhook"}
	const notItsOwn = ", namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [guard-system]}]}"
	for sentence, c := range map[string]struct {
		tree     string
		want     []string
		wantWarn bool
	}{
		"nothing waits where no seed has the workload: it is there": {tree: fleet("") + seedOf("shop", shopDeployment)},
		"what a webhook matches waits for the workload of a seed":   {tree: fleet(notItsOwn) + seedOf("guard", workload) + seedOf("shop", shopDeployment), want: waits},
		"what the workload needs cannot wait, and is warned of":     {tree: fleet("") + seedOf("guard", workload) + seedOf("shop", shopDeployment), want: waits, wantWarn: true},
		"the configuration of a seed comes before that of the cluster": {
			tree: fleet("") + seedOf("guard", guard) + seedOf("shop", shopDeployment),
			want: []string{waits[0], waits[1], "Deployment web waits for ValidatingWebhookConfiguration guard", "ValidatingWebhookConfiguration guard waits for Deployment guard"},
		},
		"another kind does not wait": {tree: fleet(notItsOwn) + seedOf("guard", workload) + seedOf("shop", aWidget)},
		"a seed may switch the rule off": {
			tree: fleet("") + seedOf("guard", workload) + seedOf("shop", "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: shop}\nspec: {disabledRules: [webhook]}\n", shopDeployment), wantWarn: true,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, c.tree)
			if diff := cmp.Diff(c.want, pairs(result.Graph, "webhook")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			warned := slices.ContainsFunc(result.Warnings, func(f Finding) bool { return f.Reason == v1alpha1.ReasonWebhookBeforeBackend })
			if warned != c.wantWarn {
				t.Errorf("warned: %t, want %t: %v", warned, c.wantWarn, result.Warnings)
			}
		})
	}
}

func TestNothingWaitsForTheMakersOfWhatAClusterProvides(t *testing.T) {
	secret := func(provided string) string {
		return "\n-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {provides: {objects: [" + provided + "]}}\n" +
			seedOf("app", user("", "containers: [{name: c, image: c, envFrom: [{secretRef: {name: mq-default-user}}]}]"), customKind("rabbitmq.com", "RabbitmqCluster", "Namespaced"),
				"apiVersion: rabbitmq.com/v1\nkind: RabbitmqCluster\nmetadata: {name: mq, namespace: default}\n")
	}
	for provided, want := range map[string]int{
		"": 1, "{kind: Secret, namespace: default, name: mq-default-user}": 0,
		"{kind: Secret, namespace: other, name: mq-default-user}": 1, "{kind: ConfigMap, namespace: default, name: mq-default-user}": 1,
	} {
		if level, _ := levelsOf(t, secret(provided)); level["Deployment web"] != want {
			t.Errorf("with %q the Deployment is on level %d, want %d", provided, level["Deployment web"], want)
		}
	}
}
