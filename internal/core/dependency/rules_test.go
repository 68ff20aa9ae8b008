package dependency

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/test/golden"
)

func TestEveryRuleSaysWhatItDoesAndWhy(t *testing.T) {
	var names []string
	for _, r := range Rules() {
		names = append(names, r.Name)
		if r.Doc == "" || r.Why == "" {
			t.Errorf("rule %s does not say what it does, or why", r.Name)
		}
	}
	if diff := cmp.Diff([]string{"namespace", "crd", "cluster", "declared", "plugin", "admission", "provides", "network", "backend", "conversion", "apiservice", "webhook", "policy", "waves", "unknown", "mounts", "references", "controller", "storage", "routes", "bundle", "patches", "last"}, names); diff != "" {
		t.Errorf("the rules differ (-want +got):\n%s", diff)
	}
}

// ruleCase is one control plane and what a rule makes of it.
type ruleCase struct {
	tree                              string
	wantEdges, wantWarned, wantErrors []string
}

func runRuleCases(t *testing.T, rule string, cases map[string]ruleCase) {
	t.Helper()
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, c.tree)
			if diff := cmp.Diff(c.wantEdges, edgesOf(result.Graph, rule), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the edges differ (-want +got):\n%s", diff)
			}
			texts.Add(sentence, strings.Join(said(slices.Concat(result.Warnings, result.Errors)), "\n"))
			if diff := cmp.Diff(c.wantWarned, fields(result.Warnings)); diff != "" {
				t.Errorf("the warnings differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantErrors, fields(result.Errors)); diff != "" {
				t.Errorf("the errors differ (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	shopNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
	shopContent   = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n"
	sliceCRD      = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: slices.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: Slice, plural: slices}}\n"
	aSlice        = "apiVersion: example.com/v2\nkind: Slice\nmetadata: {name: gold}\n"
)

func TestRuleNamespace(t *testing.T) {
	runRuleCases(t, "namespace", map[string]ruleCase{
		"a namespaced object waits for its Namespace": {
			tree:      fleet + "-- seeds/web.yaml --\n" + shopNamespace + "---\n" + shopContent,
			wantEdges: []string{"core/ConfigMap/shop/c on edge waits for core/Namespace/shop on edge (namespace: metadata.namespace: shop)"},
		},
		"also where another seed contains it": {
			tree:      fleet + "-- seeds/base.yaml --\n" + shopNamespace + "-- seeds/web.yaml --\n" + shopContent,
			wantEdges: []string{"core/ConfigMap/shop/c on edge waits for core/Namespace/shop on edge (namespace: metadata.namespace: shop (of seed base))"},
		},
		"a Namespace on another cluster does not do": {
			tree:       fleet + "-- seeds/base.yaml --\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {furrow.dev/cluster: mgmt}}\n-- seeds/web.yaml --\n" + shopContent,
			wantWarned: []string{"web: core/ConfigMap/shop/c: MissingDependency cluster=edge"},
		},
		"many objects of a Namespace that nobody has are one warning": {
			tree:       fleet + "-- seeds/web.yaml --\n" + shopContent + "---\n" + strings.Replace(shopContent, "name: c", "name: d", 1) + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: c, namespace: shop}\n",
			wantWarned: []string{"web: core/ConfigMap/shop/c: MissingDependency cluster=edge"},
		},
		"default, kube-* and the reconciler's namespace are everywhere": {
			tree: fleet + "-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: kube-public}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: flux-system}\n",
		},
		"what the cluster provides is there": {
			tree: "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {provides: {namespaces: [shop]}}\n-- seeds/web.yaml --\n" + shopContent,
		},
		"also where the cluster lists its labels": {
			tree: "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {provides: {labelledNamespaces: [{name: shop, labels: {a: b}}]}}\n-- seeds/web.yaml --\n" + shopContent,
		},
		"a rule that is switched off neither draws nor warns": {
			tree: fleet + "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [namespace]}\n-- seeds/web/web.yaml --\n" + shopContent,
		},
	})
}

