package placement

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

func TestRulesAreAskedInTheirOrder(t *testing.T) {
	want := []string{
		"annotation", "plugin", "namespace-annotation", "seed-rule", "management-api", "named-cluster", "same-cloud", "installer",
		"component", "follow-resources", "follow-content", "follow-references", "follow-targets", "operator-namespace", "planter-default", "follow-rest", "selected",
	}
	var got []string
	for _, r := range Rules() {
		got = append(got, r.Name)
		if r.Doc == "" {
			t.Errorf("rule %s does not say what it does", r.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the order differs (-want +got):\n%s", diff)
	}
}

func TestClustersThatSeedsCreate(t *testing.T) {
	const (
		edgeType  = "apiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: edge}\n"
		coreType  = "apiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: core}\n"
		typedMgmt = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, defaultClusterType: edge}\n"
		typedCAPI = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge, annotations: {furrow.dev/cluster-type: core}}\n"
		described = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1, labels: {site: north}}\nspec: {type: core}\n"
		selfGoing = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {reconciledBy: edge-1}\n"
		declared  = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1, labels: {site: south}}\nspec: {reconciledBy: mgmt}\n"
		ownSecret = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {reconciledBy: mgmt, kubeConfigSecret: {name: k, namespace: keys}}\n"
		alone     = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\n"
		granting  = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, kubeConfigNamespaces: [keys]}\n"
	)
	created := &catalog.Creation{Seed: "web", Object: manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "edge", Name: "edge-1"}, On: "mgmt"}
	inCreatorsNamespace := v1alpha1.ObjectReference{Name: "edge-1-kubeconfig", Namespace: "edge"}
	cases := map[string]struct {
		clusters, seed []string
		want           inventoryCluster
	}{
		"name and labels are those of the creator, the hub is the management cluster": {
			clusters: []string{mgmt}, seed: []string{capi},
			want: inventoryCluster{Hub: "mgmt", Labels: map[string]string{"region": "eu"}, KubeConfig: inCreatorsNamespace, CreatedBy: created},
		},
		"the management cluster has a default type": {
			clusters: []string{edgeType, typedMgmt}, seed: []string{capi},
			want: inventoryCluster{Type: "edge", Hub: "mgmt", Labels: map[string]string{"region": "eu"}, KubeConfig: inCreatorsNamespace, CreatedBy: created},
		},
		"the creator's annotation comes before it": {
			clusters: []string{edgeType, coreType, typedMgmt}, seed: []string{typedCAPI},
			want: inventoryCluster{Type: "core", Hub: "mgmt", KubeConfig: inCreatorsNamespace, CreatedBy: created},
		},
		"the seed's Cluster document comes before all": {
			clusters: []string{edgeType, coreType, typedMgmt}, seed: []string{described, capi},
			want: inventoryCluster{Type: "core", Hub: "mgmt", Labels: map[string]string{"site": "north"}, KubeConfig: inCreatorsNamespace, CreatedBy: created},
		},
		"a cluster that reconciles itself has no hub": {
			clusters: []string{mgmt}, seed: []string{selfGoing, capi},
			want: inventoryCluster{CreatedBy: created},
		},
		"a cluster that was declared is marked as created, and keeps what was declared": {
			clusters: []string{mgmt, declared}, seed: []string{capi},
			want: inventoryCluster{Hub: "mgmt", Labels: map[string]string{"site": "south"}, KubeConfig: inCreatorsNamespace, CreatedBy: created},
		},
		"a declared kubeconfig stays where it was declared to be": {
			clusters: []string{granting, ownSecret}, seed: []string{capi},
			want: inventoryCluster{Hub: "mgmt", KubeConfig: v1alpha1.ObjectReference{Name: "k", Namespace: "keys"}, CreatedBy: created},
		},
		"a cluster that was declared without a hub reconciles itself": {
			clusters: []string{mgmt, alone}, seed: []string{capi},
			want: inventoryCluster{CreatedBy: created},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			inv := inventoryOf(t, c.clusters...)
			if failed := AddImplied(inv, []catalog.Seed{seedOf(t, c.seed...)}); len(failed) > 0 {
				t.Fatal(failed)
			}
			if diff := cmp.Diff(c.want, clusterNamed(inv, "edge-1")); diff != "" {
				t.Errorf("the cluster differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongCreators(t *testing.T) {
	const (
		twice     = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: other}\n"
		onTwo     = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge, annotations: {furrow.dev/cluster: \"mgmt,mgmt-2\"}}\n"
		elsewhere = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {reconciledBy: mgmt, kubeConfigNamespaces: [kube-system], kubeConfigSecret: {name: k, namespace: kube-system}}\n"
		uncreated = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-2}\n"
		declared  = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\n"
		sound     = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: alpha, namespace: edge, annotations: {furrow.dev/cluster: mgmt}}\n"
		untyped   = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge, annotations: {furrow.dev/cluster-type: core}}\n"
		badName   = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge.1, namespace: edge}\n"
	)
	cases := map[string]struct {
		clusters, seed []string
		want           string
	}{
		"a creator goes to one cluster alone": {
			clusters: []string{mgmt, mgmt2}, seed: []string{onTwo, sound},
			want: `seeds/web/web.yaml:1: Cluster "edge-1": CreatorAmbiguous`,
		},
		"a creator without a management cluster creates nothing": {
			seed: []string{capi},
			want: `seeds/web/web.yaml:1: Cluster "edge-1": NoManagementCluster`,
		},
		"two creators of one cluster are one too many": {
			clusters: []string{mgmt}, seed: []string{capi, twice, sound},
			want: `seeds/web/web.yaml:5: Cluster "edge-1": DuplicateCluster cluster=edge-1`,
		},
		"a cluster is described only by the seed that creates it": {
			clusters: []string{mgmt}, seed: []string{capi, uncreated, sound},
			want: `seeds/web: Cluster "edge-2": CreatorMissing cluster=edge-2`,
		},
		"a kubeconfig in another namespace than the creator's is not read": {
			clusters: []string{mgmt}, seed: []string{capi, elsewhere, sound},
			want: `seeds/web/web.yaml:1: Cluster "edge-1": KubeConfigNotGranted field=spec.kubeConfigSecret cluster=edge-1`,
		},
		"a cluster is described once": {
			clusters: []string{mgmt, declared}, seed: []string{capi, declared, sound},
			want: `seeds/web: Cluster "edge-1": DuplicateCluster cluster=edge-1`,
		},
		"a type that nobody declares is refused": {
			clusters: []string{mgmt}, seed: []string{untyped, sound},
			want: `seeds/web/web.yaml:1: Cluster "edge-1": UnknownClusterType field=spec.type cluster=edge-1`,
		},
		"a creator's name must do for a cluster": {
			clusters: []string{mgmt}, seed: []string{badName, sound},
			want: `seeds/web/web.yaml:1: Cluster "edge.1": InvalidName cluster=edge.1`,
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			inv := inventoryOf(t, c.clusters...)
			before := inv.Names()
			failed := AddImplied(inv, []catalog.Seed{seedOf(t, c.seed...)})
			texts.Add(sentence, text(failed["web"]))
			if diff := cmp.Diff(c.want, fields(failed["web"])); diff != "" {
				t.Errorf("the error differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, inv.Names()); diff != "" {
				t.Errorf("a seed with an error adds clusters (-want +got):\n%s", diff)
			}
			for _, name := range inv.Names() {
				if by := inv.Clusters[name].CreatedBy; by != nil {
					t.Errorf("cluster %s is created by %v, whose seed has an error", name, by)
				}
			}
		})
	}
}

