package dependency

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// pairCase is a control plane and the edges that one rule draws in it, without their whys.
type pairCase struct {
	tree string
	want []string
}

func runPairCases(t *testing.T, rule string, cases map[string]pairCase) {
	t.Helper()
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, oneCluster+c.tree)
			if len(result.Errors) > 0 {
				t.Error(said(result.Errors))
			}
			if diff := cmp.Diff(c.want, pairs(result.Graph, rule), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the edges differ (-want +got):\n%s", diff)
			}
			if _, conflict := result.Graph.Tiers(nil); conflict != nil {
				t.Error(conflict)
			}
		})
	}
}

// gear is a resource of a version.
func gear(version string) string {
	return "apiVersion: example.net/" + version + "\nkind: Gear\nmetadata: {name: g}\n"
}

// converted is a definition with two versions and a webhook that converts the older one, and what
// serves the webhook.
const converted = `apiVersion: v1
kind: Namespace
metadata: {name: gears-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.example.net}
spec:
  group: example.net
  scope: Cluster
  names: {kind: Gear, plural: gears}
  versions:
  - {name: v1beta1, served: true, storage: false}
  - {name: v1, served: true, storage: true}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {caBundle: LS0tLS1CRUdJTg==, service: {namespace: gears-system, name: gears, path: /convert}}
---
apiVersion: v1
kind: Service
metadata: {name: gears, namespace: gears-system}
spec: {selector: {app: gears}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gears, namespace: gears-system}
spec: {selector: {matchLabels: {app: gears}}, template: {metadata: {labels: {app: gears}}, spec: {containers: [{name: gears, image: gears}]}}}
`

func TestRuleConversion(t *testing.T) {
	waits := []string{"Gear g waits for Deployment gears", "Gear g waits for Service gears"}
	runPairCases(t, "conversion", map[string]pairCase{
		"a resource of another version than the stored one is converted": {
			tree: seedOf("gears", converted, gear("v1beta1")), want: waits,
		},
		"one of the stored version is not": {
			tree: seedOf("gears", converted, gear("v1")),
		},
		"nor is any where versions only differ in name": {
			tree: seedOf("gears", strings.Replace(converted, "strategy: Webhook", "strategy: None", 1), gear("v1beta1")),
		},
		"a bundle that is added on the cluster is waited for in the tier of the workload": {
			tree: seedOf("gears", strings.Replace(converted, "caBundle: LS0tLS1CRUdJTg==, ", "", 1), gear("v1beta1")),
			want: slices.Concat([]string{
				"CustomResourceDefinition gears.example.net needs Deployment gears", "CustomResourceDefinition gears.example.net needs Service gears",
				"Gear g waits for CustomResourceDefinition gears.example.net",
			}, waits),
		},
	})
}

// TestAResourceWaitsForTheBundleOfItsConversion: the definition is served at once, but its webhook cannot be called.
func TestAResourceWaitsForTheBundleOfItsConversion(t *testing.T) {
	const certificate = "apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: serving, namespace: gears-system, annotations: {furrow.dev/depends-on: core/ConfigMap/shop/first}}\nspec: {secretName: tls}\n"
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: shop}\n"
	const injector = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cainjector, namespace: shop, annotations: {furrow.dev/depends-on: core/ConfigMap/shop/first}}\nspec: {template: {spec: {containers: [{name: c, image: quay.io/jetstack/cert-manager-cainjector:v1}]}}}\n"
	injected := strings.Replace(strings.Replace(converted, "caBundle: LS0tLS1CRUdJTg==, ", "", 1), "metadata: {name: gears.example.net}", "metadata: {name: gears.example.net, annotations: {cert-manager.io/inject-ca-from: gears-system/serving}}", 1)
	for _, version := range []string{"v1", "v1beta1"} {
		for sentence, tree := range map[string]string{
			"in one seed":  seedOf("gears", injected, gear(version), certificate, injector, first),
			"in two seeds": seedOf("gears", injected, gear(version), certificate, first) + seedOf("a-manager", injector),
		} {
			level, deadlocks := levelsOf(t, oneCluster+tree)
			gear, least := level["Gear g"], level["Certificate serving"]
			if version == "v1beta1" { // an API server has it converted
				least++
			}
			if gear < least || gear < level["Deployment cainjector"] || level["Certificate serving"] == 0 || len(deadlocks) > 0 {
				t.Errorf("%s, in version %s: the levels are %v, and the deadlocks %v", sentence, version, level, deadlocks)
			}
			if version == "v1beta1" && level["CustomResourceDefinition gears.example.net"] < level["Certificate serving"] {
				t.Errorf("%s: the tier of the definition waits for a bundle of a later one: %v", sentence, level)
			}
		}
	}
}

