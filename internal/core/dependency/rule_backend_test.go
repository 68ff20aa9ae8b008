package dependency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const metricsServer = `apiVersion: apps/v1
kind: Deployment
metadata: {name: metrics-server, namespace: kube-system}
spec:
  selector: {matchLabels: {k8s-app: metrics-server}}
  template:
    metadata: {labels: {k8s-app: metrics-server}}
    spec: {serviceAccountName: metrics-server, containers: [{name: metrics-server, image: registry.k8s.io/metrics-server/metrics-server:v0.7.2}]}
---
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {selector: {k8s-app: metrics-server}, ports: [{port: 443, targetPort: https}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: metrics-server, namespace: kube-system}}
`

func TestRuleBackend(t *testing.T) {
	guard, widgets := read(t, "webhook/guard.yaml"), read(t, "webhook/widgets.yaml")
	cases := map[string]struct {
		tree string
		want []string
	}{
		"a configuration for built-in kinds comes after what answers": {
			tree: seedOf("guard", guard),
			want: []string{"ValidatingWebhookConfiguration guard waits for Deployment guard", "ValidatingWebhookConfiguration guard waits for Service guard-webhook"},
		},
		"one for kinds of the plan may share its tier": {
			tree: seedOf("widgets", widgets),
			want: []string{
				"MutatingWebhookConfiguration widgets needs Deployment controller-manager", "MutatingWebhookConfiguration widgets needs Service widgets-webhook",
			},
		},
		"an aggregated API comes after what serves it": {
			tree: seedOf("metrics", metricsServer),
			want: []string{"APIService v1beta1.metrics.k8s.io waits for Deployment metrics-server", "APIService v1beta1.metrics.k8s.io waits for Service metrics-server"},
		},
		"an API that the API server serves itself does not wait": {
			tree: seedOf("metrics", strings.Replace(metricsServer, ", service: {name: metrics-server, namespace: kube-system}}", "}", 1)),
		},
		"a Service that is in no seed is not waited for": {
			tree: seedOf("guard", strings.Replace(guard, "name: guard-webhook, namespace: guard-system", "name: other, namespace: guard-system", 1)),
		},
		"a workload that waits for its own configuration is not waited for": {
			tree: seedOf("guard", strings.Replace(guard, "kind: Deployment\nmetadata:\n", "kind: Deployment\nmetadata:\n  annotations: {furrow.dev/depends-on: admissionregistration.k8s.io/ValidatingWebhookConfiguration/guard}\n", 1)),
			want: []string{"ValidatingWebhookConfiguration guard waits for Service guard-webhook"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			g := graphOf(t, oneCluster+c.tree).Graph
			if diff := cmp.Diff(c.want, pairs(g, "backend", "bundle"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the edges differ (-want +got):\n%s", diff)
			}
			if _, conflict := g.Tiers(nil); conflict != nil {
				t.Error(conflict)
			}
		})
	}
}

// TestAConfigurationThatSharesATierCostsNone plans an operator with a resource of its own kind: its
// configuration would be in tier 0 without the rule.
func TestAConfigurationThatSharesATierCostsNone(t *testing.T) {
	g := graphOf(t, oneCluster+seedOf("widgets", read(t, "webhook/widgets.yaml"), strings.Replace(aWidget, "namespace: shop", "namespace: widgets-system", 1))).Graph
	tiering, conflict := g.Tiers(nil)
	if conflict != nil {
		t.Fatal(conflict)
	}
	got := map[string]int{}
	for i := range g.Len() {
		got[g.Object(i).Kind] = tiering.Ordinal[i]
	}
	want := map[string]int{"Namespace": 0, "CustomResourceDefinition": 0, "Issuer": 1, "Certificate": 1, "Deployment": 1, "Service": 1, "MutatingWebhookConfiguration": 1, "Widget": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tiers differ (-want +got):\n%s", diff)
	}
	for _, e := range g.Edges {
		if r := g.Reason(e); g.Object(e.From).Kind == "Widget" && g.Object(e.To).Kind == "MutatingWebhookConfiguration" && r.Ready != hasBundle("widgets") {
			t.Errorf("the Widget waits for the configuration until %q", r.Ready)
		}
	}
}

// TestTwoPackagesWhoseWebhooksMatchEachOther has two configurations for Deployments, each served by a
// Deployment: one comes after the other, and neither rejects anything.
func TestTwoPackagesWhoseWebhooksMatchEachOther(t *testing.T) {
	guard := read(t, "webhook/guard.yaml")
	g := graphOf(t, oneCluster+seedOf("guard", guard)+seedOf("ward", strings.ReplaceAll(guard, "guard", "ward"))).Graph
	want := []string{
		"Deployment ward waits for Deployment guard", "Deployment ward waits for Service guard-webhook", "Deployment ward waits for ValidatingWebhookConfiguration guard",
		"ValidatingWebhookConfiguration guard waits for Deployment guard",
		"ValidatingWebhookConfiguration ward waits for Deployment guard", "ValidatingWebhookConfiguration ward waits for Deployment ward",
	}
	if diff := cmp.Diff(want, pairs(g, "webhook")); diff != "" {
		t.Errorf("the edges differ (-want +got):\n%s", diff)
	}
	if _, conflict := g.Tiers(nil); conflict != nil {
		t.Error(conflict)
	}
}

// TestWebhooksNeverMakeACycle makes random packages: workloads, Services, configurations for random
// kinds and dependencies that people declare. Where what is declared has no cycle, nothing has.
func TestWebhooksNeverMakeACycle(t *testing.T) {
	turned, soft := 0, 0
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 11))
		result := graphOf(t, oneCluster+randomPackages(random))
		if _, conflict := result.Graph.Tiers(nil); conflict != nil {
			t.Fatalf("packages %d: %v", seed, conflict)
		}
		for _, e := range result.Graph.Edges {
			switch r := result.Graph.Reason(e); {
			case r.Kind == Soft:
				soft++
			case r.Rule == "webhook" && isExempt(result.Graph.Object(e.From).GroupKind()):
				turned++
			}
		}
	}
	if turned < 500 || soft < 20 {
		t.Errorf("%d edges were turned round and %d could not be drawn: the test has lost its point", turned, soft)
	}
}

