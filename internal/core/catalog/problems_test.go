package catalog_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/catalog"
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

// document is one Furrow document in a file of its own.
func document(file, kind, name, spec string) string {
	return "-- " + file + " --\napiVersion: furrow.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + spec + "\n"
}

func cluster(name, spec string) string {
	return document(name+".yaml", "Cluster", name, "spec: {"+spec+"}")
}

// TestProblemsOfTheInventory is here to be read: the message that people get for
// each mistake names the place, the object, and the next step.
func TestProblemsOfTheInventory(t *testing.T) {
	cases := map[string]struct{ tree, want string }{
		"an unknown field": {
			cluster("edge", "hub: mgmt"),
			`edge.yaml:1: Cluster "edge": unknown field "hub". Compare it with the example in the reference documentation.`,
		},
		"a value of another type": {
			cluster("edge", "path: [a]"),
			`edge.yaml:1: Cluster "edge": cannot unmarshal array into Go struct field ClusterSpec.spec.path of type string. Compare it with the example in the reference documentation.`,
		},
		"an unknown version": {
			"-- edge.yaml --\napiVersion: furrow.dev/v1\nkind: Cluster\nmetadata: {name: edge}\n",
			`edge.yaml:1: Cluster "edge": apiVersion furrow.dev/v1 is unknown. Write furrow.dev/v1alpha1.`,
		},
		"an unknown kind": {
			document("fleet.yaml", "Fleet", "f", ""),
			`fleet.yaml:1: Fleet "f": Furrow has no kind Fleet. Use Cluster, ClusterType, ControlPlane, GitOpsRepo, Template or Seed.`,
		},
		"a Seed outside of seeds": {
			document("web.yaml", "Seed", "web", ""),
			`web.yaml:1: Seed "web": a Seed document stands outside seeds/. Move it into the seed's package, or beside it in seeds/.`,
		},
		"a document that stands twice": {
			cluster("a", "") + document("b.yaml", "Cluster", "a", ""),
			`b.yaml:1: Cluster "a": it is also declared at a.yaml:1. Remove one of the two.`,
		},
		"a file that is no YAML": {
			"-- edge.yaml --\nkind: Cluster\napiVersion: furrow.dev/v1alpha1\nmetadata: {name: edge\n",
			`edge.yaml:4: a bracket is not closed, or a comma is missing. Close the bracket; if the file is a template with {{ }}, render it first.`,
		},
		"a name that is not a DNS label": {
			document("edge.yaml", "Cluster", "edge.1", ""),
			`edge.yaml:1: Cluster "edge.1": the name is not a valid DNS label (lower case letters, digits, and '-' in between). Rename the cluster, or give it a Cluster document with a shorter name.`,
		},
		"an unknown role": {
			cluster("edge", "role: Edge"),
			`edge.yaml:1: Cluster "edge": spec.role "Edge" is unknown. Write Management or Workload.`,
		},
		"a path that leaves the repository": {
			cluster("edge", "path: ../edge"),
			`edge.yaml:1: Cluster "edge": spec.path "../edge" is no directory inside the repository. Write a relative path without '..'.`,
		},
		"two clusters with one path": {
			cluster("a", "path: clusters/b") + cluster("b", ""),
			`b.yaml:1: Cluster "b": its root path "clusters/b" is also that of cluster "a". Give each cluster a spec.path of its own.`,
		},
		"a hub that is not declared": {
			cluster("edge", "reconciledBy: mgmt"),
			`edge.yaml:1: Cluster "edge": spec.reconciledBy names the cluster "mgmt", which is not declared. Declare it, or correct the name.`,
		},
		"a hub that has a hub": {
			cluster("a", "") + cluster("b", "reconciledBy: a") + cluster("c", "reconciledBy: b"),
			`c.yaml:1: Cluster "c": spec.reconciledBy names "b", which has no reconciler of its own ("a" acts for it). Name "a" instead.`,
		},
		"a hub that has a hub, and comes later": {
			cluster("a", "reconciledBy: b") + cluster("b", "reconciledBy: c") + cluster("c", ""),
			`a.yaml:1: Cluster "a": spec.reconciledBy names "b", which has no reconciler of its own ("c" acts for it). Name "c" instead.`,
		},
		"hubs in a circle": {
			cluster("a", "reconciledBy: b") + cluster("b", "reconciledBy: c") + cluster("c", "reconciledBy: b"),
			`a.yaml:1: Cluster "a": spec.reconciledBy goes in a circle: a → b → c → b. Remove it from the cluster whose own reconciler acts for the others.
b.yaml:1: Cluster "b": spec.reconciledBy goes in a circle: b → c → b. Remove it from the cluster whose own reconciler acts for the others.
c.yaml:1: Cluster "c": spec.reconciledBy goes in a circle: c → b → c. Remove it from the cluster whose own reconciler acts for the others.`,
		},
		"a type that is not declared": {
			cluster("edge", "type: big"),
			`edge.yaml:1: Cluster "edge": the cluster type "big" is not declared. Declare a ClusterType of that name, or correct spec.type.`,
		},
		"a repository that is not declared": {
			cluster("edge", "gitOpsRepo: fleet"),
			`edge.yaml:1: Cluster "edge": the GitOps repository "fleet" is not declared. Declare a GitOpsRepo of that name, or correct spec.gitOpsRepo.`,
		},
		"several repositories, and none is named": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu}") + document("us.yaml", "GitOpsRepo", "us", "spec: {url: us}") + cluster("edge", ""),
			`edge.yaml:1: Cluster "edge": no GitOps repository is named and there are several: eu, us. Set spec.gitOpsRepo of the cluster or of its type.`,
		},
		"another repository than the hub's": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu}") + document("us.yaml", "GitOpsRepo", "us", "spec: {url: us}") +
				cluster("mgmt", "gitOpsRepo: eu") + cluster("edge", "gitOpsRepo: us, reconciledBy: mgmt"),
			`edge.yaml:1: Cluster "edge": its GitOps repository is "us", but its hub "mgmt" reads "eu". Leave spec.gitOpsRepo empty: a hub's clusters are written to the hub's repository.`,
		},
		"a repository without a URL": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {branch: main}"),
			`eu.yaml:1: GitOpsRepo "eu": spec.url is missing. Write where the repository is.`,
		},
		"a repository with an absolute path": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu, path: /fleet}"),
			`eu.yaml:1: GitOpsRepo "eu": spec.path "/fleet" is no directory inside the repository. Write a relative path without '..'.`,
		},
		"a type with a template of the wrong type": {
			document("t.yaml", "Template", "t", "spec: {type: Proposal, text: x}") + document("big.yaml", "ClusterType", "big", "spec: {reconcilerTemplate: t}"),
			`big.yaml:1: ClusterType "big": there is no Template "t" of type Reconciler. Declare it, or correct the name.`,
		},
		"a type with everything wrong": {
			document("big.yaml", "ClusterType", "big", "spec: {reconciler: Argo, gitOpsRepo: eu, decryption: {provider: age}}"),
			`big.yaml:1: ClusterType "big": spec.reconciler "Argo" is unknown. Write Flux.
big.yaml:1: ClusterType "big": spec.decryption.provider "age" is unknown. Write sops.
big.yaml:1: ClusterType "big": there is no GitOpsRepo "eu". Declare it, or correct the name.`,
		},
		"a template of no type": {
			document("t.yaml", "Template", "t", "spec: {type: Reconcilr, text: x}"),
			`t.yaml:1: Template "t": spec.type "Reconcilr" is unknown. Write Reconciler or Proposal.`,
		},
		"a template without text": {
			document("t.yaml", "Template", "t", "spec: {type: Proposal}"),
			`t.yaml:1: Template "t": spec.text is missing. Write the Go template.`,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, load(t, c.tree).Problems.Error()); diff != "" {
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
			`seeds/web.yaml: seed "web": it holds no object. Add objects, or delete the package to remove the seed.`,
		},
		"a name that is not a DNS label": {
			"-- seeds/Web.yaml --\n" + object, "Web",
			`seeds/Web.yaml: seed "Web": the name is not a valid DNS label (lower case letters, digits, and '-' in between). Rename the file or directory.`,
		},
		"a package that stands twice": {
			"-- seeds/web.yaml --\n" + object + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web.yaml: seed "web": it also stands at seeds/web. Keep one of the two.`,
		},
		"a Seed document without a package": {
			seedDocument("seeds/settings.yaml", "web", ""), "web",
			`seeds/settings.yaml:1: Seed "web": there is no package for it. Add the directory seeds/web or the file seeds/web.yaml.`,
		},
		"a Seed document of another seed inside of a package": {
			seedDocument("seeds/web/seed.yaml", "shop", "") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:1: Seed "shop": it is in the package of seed "web". Give the document that name, or move it beside the package.`,
		},
		"two Seed documents": {
			seedDocument("seeds/settings.yaml", "web", "") + seedDocument("seeds/web/seed.yaml", "web", "") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/settings.yaml:1: Seed "web": the seed is also configured at seeds/web/seed.yaml:1. Keep one of the two Seed documents.`,
		},
		"an unknown field of a Seed document": {
			seedDocument("seeds/web/seed.yaml", "web", "clusters: [edge]") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:1: Seed "web": unknown field "clusters". Compare it with the example in the reference documentation.`,
		},
		"a document that belongs to the fleet": {
			document("seeds/web/repo.yaml", "GitOpsRepo", "eu", "spec: {url: eu}"), "web",
			`seeds/web/repo.yaml:1: GitOpsRepo "eu": a seed cannot hold a Furrow document of this kind. Move it out of seeds/.`,
		},
		"a mistyped kind of Furrow": {
			document("seeds/web/seed.yaml", "Seeds", "web", "spec: {}") + "-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/seed.yaml:1: Seeds "web": Furrow has no kind Seeds. Write kind: Seed.`,
		},
		"a Cluster document that stands twice": {
			document("seeds/web/a.yaml", "Cluster", "edge", "") + document("seeds/web/b.yaml", "Cluster", "edge", ""), "web",
			`seeds/web/b.yaml:1: Cluster "edge": the seed declares it twice. Remove one of the two.`,
		},
		"a Helm chart": {
			"-- seeds/web/Chart.yaml --\nname: web\n-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/Chart.yaml: seed "web": the package is a Helm chart. Commit what 'helm template' prints.`,
		},
		"a kustomization in a file of another name": {
			"-- seeds/web/other.yaml --\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: k}\n-- seeds/web/web.yaml --\n" + object, "web",
			`seeds/web/other.yaml:1: Kustomization "k": it is a kustomization in a file of another name. Name the file kustomization.yaml.`,
		},
		"a kustomization without its directory": {
			"-- seeds/kustomization.yaml --\nresources: [web.yaml]\n", "kustomization",
			`seeds/kustomization.yaml: seed "kustomization": a kustomization is built only as a directory. Give it a directory of its own, with all that it uses.`,
		},
		"a namespaced object without a namespace": {
			"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "web",
			`seeds/web.yaml:1: ConfigMap "c": the object is namespaced and has no namespace. Write metadata.namespace, or set Seed.spec.namespace or -n.`,
		},
		"an object that stands twice": {
			"-- seeds/web/a.yaml --\n" + object + "-- seeds/web/b.yaml --\n" + object, "web",
			`seeds/web/b.yaml:1: ConfigMap "c": the object core/ConfigMap/default/c stands twice: it is already at seeds/web/a.yaml:1. Keep one of the two.`,
		},
		"a name that a server would make up": {
			"-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: c-, namespace: default}\n", "web",
			`seeds/web.yaml:3: ConfigMap: metadata.generateName without metadata.name: Git needs a name that stays. Write metadata.name instead.`,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed, ok := load(t, c.tree).Seed(c.seed)
			if !ok || seed.Err == nil {
				t.Fatalf("the seed has no error: %v", seed)
			}
			if diff := cmp.Diff(c.want, seed.Err.Error()); diff != "" {
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
		got = append(got, s.Name+" at "+s.Place)
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