func TestAClusterIsCreatedByOneSeed(t *testing.T) {
	inv := inventoryOf(t, mgmt)
	failed := AddImplied(inv, []catalog.Seed{namedSeed(t, "a", capi), namedSeed(t, "b", capi), namedSeed(t, "c", planterCluster)})
	want := map[string]string{"b": `seeds/b/b.yaml:1: Cluster "edge-1": DuplicateCluster cluster=edge-1`}
	got := map[string]string{}
	for name, err := range failed {
		got[name] = fields(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the errors differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"edge-1", "edge1", "mgmt"}, inv.Names()); diff != "" {
		t.Errorf("the clusters differ (-want +got):\n%s", diff)
	}
}

func TestProblemsAreReportedOnceAndInOrder(t *testing.T) {
	seed := seedOf(t,
		"apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: z, namespace: shop, annotations: {furrow.dev/cluster: mars}}\n",
		namespaceOf("shop", ""),
		slice("b", "furrow.dev/cluster: venus"),
		sliceCRD,
	)
	_, err := Place(&seed, inventoryOf(t, edgeEU))
	var got []string
	for _, p := range problemsOf(t, err) {
		got = append(got, p.Source.String()+" "+p.Object)
	}
	if diff := cmp.Diff([]string{`seeds/web/web.yaml:1 ServiceAccount "z"`, `seeds/web/web.yaml:9 Slice "b"`}, got); diff != "" {
		t.Errorf("the problems differ (-want +got):\n%s", diff)
	}
}

// TestTheOrderOfDocumentsMakesNoDifference places one seed that uses every rule in many orders.
func TestTheOrderOfDocumentsMakesNoDifference(t *testing.T) {
	docs := []string{
		capi, sliceCRD, slice("a", "furrow.dev/cluster: edge-eu"), slice("b", ""), namespaceOf("shop", ""), namespaceOf("edge", ""),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: cfg, namespace: shop}\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: shop, annotations: {furrow.dev/role: Workload}}\nspec: {secretName: cfg}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: k, namespace: edge, labels: {cluster.x-k8s.io/cluster-name: edge-1}}\n",
		planterCluster,
	}
	var want map[string]where
	var wantWhy map[string]string
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		got, why, err := placed(seedOf(t, docs...), inventoryOf(t, mgmt, edgeEU, edgeUS))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want, wantWhy = got, why
		}
		if diff := cmp.Diff(want, got) + cmp.Diff(wantWhy, why); diff != "" {
			t.Fatalf("the placements differ (-first +now):\n%s", diff)
		}
		random.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	}
	rules := map[string]bool{}
	for _, w := range want {
		rules[w.Rule] = true
	}
	if len(rules) < 6 {
		t.Errorf("the seed uses only the rules %v", slices.Sorted(maps.Keys(rules)))
	}
}