// TestAResourceThatItsConverterNeedsIsACircle: no order is right.
func TestAResourceThatItsConverterNeedsIsACircle(t *testing.T) {
	needing := strings.Replace(converted, "metadata: {name: gears, namespace: gears-system}\nspec: {selector: {matchLabels", "metadata: {name: gears, namespace: gears-system, annotations: {furrow.dev/depends-on: example.net/Gear/g}}\nspec: {selector: {matchLabels", 1)
	_, conflict := graphOf(t, oneCluster+seedOf("gears", needing, gear("v1beta1"))).Graph.Tiers(nil)
	if conflict == nil || len(conflict.Edges) != 2 {
		t.Errorf("got %v", conflict)
	}
}

func TestRuleAPIService(t *testing.T) {
	const aggregated = "apiVersion: metrics.k8s.io/v1beta1\nkind: NodeMetrics\nmetadata: {name: node}\n"
	runPairCases(t, "apiservice", map[string]pairCase{
		"an object of an aggregated API waits for what serves it": {
			tree: seedOf("metrics", metricsServer, aggregated),
			want: []string{"NodeMetrics node waits for APIService v1beta1.metrics.k8s.io", "NodeMetrics node waits for Deployment metrics-server", "NodeMetrics node waits for Service metrics-server"},
		},
		"another version of the API is served by something else": {
			tree: seedOf("metrics", metricsServer, strings.Replace(aggregated, "v1beta1", "v1", 1)),
		},
	})
	result := graphOf(t, oneCluster+seedOf("metrics", metricsServer, aggregated))
	if len(result.Warnings) > 0 {
		t.Errorf("the kind of an aggregated API is missing: %v", said(result.Warnings))
	}
	for _, e := range result.Graph.Edges {
		if r := result.Graph.Reason(e); r.Rule == "apiservice" && result.Graph.Object(e.To).Kind == "APIService" && !strings.Contains(r.Ready, "Available") {
			t.Errorf("the APIService is waited for until %q", r.Ready)
		}
	}
}

