package placement

import "testing"

// shopOnManagement is a workload with its Service on the management cluster, and another one elsewhere.
const shopOnManagement = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {furrow.dev/role: Management}}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web, tier: front}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web, scrape: "yes"}}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: shop}
spec: {selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other, tier: front}}, spec: {containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: other, namespace: shop, labels: {app: other}}
spec: {selector: {app: other}, ports: [{port: 80}]}
`

func TestRuleFollowTargets(t *testing.T) {
	objects := map[string]struct{ apiVersion, kind, spec, want string }{
		"an autoscaler with the workload that it names":             {"autoscaling/v2", "HorizontalPodAutoscaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}", "mgmt"},
		"an autoscaler of another workload stays with that":         {"autoscaling/v2", "HorizontalPodAutoscaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: other}}", "edge-eu"},
		"an autoscaler of none goes where the seed goes":            {"autoscaling/v2", "HorizontalPodAutoscaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}", "edge-eu"},
		"a vertical autoscaler":                                     {"autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}", "mgmt"},
		"a scaler of KEDA, which means a Deployment":                {"keda.sh/v1alpha1", "ScaledObject", "{scaleTargetRef: {name: web}}", "mgmt"},
		"a disruption budget by labels":                             {"policy/v1", "PodDisruptionBudget", "{minAvailable: 1, selector: {matchLabels: {app: web}}}", "mgmt"},
		"a disruption budget by expressions":                        {"policy/v1", "PodDisruptionBudget", "{selector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}}", "mgmt"},
		"a disruption budget of both":                               {"policy/v1", "PodDisruptionBudget", "{selector: {matchLabels: {tier: front}}}", "edge-eu,mgmt"},
		"a network policy by labels":                                {"networking.k8s.io/v1", "NetworkPolicy", "{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}", "mgmt"},
		"a network policy for all Pods":                             {"networking.k8s.io/v1", "NetworkPolicy", "{podSelector: {}, policyTypes: [Ingress]}", "edge-eu,mgmt"},
		"a network policy of Cilium":                                {"cilium.io/v2", "CiliumNetworkPolicy", "{endpointSelector: {matchLabels: {app: web}}}", "mgmt"},
		"an Ingress with the Service that it names":                 {"networking.k8s.io/v1", "Ingress", "{rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}", "mgmt"},
		"an Ingress by its default":                                 {"networking.k8s.io/v1", "Ingress", "{defaultBackend: {service: {name: web, port: {number: 80}}}}", "mgmt"},
		"an Ingress of both":                                        {"networking.k8s.io/v1", "Ingress", "{rules: [{http: {paths: [{path: /, backend: {service: {name: web}}}, {path: /o, backend: {service: {name: other}}}]}}]}", "edge-eu,mgmt"},
		"a route of a gateway":                                      {"gateway.networking.k8s.io/v1", "HTTPRoute", "{parentRefs: [{name: other}], rules: [{backendRefs: [{name: web, port: 80}]}]}", "mgmt"},
		"a route that mirrors":                                      {"gateway.networking.k8s.io/v1", "GRPCRoute", "{rules: [{filters: [{requestMirror: {backendRef: {kind: Service, name: web}}}]}]}", "mgmt"},
		"a route to a Service of another namespace":                 {"gateway.networking.k8s.io/v1", "TCPRoute", "{rules: [{backendRefs: [{name: web, namespace: elsewhere}]}]}", "edge-eu"},
		"a host of Istio":                                           {"networking.istio.io/v1", "VirtualService", "{http: [{route: [{destination: {host: web.shop.svc.cluster.local}}]}]}", "mgmt"},
		"a proxy of Contour":                                        {"projectcontour.io/v1", "HTTPProxy", "{routes: [{services: [{name: web, port: 80}]}]}", "mgmt"},
		"a route of OpenShift":                                      {"route.openshift.io/v1", "Route", "{to: {kind: Service, name: web}}", "mgmt"},
		"a monitor of Services by labels":                           {"monitoring.coreos.com/v1", "ServiceMonitor", "{selector: {matchLabels: {scrape: \"yes\"}}}", "mgmt"},
		"a monitor of Services of another namespace":                {"monitoring.coreos.com/v1", "ServiceMonitor", "{selector: {matchLabels: {scrape: \"yes\"}}, namespaceSelector: {matchNames: [elsewhere]}}", "edge-eu"},
		"a monitor of Pods":                                         {"monitoring.coreos.com/v1", "PodMonitor", "{selector: {matchLabels: {app: web}}}", "mgmt"},
		"a monitor of Pods in all namespaces":                       {"monitoring.coreos.com/v1", "PodMonitor", "{selector: {matchLabels: {app: web}}, namespaceSelector: {any: true}}", "mgmt"},
		"a monitor that selects nothing goes where the seed goes":   {"monitoring.coreos.com/v1", "PodMonitor", "{selector: {matchLabels: {app: none}}}", "edge-eu"},
		"a selector that no server accepts selects nothing":         {"policy/v1", "PodDisruptionBudget", "{selector: {matchExpressions: [{key: app, operator: Near}]}}", "edge-eu,mgmt"},
		"what the object's own annotation says goes before its aim": {"autoscaling/v2", "HorizontalPodAutoscaler", "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}", "annotated"},
	}
	for sentence, o := range objects {
		t.Run(sentence, func(t *testing.T) {
			annotations, want := "", o.want
			if want == "annotated" {
				annotations, want = ", annotations: {furrow.dev/cluster: edge-eu}", "edge-eu"
			}
			got, why, err := placed(seedOf(t, shopOnManagement, "apiVersion: "+o.apiVersion+"\nkind: "+o.kind+"\nmetadata: {name: x, namespace: shop"+annotations+"}\nspec: "+o.spec+"\n"), inventoryOf(t, mgmt, edgeEU))
			if err != nil {
				t.Fatal(err)
			}
			for id, w := range got {
				if id[len(id)-2:] == "/x" && w.Clusters != want {
					t.Errorf("%s goes to %s by %s (%s), want %s", id, w.Clusters, w.Rule, why[id], want)
				}
			}
		})
	}
}
