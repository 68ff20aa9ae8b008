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

// bytesOf are the files of all plans without the positions of documents; errors name
// positions, so they are only counted.
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
		"a comment is not an input":                {replace("seeds/web.yaml", "kind:", "# why\nkind:"), true},
		"the order of keys is not an input":        {replace("seeds/web.yaml", "{name: c, namespace: default}", "{namespace: default, name: c}"), true},
		"another cluster is none":                  {replace("clusters.yaml", "apiVersion", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt-2}\nspec: {role: Management}\n---\napiVersion"), true},
		"what an object says is one":               {replace("seeds/web.yaml", "a: b", "a: c"), false},
		"the root path of the hub is one":          {replace("clusters.yaml", "spec: {role: Management}", "spec: {role: Management, path: sites/mgmt}"), false},
		"the kubeconfig of the cluster is one":     {replace("clusters.yaml", "reconciledBy: mgmt", "reconciledBy: mgmt, kubeConfigSecret: {name: k}"), false},
		"a label that no template uses is not one": {replace("clusters.yaml", "{name: edge}", "{name: edge, labels: {a: b}}"), true},
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

// TestNoInputIsMissingInTheDigest changes one thing after the other, of the seed, of other
// seeds and of the fleet: where that gives another plan, the digest is another one.
func TestNoInputIsMissingInTheDigest(t *testing.T) {
	base := func() fstest.MapFS {
		archive, err := txtar.ParseFile("testdata/inputs.txt")
		if err != nil {
			t.Fatal(err)
		}
		return treeOf(archive, "")
	}
	outcome := func(tree fstest.MapFS, strict bool) *plan.Outcome {
		return plan.Compute(plan.Input{Catalog: load(t, tree), Owner: owner, Revision: revision, Strict: strict})["web"]
	}
	first := outcome(base(), false)
	if first.Err != nil {
		t.Fatal(first.Err, load(t, base()).Problems)
	}
	other := map[bool]int{}
	check := func(what string, o *plan.Outcome) {
		if o == nil || o.Err != nil {
			return // no plan, so no digest: it is computed again
		}
		changed := !plan.SamePlan(first.Plan, o.Plan)
		other[changed]++
		if changed && o.Plan.Inputs == first.Plan.Inputs {
			t.Errorf("%s: the plan is another one, and the digest of its inputs is the same", what)
		}
		if !changed && o.Plan.Inputs != first.Plan.Inputs {
			t.Logf("%s: the plan is the same, and the digest is another one", what)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(base())) {
		lines := strings.Split(string(base()[file].Data), "\n")
		for i, line := range lines {
			for _, with := range changesOf(line) {
				tree := base()
				text := slices.Concat(lines[:i], with, lines[i+1:])
				tree[file] = &fstest.MapFile{Data: []byte(strings.Join(text, "\n"))}
				check(fmt.Sprintf("%s:%d: %s", file, i+1, line), outcome(tree, false))
			}
		}
		tree := base()
		delete(tree, file)
		check("without "+file, outcome(tree, false))
	}
	if other[true] < 40 || other[false] < 10 {
		t.Errorf("%d changes give another plan, and %d the same: the test changes too little", other[true], other[false])
	}
	if strict := outcome(base(), true); strict.Err == nil {
		t.Error("being strict changes nothing")
	}
}

// TestNothingIsMissingInWhatIsRemembered changes one thing after the other, as above: what is
// remembered of the plans before makes no difference.
func TestNothingIsMissingInWhatIsRemembered(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/inputs.txt")
	if err != nil {
		t.Fatal(err)
	}
	in := plan.Input{Owner: owner, Revision: revision, Memo: &plan.Memo{}, Previous: map[string]*plan.Previous{}, Catalog: load(t, treeOf(archive, ""))}
	for name, o := range plan.Compute(in) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		in.Previous[name] = &plan.Previous{Plan: o.Plan, Released: true}
	}
	if plan.Compute(in); in.Memo.Kept() != len(in.Previous) {
		t.Fatalf("%d plans are remembered of %d", in.Memo.Kept(), len(in.Previous))
	}
	text := cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
	remembered, forgotten := 0, 0
	check := func(what string, tree fstest.MapFS) {
		with, without := in, in
		with.Memo, without.Memo = in.Memo.Clone(), nil
		with.Catalog, without.Catalog = loadAny(t, tree), loadAny(t, tree)
		if diff := cmp.Diff(plan.Compute(without), plan.Compute(with), text); diff != "" {
			t.Errorf("%s: by what is remembered it is another plan (-without +with):\n%s", what, diff)
		}
		remembered, forgotten = remembered+with.Memo.Kept(), forgotten+in.Memo.Kept()-with.Memo.Kept()
	}
	for _, file := range slices.Sorted(maps.Keys(treeOf(archive, ""))) {
		lines := strings.Split(string(treeOf(archive, "")[file].Data), "\n")
		for i, line := range lines {
			for _, with := range changesOf(line) {
				tree := treeOf(archive, "")
				tree[file] = &fstest.MapFile{Data: []byte(strings.Join(slices.Concat(lines[:i], with, lines[i+1:]), "\n"))}
				check(fmt.Sprintf("%s:%d: %s", file, i+1, line), tree)
			}
		}
		tree := treeOf(archive, "")
		delete(tree, file)
		check("without "+file, tree)
	}
	if remembered < 40 || forgotten < 40 {
		t.Errorf("%d plans stay and %d do not: the test changes too little", remembered, forgotten)
	}
}

// changesOf are other lines instead of one: none, and one with another value of each word.
func changesOf(line string) [][]string {
	changes := [][]string{nil}
	for _, word := range regexp.MustCompile(`[a-z0-9]+(-[a-z0-9]+)*`).FindAllStringIndex(line, -1) {
		changes = append(changes, []string{line[:word[1]] + "x" + line[word[1]:]})
	}
	for _, swap := range [][2]string{{"edge-1", "edge-2"}, {"edge-2", "edge-1"}, {"mgmt", "edge-2"}, {"shop", "default"}, {"Workload", "Management"}, {"true", "false"}} {
		if strings.Contains(line, swap[0]) {
			changes = append(changes, []string{strings.ReplaceAll(line, swap[0], swap[1])})
		}
	}
	return changes
}

// planted is a fleet's plan as the one before, with a mark instead of what was rendered.
func planted(t *testing.T, tree fstest.MapFS) map[string]*plan.Previous {
	t.Helper()
	previous := map[string]*plan.Previous{}
	for name, o := range compute(t, tree) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		for i := range o.Plan.Tiers {
			o.Plan.Tiers[i].Object.Rendered = "sha256:marked"
		}
		previous[name] = &plan.Previous{Plan: o.Plan}
	}
	return previous
}

