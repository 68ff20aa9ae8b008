package placement

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// configMap is an object that no other rule than the last says anything about.
func configMap(annotations string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {" + annotations + "}}\n"
}

const theConfigMap = "core/ConfigMap/default/c"

func TestRuleAnnotation(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	runPlaceCases(t, map[string]placeCase{
		"an object goes to the cluster that it names": {
			clusters: fleet, seed: []string{configMap("furrow.dev/cluster: edge-us")}, of: theConfigMap,
			want: where{"edge-us", "annotation"},
		},
		"several names are separated by commas, and come out in order and once": {
			clusters: fleet, seed: []string{configMap(`furrow.dev/cluster: "mgmt, edge-us,edge-eu ,mgmt"`)}, of: theConfigMap,
			want: where{"edge-eu,edge-us,mgmt", "annotation"},
		},
		"a cluster that does not exist is refused, naming those that do": {
			clusters: fleet, seed: []string{configMap("furrow.dev/cluster: edge-uk")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": UnknownCluster field=furrow.dev/cluster cluster=edge-uk`,
		},
		"without any cluster there is none to use": {
			seed:      []string{configMap("furrow.dev/cluster: edge-uk")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": UnknownCluster field=furrow.dev/cluster cluster=edge-uk`,
		},
		"a selector finds clusters of every role": {
			clusters: fleet, seed: []string{configMap(`furrow.dev/cluster-selector: "region in (eu, us)"`)}, of: theConfigMap,
			want: where{"edge-eu,edge-us", "annotation"},
		},
		"a selector that matches nothing is refused": {
			clusters: fleet, seed: []string{configMap("furrow.dev/cluster-selector: region=mars")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": NoClusterMatches field=furrow.dev/cluster-selector`,
		},
		"a selector that cannot be read is refused": {
			clusters: fleet, seed: []string{configMap("furrow.dev/cluster-selector: region in")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": InvalidPlacement field=furrow.dev/cluster-selector`,
		},
		"role Management is the seed's management cluster": {
			clusters: fleet, seed: []string{configMap("furrow.dev/role: Management")}, of: theConfigMap,
			want: where{"mgmt", "annotation"},
		},
		"role Workload is what the seed selects": {
			clusters: fleet, seed: []string{spec("clusterSelector: {matchLabels: {region: us}}"), configMap("furrow.dev/role: Workload")}, of: theConfigMap,
			want: where{"edge-us", "annotation"},
		},
		"a role that does not exist is refused": {
			clusters: fleet, seed: []string{configMap("furrow.dev/role: workload")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": InvalidPlacement field=furrow.dev/role`,
		},
		"two annotations that say where it goes are one too many": {
			clusters: fleet, seed: []string{configMap("furrow.dev/cluster: mgmt, furrow.dev/role: Workload")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": ConflictingPlacement field=furrow.dev/role`,
		},
		"Planter's SELF is the management cluster": {
			clusters: fleet, seed: []string{configMap("planter.nephio.org/cluster: SELF")}, of: theConfigMap,
			want: where{"mgmt", "annotation"},
		},
		"Planter's other form names a Cluster of the seed": {
			clusters: fleet, seed: []string{planterCluster, configMap("planter.nephio.org/cluster: net|edge1")}, of: theConfigMap,
			want: where{"edge1", "annotation"},
		},
		"a Planter Cluster that is not in the seed is refused": {
			clusters: fleet, seed: []string{planterCluster, configMap("planter.nephio.org/cluster: net|edge2")},
			wantError: `seeds/web/web.yaml:5: ConfigMap "c": UnknownCluster field=planter.nephio.org/cluster cluster=edge2`,
		},
		"anything else is not Planter's": {
			clusters: fleet, seed: []string{configMap("planter.nephio.org/cluster: edge1")},
			wantError: `seeds/web/web.yaml:1: ConfigMap "c": InvalidPlacement field=planter.nephio.org/cluster`,
		},
		"an annotation comes before the API group": {
			clusters: fleet, seed: []string{capiAnnotated("furrow.dev/cluster: edge-eu")}, of: "cluster.x-k8s.io/MachinePool/edge/pool",
			want: where{"edge-eu", "annotation"},
		},
	})
}

// planterCluster creates cluster edge1.
const planterCluster = `
apiVersion: planter.nephio.org/v1alpha1
kind: Cluster
metadata: {name: edge1, namespace: net}
`

func capiAnnotated(annotations string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool\nmetadata: {name: pool, namespace: edge, annotations: {" + annotations + "}}\n"
}

// FuzzAnnotations places an object with any text in each annotation that says where it goes, and in
// those of its Namespace: it does not panic, and what is placed is on clusters of the fleet.
func FuzzAnnotations(f *testing.F) {
	for _, text := range []string{"edge-eu", "edge-eu,mgmt", "region in (eu, us)", "region!=eu,!size", "Management", "Any", "*", ",", "region in (", "{a: b}", "edge-eu:\n- a", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inv := inventoryOf(t, mgmt, edgeEU, edgeUS)
		for _, key := range append([]string{v1alpha1.AnnotationClusterType}, v1alpha1.PlacementAnnotations...) {
			seed := seedOf(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
			objects := seed.Variants[0].Objects
			for i := range objects {
				objects[i] = objects[i].WithAnnotation(key, text)
			}
			placed, err := Place(&seed, inv)
			if err != nil {
				continue
			}
			for _, p := range placed.Placements {
				for _, cluster := range p.Clusters {
					if _, known := inv.Clusters[cluster]; !known {
						t.Errorf("%s: %q places %s on %q", key, text, p.Object, cluster)
					}
				}
			}
		}
	})
}