// randomPackages are seeds with objects in a random order; those that declare a dependency name an
// object before them, but for Namespaces, which wait for nothing.
func randomPackages(random *rand.Rand) string {
	kinds := []string{"deployments", "services", "configmaps", "namespaces", "serviceaccounts", "*"}
	documents := make([][]string, 3)
	var names []string
	add := func(seed int, id, text string) {
		annotations := ""
		if len(names) > 0 && random.IntN(3) == 0 && !strings.Contains(id, "Namespace/") {
			annotations = "annotations: {furrow.dev/depends-on: " + names[random.IntN(len(names))] + "}"
		}
		documents[seed] = append(documents[seed], fmt.Sprintf(text, annotations))
		names = append(names, id)
	}
	for i := range 3 {
		add(i, fmt.Sprintf("core/Namespace/n%d", i), fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: n%d, %%s}\n", i))
	}
	steps := []func(i int){
		func(i int) {
			add(i, fmt.Sprintf("apps/Deployment/n%d/d%d", i, i), fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%d, namespace: n%d, %%s}\nspec: {template: {metadata: {labels: {app: d%d}}}}\n", i, i, i))
		},
		func(i int) {
			add(i, fmt.Sprintf("core/Service/n%d/d%d", i, i), fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: d%d, namespace: n%d, %%s}\nspec: {selector: {app: d%d}}\n", i, i, i))
		},
		func(i int) {
			in := random.IntN(3)
			add(i, fmt.Sprintf("core/ConfigMap/n%d/c%d", in, i), fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: n%d, %%s}\n", i, in))
		},
		func(i int) {
			var hooks []string
			for n := range 1 + random.IntN(2) {
				behind := random.IntN(3)
				hooks = append(hooks, fmt.Sprintf("{name: h%d.example.com, clientConfig: {service: {name: d%d, namespace: n%d}}, rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: [CREATE], resources: ['%s']}]}", n, behind, behind, kinds[random.IntN(len(kinds))]))
			}
			add(i, fmt.Sprintf("admissionregistration.k8s.io/ValidatingWebhookConfiguration/w%d", i), fmt.Sprintf("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: w%d, %%s}\nwebhooks: [%s]\n", i, strings.Join(hooks, ", ")))
		},
	}
	order := make([]int, 0, 12)
	for i := range 12 {
		order = append(order, i)
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, n := range order {
		steps[n/3](n % 3)
	}
	archive := ""
	for i, seed := range documents {
		slices.Sort(seed)
		archive += seedOf(fmt.Sprintf("s%d", i), seed...)
	}
	return archive
}

// TestOnANewClusterAConfigurationMayBeWithItsBackend has webhooks that nothing on a new cluster can be refused by,
// and others.
func TestOnANewClusterAConfigurationMayBeWithItsBackend(t *testing.T) {
	for sentence, c := range map[string]struct {
		group, resource, tree string
		want                  int
	}{
		"Ingresses":                            {"networking.k8s.io", "ingresses", "", 0},
		"Services, which every cluster has":    {"", "services", "", 1},
		"Ingresses where another seed has one": {"networking.k8s.io", "ingresses", seedOf("b", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: default, annotations: {furrow.dev/cluster: edge-1}}\n"), 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			level, _ := levelsOf(t, fleet+seedOf("a", capi, webhookOf("op", c.group, c.resource, ""))+c.tree)
			if got := level["ValidatingWebhookConfiguration op"] - level["Deployment op"]; got != c.want {
				t.Errorf("the configuration is %d levels after its backend, want %d: %v", got, c.want, level)
			}
		})
	}
}
