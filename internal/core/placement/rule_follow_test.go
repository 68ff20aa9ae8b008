package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	sliceCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: slices.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Slice, plural: slices}}
`
	theSliceCRD = "apiextensions.k8s.io/CustomResourceDefinition/slices.example.com"
)

func slice(name, annotations string) string {
	return "apiVersion: example.com/v1\nkind: Slice\nmetadata: {name: " + name + ", namespace: shop, annotations: {" + annotations + "}}\n"
}

func TestRuleFollowResources(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	runPlaceCases(t, map[string]placeCase{
		"a CRD goes where its resources go, and names the first": {
			clusters: fleet, of: theSliceCRD,
			seed: []string{sliceCRD, slice("b", "furrow.dev/cluster: mgmt"), slice("a", "furrow.dev/cluster: edge-us")},
			want: where{"edge-us,mgmt", "follow-resources"},
		},
		"a CRD without resources goes where the seed goes": {
			clusters: fleet, of: theSliceCRD, seed: []string{sliceCRD},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a CRD that would follow itself goes where the seed goes": {
			clusters: fleet, of: "apiextensions.k8s.io/CustomResourceDefinition/crds.apiextensions.k8s.io",
			seed: []string{"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: crds.apiextensions.k8s.io}\nspec: {group: apiextensions.k8s.io, scope: Cluster, names: {kind: CustomResourceDefinition, plural: crds}}\n"},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a CRD whose resource goes nowhere says what is wrong with the resource": {
			clusters: fleet, seed: []string{sliceCRD, slice("a", "furrow.dev/cluster: mars")},
			wantError: `seeds/web/web.yaml:6: Slice "a": UnknownCluster field=furrow.dev/cluster cluster=mars`,
		},
	})
}

func TestRuleFollowContent(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	shop := namespaceOf("shop", "")
	runPlaceCases(t, map[string]placeCase{
		"a Namespace goes where its content goes": {
			clusters: fleet, of: "core/Namespace/shop",
			seed: []string{shop, slice("a", "furrow.dev/cluster: mgmt"), slice("b", "furrow.dev/cluster: edge-eu")},
			want: where{"edge-eu,mgmt", "follow-content"},
		},
		"an empty Namespace goes where the seed goes": {
			clusters: fleet, of: "core/Namespace/shop", seed: []string{shop},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a Namespace follows a follower: Namespace, ConfigMap, what names it": {
			clusters: fleet, of: "core/Namespace/shop",
			seed: []string{
				shop, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n",
				"apiVersion: example.com/v1\nkind: Slice\nmetadata: {name: a, namespace: shop, annotations: {furrow.dev/cluster: mgmt}}\nspec: {configMapRef: {name: c}}\n",
			},
			want: where{"mgmt", "follow-content"},
		},
	})
}

func TestRuleFollowReferences(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	named := func(kind string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: cfg, namespace: shop}\n"
	}
	namer := func(cluster, fields string) string {
		return "apiVersion: example.com/v1\nkind: Slice\nmetadata: {name: on-" + cluster + ", namespace: shop, annotations: {furrow.dev/cluster: " + cluster + "}}\nspec: " + fields + "\n"
	}
	runPlaceCases(t, map[string]placeCase{
		"a Secret goes to all clusters of what names it": {
			clusters: fleet, of: "core/Secret/shop/cfg",
			seed: []string{named("Secret"), namer("mgmt", "{secretRef: {name: cfg}}"), namer("edge-us", "{volumes: [{secret: {secretName: cfg}}]}")},
			want: where{"edge-us,mgmt", "follow-references"},
		},
		"a ConfigMap of the name of a Secret that is named is not": {
			clusters: fleet, of: "core/ConfigMap/shop/cfg",
			seed: []string{named("ConfigMap"), namer("mgmt", "{secretRef: {name: cfg}}")},
			want: where{"mgmt", "follow-rest"},
		},
		"a name in another namespace is another object": {
			clusters: fleet, of: "core/Secret/shop/cfg",
			seed: []string{named("Secret"), "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s, namespace: other, annotations: {furrow.dev/cluster: mgmt}}\nimagePullSecrets: [{name: cfg}]\n"},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"what makes a Secret goes where the Secret would go": {
			clusters: fleet, of: "bitnami.com/SealedSecret/metal/bmc",
			seed: []string{
				"apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: metal}\nspec: {bmc: {credentialsName: bmc}}\n",
				"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: bmc, namespace: metal}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: metal}\n",
			},
			want: where{"mgmt", "follow-references"},
		},
		"also under a name of its own, and in a field that no list has": {
			clusters: fleet, of: "external-secrets.io/ExternalSecret/metal/vault",
			seed: []string{
				"apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: metal}\nspec: {userData: {name: user-data}}\n",
				"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: vault, namespace: metal}\nspec: {target: {name: user-data}}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: metal}\n",
			},
			want: where{"mgmt", "follow-references"},
		},
		"a certificate goes where its Secret is used": {
			clusters: fleet, of: "cert-manager.io/Certificate/shop/cfg",
			seed: []string{"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: cfg, namespace: shop}\nspec: {secretName: cfg-tls}\n", namer("edge-us", "{tls: [{secretName: cfg-tls}]}")},
			want: where{"edge-us", "follow-references"},
		},
		"data that resembles a reference is not one": {
			clusters: fleet, of: "core/Secret/shop/cfg",
			seed: []string{named("Secret"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop, annotations: {furrow.dev/cluster: mgmt}}\ndata: {secretName: cfg}\n"},
			want: where{"edge-eu,edge-us", "selected"},
		},
	})
}

// TestPodsAreFollowedByWhatTheyName has one workload for each field in which Pods name a Secret.
func TestPodsAreFollowedByWhatTheyName(t *testing.T) {
	containers := func(fields string) string { return "{containers: [{name: c, " + fields + "}]}" }
	volume := func(source string) string { return "{volumes: [{name: v, " + source + "}]}" }
	for _, spec := range []string{
		containers("env: [{name: A, valueFrom: {secretKeyRef: {name: cfg, key: a}}}]"),
		containers("envFrom: [{secretRef: {name: cfg}}]"),
		"{initContainers: [{name: c, envFrom: [{secretRef: {name: cfg}}]}]}",
		"{imagePullSecrets: [{name: cfg}]}",
		volume("secret: {secretName: cfg}"),
		volume("projected: {sources: [{secret: {name: cfg}}]}"),
		volume("azureFile: {shareName: a, secretName: cfg}"),
		volume("cephfs: {monitors: [a], secretRef: {name: cfg}}"),
		volume("flexVolume: {driver: a/b, secretRef: {name: cfg}}"),
		volume("flexVolume: {driver: a/b, options: {secretName: cfg}}"),
		volume("csi: {driver: a.example.com, nodePublishSecretRef: {name: cfg}}"),
		volume("csi: {driver: file.csi.azure.com, volumeAttributes: {shareName: a, secretName: cfg}}"),
	} {
		o := seedOf(t, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {template: {spec: "+spec+"}}\n").Objects()[0]
		if !slices.Contains(namedBy(&o), manifest.ID{Kind: "Secret", Namespace: "shop", Name: "cfg"}) {
			t.Errorf("the Secret is not found in %s", spec)
		}
	}
	workload := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, annotations: {furrow.dev/cluster: edge-us}}\nspec: {template: {spec: {serviceAccountName: %s}}}\n"
	account := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: shop}\n"
	for name, want := range map[string]string{"default": "follow-references", "": "follow-rest"} {
		seed := seedOf(t, fmt.Sprintf(workload, name), account)
		placed, err := Place(&seed, inventoryOf(t, mgmt, edgeEU, edgeUS))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(placed.Placements, func(p Placement) bool { return p.Object.Kind == "ServiceAccount" })
		if got := placed.Placements[at].Rule; got != want {
			t.Errorf("of Pods with the account %q the account is placed by %s, want %s", name, got, want)
		}
	}
}

func TestEveryRowOfTheReferenceTableIsReached(t *testing.T) {
	for _, row := range referenceRows {
		fields := []string{row.Field}
		if row.Suffix != "" {
			fields = []string{"my" + row.Suffix, strings.ToLower(row.Suffix[:1]) + row.Suffix[1:]}
			if mayRefer("my"+row.Suffix) != true {
				t.Errorf("no field is asked about the suffix %s", row.Suffix)
			}
		}
		forms := map[string]any{"alone": "cfg"}
		if row.Name != "" {
			one := map[string]any{row.Name: "cfg"}
			forms = map[string]any{"alone": one, "in a list": []any{one}}
		}
		for _, field := range fields {
			for form, v := range forms {
				o := seedOf(t, "apiVersion: example.com/v1\nkind: Slice\nmetadata: {name: a, namespace: shop}\n").Objects()[0]
				o.Body = map[string]any{"spec": map[string]any{field: v}}
				if !slices.Contains(namedBy(&o), manifest.ID{Kind: row.Kind, Namespace: "shop", Name: "cfg"}) {
					t.Errorf("%s of a %s, %s, is not found", field, row.Kind, form)
				}
			}
		}
	}
}
