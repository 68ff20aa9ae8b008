package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/plan"
)

var fromLine = regexp.MustCompile(`(?m)^( *from: ).*\n`)

// TestTheOrderOfDocumentsMakesNoDifference plans every scenario's first tree with
// its documents in another order, and in other files.
func TestTheOrderOfDocumentsMakesNoDifference(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, file := range scenarios {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree := treeOf(archive, "in/")
			if len(tree) == 0 {
				tree = treeOf(archive, "1/in/")
			}
			want := bytesOf(t, compute(t, tree))
			for range 5 {
				if diff := cmp.Diff(want, bytesOf(t, compute(t, shuffled(random, tree)))); diff != "" {
					t.Fatalf("the plans differ (-in order +shuffled):\n%s", diff)
				}
			}
		})
	}
}

// bytesOf are the files of all plans without the places that documents stood at;
// errors, which name such places, only count.
func bytesOf(t *testing.T, outcomes map[string]*plan.Outcome) map[string]string {
	t.Helper()
	got := map[string]string{}
	for name, o := range outcomes {
		show(t, got, name+"/", o)
		if o.Err != nil {
			got[name+"/error"] = "there is one"
		}
	}
	for name := range got {
		if strings.HasSuffix(name, "/plan.yaml") {
			got[name] = fromLine.ReplaceAllString(got[name], "")
		}
	}
	return got
}

// shuffled gives each seed a directory, and deals its documents to three files.
func shuffled(random *rand.Rand, tree fstest.MapFS) fstest.MapFS {
	out := fstest.MapFS{}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		docs := strings.Split(string(tree[name].Data), "\n---\n")
		random.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		dir := strings.TrimSuffix(name, filepath.Ext(name))
		if strings.Count(name, "/") > 1 {
			dir = filepath.Dir(name)
		}
		for i, doc := range docs {
			file := fmt.Sprintf("%s/%d-%s.yaml", dir, (i+random.IntN(2))%3, strings.TrimSuffix(filepath.Base(name), ".yaml"))
			if out[file] == nil {
				out[file] = &fstest.MapFile{}
			}
			out[file].Data = append(out[file].Data, ("---\n" + strings.TrimPrefix(doc, "---\n") + "\n")...)
		}
	}
	return out
}

func TestTheInputsDigest(t *testing.T) {
	base := func() fstest.MapFS {
		return fstest.MapFS{
			"clusters.yaml":  {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec: {reconciledBy: mgmt}\n")},
			"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {a: b}\n")},
		}
	}
	replace := func(file, old, with string) func(fstest.MapFS) {
		return func(tree fstest.MapFS) {
			tree[file] = &fstest.MapFile{Data: []byte(strings.Replace(string(tree[file].Data), old, with, 1))}
		}
	}
	cases := map[string]struct {
		change func(fstest.MapFS)
		same   bool
	}{
		"a comment is no input":                 {replace("seeds/web.yaml", "kind:", "# why\nkind:"), true},
		"the order of keys is no input":         {replace("seeds/web.yaml", "{name: c, namespace: default}", "{namespace: default, name: c}"), true},
		"another cluster is none":               {replace("clusters.yaml", "apiVersion", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt-2}\nspec: {role: Management}\n---\napiVersion"), true},
		"what an object says is one":            {replace("seeds/web.yaml", "a: b", "a: c"), false},
		"the root path of the hub is one":       {replace("clusters.yaml", "spec: {role: Management}", "spec: {role: Management, path: sites/mgmt}"), false},
		"the kubeconfig of the cluster is one":  {replace("clusters.yaml", "reconciledBy: mgmt", "reconciledBy: mgmt, kubeConfigSecret: {name: k}"), false},
		"a label that no template sees is none": {replace("clusters.yaml", "{name: edge}", "{name: edge, labels: {a: b}}"), true},
	}
	want := planOf(t, base()).Inputs
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			tree := base()
			c.change(tree)
			if got := planOf(t, tree).Inputs; (got == want) != c.same {
				t.Errorf("the digest is the same: %t, want %t", got == want, c.same)
			}
		})
	}
}

// TestTheExamplesMakeAControlPlane plans a seed with the examples of all kinds.
func TestTheExamplesMakeAControlPlane(t *testing.T) {
	tree := fstest.MapFS{"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n")}}
	for name, at := range map[string]string{"cluster": "cluster.yaml", "clustertype": "clustertype.yaml", "gitopsrepo": "gitopsrepo.yaml", "template": "template.yaml", "seed": "seeds/settings.yaml"} {
		data, err := os.ReadFile("../../../api/v1alpha1/examples/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		tree[at] = &fstest.MapFile{Data: data}
	}
	cat := load(t, tree)
	if len(cat.Problems) > 0 {
		t.Fatal(cat.Problems)
	}
	p := planOf(t, tree)
	var got []string
	for i := range p.Tiers {
		got = append(got, p.Tiers[i].ReconcilerFile())
	}
	if diff := cmp.Diff([]string{"furrow-fleet/clusters/mgmt/furrow/web/edge-eu-1/tier-00.yaml"}, got); diff != "" {
		t.Errorf("the tiers differ (-want +got):\n%s", diff)
	}
}

