package dependency

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/placement"
)

// webhookOf is a Namespace with a Deployment, its Service, and a webhook on resources of a group that is
// served behind it.
func webhookOf(name, group, resource, podSpec string) string {
	return strings.NewReplacer("NAME", name, "GROUP", group, "RESOURCE", resource, "PODSPEC", podSpec).Replace(`apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAME}
spec: {selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: c, image: c}]PODSPEC}}}
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAME}
spec: {selector: {app: NAME}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NAME}
webhooks:
- name: NAME.example.com
  failurePolicy: Fail
  clientConfig: {service: {name: NAME, namespace: NAME}}
  rules: [{apiGroups: ["GROUP"], apiVersions: ["*"], operations: [CREATE], resources: [RESOURCE], scope: "*"}]
`)
}

// certificates are the certificate of an operator, its issuer, and the authority of that.
const certificates = `apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: op, namespace: op}
spec: {secretName: op-tls, issuerRef: {kind: Issuer, name: ca}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ca, namespace: op}
spec: {ca: {secretName: root}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: root, namespace: op}
spec: {secretName: root, issuerRef: {kind: Issuer, name: self}}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self, namespace: op}
spec: {selfSigned: {}}
`

// wantReady checks that all that an object needs to become ready is in its tier or an earlier one, and so
// for further pairs of objects.
func wantReady(t *testing.T, archive string, pairs ...[2]string) {
	t.Helper()
	cat := catalogOf(t, archive)
	if failed := placement.AddImplied(cat.Inventory, cat.Seeds); len(failed) > 0 {
		t.Fatal(failed)
	}
	seeds := seedsOf(t, cat)
	result := Build(seeds, cat.Inventory)
	if len(result.Errors) > 0 {
		t.Fatal(said(result.Errors))
	}
	tiering, conflict := result.Graph.Tiers(nil)
	if conflict != nil {
		t.Fatal(conflict)
	}
	for _, d := range tiering.Deadlocks {
		t.Errorf("%s: %s", d.First(), d.Deadlock())
	}
	level := map[string]int{}
	for v := range result.Graph.Len() {
		level[result.Graph.Object(v).String()] = tiering.Level[v]
	}
	for _, pair := range pairs {
		if level[pair[0]] < level[pair[1]] {
			t.Errorf("%s has level %d, and needs %s of level %d", pair[0], level[pair[0]], pair[1], level[pair[1]])
		}
	}
	s := newWorld(seeds, cat.Inventory).surroundings()
	for v := range result.Graph.Len() {
		for _, n := range s.needsOf(v) {
			to := n.to
			if tiering.Level[v] < tiering.Level[to] {
				t.Errorf("%s has level %d, and needs %s of level %d", result.Graph.Vertex(v), tiering.Level[v], result.Graph.Vertex(to), tiering.Level[to])
			}
		}
	}
}

// TestAWebhookWaitsForWhatItsCertificateNeeds has an operator and cert-manager. The operator's webhook guards
// what cert-manager has too, and the operator's certificate is cert-manager's.
func TestAWebhookWaitsForWhatItsCertificateNeeds(t *testing.T) {
	manager := webhookOf("cert-manager", "cert-manager.io", `"*"`, "")
	manager += "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: injector, namespace: cert-manager}\nspec: {template: {spec: {containers: [{name: c, image: quay.io/jetstack/cert-manager-cainjector}]}}}\n"
	for i := range 20 { // it has more objects than the operator
		manager += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: cert-manager}\n", i)
	}
	for _, guarded := range []string{"services", "deployments", "namespaces", `"*"`, "configmaps", "secrets", "serviceaccounts"} {
		group := map[string]string{"deployments": "apps", `"*"`: "*"}[guarded]
		operator := webhookOf("op", group, guarded, ", volumes: [{name: tls, secret: {secretName: op-tls}}]") + "---\n" + certificates
		operator = strings.Replace(operator, "metadata: {name: op}\nwebhooks", "metadata: {name: op, annotations: {cert-manager.io/inject-ca-from: op/op}}\nwebhooks", 1)
		for _, names := range [][2]string{{"aa", "cm"}, {"op", "cm"}, {"one", "one"}} {
			t.Run(fmt.Sprintf("%s by %s and %s", strings.Trim(guarded, `"`), names[0], names[1]), func(t *testing.T) {
				tree := seedOf(names[0], operator, manager)
				if names[0] != names[1] {
					tree = seedOf(names[0], operator) + seedOf(names[1], manager)
				}
				wantReady(t, oneCluster+tree+seedOf("web", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 80}]}\n"),
					[2]string{"apps/Deployment/op/op", "apps/Deployment/cert-manager/cert-manager"},
					[2]string{"admissionregistration.k8s.io/ValidatingWebhookConfiguration/op", "apps/Deployment/cert-manager/injector"})
			})
		}
	}
}

// TestAWebhookWaitsForWhatIsBesideItsBackend: a second Deployment in the Namespace is treated as a part of the
// operator, so what makes its Secret must not wait for the webhook.
func TestAWebhookWaitsForWhatIsBesideItsBackend(t *testing.T) {
	const beside = `apiVersion: apps/v1
kind: Deployment
metadata: {name: second, namespace: op}
spec: {selector: {matchLabels: {app: second}}, template: {metadata: {labels: {app: second}}, spec: {containers: [{name: c, image: c}], volumes: [{name: s, secret: {secretName: made}}]}}}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: made, namespace: op}
spec: {target: {name: made}}
`
	wantReady(t, oneCluster+seedOf("op", webhookOf("op", "*", `"*"`, ""), beside))
}

func TestAHookIsNotBeforeWhatItsPodsName(t *testing.T) {
	const job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, namespace: shop, annotations: {%s}}\nspec: {template: {spec: {serviceAccountName: db, restartPolicy: Never, containers: [{name: c, image: c, envFrom: [{configMapRef: {name: db}}]}]}}}\n"
	const named = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: db, namespace: shop}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: db, namespace: shop}\n"
	for _, hook := range []string{"helm.sh/hook: pre-install", "argocd.argoproj.io/hook: PreSync", `argocd.argoproj.io/sync-wave: "-1"`} {
		t.Run(hook, func(t *testing.T) {
			wantReady(t, oneCluster+seedOf("shop", fmt.Sprintf(job, hook), named, shopDeployment))
		})
	}
}

// TestInputsThatWaitedForThemselves reads whole packages that were planned as deadlocks.
func TestInputsThatWaitedForThemselves(t *testing.T) {
	const dir = "../../../../shared/cases/turn3"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is absent: these cases are not part of the project", dir)
	}
	for _, name := range []string{"planner/o1-webhook-on-services-secret-by-cert-manager.yaml", "planner/o7-helm-hook-needs-a-configmap.yaml"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			wantReady(t, oneCluster+seedOf("case", string(data)))
		})
	}
}