func TestRuleCRD(t *testing.T) {
	provides := func(names string) string {
		return "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {provides: {customResourceDefinitions: [" + names + "]}}\n"
	}
	runRuleCases(t, "crd", map[string]ruleCase{
		"a custom resource waits for its CRD, whatever its version": {
			tree:      fleet + "-- seeds/web.yaml --\n" + sliceCRD + "---\n" + aSlice,
			wantEdges: []string{"example.com/Slice/gold on edge waits for apiextensions.k8s.io/CustomResourceDefinition/slices.example.com on edge (crd: kind: Slice.example.com)"},
		},
		"also where another seed contains it": {
			tree:      fleet + "-- seeds/api.yaml --\n" + sliceCRD + "-- seeds/web.yaml --\n" + aSlice,
			wantEdges: []string{"example.com/Slice/gold on edge waits for apiextensions.k8s.io/CustomResourceDefinition/slices.example.com on edge (crd: kind: Slice.example.com (of seed api))"},
		},
		"a CRD on another cluster does not do": {
			tree:       fleet + "-- seeds/api.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: slices.example.com, annotations: {furrow.dev/cluster: mgmt}}\nspec: {group: example.com, scope: Cluster, names: {kind: Slice, plural: slices}}\n-- seeds/web.yaml --\n" + aSlice,
			wantWarned: []string{"web: example.com/Slice/gold: MissingDependency cluster=edge"},
		},
		"a cluster with a Flux of its own has the kinds of Flux": {
			tree: fleet + "-- seeds/web.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: default}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: a, namespace: default}\n",
		},
		"a cluster that another one's Flux acts for does not": {
			tree:       fleet + "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: far}\nspec: {reconciledBy: mgmt}\n-- seeds/web.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a, namespace: default, annotations: {furrow.dev/cluster: far}}\n",
			wantWarned: []string{"web: helm.toolkit.fluxcd.io/HelmRelease/default/a: MissingDependency cluster=far"},
		},
		"what Kubernetes serves needs none": {
			tree: fleet + "-- seeds/web.yaml --\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n",
		},
		"what the cluster provides needs none":        {tree: provides("slices.example.com") + "-- seeds/web.yaml --\n" + aSlice},
		"a CRD of another group does not do":          {tree: provides("slices.example.org") + "-- seeds/web.yaml --\n" + aSlice, wantWarned: []string{"web: example.com/Slice/gold: MissingDependency cluster=edge"}},
		"a CRD whose name only starts alike does not": {tree: provides("slicegroups.example.com") + "-- seeds/web.yaml --\n" + aSlice, wantWarned: []string{"web: example.com/Slice/gold: MissingDependency cluster=edge"}},
		"a rule that is switched off neither draws nor warns": {
			tree: fleet + "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [crd]}\n-- seeds/web/web.yaml --\n" + aSlice,
		},
	})
}

func TestAClusterProvidesAKindUnderItsRegularPlurals(t *testing.T) {
	cases := map[string]string{
		"Slice": "slices.example.com", "NetworkPolicy": "networkpolicies.example.com", "Gateway": "gateways.example.com",
		"Ingress": "ingresses.example.com", "Proxy": "proxies.example.com", "EndpointSlice": "endpointslices.example.com",
		"NetworkAttachmentDefinition": "network-attachment-definitions.example.com", "Data": "data.example.com",
	}
	for kind, name := range cases {
		var c catalog.Cluster
		c.Provides.CustomResourceDefinitions = []string{name}
		if !c.HasKind(manifest.GroupKind{Group: "example.com", Kind: kind}) {
			t.Errorf("%s is not seen to provide %s", name, kind)
		}
	}
}

