package catalog_test

import (
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestAKubeConfigIsReadInItsCreatorsNamespaceOrWhereThatIsGranted(t *testing.T) {
	const (
		repo    = "kind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: 'https://git.example.com/fleet'}"
		plain   = "kind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}"
		grants  = "kind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, kubeConfigNamespaces: [keys]}"
		ofOther = "kind: Cluster\nmetadata: {name: other}\nspec: {kubeConfigNamespaces: [keys]}"
	)
	document := func(text string) string { return "apiVersion: furrow.dev/v1alpha1\n" + text + "\n" }
	creation := catalog.Creation{Seed: "edge", Object: manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "edge", Name: "edge-1"}, On: "mgmt"}
	tests := map[string]struct {
		tree       string
		controller bool // the tree is read with what resources say
		resource   string
		on, in     string
		want       bool
	}{
		"the creator's namespace":                              {tree: plain, on: "mgmt", in: "edge", want: true},
		"the creator's namespace on another cluster":           {tree: plain, on: "hub", in: "edge"},
		"another namespace":                                    {tree: plain, on: "mgmt", in: "keys"},
		"no namespace":                                         {tree: plain, on: "mgmt", in: ""},
		"one that the cluster's document grants":               {tree: grants, on: "mgmt", in: "keys", want: true},
		"another one than it grants":                           {tree: grants, on: "mgmt", in: "kube-system"},
		"one that another cluster's document grants":           {tree: plain + "\n---\napiVersion: furrow.dev/v1alpha1\n" + ofOther, on: "mgmt", in: "keys"},
		"with a controller a tenant's tree grants nothing":     {tree: grants, controller: true, on: "mgmt", in: "keys"},
		"with a controller the resource grants":                {tree: repo, controller: true, resource: grants, on: "mgmt", in: "keys", want: true},
		"with a controller the resource grants beside a tree":  {tree: plain, controller: true, resource: grants, on: "mgmt", in: "keys", want: true},
		"with a controller the tree adds nothing to resources": {tree: grants, controller: true, resource: plain, on: "mgmt", in: "keys"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{"fleet.yaml": &fstest.MapFile{Data: []byte(document(repo))}}
			if tc.tree != repo {
				tree["clusters.yaml"] = &fstest.MapFile{Data: []byte(document(tc.tree))}
			}
			c, err := catalog.Load(tree)
			if tc.controller {
				var r catalog.Resources
				if tc.resource != "" {
					r.Documents = append(r.Documents, resource(t, tc.resource))
				}
				c, err = catalog.LoadWith(tree, r)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Inventory.Clone().MayReadKubeConfig(tc.on, tc.in, creation); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
