package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

func load(t *testing.T, archive string) *catalog.Catalog {
	t.Helper()
	tree := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	cat, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// fields are the problems of an error, one a line, without their texts; none of nil, and of no problems.
func fields(err error) string {
	if several := (manifest.Problems{}); errors.As(err, &several) && len(several) == 0 {
		return ""
	}
	var lines []string
	for _, p := range manifest.ProblemsOf(err) {
		lines = append(lines, golden.Fields(p))
	}
	return strings.Join(lines, "\n")
}

// document is one Furrow document in a file of its own.
func document(file, kind, name, spec string) string {
	return "-- " + file + " --\napiVersion: furrow.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + spec + "\n"
}

func cluster(name, spec string) string {
	return document(name+".yaml", "Cluster", name, "spec: {"+spec+"}")
}

// TestProblemsOfTheInventory: the texts, which name the position, the object and the next step, are in
// testdata/messages.golden.
func TestProblemsOfTheInventory(t *testing.T) {
	cases := map[string]struct{ tree, want string }{
		"an unknown version": {
			"-- edge.yaml --\napiVersion: furrow.dev/v1\nkind: Cluster\nmetadata: {name: edge}\n",
			`edge.yaml:1: Cluster "edge": UnknownKind`,
		},
		"an unknown kind": {
			document("fleet.yaml", "Fleet", "f", ""),
			`fleet.yaml:1: Fleet "f": UnknownKind`,
		},
		"a Seed outside of seeds": {
			document("web.yaml", "Seed", "web", ""),
			`web.yaml:1: Seed "web": MisplacedDocument`,
		},
		"a document that is defined twice": {
			cluster("a", "") + document("b.yaml", "Cluster", "a", ""),
			`b.yaml:1: Cluster "a": DuplicateDocument`,
		},
		"a rule of readiness that cannot be read": {
			document("small.yaml", "ClusterType", "small", "spec:\n  readiness:\n  - group: example.com\n    kind: Slice\n    current: status.ready =="),
			`small.yaml:8: ClusterType "small": InvalidField field=spec.readiness[0].current`,
		},
		"a rule of readiness for a creator": {
			document("small.yaml", "ClusterType", "small", "spec:\n  readiness:\n  - group: cluster.x-k8s.io\n    kind: Cluster\n    current: \"true\""),
			`small.yaml:7: ClusterType "small": InvalidField field=spec.readiness[0].kind`,
		},
		"a file that is not YAML": {
			"-- edge.yaml --\nkind: Cluster\napiVersion: furrow.dev/v1alpha1\nmetadata: {name: edge\n",
			"edge.yaml:4: InvalidYAML",
		},
		"a name that is not a DNS label": {
			document("edge.yaml", "Cluster", "edge.1", ""),
			`edge.yaml:1: Cluster "edge.1": InvalidName cluster=edge.1`,
		},
		"an unknown role": {
			cluster("edge", "role: Edge"),
			`edge.yaml:4: Cluster "edge": InvalidField field=spec.role cluster=edge`,
		},
		"a path that leaves the repository": {
			cluster("edge", "path: ../edge"),
			`edge.yaml:4: Cluster "edge": InvalidField field=spec.path cluster=edge`,
		},
		"two clusters with one path": {
			cluster("a", "path: clusters/b") + cluster("b", ""),
			"a.yaml:4: Cluster \"a\": PathConflict field=spec.path other=b.yaml:1 cluster=a\nb.yaml:4: Cluster \"b\": PathConflict field=spec.path other=a.yaml:1 cluster=b",
		},
		"a hub that is not declared": {
			cluster("edge", "reconciledBy: mgmt"),
			`edge.yaml:4: Cluster "edge": UnknownCluster field=spec.reconciledBy cluster=edge`,
		},
		"a hub that has a hub": {
			cluster("a", "") + cluster("b", "reconciledBy: a") + cluster("c", "reconciledBy: b"),
			`c.yaml:1: Cluster "c": InvalidHub cluster=c`,
		},
		"a hub that has a hub, and comes later": {
			cluster("a", "reconciledBy: b") + cluster("b", "reconciledBy: c") + cluster("c", ""),
			`a.yaml:1: Cluster "a": InvalidHub cluster=a`,
		},
		"hubs in a circle": {
			cluster("a", "reconciledBy: b") + cluster("b", "reconciledBy: c") + cluster("c", "reconciledBy: b"),
			`a.yaml:1: Cluster "a": InvalidHub cluster=a
b.yaml:1: Cluster "b": InvalidHub cluster=b
c.yaml:1: Cluster "c": InvalidHub cluster=c`,
		},
		"a type that is not declared": {
			cluster("edge", "type: big"),
			`edge.yaml:4: Cluster "edge": UnknownClusterType field=spec.type cluster=edge`,
		},
		"a repository that is not declared": {
			cluster("edge", "gitOpsRepo: fleet"),
			`edge.yaml:4: Cluster "edge": UnknownRepository field=spec.gitOpsRepo cluster=edge`,
		},
		"several repositories, and none is named": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu}") + document("us.yaml", "GitOpsRepo", "us", "spec: {url: us}") + cluster("edge", ""),
			`edge.yaml:4: Cluster "edge": RepositoryAmbiguous field=spec.gitOpsRepo cluster=edge`,
		},
		"another repository than the hub's": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu}") + document("us.yaml", "GitOpsRepo", "us", "spec: {url: us}") +
				cluster("mgmt", "gitOpsRepo: eu") + cluster("edge", "gitOpsRepo: us, reconciledBy: mgmt"),
			`edge.yaml:4: Cluster "edge": RepositoryMismatch field=spec.gitOpsRepo cluster=edge`,
		},
		"a repository without a URL": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {branch: main}"),
			`eu.yaml:4: GitOpsRepo "eu": MissingField field=spec.url`,
		},
		"a repository with an absolute path": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu, path: /fleet}"),
			`eu.yaml:4: GitOpsRepo "eu": InvalidField field=spec.path`,
		},
		"a type with a template of the wrong type": {
			document("t.yaml", "Template", "t", "spec: {type: Proposal, text: x}") + document("big.yaml", "ClusterType", "big", "spec: {reconcilerTemplate: t}"),
			`big.yaml:4: ClusterType "big": UnknownTemplate field=spec.reconcilerTemplate`,
		},
		"a type with everything wrong": {
			document("big.yaml", "ClusterType", "big", "spec: {reconciler: Argo, gitOpsRepo: eu, decryption: {provider: age}}"),
			`big.yaml:4: ClusterType "big": InvalidField field=spec.reconciler
big.yaml:4: ClusterType "big": InvalidField field=spec.decryption.provider
big.yaml:4: ClusterType "big": UnknownRepository field=spec.gitOpsRepo`,
		},
		"a template of no type": {
			document("t.yaml", "Template", "t", "spec: {type: Reconcilr, text: x}"),
			`t.yaml:4: Template "t": InvalidField field=spec.type`,
		},
		"a template without text": {
			document("t.yaml", "Template", "t", "spec: {type: Proposal}"),
			`t.yaml:4: Template "t": MissingField field=spec.text`,
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := load(t, c.tree).Problems
			texts.Add(sentence, got.Error())
			if diff := cmp.Diff(c.want, fields(got)); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProblemsOfSeeds is here to be read, too.
func TestProblemsOfSeeds(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	seedDocument := func(file, name, spec string) string { return document(file, "Seed", name, "spec: {"+spec+"}") }
	cases := map[string]struct{ tree, seed, want string }{
		"an empty package": {
			"-- seeds/web.yaml --\n# nothing yet\n", "web",
			`seeds/web.yaml: seed "web": EmptySeed seed=web`,
		},
		"a name that is not a DNS label": {
			"-- seeds/Web.yaml --\n" + object, "Web",
			`seeds/Web.yaml: seed "Web": InvalidName seed=Web`,
		},
		"a package that is defined twice": {
			"-- seeds/web.yaml --\n" + object + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web.yaml: seed "web": DuplicateSeed seed=web`,
		},
		"a Seed document without a package": {
			seedDocument("seeds/settings.yaml", "web", ""), "web",
			`seeds/settings.yaml:1: Seed "web": MisplacedDocument`,
		},
		"a Seed document of another seed inside of a package": {
			seedDocument("seeds/web/seed.yaml", "shop", "") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:1: Seed "shop": MisplacedDocument`,
		},
		"two Seed documents": {
			seedDocument("seeds/settings.yaml", "web", "") + seedDocument("seeds/web/seed.yaml", "web", "") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/settings.yaml:1: Seed "web": DuplicateDocument`,
		},
		"an unknown field of a Seed document": {
			seedDocument("seeds/web/seed.yaml", "web", "clusters: [edge]") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:4: Seed "web": InvalidField field=spec.clusters`,
		},
		"a rule of readiness with a mistake in its second line": {
			document("seeds/web/seed.yaml", "Seed", "web", "spec:\n  readiness:\n  - group: example.com\n    kind: Slice\n    current: \"true\"\n    failed: |\n      has(status.x) &&\n      object.status.x") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:11: Seed "web": InvalidField field=spec.readiness[0].failed`,
		},
		"an unknown scope of health": {
			seedDocument("seeds/web/seed.yaml", "web", "health: All") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:4: Seed "web": InvalidField field=spec.health`,
		},
		"an annotation of readiness that says something else": {
			"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/readiness: skip}}\n", "web",
			`seeds/web.yaml:1: ConfigMap "c": InvalidField field=furrow.dev/readiness`,
		},
		"a creator whose readiness is ignored": {
			"-- seeds/web.yaml --\napiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/readiness: ignore}}\n", "web",
			`seeds/web.yaml:1: Cluster "c": MisplacedKey field=furrow.dev/readiness`,
		},
		"a document that belongs to the fleet": {
			document("seeds/web/repo.yaml", "GitOpsRepo", "eu", "spec: {url: eu}"), "web",
			`seeds/web/repo.yaml:1: GitOpsRepo "eu": MisplacedDocument`,
		},
		"a mistyped kind of Furrow": {
			document("seeds/web/seed.yaml", "Seeds", "web", "spec: {}") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:1: Seeds "web": UnknownKind`,
		},
		"a Cluster document that is defined twice": {
			document("seeds/web/a.yaml", "Cluster", "edge", "") + document("seeds/web/b.yaml", "Cluster", "edge", ""), "web",
			`seeds/web/b.yaml:1: Cluster "edge": DuplicateCluster`,
		},
		"a Helm chart": {
			"-- seeds/web/Chart.yaml --\nname: web\n-- seeds/web/templates/web.yaml --\n{{ .Values }}\n-- seeds/web/charts/a/Chart.yaml --\nname: a\n", "web",
			`seeds/web/Chart.yaml: seed "web": UnsupportedPackage seed=web`,
		},
		"a kustomization in a file of another name": {
			"-- seeds/web/other.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/other.yaml:1: Kustomization "k": UnsupportedPackage`,
		},
		"a kustomization without its directory": {
			"-- seeds/kustomization.yaml --\nresources: [web.yaml]\n", "kustomization",
			`seeds/kustomization.yaml: seed "kustomization": UnsupportedPackage seed=kustomization`,
		},
		"a namespaced object without a namespace": {
			"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "web",
			`seeds/web.yaml:1: ConfigMap "c": MissingNamespace`,
		},
		"an object that is defined twice": {
			"-- seeds/web/a.yaml --\n" + object + "-- seeds/web/b.yaml --\n" + object, "web",
			`seeds/web/b.yaml:1: ConfigMap "c": DuplicateObject other=seeds/web/a.yaml:1`,
		},
		"a name that a server would make up": {
			"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: c-, namespace: default}\n", "web",
			"seeds/web.yaml:3: ConfigMap: MissingField field=metadata.generateName",
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed, ok := load(t, c.tree).Seed(c.seed)
			if !ok || seed.Err == nil {
				t.Fatalf("the seed has no error: %v", seed)
			}
			texts.Add(sentence, seed.Err.Error())
			if diff := cmp.Diff(c.want, fields(seed.Err)); diff != "" {
				t.Errorf("the error differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsRead(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	cat := load(t, cluster("edge", "")+
		"-- .hidden/x.yaml --\nfurrow.dev/ [\n-- planted/x.yaml --\nfurrow.dev/ [\n-- values.yaml --\nnot: [ours\n"+
		"-- fleet/planted/edge/web/tier-00/x.yaml --\nfurrow.dev/ [\n-- fleet/clusters/edge/furrow/web/edge-1/tier-01.yaml --\nfurrow.dev/ [\n"+
		"-- clusters/edge/furrow/web/tier-00.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, annotations: {furrow.dev/rendered: x}}\n"+
		"-- seeds/.draft.yaml --\n[\n-- seeds/README.md --\ntext\n-- seeds/b/deep/x.yaml --\n"+object+"-- seeds/a.yml --\n"+object+"-- seeds/c.json --\n{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\"}}\n"+
		document("seeds/settings.yaml", "Seed", "b", "spec: {suspend: true}"))
	if len(cat.Problems) > 0 {
		t.Error(cat.Problems)
	}
	var got []string
	for _, s := range cat.Seeds {
		if s.Err != nil {
			t.Error(s.Err)
		}
		got = append(got, s.Name+" at "+s.Path)
	}
	if diff := cmp.Diff([]string{"a at seeds/a.yml", "b at seeds/b", "c at seeds/c.json"}, got); diff != "" {
		t.Errorf("the seeds differ (-want +got):\n%s", diff)
	}
	if b, _ := cat.Seed("b"); !b.Spec.Suspend {
		t.Error("the Seed document beside the package does not count")
	}
	if _, ok := cat.Seed("settings"); ok {
		t.Error("a file of Seed documents is a seed")
	}
	if diff := cmp.Diff("edge", strings.Join(cat.Inventory.Names(), ",")); diff != "" {
		t.Errorf("the clusters differ (-want +got):\n%s", diff)
	}
	if cat.Inventory.Clusters["edge"].Repo != catalog.DefaultRepo {
		t.Error("without a GitOpsRepo the default one is not taken")
	}
}
