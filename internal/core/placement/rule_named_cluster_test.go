package placement

import "testing"

func TestRuleNamedCluster(t *testing.T) {
	bootstrap := "apiVersion: v1\nkind: Secret\nmetadata: {name: b, namespace: edge, labels: {cluster.x-k8s.io/cluster-name: edge-1}}\n"
	owned := `
apiVersion: example.com/v1
kind: Rack
metadata:
  name: r
  namespace: edge
  ownerReferences: [{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, name: edge-1}]
`
	pointed := `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge-1, namespace: edge}
spec: {infrastructureRef: {apiGroup: example.com, kind: Rack, name: r}}
`
	rack := "apiVersion: example.com/v1\nkind: Rack\nmetadata: {name: r, namespace: edge}\n"
	const theRack = "example.com/Rack/edge/r"
	runPlaceCases(t, map[string]placeCase{
		"an object for a cluster goes where the cluster is created": {
			clusters: []string{mgmt, mgmt2}, of: "core/Secret/edge/b",
			seed: []string{bootstrap, "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge, annotations: {furrow.dev/cluster: mgmt-2}}\n"},
			want: where{"mgmt-2", "named-cluster"},
		},
		"for a cluster that nobody creates it goes to the management cluster": {
			clusters: []string{mgmt, edgeEU}, of: "core/Secret/edge/b", seed: []string{bootstrap},
			want: where{"mgmt", "named-cluster"},
		},
		"what a management object owns goes with it": {
			clusters: []string{mgmt, edgeEU}, of: theRack, seed: []string{capi, owned},
			want: where{"mgmt", "named-cluster"},
		},
		"what a management object refers to goes with it": {
			clusters: []string{mgmt, edgeEU}, of: theRack, seed: []string{pointed, rack},
			want: where{"mgmt", "named-cluster"},
		},
		"a reference by apiVersion is a reference, too": {
			clusters: []string{mgmt, edgeEU}, of: theRack,
			seed: []string{"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge}\nspec: {infrastructureRef: {apiVersion: example.com/v1, kind: Rack, name: r}}\n", rack},
			want: where{"mgmt", "named-cluster"},
		},
		"a reference to another namespace is none to this one": {
			clusters: []string{mgmt}, of: theRack,
			seed: []string{"apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge}\nspec: {infrastructureRef: {apiVersion: example.com/v1, kind: Rack, name: r, namespace: other}}\n", rack, namespaceOf("edge", "")},
			want: where{"edge-1", "selected"},
		},
		"what a workload owns stays with the workload": {
			clusters: []string{mgmt, edgeEU}, of: "core/ConfigMap/default/c",
			seed: []string{
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: default}\n",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d}]}\n",
			},
			want: where{"edge-eu", "follow-rest"},
		},
	})
}
