package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// TestClustersWithCopiesArePlannedAsEachByItself gives every cluster of the scenarios two copies,
// and plans them by classes and one by one. The steps of stories compare (see checkClasses).
func TestClustersWithCopiesArePlannedAsEachByItself(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range scenarios {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if tree := treeOf(archive, "in/"); len(tree) > 0 {
				in := plan.Input{Catalog: loadAny(t, withCopies(tree)), Owner: owner, Revision: revision}
				checkClasses(t, in, plan.Compute(in))
			}
			s := newStory()
			for step := 1; ; step++ {
				change := treeOf(archive, fmt.Sprintf("%d/", step))
				if len(change) == 0 {
					return
				}
				var set settings
				if file, ok := change["settings"]; ok {
					if err := yaml.UnmarshalStrict(file.Data, &set); err != nil {
						t.Fatal(err)
					}
				}
				s.step(t, withCopies(treeOf(archive, fmt.Sprintf("%d/in/", step))), set)
			}
		})
	}
}

func loadAny(t *testing.T, tree fstest.MapFS) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// withCopies adds copies of the Cluster documents of a tree, under other names.
func withCopies(tree fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for name, file := range tree {
		out[name] = file
		if strings.HasPrefix(name, "seeds/") {
			continue
		}
		var docs []string
		for doc := range strings.SplitSeq(string(file.Data), "\n---\n") {
			docs = append(docs, doc)
			if !strings.Contains(doc, "kind: Cluster\n") || !strings.Contains(doc, "furrow.dev/") || strings.Contains(doc, "role: Management") {
				continue
			}
			for _, copied := range []string{"a-%s", "%s-z"} {
				var fields map[string]any
				if yaml.Unmarshal([]byte(doc), &fields) != nil {
					break
				}
				metadata, _ := fields["metadata"].(map[string]any)
				metadata["name"] = fmt.Sprintf(copied, metadata["name"])
				if spec, _ := fields["spec"].(map[string]any); spec != nil {
					delete(spec, "path")
				}
				if data, err := yaml.Marshal(fields); err == nil {
					docs = append(docs, string(data))
				}
			}
		}
		out[name] = &fstest.MapFile{Data: []byte(strings.Join(docs, "\n---\n"))}
	}
	return out
}

// TestRandomFleetsArePlannedAsEachClusterByItself changes seeds and clusters of a fleet at random,
// and plans after each change by classes and one by one.
func TestRandomFleetsArePlannedAsEachClusterByItself(t *testing.T) {
	planned := 0
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 8))
		s := newStory()
		for range 4 {
			change := randomFleet(random)
			for _, name := range slices.Sorted(maps.Keys(change)) {
				if s.tree[name] != nil && random.IntN(3) == 0 {
					delete(change, name)
				}
			}
			for _, o := range s.step(t, change, settings{Released: random.IntN(3) > 0}) {
				if o.Err == nil {
					planned++
				}
			}
		}
	}
	if planned < 60 {
		t.Errorf("%d plans: the test plans too little", planned)
	}
}

// randomFleet returns some clusters of two kinds, and three seeds with objects that wait for
// others on the own cluster, on the management cluster, or for what is nowhere. A seed may create
// another cluster.
func randomFleet(random *rand.Rand) fstest.MapFS {
	tree := fstest.MapFS{}
	clusters := []string{"apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}"}
	for i := range 6 {
		provides := ""
		if random.IntN(6) == 0 {
			provides = ", provides: {namespaces: [absent]}"
		}
		clusters = append(clusters, fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: site-%d, labels: {kind: k%d}}\nspec: {reconciledBy: mgmt%s}", i, random.IntN(2), provides))
	}
	tree["clusters.yaml"] = &fstest.MapFile{Data: []byte(strings.Join(clusters, "\n---\n"))}
	for n := range 3 {
		docs := []string{fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns-%d}", n)}
		if random.IntN(2) == 0 {
			docs = append(docs, fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.g%[1]d.example.com}\nspec: {group: g%[1]d.example.com, scope: Namespaced, names: {kind: Thing, plural: things}, versions: [{name: v1, served: true, storage: true}]}", n))
		}
		for i := range 3 + random.IntN(4) {
			annotations := ""
			switch random.IntN(12) {
			case 0, 1:
				if i > 0 {
					annotations = fmt.Sprintf("furrow.dev/depends-on: core/ConfigMap/ns-%[2]d/c-%[1]d-%[2]d", n, random.IntN(min(i, 3)))
				}
			case 2:
				annotations = fmt.Sprintf("furrow.dev/cluster-selector: kind=k%d", random.IntN(2))
			case 3:
				annotations = "furrow.dev/role: Management"
			case 4:
				annotations = fmt.Sprintf("argocd.argoproj.io/sync-wave: %q", fmt.Sprint(random.IntN(3)))
			}
			if annotations != "" {
				annotations = ", annotations: {" + annotations + "}"
			}
			namespace, kind := fmt.Sprintf("ns-%d", i%3), "apiVersion: v1\nkind: ConfigMap"
			if random.IntN(8) == 0 {
				namespace = "absent"
			}
			if i > 2 && random.IntN(2) == 0 {
				kind = fmt.Sprintf("apiVersion: g%d.example.com/v1\nkind: Thing", random.IntN(3))
			}
			docs = append(docs, fmt.Sprintf("%s\nmetadata: {name: c-%d-%d, namespace: %s%s}", kind, n, i, namespace, annotations))
		}
		if random.IntN(12) == 0 {
			docs = append(docs, fmt.Sprintf("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: born-%d, namespace: ns-%d}", n, n))
		}
		tree[fmt.Sprintf("seeds/seed-%d.yaml", n)] = &fstest.MapFile{Data: []byte(strings.Join(docs, "\n---\n"))}
	}
	return tree
}