func TestRuleAdmission(t *testing.T) {
	const (
		space    = "apiVersion: v1\nkind: Namespace\nmetadata: {name: jobs}\n"
		account  = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: runner, namespace: jobs}\n"
		priority = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
		runtime  = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: gvisor}\nhandler: runsc\n"
	)
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: jobs}\nspec: {" + spec + "containers: [{name: c, image: c}]}\n"
	}
	cases := map[string]ruleCase{
		"a bare Pod waits for what it names": {
			tree: seedOf("jobs", space, account, priority, runtime, pod("serviceAccountName: runner, priorityClassName: high, runtimeClassName: gvisor, ")),
			wantEdges: []string{
				"core/Pod/jobs/p on edge waits for core/ServiceAccount/jobs/runner on edge (admission: spec.serviceAccountName: runner)",
				"core/Pod/jobs/p on edge waits for node.k8s.io/RuntimeClass/gvisor on edge (admission: spec.runtimeClassName: gvisor)",
				"core/Pod/jobs/p on edge waits for scheduling.k8s.io/PriorityClass/high on edge (admission: spec.priorityClassName: high)",
			},
		},
		"the account default comes with the Namespace": {
			tree:      seedOf("jobs", space, pod("")),
			wantEdges: []string{"core/Pod/jobs/p on edge waits for core/Namespace/jobs on edge (admission: spec.serviceAccountName: default, which the controller manager makes in it)"},
		},
		"a Namespace of the cluster has its account": {
			tree: seedOf("jobs", strings.Replace(pod(""), "namespace: jobs", "namespace: shop", 1)),
		},
		"unless a seed contains it": {
			tree:      seedOf("jobs", space, strings.Replace(account, "runner", "default", 1), pod("")),
			wantEdges: []string{"core/Pod/jobs/p on edge waits for core/ServiceAccount/jobs/default on edge (admission: spec.serviceAccountName: default)"},
		},
		"any other account must be in a seed": {
			tree:       seedOf("jobs", space, pod("serviceAccountName: runner, ")),
			wantWarned: []string{"jobs: core/Pod/jobs/p: MissingDependency cluster=edge"},
		},
		"the Pods of a workload are tried again": {
			tree: seedOf("jobs", space, account, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: jobs}\nspec: {template: {spec: {serviceAccountName: runner}}}\n"),
		},
	}
	for sentence, c := range cases {
		c.tree = oneCluster + c.tree
		cases[sentence] = c
	}
	runRuleCases(t, "admission", cases)
}

const shopPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]}
  validations: [{expression: 'object.spec.replicas <= int(params.data.most)'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas-of-shops}
spec:
  policyName: replicas
  validationActions: [Deny]
  paramRef: {name: limits, namespace: rules, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: Namespace
metadata: {name: rules}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: rules}
data: {most: '5'}
`

func TestRulePolicy(t *testing.T) {
	binding := []string{
		"ValidatingAdmissionPolicyBinding replicas-of-shops waits for ConfigMap limits", "ValidatingAdmissionPolicyBinding replicas-of-shops waits for ValidatingAdmissionPolicy replicas",
	}
	replaced := func(old, replacement string) string { return strings.Replace(shopPolicy, old, replacement, 1) }
	runPairCases(t, "policy", map[string]pairCase{
		"what a policy matches waits for its binding, and that for policy and parameters": {
			tree: seedOf("policy", shopPolicy) + seedOf("shop", shopDeployment), want: append([]string{"Deployment web waits for ValidatingAdmissionPolicyBinding replicas-of-shops"}, binding...),
		},
		"what the parameters need turns the edge round": {
			tree: seedOf("policy", replaced("apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]", "apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps, namespaces]")) + seedOf("shop", shopContent),
			want: append([]string{"ConfigMap c waits for ValidatingAdmissionPolicyBinding replicas-of-shops", binding[0], "ValidatingAdmissionPolicyBinding replicas-of-shops waits for Namespace rules"}, binding[1]),
		},
		"a binding that only audits denies nothing": {
			tree: seedOf("policy", replaced("[Deny]", "[Audit]")) + seedOf("shop", shopDeployment),
		},
		"a policy that may fail denies nothing for want of parameters": {
			tree: seedOf("policy", replaced("failurePolicy: Fail", "failurePolicy: Ignore")) + seedOf("shop", shopDeployment),
		},
		"a binding may match less than its policy": {
			tree: seedOf("policy", replaced("policyName: replicas\n", "policyName: replicas\n  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: rules}}}\n")) + seedOf("shop", shopDeployment), want: binding,
		},
		"a policy may exclude resources": {
			tree: seedOf("policy", replaced("resources: [deployments]}]}", "resources: [deployments]}], excludeResourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: ['*'], resources: [deployments], resourceNames: [web]}]}")) + seedOf("shop", shopDeployment), want: binding,
		},
		"a condition may leave an object out": {
			tree: seedOf("policy", replaced("  validations", "  matchConditions: [{name: many, expression: 'object.spec.replicas > 9'}]\n  validations")) + seedOf("shop", shopDeployment), want: binding,
		},
	})
}