// TestWhatLeavesStillWaitsUntilWhatItWaitedForIsReady keeps the expression of an edge
// from one plan to the next.
func TestWhatLeavesStillWaitsUntilWhatItWaitedForIsReady(t *testing.T) {
	creator := "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: default}\n"
	config := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default, annotations: {furrow.dev/cluster: edge-1}}\n"
	tree := fstest.MapFS{
		"clusters.yaml":  {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-1}\nspec: {role: Workload}\n")},
		"seeds/web.yaml": {Data: []byte(creator + config)},
	}
	before := planOf(t, tree)
	tree["seeds/web.yaml"] = &fstest.MapFile{Data: []byte(creator)}
	in := plan.Input{Catalog: load(t, tree), Owner: owner, Revision: revision, Previous: map[string]*plan.Previous{"web": {Plan: before}}}
	o := plan.Compute(in)["web"]
	if o.Err != nil || o.Kept {
		t.Fatalf("the plan is kept (%v): %v", o.Kept, o.Err)
	}
	ready := func(p *plan.Plan) []string {
		for _, tier := range p.Tiers {
			if tier.Cluster == "edge-1" {
				return tier.Prerequisites[0].Ready
			}
		}
		return nil
	}
	if diff := cmp.Diff(ready(before), ready(o.Plan)); diff != "" || len(ready(before)) != 1 {
		t.Errorf("what is waited for (-before +after):\n%s", diff)
	}
}

func TestSeveralExpressionsAreOne(t *testing.T) {
	for want, exprs := range map[string][]string{
		"": {""}, "a": {"a", "", "a"}, "(a) && (b || c)": {"b || c", "a", "b || c"},
	} {
		if got := plan.AllOf(exprs); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTiersAreFoundByClusterAndOrdinal(t *testing.T) {
	p := planOf(t, fleetOf(12, 3))
	n := 0
	for i := range p.Tiers {
		want := &p.Tiers[i]
		if got, ok := p.Find(want.Cluster, want.Ordinal); !ok || got != want {
			t.Errorf("%s is found as %v", want, got)
		}
		if of := p.On(want.Cluster); len(of) != 2 || of[0].Cluster != want.Cluster || of[1].Cluster != want.Cluster {
			t.Errorf("on %s are %v", want.Cluster, of)
		}
		n += len(p.Waiting()[p.Name(want)])
	}
	if n != 12 {
		t.Errorf("%d tiers wait, want one on each cluster", n)
	}
	for cluster, ordinal := range map[string]int{"edge-0000": 2, "edge-0001": -1, "edge": 0, "edge-0012": 0, "": 0} {
		if got, ok := p.Find(cluster, ordinal); ok {
			t.Errorf("%s tier %d is found as %s", cluster, ordinal, got)
		}
	}
	if of := p.On("edge"); len(of) != 0 {
		t.Errorf("on a cluster without tiers are %v", of)
	}
}

func BenchmarkCompute(b *testing.B) {
	for _, clusters := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprintf("%d clusters, 20 objects", clusters), func(b *testing.B) {
			in := plan.Input{Catalog: load(b, fleetOf(clusters, 20)), Owner: owner, Revision: revision}
			b.ReportAllocs()
			for b.Loop() {
				plan.Compute(in)
			}
		})
	}
}

// BenchmarkCreators plans one seed for each cluster, which the seed creates.
func BenchmarkCreators(b *testing.B) {
	tree := fstest.MapFS{"clusters.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management}\n")}}
	for i := range 500 {
		name := fmt.Sprintf("edge-%04d", i)
		tree["seeds/"+name+".yaml"] = &fstest.MapFile{Data: []byte("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: " + name + ", namespace: default}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n")}
	}
	in := plan.Input{Catalog: load(b, tree), Owner: owner, Revision: revision}
	b.ReportAllocs()
	for b.Loop() {
		plan.Compute(in)
	}
}

// BenchmarkUpdate plans again what is planted already.
func BenchmarkUpdate(b *testing.B) {
	tree := fleetOf(1000, 20)
	o := compute(b, tree)["web"]
	in := plan.Input{Catalog: load(b, tree), Owner: owner, Revision: revision, Previous: map[string]*plan.Previous{"web": {Plan: o.Plan, Released: true}}}
	b.ReportAllocs()
	for b.Loop() {
		if !plan.Compute(in)["web"].Kept {
			b.Fatal("the plan is another one")
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	p := planOf(b, fleetOf(1000, 20))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
