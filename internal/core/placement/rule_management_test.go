package placement

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestRuleManagementAPI(t *testing.T) {
	host := "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: default}\n"
	const id = "metal3.io/BareMetalHost/default/h"
	runPlaceCases(t, map[string]placeCase{
		"an API of management clusters goes to the only one": {
			clusters: []string{mgmt, edgeEU}, seed: []string{host}, of: id,
			want: where{"mgmt", "management-api"},
		},
		"of several the seed names one": {
			clusters: []string{mgmt, mgmt2}, seed: []string{spec("managementCluster: mgmt-2"), host}, of: id,
			want: where{"mgmt-2", "management-api"},
		},
		"of several none is guessed": {
			clusters: []string{mgmt, mgmt2, edgeEU}, seed: []string{host},
			wantError: `seeds/web/web.yaml:1: BareMetalHost "h": ManagementClusterAmbiguous`,
		},
		"without a management cluster it can go nowhere": {
			clusters: []string{edgeEU}, seed: []string{host},
			wantError: `seeds/web/web.yaml:1: BareMetalHost "h": NoManagementCluster`,
		},
		"a workload cluster is not a management cluster, whatever the seed says": {
			clusters: []string{mgmt, edgeEU}, seed: []string{spec("managementCluster: edge-eu"), host},
			wantError: `seeds/web/web.yaml:6: BareMetalHost "h": UnknownCluster field=spec.managementCluster cluster=edge-eu`,
		},
		"every object without a management cluster is reported": {
			clusters: []string{edgeEU}, seed: []string{host, "apiVersion: agent-install.openshift.io/v1beta1\nkind: InfraEnv\nmetadata: {name: i, namespace: default}\n"},
			wantError: `seeds/web/web.yaml:1: BareMetalHost "h": NoManagementCluster
seeds/web/web.yaml:5: InfraEnv "i": NoManagementCluster`,
		},
	})
}

func TestManagementKinds(t *testing.T) {
	cases := map[string]struct {
		kind manifest.GroupKind
		want bool
	}{
		"a group that is named":                   {manifest.GroupKind{Group: "metal3.io", Kind: "BareMetalHost"}, true},
		"a group below one with a star":           {manifest.GroupKind{Group: "infrastructure.cluster.x-k8s.io", Kind: "AWSCluster"}, true},
		"the group of a star itself":              {manifest.GroupKind{Group: "cluster.x-k8s.io", Kind: "Machine"}, true},
		"a group that only ends in the same text": {manifest.GroupKind{Group: "mycluster.x-k8s.io", Kind: "Machine"}, false},
		"a kind that is named":                    {manifest.GroupKind{Group: "planter.nephio.org", Kind: "WAN"}, true},
		"another kind of the same group":          {manifest.GroupKind{Group: "planter.nephio.org", Kind: "Network"}, false},
		"what Kubernetes serves itself":           {manifest.GroupKind{Group: "apps", Kind: "Deployment"}, false},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if _, got := managementKind(c.kind); got != c.want {
				t.Errorf("management kind: %t, want %t", got, c.want)
			}
		})
	}
}

func TestEveryRowOfTheManagementTableIsReached(t *testing.T) {
	for i, row := range managementRows {
		group := row.Group
		if group[0] == '*' {
			group = "x" + group[1:]
		}
		for _, kind := range append(row.Kinds, "Anything")[:max(len(row.Kinds), 1)] {
			got, ok := managementKind(manifest.GroupKind{Group: group, Kind: kind})
			if !ok || got.Group != row.Group {
				t.Errorf("row %d: %s of %s is found in row %q", i, kind, group, got.Group)
			}
		}
		if row.Why == "" {
			t.Errorf("row %d (%s) does not say why", i, row.Group)
		}
	}
}