func TestRuleCluster(t *testing.T) {
	runRuleCases(t, "cluster", map[string]ruleCase{
		"everything on a cluster waits for its creator": {
			tree: fleet + "-- seeds/web.yaml --\n" + capi + "---\n" + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/role: Workload}}\n",
			wantEdges: []string{
				"core/ConfigMap/default/c on edge-1 waits for cluster.x-k8s.io/Cluster/default/edge-1 on mgmt (cluster: edge-1 is created by cluster.x-k8s.io/Cluster/default/edge-1)",
			},
			wantWarned: []string{"web: cluster.x-k8s.io/Cluster/default/edge-1: MissingDependency cluster=mgmt"},
		},
		"also the objects of other seeds": {
			tree: fleet + "-- seeds/infra.yaml --\n" + capi + "-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/cluster: edge-1}}\n",
			wantEdges: []string{
				"core/ConfigMap/default/c on edge-1 waits for cluster.x-k8s.io/Cluster/default/edge-1 on mgmt (cluster: edge-1 is created by cluster.x-k8s.io/Cluster/default/edge-1 (of seed infra))",
			},
			wantWarned: []string{"infra: cluster.x-k8s.io/Cluster/default/edge-1: MissingDependency cluster=mgmt"},
		},
		"nothing waits on a cluster that is simply there": {
			tree: fleet + "-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n",
		},
	})
}

func TestWhatIsOnAClusterWaitsUntilItsCreatorIsCurrent(t *testing.T) {
	g := graphOf(t, fleet+"-- seeds/infra.yaml --\n"+capi+"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/cluster: edge-1}}\n").Graph
	creator, _ := catalog.Creator(manifest.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"})
	n := 0
	for _, e := range g.Edges {
		want := ""
		if g.Reason(e).Rule == "cluster" {
			n++
			want = creator.Current
		}
		if got := g.Reason(e).Ready; got != want {
			t.Errorf("%s waits for %s until %q, want %q", g.Vertex(e.From), g.Vertex(e.To), got, want)
		}
	}
	if n == 0 || creator.Current == "" {
		t.Errorf("%d edges until %q", n, creator.Current)
	}
}

func TestAClusterWhoseCreatorCannotBePlannedHoldsWhatIsOnIt(t *testing.T) {
	cat := catalogOf(t, fleet+"-- seeds/infra.yaml --\n"+capi+"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/cluster: edge-1}}\n")
	if failed := placement.AddImplied(cat.Inventory, cat.Seeds); len(failed) > 0 {
		t.Fatal(failed)
	}
	result := Build(seedsOf(t, cat)[1:], cat.Inventory)
	want := []string{"web: core/ConfigMap/default/c: BrokenSeed cluster=edge-1"}
	if diff := cmp.Diff(want, fields(result.Errors)); diff != "" {
		t.Errorf("the errors differ (-want +got):\n%s", diff)
	}
}

func TestRuleDeclared(t *testing.T) {
	target := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role}\n"
	waiting := func(annotations string) string {
		return fleet + "-- seeds/web.yaml --\n" + target + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default, annotations: {" + annotations + "}}\n"
	}
	edge := func(to, why string) string {
		return "core/ConfigMap/default/second on edge waits for " + to + " on edge (declared: " + why + ")"
	}
	const first, role = "core/ConfigMap/default/first", "rbac.authorization.k8s.io/ClusterRole/role"
	runRuleCases(t, "declared", map[string]ruleCase{
		"Furrow's own form": {
			tree: waiting(`furrow.dev/depends-on: "core/ConfigMap/default/first, rbac.authorization.k8s.io/ClusterRole/role,"`),
			wantEdges: []string{
				edge(first, "furrow.dev/depends-on: core/ConfigMap/default/first"),
				edge(role, "furrow.dev/depends-on: rbac.authorization.k8s.io/ClusterRole/role"),
			},
		},
		"the form of cli-utils": {
			tree: waiting(`config.kubernetes.io/depends-on: "/namespaces/default/ConfigMap/first,rbac.authorization.k8s.io/ClusterRole/role"`),
			wantEdges: []string{
				edge(first, "config.kubernetes.io/depends-on: /namespaces/default/ConfigMap/first"),
				edge(role, "config.kubernetes.io/depends-on: rbac.authorization.k8s.io/ClusterRole/role"),
			},
		},
		"Planter's form": {
			tree: fleet + "-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default, annotations: {furrow.dev/cluster: edge}}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: role, annotations: {furrow.dev/cluster: edge}}\n---\n" +
				`{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: default, annotations: {furrow.dev/cluster: edge, planter.nephio.org/dependencies: "v1|ConfigMap|default|first,rbac.authorization.k8s.io/v1|ClusterRole||role"}}}` + "\n",
			wantEdges: []string{
				edge(first, "planter.nephio.org/dependencies: v1|ConfigMap|default|first"),
				edge(role, "planter.nephio.org/dependencies: rbac.authorization.k8s.io/v1|ClusterRole||role"),
			},
		},
		"several annotations all count, and one edge is enough": {
			tree: waiting(`furrow.dev/depends-on: core/ConfigMap/default/first, config.kubernetes.io/depends-on: /namespaces/default/ConfigMap/first`),
			wantEdges: []string{
				edge(first, "config.kubernetes.io/depends-on: /namespaces/default/ConfigMap/first"),
			},
		},
		"an object that is in no seed is an error": {
			tree:       waiting("furrow.dev/depends-on: core/ConfigMap/default/zero"),
			wantErrors: []string{"web: core/ConfigMap/default/second: MissingDependency field=furrow.dev/depends-on"},
		},
		"the object itself is an error": {
			tree:       waiting("furrow.dev/depends-on: core/ConfigMap/default/second"),
			wantErrors: []string{"web: core/ConfigMap/default/second: InvalidDependency field=furrow.dev/depends-on"},
		},
		"a wrong form is an error, in each dialect": {
			tree: waiting(`furrow.dev/depends-on: ConfigMap/first, config.kubernetes.io/depends-on: core/v1/ConfigMap/default/first, planter.nephio.org/dependencies: "v1|ConfigMap|first", furrow.dev/cluster: edge`),
			wantErrors: []string{
				"web: core/ConfigMap/default/second: InvalidDependency field=config.kubernetes.io/depends-on",
				"web: core/ConfigMap/default/second: InvalidDependency field=furrow.dev/depends-on",
				"web: core/ConfigMap/default/second: InvalidDependency field=planter.nephio.org/dependencies",
			},
			wantEdges: nil,
		},
		"what is on no cluster of the object is waited for wherever it is": {
			tree: fleet + "-- seeds/base.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default, annotations: {furrow.dev/cluster: mgmt}}\n-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/first}}\n",
			wantEdges: []string{
				"core/ConfigMap/default/second on edge waits for core/ConfigMap/default/first on mgmt (declared: furrow.dev/depends-on: core/ConfigMap/default/first (of seed base))",
			},
		},
		"a rule that is switched off reads no annotation": {
			tree: fleet + "-- seeds/web/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [declared]}\n-- seeds/web/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default, annotations: {furrow.dev/depends-on: nonsense}}\n",
		},
	})
}

