package placement

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// Clusters that most cases need.
const (
	mgmt = `
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management}
`
	mgmt2 = `
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt-2}
spec: {role: Management}
`
	edgeEU = `
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge-eu, labels: {region: eu}}
`
	edgeUS = `
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge-us, labels: {region: us}}
`
)

// capi creates cluster edge-1.
const capi = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge-1, namespace: edge, labels: {region: eu}}
`

// join makes one stream of documents.
func join(docs ...string) string {
	var b strings.Builder
	for i, doc := range docs {
		if i > 0 {
			b.WriteString("---\n")
		}
		b.WriteString(strings.TrimSpace(doc) + "\n")
	}
	return b.String()
}

// inventoryOf reads cluster documents and the like; seeds may create more.
func inventoryOf(t *testing.T, docs ...string) *catalog.Inventory {
	t.Helper()
	cat, err := catalog.Load(fstest.MapFS{"clusters.yaml": &fstest.MapFile{Data: []byte(join(docs...))}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.Problems) > 0 {
		t.Fatal(cat.Problems)
	}
	return cat.Inventory
}

// seedOf reads the documents of seed web, its Seed document among them.
func seedOf(t *testing.T, docs ...string) catalog.Seed {
	t.Helper()
	return namedSeed(t, "web", docs...)
}

func namedSeed(t *testing.T, name string, docs ...string) catalog.Seed {
	t.Helper()
	cat, err := catalog.Load(fstest.MapFS{"seeds/" + name + "/" + name + ".yaml": &fstest.MapFile{Data: []byte(join(docs...))}})
	if err != nil {
		t.Fatal(err)
	}
	seed, ok := cat.Seed(name)
	if !ok || seed.Err != nil {
		t.Fatalf("the seed of the test is wrong: %v", seed)
	}
	return *seed
}

// spec is a Seed document with this in its spec.
func spec(fields string) string {
	return "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {" + fields + "}\n"
}

// where is a placement without its object.
type where struct {
	Clusters string
	Rule     string
}

// placeCase is what every table of this package is made of.
type placeCase struct {
	clusters []string
	seed     []string
	// of is the id of the object that the case is about.
	of        string
	want      where
	wantError string
}

func runPlaceCases(t *testing.T, cases map[string]placeCase) {
	t.Helper()
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got, why, err := placed(seedOf(t, c.seed...), inventoryOf(t, c.clusters...))
			texts.Add(sentence, text(err))
			if diff := cmp.Diff(c.wantError, fields(err)); diff != "" {
				t.Fatalf("the error differs (-want +got):\n%s", diff)
			}
			if c.wantError != "" {
				return
			}
			texts.Add(sentence, why[c.of])
			if diff := cmp.Diff(c.want, got[c.of]); diff != "" {
				t.Errorf("the placement of %s differs (-want +got):\n%s", c.of, diff)
			}
		})
	}
}

// placed finds the clusters that a seed creates, and then where everything goes, and why.
func placed(seed catalog.Seed, inv *catalog.Inventory) (got map[string]where, why map[string]string, err error) {
	if err := AddImplied(inv, []catalog.Seed{seed})[seed.Name]; err != nil {
		return nil, nil, err
	}
	all, failed := PlaceAll([]*catalog.Seed{&seed}, inv, nil)
	placed, err := all[seed.Name], failed[seed.Name]
	got, why = map[string]where{}, map[string]string{}
	for _, p := range placed.Placements {
		got[p.Object.String()] = where{strings.Join(p.Clusters, ","), p.Rule}
		why[p.Object.String()] = p.Why
	}
	return got, why, err
}

// fields are the problems of an error, one a line, without their texts.
func fields(err error) string {
	var lines []string
	for _, p := range manifest.ProblemsOf(err) {
		lines = append(lines, golden.Fields(p))
	}
	return strings.Join(lines, "\n")
}

// text is an error for people.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// problemsOf are the problems that an error holds.
func problemsOf(t *testing.T, err error) manifest.Problems {
	t.Helper()
	problems, ok := errors.AsType[manifest.Problems](err)
	if !ok {
		t.Fatalf("%v holds no problems", err)
	}
	return problems
}

// inventoryCluster is the part of a cluster that follows from who creates it.
type inventoryCluster struct {
	Type, Hub  string
	Labels     map[string]string
	KubeConfig v1alpha1.ObjectReference
	CreatedBy  *catalog.Creation
}

func clusterNamed(inv *catalog.Inventory, name string) inventoryCluster {
	c := inv.Clusters[name]
	return inventoryCluster{c.Type, c.Hub, c.Labels, c.KubeConfig, c.CreatedBy}
}