func TestASeedWhoseInputsAreTheSameIsNotRendered(t *testing.T) {
	tree := fleetOf(3, 4)
	tree["seeds/api.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n")}
	in := plan.Input{Owner: owner, Revision: "main@sha1:2", Previous: planted(t, tree)}
	tree["seeds/api.yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\ndata: {a: b}\n")}
	in.Catalog = load(t, tree)
	got := plan.Compute(in)
	if o := got["web"]; o.Plan != in.Previous["web"].Plan || !o.Kept || o.Files != nil {
		t.Errorf("the seed that did not change is rendered again")
	}
	if o := got["api"]; o.Kept || o.Plan.Tiers[0].Object.Rendered == "sha256:marked" {
		t.Errorf("the seed that changed is not rendered")
	}
	in.Previous["web"].Older = map[string]*plan.Plan{"gitops": nil}
	if o := plan.Compute(in)["web"]; o.Files == nil {
		t.Error("a plan that some repository does not have comes without its files")
	}
}

func TestTheDigestOfInputsDoesNotCoverForOtherContents(t *testing.T) {
	tree := fleetOf(3, 4)
	for what, change := range map[string]func(*plan.Plan){
		"another object":       func(p *plan.Plan) { p.Contents[0].Objects[0].Hash = p.Contents[1].Objects[0].Hash },
		"another directory":    func(p *plan.Plan) { p.Tiers[0].Entries[0].Hash = p.Tiers[1].Entries[0].Hash },
		"another prerequisite": func(p *plan.Plan) { p.Tiers[1].Prerequisites = nil },
		"another object name":  func(p *plan.Plan) { p.Tiers[0].Object.Name = "other" },
	} {
		in := plan.Input{Catalog: load(t, tree), Owner: owner, Revision: revision, Previous: planted(t, tree)}
		change(in.Previous["web"].Plan)
		if plan.Compute(in)["web"].Kept {
			t.Errorf("%s: the plan is kept", what)
		}
	}
}

// TestTheExamplesMakeAControlPlane plans a seed with the examples of all kinds, and what the overrides
// of the Seed are for.
func TestTheExamplesMakeAControlPlane(t *testing.T) {
	const objects = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: web}\nspec: {hard: {requests.cpu: 1, pods: 10}}\n"
	tree := fstest.MapFS{"seeds/web.yaml": {Data: []byte(objects)}}
	for name, at := range map[string]string{"cluster": "cluster.yaml", "clustertype": "clustertype.yaml", "gitopsrepo": "gitopsrepo.yaml", "rolloutpolicy": "rolloutpolicy.yaml", "template": "template.yaml", "seed": "seeds/settings.yaml"} {
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
