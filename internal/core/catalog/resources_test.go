package catalog_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// resource is a custom resource, with its kind and name as position.
func resource(t *testing.T, text string) manifest.Object {
	t.Helper()
	objects, err := manifest.Parse("resource", []byte("apiVersion: furrow.dev/v1alpha1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	o := objects[0]
	o.Source = manifest.Source{File: o.ID.Kind + " resource fleet/" + o.ID.Name}
	return o
}

func TestResourcesAreAddedToTheTree(t *testing.T) {
	const repo, edge = "kind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: 'https://git.example.com/fleet'}", "kind: Cluster\nmetadata: {name: edge-1, labels: {region: eu}}"
	document := func(text string) string { return "apiVersion: furrow.dev/v1alpha1\n" + text + "\n" }
	tests := map[string]struct {
		tree           map[string]string
		resources      []string
		wantClusters   []string
		wantOverridden map[string]string
		wantProblems   []string
	}{
		"a resource counts like a document": {
			tree: map[string]string{"repo.yaml": document(repo)}, resources: []string{edge},
			wantClusters: []string{"edge-1"},
		},
		"the same document in both is one, whatever labels were added to the resource": {
			tree:         map[string]string{"repo.yaml": document(repo), "edge.yaml": document(edge)},
			resources:    []string{"kind: Cluster\nmetadata: {name: edge-1, labels: {region: eu, added: by-flux}}", repo},
			wantClusters: []string{"edge-1"},
		},
		"the tree's document comes before another resource of its name": {
			tree:         map[string]string{"repo.yaml": document(repo), "edge.yaml": document(edge)},
			resources:    []string{"kind: Cluster\nmetadata: {name: edge-1, labels: {region: us}}"},
			wantClusters: []string{"edge-1"},
			wantOverridden: map[string]string{
				"Cluster resource fleet/edge-1": "edge.yaml:1",
			},
		},
		"a resource that names what does not exist is a problem at its position": {
			tree: map[string]string{"repo.yaml": document(repo)}, resources: []string{"kind: Cluster\nmetadata: {name: edge-1}\nspec: {type: none}"},
			wantProblems: []string{`Cluster resource fleet/edge-1: Cluster "edge-1": UnknownClusterType field=spec.type cluster=edge-1`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range tc.tree {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			var r catalog.Resources
			for _, text := range tc.resources {
				r.Documents = append(r.Documents, resource(t, text))
			}
			c, err := catalog.LoadWith(tree, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.wantClusters, c.Inventory.Names()); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			var overridden map[string]string
			for at, by := range c.Overridden {
				overridden = map[string]string{at.String(): by.String()}
			}
			if diff := cmp.Diff(tc.wantOverridden, overridden); diff != "" {
				t.Errorf("overridden (-want +got):\n%s", diff)
			}
			var problems []string
			for _, p := range c.Problems {
				problems = append(problems, golden.Fields(p))
			}
			if diff := cmp.Diff(tc.wantProblems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnlySeedsThatAreWantedAreInTheCatalog(t *testing.T) {
	tree := fstest.MapFS{
		"seeds/web.yaml":   {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [crd], plainSecrets: Allow, managementCluster: tree}\n")},
		"seeds/other.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n")},
	}
	render, rollout := &v1alpha1.SeedRender{}, &v1alpha1.Rollout{Pace: v1alpha1.Pace{GroupBy: v1alpha1.GroupByLevel}}
	source := &v1alpha1.SeedSource{URL: "https://git.example.com/a"}
	c, err := catalog.LoadWith(tree, catalog.Resources{Seeds: map[string]v1alpha1.SeedSpec{
		"web": {Source: source, ManagementCluster: "resource", Suspend: true, Render: render, Rollout: rollout, DeletionPolicy: v1alpha1.DeletionOrphan}, "absent": {Source: source},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.SeedSpec{DisabledRules: []string{"crd"}, PlainSecrets: v1alpha1.PlainSecretsAllow, ManagementCluster: "resource", Suspend: true, Render: render, Rollout: rollout}
	if len(c.Seeds) != 1 || c.Seeds[0].Name != "web" || c.Seeds[0].Err != nil {
		t.Fatalf("got %+v", c.Seeds)
	}
	if diff := cmp.Diff(want, c.Seeds[0].Spec); diff != "" {
		t.Errorf("the settings differ (-want +got):\n%s", diff)
	}
}

func TestWhatOnlyAResourceMaySayIsRefusedInTheTree(t *testing.T) {
	texts := golden.Of(t)
	for field, spec := range map[string]string{
		"spec.source": "source: {url: 'https://git.example.com/a'}", "spec.deletionPolicy": "deletionPolicy: Orphan", "spec.deletionTimeout": "deletionTimeout: 1h",
	} {
		tree := fstest.MapFS{"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: web}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {" + spec + "}\n")}}
		c, err := catalog.Load(tree)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Seeds) != 1 {
			t.Fatalf("%s: got %v", field, c.Seeds)
		}
		if got, want := fields(c.Seeds[0].Err), `seeds/web.yaml:5: Seed "web": MisplacedKey field=`+field; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		texts.Add(field, c.Seeds[0].Err.Error())
	}
}
