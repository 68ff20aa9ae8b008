package placement

import "testing"

func TestRuleSelected(t *testing.T) {
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
