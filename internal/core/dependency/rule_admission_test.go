package dependency

import (
	"strings"
	"testing"
)

func TestWhatAControllerRefusesOrDeletesWaits(t *testing.T) {
	const (
		pod     = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec: {serviceAccountName: a, containers: [{name: c, image: c}]}\n"
		account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, namespace: shop}\n"
		limits  = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l, namespace: shop}\nspec: {limits: [{type: Container, default: {cpu: 1}}]}\n"
		quota   = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\nspec: {hard: {limits.cpu: 4}}\n"
		token   = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata: {name: t, namespace: shop, annotations: {kubernetes.io/service-account.name: a}}\n"
		cidr    = "apiVersion: networking.k8s.io/v1\nkind: ServiceCIDR\nmetadata: {name: more}\nspec: {cidrs: [10.9.0.0/16, 'fd00::/112']}\n"
		service = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: shop}\nspec: {clusterIP: 10.9.0.7, ports: [{port: 80}]}\n"
	)
	runPairCases(t, "admission", map[string]pairCase{
		"a Pod waits for the LimitRange that gives it what a quota asks for": {
			tree: seedOf("shop", pod, account, limits, quota), want: []string{"Pod p waits for LimitRange l", "Pod p waits for ServiceAccount a"},
		},
		"also where another seed has both": {
			tree: seedOf("shop", pod, account) + seedOf("space", limits, quota), want: []string{"Pod p waits for LimitRange l", "Pod p waits for ServiceAccount a"},
		},
		"but not where no quota asks for it": {
			tree: seedOf("shop", pod, account, limits), want: []string{"Pod p waits for ServiceAccount a"},
		},
		"nor for that of another Namespace": {
			tree: seedOf("shop", pod, account, strings.ReplaceAll(limits+"---\n"+quota, "namespace: shop", "namespace: kube-public")), want: []string{"Pod p waits for ServiceAccount a"},
		},
		"a token waits for its account": {
			tree: seedOf("shop", token, account), want: []string{"Secret t waits for ServiceAccount a"},
		},
		"and not for one that no seed has": {
			tree: seedOf("shop", token),
		},
		"a Service waits for the range of its address": {
			tree: seedOf("shop", cidr, service), want: []string{"Service s waits for ServiceCIDR more"},
		},
		"and for no other range": {
			tree: seedOf("shop", cidr, strings.Replace(service, "10.9.0.7", "10.8.0.7", 1), strings.Replace(strings.Replace(service, "10.9.0.7", "None", 1), "name: s", "name: headless", 1)),
		},
	})
}

func TestAWebhookWhoseServiceNoSeedHasIsAWarning(t *testing.T) {
	operator := webhookOf("op", "", "configmaps", "")
	elsewhere := strings.Replace(operator, "kind: Service\nmetadata: {name: op, namespace: op}", "kind: Service\nmetadata: {name: op, namespace: shop}", 1)
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n"
	for sentence, c := range map[string]struct {
		tree string
		want string
	}{
		"the Service is there": {seedOf("op", operator, config), ""},
		"it is in another Namespace": {seedOf("op", elsewhere, config),
			"no seed contains Service op of Namespace op for cluster edge, which answers for webhook op.example.com: unless it is on the cluster, the API server rejects objects of the plan"},
		"nothing of the plan is matched": {seedOf("op", elsewhere), ""},
		"it may be skipped":              {seedOf("op", strings.Replace(elsewhere, "failurePolicy: Fail", "failurePolicy: Ignore", 1), config), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := ""
			for _, f := range graphOf(t, oneCluster+c.tree).Warnings {
				if strings.Contains(f.Message, "Service") && f.Missing {
					got = f.Message
				}
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestMutatingPoliciesAreLikeValidatingOnes: without its parameters a policy of either kind denies.
func TestMutatingPoliciesAreLikeValidatingOnes(t *testing.T) {
	const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: params, namespace: kube-public}
---
apiVersion: admissionregistration.k8s.io/v1
kind: KINDAdmissionPolicy
metadata: {name: size}
spec:
  failurePolicy: Fail
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: KINDAdmissionPolicyBinding
metadata: {name: size}
spec: {policyName: size, validationActions: [Deny], paramRef: {name: params, namespace: kube-public, parameterNotFoundAction: Deny}}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: shop}
spec: {ports: [{port: 80}]}
`
	for _, kind := range []string{"Validating", "Mutating"} {
		got := pairs(graphOf(t, oneCluster+seedOf("p", strings.ReplaceAll(text, "KIND", kind))).Graph, "policy")
		want := []string{
			"Service s waits for " + kind + "AdmissionPolicyBinding size",
			kind + "AdmissionPolicyBinding size waits for ConfigMap params",
			kind + "AdmissionPolicyBinding size waits for " + kind + "AdmissionPolicy size",
		}
		for _, edge := range want {
			if !strings.Contains(strings.Join(got, "\n"), edge) {
				t.Errorf("%s: there is no %q in %q", kind, edge, got)
			}
		}
	}
}
