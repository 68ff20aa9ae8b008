package placement

import "testing"

func TestRulePlanterDefault(t *testing.T) {
	fleet := []string{mgmt, edgeEU}
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	runPlaceCases(t, map[string]placeCase{
		"a seed with a Planter Cluster is one of Planter's": {
			clusters: fleet, of: theConfigMap, seed: []string{planterCluster, plain},
			want: where{"mgmt", "planter-default"},
		},
		"a seed with an object that Planter's annotation places is one of Planter's": {
			clusters: fleet, of: theConfigMap, seed: []string{plain, `{apiVersion: v1, kind: ConfigMap, metadata: {name: d, namespace: default, annotations: {planter.nephio.org/cluster: SELF}}}`},
			want: where{"mgmt", "planter-default"},
		},
		"any other seed is not": {
			clusters: fleet, of: theConfigMap, seed: []string{plain},
			want: where{"edge-eu", "selected"},
		},
		"Planter's other annotations do not make it one": {
			clusters: fleet, of: theConfigMap, seed: []string{configMap("planter.nephio.org/user: admin")},
			want: where{"edge-eu", "selected"},
		},
	})
}
