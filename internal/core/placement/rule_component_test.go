package placement

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

// What a provider of racks consists of, and a cluster of racks.
const (
	rackCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rackclusters.infra.example.com}
spec:
  group: infra.example.com
  scope: Namespaced
  names: {kind: RackCluster, plural: rackclusters}
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: racks, name: webhook}}}}
`
	rackService = "apiVersion: v1\nkind: Service\nmetadata: {name: webhook, namespace: racks}\nspec: {selector: {app: racks}}\n"
	rackCluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge-1, namespace: edge}
spec: {infrastructureRef: {apiGroup: infra.example.com, kind: RackCluster, name: r}}
---
apiVersion: infra.example.com/v1
kind: RackCluster
metadata: {name: r, namespace: edge}
`
)

func rackController(annotations string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: racks, namespace: racks, annotations: {%s}}\nspec: {template: {metadata: {labels: {app: racks}}}}\n", annotations)
}

func TestRuleComponent(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	const controller = "apps/Deployment/racks/racks"
	role := func(group, verb string) string {
		return fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: racks, labels: {part: racks}}\nrules: [{apiGroups: [%q], resources: [baremetalhosts/status], verbs: [%s]}]\n", group, verb)
	}
	binding := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: racks}\nroleRef: {kind: ClusterRole, name: %s}\nsubjects: [{kind: ServiceAccount, namespace: racks, name: racks}]\n"
	runner := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: racks, namespace: racks}\nspec: {template: {spec: {serviceAccountName: racks}}}\n"
	runPlaceCases(t, map[string]placeCase{
		"a controller behind a conversion webhook goes where the resources of the kind go": {
			clusters: fleet, of: controller, seed: []string{rackCRD, rackService, rackController(""), rackCluster},
			want: where{"mgmt", "component"},
		},
		"what says where it goes goes there, whatever the operator does": {
			clusters: fleet, of: controller, seed: []string{rackCRD, rackService, rackController("furrow.dev/cluster: \"mgmt,edge-us\""), rackCluster},
			want: where{"edge-us,mgmt", "annotation"},
		},
		"a controller that may write the status of a management kind is for a management cluster": {
			clusters: fleet, of: controller, seed: []string{role("metal3.io", "patch"), fmt.Sprintf(binding, "racks"), runner},
			want: where{"mgmt", "component"},
		},
		"a RoleBinding names a ServiceAccount of its own namespace where it gives none": {
			clusters: fleet, of: controller,
			seed: []string{
				strings.Replace(strings.Replace(role("metal3.io", "patch"), "ClusterRole", "Role", 1), "name: racks,", "name: racks, namespace: racks,", 1), runner,
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: racks, namespace: racks}\nroleRef: {kind: Role, name: racks}\nsubjects: [{kind: ServiceAccount, name: racks}]\n",
			},
			want: where{"mgmt", "component"},
		},
		"one that may only read it is not": {
			clusters: fleet, of: controller, seed: []string{role("metal3.io", "get"), fmt.Sprintf(binding, "racks"), runner},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a role for all groups says nothing of any": {
			clusters: fleet, of: controller, seed: []string{role("*", "patch"), fmt.Sprintf(binding, "racks"), runner},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"an aggregated role has the rules of those that it selects": {
			clusters: fleet, of: controller,
			seed: []string{
				role("metal3.io", "update"), fmt.Sprintf(binding, "all"), runner,
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: all}\naggregationRule: {clusterRoleSelectors: [{matchLabels: {part: racks}}]}\n",
			},
			want: where{"mgmt", "component"},
		},
		"what serves an API of management clusters is for one": {
			clusters: fleet, of: controller,
			seed: []string{
				"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.metal3.io}\nspec: {group: metal3.io, version: v1, service: {namespace: racks, name: webhook}}\n",
				rackService, rackController(""),
			},
			want: where{"mgmt", "component"},
		},
		"what else is in the operator's namespace goes along": {
			clusters: fleet, of: "apps/Deployment/racks/dashboard",
			seed: []string{rackCRD, rackService, rackController(""), rackCluster, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dashboard, namespace: racks}\n"},
			want: where{"mgmt", "component"},
		},
		"what else is in a namespace that every cluster has does not": {
			clusters: fleet, of: "apps/Deployment/kube-system/dashboard",
			seed: []string{
				"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.metal3.io}\nspec: {group: metal3.io, version: v1, service: {namespace: kube-system, name: hosts}}\n",
				"apiVersion: v1\nkind: Service\nmetadata: {name: hosts, namespace: kube-system}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: dashboard, namespace: kube-system}\n",
			},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"a definition of a management kind without resources is for a management cluster": {
			clusters: fleet, of: "apiextensions.k8s.io/CustomResourceDefinition/baremetalhosts.metal3.io",
			seed: []string{"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: baremetalhosts.metal3.io}\nspec: {group: metal3.io, scope: Namespaced, names: {kind: BareMetalHost, plural: baremetalhosts}}\n"},
			want: where{"mgmt", "component"},
		},
		"of several management clusters the resources say which": {
			clusters: []string{mgmt, mgmt2, edgeEU}, of: "apiextensions.k8s.io/CustomResourceDefinition/baremetalhosts.metal3.io",
			seed: []string{
				"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: baremetalhosts.metal3.io}\nspec: {group: metal3.io, scope: Namespaced, names: {kind: BareMetalHost, plural: baremetalhosts}}\n",
				"apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: metal, annotations: {furrow.dev/cluster: mgmt-2}}\n",
			},
			want: where{"mgmt-2", "component"},
		},
		"without resources, of several management clusters none is guessed": {
			clusters: []string{mgmt, mgmt2, edgeEU}, seed: []string{role("metal3.io", "patch"), fmt.Sprintf(binding, "racks"), runner},
			wantError: `seeds/web/web.yaml:1: ClusterRole "racks": ManagementClusterAmbiguous`,
		},
	})
}

