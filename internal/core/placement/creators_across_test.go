package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/test/golden"
)

// definitionOn is the definition of a kind of creators, on some cluster.
func definitionOn(cluster, group, plural, kind string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural + "." + group + ", annotations: {furrow.dev/cluster: '" + cluster + "'}}\n" +
		"spec: {group: " + group + ", scope: Namespaced, names: {kind: " + kind + ", plural: " + plural + "}, versions: [{name: v1, served: true, storage: true}]}\n"
}

// creatorOn is a creator of a cluster, on some cluster.
func creatorOn(cluster, apiVersion, kind, name string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: fleet, annotations: {furrow.dev/cluster: '" + cluster + "'}}\n"
}

func TestCheckCreators(t *testing.T) {
	const (
		red  = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: red}\nspec: {role: Management}\n"
		blue = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: blue}\nspec: {role: Management}\n"
	)
	installed := strings.Replace(mgmt, "spec: {role: Management}", "spec: {role: Management, provides: {customResourceDefinitions: [clusters.cluster.x-k8s.io]}}", 1)
	createsRed := creatorOn("mgmt", "cluster.x-k8s.io/v1beta2", "Cluster", "red")
	createsBlue := creatorOn("mgmt", "hypershift.openshift.io/v1beta1", "HostedCluster", "blue")
	capiOn := func(cluster string) string { return definitionOn(cluster, "cluster.x-k8s.io", "clusters", "Cluster") }
	hyperShiftOn := func(cluster string) string {
		return definitionOn(cluster, "hypershift.openshift.io", "hostedclusters", "HostedCluster")
	}
	texts := golden.Of(t)
	for sentence, c := range map[string]struct {
		clusters   []string
		seeds      map[string]string
		wantFailed []string
	}{
		"the operator of a creator is only on the cluster that it creates": {
			clusters: []string{mgmt}, seeds: map[string]string{"a": createsRed, "operator": capiOn("red")}, wantFailed: []string{"a", "operator"},
		},
		"two creators, and the operator of each is only on the cluster of the other one": {
			clusters:   []string{mgmt, red, blue},
			seeds:      map[string]string{"a": createsRed, "b": createsBlue, "capi": capiOn("blue"), "hypershift": hyperShiftOn("red")},
			wantFailed: []string{"a", "b", "capi", "hypershift"},
		},
		"the operator is on a cluster that comes from the one that the creator makes": {
			clusters: []string{mgmt, red, blue},
			seeds: map[string]string{"a": createsRed, "b": creatorOn("red", "hypershift.openshift.io/v1beta1", "HostedCluster", "blue"),
				"capi": capiOn("blue"), "hypershift": hyperShiftOn("red")},
			wantFailed: []string{"a", "b", "capi"},
		},
		"the operator is where the creator is as well": {
			clusters: []string{mgmt}, seeds: map[string]string{"a": createsRed, "operator": capiOn("mgmt, red")},
		},
		"another seed has it there": {
			clusters: []string{mgmt}, seeds: map[string]string{"a": createsRed, "one": capiOn("red"), "two": capiOn("mgmt")},
		},
		"it is installed there": {
			clusters: []string{installed}, seeds: map[string]string{"a": createsRed, "operator": capiOn("red")},
		},
		"it may be installed there, and goes to clusters that no seed creates": {
			clusters: []string{mgmt, edgeEU}, seeds: map[string]string{"a": createsRed, "operator": capiOn("edge-eu, red")},
		},
		"one creator after the other": {
			clusters: []string{mgmt, red, blue},
			seeds:    map[string]string{"a": createsRed, "b": creatorOn("red", "hypershift.openshift.io/v1beta1", "HostedCluster", "blue"), "capi": capiOn("mgmt"), "hypershift": hyperShiftOn("red")},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			inv := inventoryOf(t, c.clusters...)
			var seeds []catalog.Seed
			for _, name := range sortedKeys(c.seeds) {
				seeds = append(seeds, namedSeed(t, name, c.seeds[name]))
			}
			if failed := AddImplied(inv, seeds); len(failed) > 0 {
				t.Fatal(failed)
			}
			var placed []PlacedSeed
			for i := range seeds {
				p, err := Place(&seeds[i], inv)
				if err != nil {
					t.Fatal(err)
				}
				placed = append(placed, PlacedSeed{&seeds[i], p.Placements})
			}
			failed := CheckCreators(placed, inv)
			got := sortedKeys(failed)
			if diff := cmp.Diff(c.wantFailed, got); diff != "" {
				t.Errorf("the seeds that fail (-want +got):\n%s", diff)
			}
			if slices.Contains(got, "a") {
				texts.Add(sentence, failed["a"].Error())
			}
		})
	}
}
