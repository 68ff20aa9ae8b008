package placement

import "testing"

func TestTaints(t *testing.T) {
	const (
		gpu    = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-gpu, labels: {region: eu}}\nspec: {taints: [{key: gpu, value: a100}]}\n"
		hub    = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, taints: [{key: hub}]}\n"
		plain  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
		regEU  = "clusterSelector: {matchLabels: {region: eu}}"
		gpuTol = "tolerations: [{key: gpu, value: a100}]"
	)
	fleet := []string{hub, edgeEU, gpu}
	runPlaceCases(t, map[string]placeCase{
		"a cluster with a taint is left out by default": {
			clusters: fleet, of: theConfigMap, seed: []string{plain},
			want: where{"edge-eu", "selected"},
		},
		"and by the seed's selector": {
			clusters: fleet, of: theConfigMap, seed: []string{spec(regEU), plain},
			want: where{"edge-eu", "selected"},
		},
		"and by a rule of the seed": {
			clusters: fleet, of: theConfigMap, seed: []string{spec(`placement: [{name: all, clusters: "true"}]`), plain},
			want: where{"edge-eu", "seed-rule"},
		},
		"and by a selector of the object": {
			clusters: fleet, of: theConfigMap, seed: []string{configMap("furrow.dev/cluster-selector: region=eu")},
			want: where{"edge-eu", "annotation"},
		},
		"a taint that the seed tolerates does not count": {
			clusters: fleet, of: theConfigMap, seed: []string{spec(gpuTol), plain},
			want: where{"edge-eu,edge-gpu", "selected"},
		},
		"nor one of a key whose every value it tolerates": {
			clusters: fleet, of: theConfigMap, seed: []string{spec("tolerations: [{key: gpu}]"), plain},
			want: where{"edge-eu,edge-gpu", "selected"},
		},
		"a taint of another value counts": {
			clusters: fleet, of: theConfigMap, seed: []string{spec("tolerations: [{key: gpu, value: h200}]"), plain},
			want: where{"edge-eu", "selected"},
		},
		"an object that names the cluster goes there": {
			clusters: fleet, of: theConfigMap, seed: []string{configMap("furrow.dev/cluster: edge-gpu")},
			want: where{"edge-gpu", "annotation"},
		},
		"what belongs on the management cluster goes there": {
			clusters: fleet, of: "cluster.x-k8s.io/Cluster/edge/edge-1", seed: []string{capi},
			want: where{"mgmt", "management-api"},
		},
		"a seed for all clusters leaves out management clusters with taints": {
			clusters: fleet, of: theConfigMap, seed: []string{spec("role: Any, " + gpuTol), plain},
			want: where{"edge-eu,edge-gpu", "selected"},
		},
		"also where its selector matches only those": {
			clusters: []string{hub, gpu, edgeUS}, seed: []string{spec(regEU), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": NoClusterMatches field=spec.tolerations`,
		},
		"a seed that tolerates none of its clusters is refused": {
			clusters: []string{hub, gpu}, seed: []string{plain},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": NoClusterMatches field=spec.tolerations`,
		},
	})
}
