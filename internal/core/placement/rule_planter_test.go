package placement

import "testing"

func TestRulePlanterDefault(t *testing.T) {
	fleet := []string{mgmt, edgeEU}
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	const why = "a Planter seed's objects without a cluster go to SELF, the management cluster"
	runPlaceCases(t, map[string]placeCase{
		"a seed with a Planter Cluster is one of Planter's": {
			clusters: fleet, of: theConfigMap, seed: []string{planterCluster, plain},
			want: where{"mgmt", "planter-default", why},
		},
		"a seed with an annotation of Planter's is one of Planter's": {
			clusters: fleet, of: theConfigMap, seed: []string{configMap("planter.nephio.org/user: admin")},
			want: where{"mgmt", "planter-default", why},
		},
		"any other seed is not": {
			clusters: fleet, of: theConfigMap, seed: []string{plain},
			want: where{"edge-eu", "selected", "the seed selects no clusters, so it goes to all workload clusters"},
		},
		"without a management cluster there is no SELF": {
			clusters: []string{edgeEU}, seed: []string{configMap("planter.nephio.org/user: admin")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": it belongs on a management cluster, but none is declared. Declare a Cluster with spec.role Management.`,
		},
	})
}
