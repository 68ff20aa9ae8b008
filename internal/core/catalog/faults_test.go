package catalog_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"

// TestABrokenDocumentIsNotGone says of clusters why they may be declared although the
// inventory does not have them.
func TestABrokenDocumentIsNotGone(t *testing.T) {
	cases := map[string]struct {
		tree string
		// want is what Broken says, by cluster; of others it says nothing.
		want map[string]string
	}{
		"without a broken document what is missing is gone": {
			cluster("a", ""), map[string]string{"a": "", "b": ""},
		},
		"a document with a bad field names its cluster alone": {
			cluster("a", "hub: b") + cluster("b", ""),
			map[string]string{"a": `its document at a.yaml:4 cannot be used: unknown field "spec.hub"`, "b": "", "c": ""},
		},
		"of two documents of one cluster neither counts": {
			cluster("a", "") + document("z.yaml", "Cluster", "a", ""),
			map[string]string{"a": "its document at z.yaml:1 cannot be used: it is also declared at a.yaml:1"},
		},
		"what a broken type is used by is broken": {
			document("big.yaml", "ClusterType", "big", "spec: {reconciler: Argo}") + cluster("a", "type: big") + cluster("b", ""),
			map[string]string{"a": `its document at a.yaml:4 cannot be used: ClusterType "big" cannot be used, see big.yaml:4`, "b": ""},
		},
		"what a broken hub reconciles is broken": {
			cluster("mgmt", "hub: x") + cluster("a", "reconciledBy: mgmt"),
			map[string]string{"a": `its document at a.yaml:4 cannot be used: spec.reconciledBy names the cluster "mgmt": its document at mgmt.yaml:4 cannot be used: unknown field "spec.hub"`},
		},
		"the only repository is not replaced by the default one while it is broken": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {link: eu}") + cluster("a", ""),
			map[string]string{"a": `its document at a.yaml:4 cannot be used: GitOpsRepo "eu" cannot be used, see eu.yaml:4`},
		},
		"one of two repositories is not treated as all while the other is broken": {
			document("eu.yaml", "GitOpsRepo", "eu", "spec: {link: eu}") + document("us.yaml", "GitOpsRepo", "us", "spec: {url: us}") + cluster("a", ""),
			map[string]string{"a": "its document at a.yaml:4 cannot be used: no GitOps repository is named and there are several: eu, us"},
		},
		"a document that cannot be read may declare any cluster": {
			cluster("a", "") + "-- b.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: b\n",
			map[string]string{"a": "", "b": "b.yaml:4 cannot be read and may declare it", "c": "b.yaml:4 cannot be read and may declare it"},
		},
		"so may one of an unknown kind": {
			document("b.yaml", "Clutser", "b", ""), map[string]string{"b": "b.yaml:1 cannot be read and may declare it"},
		},
		"a file of another encoding is not skipped": {
			"-- b.yaml --\n" + strings.Join(strings.Split("apiVersion: furrow.dev/v1alpha1", ""), "\x00") + "\n",
			map[string]string{"b": "b.yaml:1 cannot be read and may declare it"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat, got := load(t, c.tree), map[string]string{}
			for name := range c.want {
				got[name] = cat.Inventory.Broken(name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what is broken differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAClusterWhoseFileIsNotReadIsNotGone: where something is planted on it. Nothing else
// waits for a link that leads nowhere.
func TestAClusterWhoseFileIsNotReadIsNotGone(t *testing.T) {
	cat, err := catalog.Load(fstest.MapFS{
		"a.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n")},
		"b.yaml": {Data: []byte("elsewhere.yaml"), Mode: fs.ModeSymlink},
	})
	if err != nil {
		t.Fatal(err)
	}
	inv := cat.Inventory.Clone()
	inv.MarkImplied("c")
	for name, want := range map[string]string{"a": "", "b": "b.yaml cannot be read and may declare it", "c": ""} {
		if got := inv.BrokenOrLost(name); got != want {
			t.Errorf("of cluster %s it says %q, want %q", name, got, want)
		}
		if got := inv.Broken(name); got != "" {
			t.Errorf("cluster %s is broken: %q", name, got)
		}
	}
}

// TestBrokenSettingsHoldTheSeedsThatTheyName: a seed is never planned without settings
// that it may have.
func TestBrokenSettingsHoldTheSeedsThatTheyName(t *testing.T) {
	const seeds = "-- seeds/web.yaml --\n" + configMap + "-- seeds/shop.yaml --\n" + configMap + "-- seeds/other.yaml --\n" + configMap
	cases := map[string]struct {
		tree string
		held []string
	}{
		"a file with one readable document": {
			document("seeds/settings.yaml", "Seed", "shop", "spec: {suspend: true}") + "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web\n", []string{"web"},
		},
		"a file without readable documents": {
			"-- seeds/settings.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web\nspec: {suspend: true}\n---\nkind: Seed\nmetadata: {name: shop\n", []string{"shop", "web"},
		},
		"a kind that does not exist": {
			document("seeds/settings.yaml", "Sed", "web", "spec: {suspend: true}"), []string{"web"},
		},
		"a Seed document outside of seeds": {
			document("web.yaml", "Seed", "web", "spec: {suspend: true}"), []string{"web"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat := load(t, seeds+c.tree)
			var held []string
			for _, s := range cat.Seeds {
				if s.Err != nil {
					held = append(held, s.Name)
				}
			}
			if diff := cmp.Diff(c.held, held); diff != "" {
				t.Errorf("the seeds that are held differ (-want +got):\n%s", diff)
			}
			if len(cat.Problems) == 0 {
				t.Error("no problem is reported")
			}
		})
	}
}

// TestASeedWhoseFileIsCutOffIsNotGone: the rest of the file resembles a Seed document
// without a package.
func TestASeedWhoseFileIsCutOffIsNotGone(t *testing.T) {
	cat := load(t, document("seeds/web.yaml", "Seed", "web", "spec: {suspend: true}")+"---\napiVe\n")
	if _, there := cat.Seed("web"); there {
		return
	}
	if at := cat.Unread["web"]; at.File != "seeds/web.yaml" {
		t.Errorf("nothing says that seed web may be at seeds/web.yaml: %v", cat.Unread)
	}
}