func TestWhatACreatorNeedsIsNotOnTheClusterThatItMakes(t *testing.T) {
	clusterCRD := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: clusters.cluster.x-k8s.io, annotations: {%s}}\nspec: {group: cluster.x-k8s.io, scope: Namespaced, names: {kind: Cluster, plural: clusters}}\n"
	provided := "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, provides: {customResourceDefinitions: [rackclusters.infra.example.com]}}\n"
	runPlaceCases(t, map[string]placeCase{
		"the controller of what the creator refers to": {
			clusters: []string{mgmt}, seed: []string{rackCRD, rackService, rackController("furrow.dev/cluster: edge-1"), rackCluster},
			wantError: `seeds/web/web.yaml:15: Deployment "racks": CreatorCycle cluster=edge-1`,
		},
		"the definition of the creator's kind": {
			clusters: []string{mgmt}, seed: []string{fmt.Sprintf(clusterCRD, "furrow.dev/cluster: edge-1"), capi},
			wantError: `seeds/web/web.yaml:1: CustomResourceDefinition "clusters.cluster.x-k8s.io": CreatorCycle cluster=edge-1`,
		},
		"a controller that is on both clusters is where it is needed": {
			clusters: []string{mgmt}, of: "apps/Deployment/racks/racks",
			seed: []string{rackCRD, rackService, rackController("furrow.dev/cluster: \"mgmt,edge-1\""), rackCluster, namespaceOf("racks", "")},
			want: where{"edge-1,mgmt", "annotation"},
		},
		"what the management cluster has already need not be there": {
			clusters: []string{provided}, of: "apps/Deployment/racks/racks",
			seed: []string{rackCRD, rackService, rackController("furrow.dev/cluster: edge-1"), rackCluster, namespaceOf("racks", "")},
			want: where{"edge-1", "annotation"},
		},
		"another cluster may have it": {
			clusters: []string{mgmt, edgeEU}, of: "apps/Deployment/racks/racks",
			seed: []string{rackCRD, rackService, rackController("furrow.dev/cluster: edge-eu"), rackCluster},
			want: where{"edge-eu", "annotation"},
		},
	})
}

// TestACircleOfFollowersDoesNotDependOnWhoIsAskedFirst asks for each object first.
func TestACircleOfFollowersDoesNotDependOnWhoIsAskedFirst(t *testing.T) {
	operator := func(group, namespace, other string) string {
		return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Thing, plural: things}
  conversion: {strategy: Webhook, webhook: {clientConfig: {service: {namespace: %[2]s, name: webhook}}}}
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: %[2]s}
---
apiVersion: %[3]s/v1
kind: Thing
metadata: {name: mine, namespace: %[2]s}
spec: {secretRef: {name: s}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: %[2]s}
`, group, namespace, other)
	}
	circle := []string{operator("a.example.com", "a", "b.example.com"), operator("b.example.com", "b", "a.example.com"), namespaceOf("a", "")}
	cases := map[string]struct {
		seed []string
		want string
	}{
		"of two operators that need each other and nothing else": {circle, "edge-eu,edge-us"},
		"of two, and somebody else needs one of them":            {append(circle, "apiVersion: a.example.com/v1\nkind: Thing\nmetadata: {name: other, namespace: c, annotations: {furrow.dev/cluster: mgmt}}\n"), "mgmt"},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed, inv := seedOf(t, c.seed...), inventoryOf(t, mgmt, edgeEU, edgeUS)
			var want map[string]string
			for first := range seed.Variants[0].Objects {
				s := newPlacer(&seed, seed.Variants[0].Objects, inv)
				if _, err := s.place(s.all[first]); err != nil {
					t.Fatal(err)
				}
				got := map[string]string{}
				for _, n := range s.all {
					p, err := s.place(n)
					if err != nil {
						t.Fatal(err)
					}
					got[n.object.ID.String()] = fmt.Sprint(p.Clusters, " ", p.Rule, ": ", p.Why)
				}
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("asked for %s first, the placements differ:\n%s", s.all[first].object.ID, diff)
				}
			}
			got, why, err := placed(seed, inv)
			if err != nil || got["core/Secret/a/s"].Clusters != c.want {
				t.Errorf("the Secret goes to %s, want %s (%v)", got["core/Secret/a/s"].Clusters, c.want, err)
			}
			texts.Add(sentence, why["core/Secret/a/s"])
		})
	}
}

func TestASecretThatGoesToBothRolesIsWarnedOf(t *testing.T) {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: edge}\n"
	web := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: edge}\n"
	texts := golden.Of(t)
	for sentence, c := range map[string]struct {
		seed []string
		want int
	}{
		"one that nothing names":         {[]string{capi, secret, web}, 1},
		"one that is named":              {[]string{capi, secret, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: edge}\nspec: {template: {spec: {imagePullSecrets: [{name: s}]}}}\n"}, 0},
		"one in a Namespace of one role": {[]string{capi, secret}, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			seed, inv := seedOf(t, c.seed...), inventoryOf(t, mgmt, edgeEU)
			if err := AddImplied(inv, nil)["web"]; err != nil {
				t.Fatal(err)
			}
			placed, err := Place(&seed, inv)
			if err != nil || len(placed.Warnings) != c.want {
				t.Fatalf("%d warnings, want %d (%v)", len(placed.Warnings), c.want, err)
			}
			for _, w := range placed.Warnings {
				texts.Add(sentence, w.Error())
			}
		})
	}
}
