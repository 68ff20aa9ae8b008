package placement

import "testing"

func TestRuleSelected(t *testing.T) {
	const hubEU = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: hub-eu, labels: {region: eu}}\nspec: {role: Management}\n"
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	runPlaceCases(t, map[string]placeCase{
		"a seed that selects nothing goes to all workload clusters": {
			clusters: []string{mgmt, edgeEU, edgeUS}, of: theConfigMap, seed: []string{plain},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a selector chooses among workload clusters": {
			clusters: []string{mgmt, edgeEU, edgeUS}, of: theConfigMap,
			seed: []string{spec("clusterSelector: {matchLabels: {region: eu}}"), plain},
			want: where{"edge-eu", "selected"},
		},
		"an empty selector selects all, also where the seed creates clusters": {
			clusters: []string{mgmt, edgeEU}, of: theConfigMap, seed: []string{spec("clusterSelector: {}"), capi, plain},
			want: where{"edge-1,edge-eu", "selected"},
		},
		"a seed that creates clusters goes to those": {
			clusters: []string{mgmt, edgeEU}, of: theConfigMap, seed: []string{capi, plain},
			want: where{"edge-1", "selected"},
		},
		"a selector counts also in a seed that creates clusters": {
			clusters: []string{mgmt, edgeUS}, of: theConfigMap, seed: []string{spec("clusterSelector: {matchLabels: {region: us}}"), capi, plain},
			want: where{"edge-us", "selected"},
		},
		"a seed for management goes to the management cluster": {
			clusters: []string{mgmt, edgeEU, edgeUS}, of: theConfigMap, seed: []string{spec("role: Management"), plain},
			want: where{"mgmt", "selected"},
		},
		"of several it names one": {
			clusters: []string{mgmt, mgmt2, edgeEU}, of: theConfigMap, seed: []string{spec("role: Management, managementCluster: mgmt-2"), plain},
			want: where{"mgmt-2", "selected"},
		},
		"or selects some": {
			clusters: []string{mgmt, hubEU, edgeEU}, of: theConfigMap, seed: []string{spec("role: Management, clusterSelector: {matchLabels: {region: eu}}"), plain},
			want: where{"hub-eu", "selected"},
		},
		"or all": {
			clusters: []string{mgmt, hubEU, edgeEU}, of: theConfigMap, seed: []string{spec("role: Management, clusterSelector: {}"), plain},
			want: where{"hub-eu,mgmt", "selected"},
		},
		"a selector that matches only workload clusters is refused in a seed for management": {
			clusters: []string{mgmt, edgeEU}, seed: []string{spec("role: Management, clusterSelector: {matchLabels: {region: eu}}"), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": NoClusterMatches field=spec.clusterSelector`,
		},
		"a selector of any role matches management clusters, too": {
			clusters: []string{mgmt, hubEU, edgeEU, edgeUS}, of: theConfigMap, seed: []string{spec("role: Any, clusterSelector: {matchLabels: {region: eu}}"), plain},
			want: where{"edge-eu,hub-eu", "selected"},
		},
		"a seed of any role without a selector goes everywhere": {
			clusters: []string{mgmt, edgeEU}, of: theConfigMap, seed: []string{spec("role: Any"), capi, plain},
			want: where{"edge-1,edge-eu,mgmt", "selected"},
		},
		"in a seed for management an object may still be for workload clusters": {
			clusters: []string{mgmt, edgeEU}, of: theConfigMap, seed: []string{spec("role: Management, clusterSelector: {}"), configMap("furrow.dev/role: Workload")},
			want: where{"edge-eu", "annotation"},
		},
		"a role that does not exist is refused": {
			clusters: []string{mgmt, edgeEU}, seed: []string{spec("role: Boss"), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": InvalidPlacement field=spec.role`,
		},
		"without a workload cluster there is nowhere to go": {
			clusters: []string{mgmt}, seed: []string{plain},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": NoWorkloadCluster`,
		},
		"a selector that matches nothing is refused, with the clusters that could be labelled": {
			clusters: []string{mgmt, edgeEU, edgeUS}, seed: []string{spec("clusterSelector: {matchLabels: {region: mars}}"), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": NoClusterMatches field=spec.clusterSelector`,
		},
		"a selector that cannot be is refused": {
			clusters: []string{mgmt, edgeEU}, seed: []string{spec("clusterSelector: {matchExpressions: [{key: region, operator: Is}]}"), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": InvalidPlacement field=spec.clusterSelector`,
		},
	})
}