func TestNothingWaitsForWhatLeaves(t *testing.T) {
	cat := catalogOf(t, fleet+"-- seeds/web.yaml --\n"+shopContent)
	seeds := seedsOf(t, cat)
	seeds[0].Leaving = []Vertex{
		{"web", manifest.ID{Kind: "Namespace", Name: "shop"}, "edge"},
		{"web", manifest.ID{Kind: "Secret", Namespace: "shop", Name: "old"}, "edge"},
	}
	seeds[0].Kept = []KeptEdge{{From: seeds[0].Leaving[1], To: seeds[0].Leaving[0], Reason: Reason{Kind: Hard, Rule: "namespace", Why: "metadata.namespace: shop"}}}
	result := Build(seeds, cat.Inventory)
	wantErrors := []string{"web: core/ConfigMap/shop/c: DependencyLeaving"}
	if diff := cmp.Diff(wantErrors, fields(result.Errors)); diff != "" {
		t.Errorf("the errors differ (-want +got):\n%s", diff)
	}
	wantEdges := []string{"core/Secret/shop/old on edge waits for core/Namespace/shop on edge (namespace: metadata.namespace: shop)"}
	if diff := cmp.Diff(wantEdges, edges(result.Graph)); diff != "" {
		t.Errorf("the edges differ (-want +got):\n%s", diff)
	}
}
