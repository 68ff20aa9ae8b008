package catalog

import (
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestWhereCreatorsLeaveKubeConfigs(t *testing.T) {
	cases := map[string]struct {
		creator   string
		secret    v1alpha1.ObjectReference
		key       string
		described string // spec of the Cluster document
	}{
		"as Cluster API's contract has it": {
			creator: "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: edge-1, namespace: edge}}",
			secret:  v1alpha1.ObjectReference{Namespace: "edge", Name: "edge-1-kubeconfig"}, key: "value",
		},
		"by a name and key of its own": {
			creator: "{apiVersion: kamaji.clastix.io/v1alpha1, kind: TenantControlPlane, metadata: {name: edge-1, namespace: edge}}",
			secret:  v1alpha1.ObjectReference{Namespace: "edge", Name: "edge-1-admin-kubeconfig"}, key: "admin.conf",
		},
		"in a namespace of its own": {
			creator: "{apiVersion: anywhere.eks.amazonaws.com/v1alpha1, kind: Cluster, metadata: {name: edge-1, namespace: edge}}",
			secret:  v1alpha1.ObjectReference{Namespace: "eksa-system", Name: "edge-1-kubeconfig"}, key: "value",
		},
		"where the creator says": {
			creator: "{apiVersion: container.gcp.upbound.io/v1beta2, kind: Cluster, metadata: {name: edge-1}, spec: {writeConnectionSecretToRef: {name: conn, namespace: clouds}}}",
			secret:  v1alpha1.ObjectReference{Namespace: "clouds", Name: "conn"}, key: "kubeconfig",
		},
		"in the creator's namespace where it names only the Secret": {
			creator: "{apiVersion: containerservice.azure.com/v1api20240901, kind: ManagedCluster, metadata: {name: edge-1, namespace: edge}, spec: {operatorSpec: {secrets: {adminCredentials: {name: admin, key: kubeconfig}}}}}",
			secret:  v1alpha1.ObjectReference{Namespace: "edge", Name: "admin"}, key: "kubeconfig",
		},
		"or where the cluster's document says, with the usual key": {
			creator:   "{apiVersion: kamaji.clastix.io/v1alpha1, kind: TenantControlPlane, metadata: {name: edge-1, namespace: edge}}",
			described: "kubeConfigSecret: {name: mine}",
			secret:    v1alpha1.ObjectReference{Namespace: "edge", Name: "mine"}, key: "value",
		},
	}
	for sentence, c := range cases {
		for _, declared := range []bool{false, true} {
			t.Run(sentence, func(t *testing.T) {
				cat, err := Load(fstest.MapFS{"clusters.yaml": &fstest.MapFile{Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}\n")}})
				if err != nil {
					t.Fatal(err)
				}
				objects, err := manifest.Parse("seed.yaml", []byte(c.creator))
				if err != nil {
					t.Fatal(err)
				}
				described, err := manifest.Parse("clusters.yaml", []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {reconciledBy: mgmt, "+c.described+"}\n"))
				if err != nil {
					t.Fatal(err)
				}
				doc, err := decode[v1alpha1.Cluster](described[0])
				if err != nil {
					t.Fatal(err)
				}
				inv, creation := cat.Inventory, NewCreation("web", &objects[0], "mgmt")
				if declared {
					if err := inv.Add(doc, manifest.Source{}, nil); err != nil {
						t.Fatal(err)
					}
					inv.MarkCreated("edge-1", creation)
				} else if err := inv.Add(doc, manifest.Source{}, creation); err != nil {
					t.Fatal(err)
				}
				on, secret := inv.Clusters["edge-1"].KubeConfigOf()
				if key := inv.Clusters["edge-1"].KubeConfigKey(); on != "mgmt" || secret != c.secret || key != c.key {
					t.Errorf("it is in %v under %q on %s, want %v under %q", secret, key, on, c.secret, c.key)
				}
			})
		}
	}
}
