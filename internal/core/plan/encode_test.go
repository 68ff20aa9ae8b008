package plan_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/test/golden"
)

// fleetOf is a control plane of n workload clusters and one seed.
func fleetOf(n, objects int) fstest.MapFS {
	var clusters, seed strings.Builder
	for i := range n {
		fmt.Fprintf(&clusters, "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-%04d, labels: {region: eu}}\n", i)
	}
	seed.WriteString("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	for i := range objects - 1 {
		fmt.Fprintf(&seed, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d, namespace: shop}\ndata: {key: value}\n", i)
	}
	return fstest.MapFS{
		"clusters.yaml":  {Data: []byte(clusters.String())},
		"seeds/web.yaml": {Data: []byte(seed.String())},
	}
}

func planOf(tb testing.TB, tree fstest.MapFS) *plan.Plan {
	tb.Helper()
	o := compute(tb, tree)["web"]
	if o.Err != nil {
		tb.Fatal(o.Err)
	}
	return o.Plan
}

func from(files map[string][]byte) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: data}
	}
	return tree
}

func TestAPlanIsReadAsItWasWritten(t *testing.T) {
	want := planOf(t, fleetOf(3, 4))
	files, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"plan.yaml"}, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
	got, err := plan.Decode(from(files))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
}

// TestALargePlanIsSplit compares what the parts say: tiers stay in order, and
// what was one dependency of many clusters is one for each part.
func TestALargePlanIsSplit(t *testing.T) {
	want := planOf(t, fleetOf(1001, 3))
	files, err := want.EncodeWithin(10_000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"plan-001.yaml", "plan-002.yaml", "plan-003.yaml", "plan.yaml"}, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
	got, err := plan.Decode(from(files))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(waits(want), waits(got)); diff != "" {
		t.Errorf("the dependencies differ (-want +got):\n%s", diff)
	}
	got.Dependencies = want.Dependencies
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
}

// waits are the dependencies, each cluster by itself.
func waits(p *plan.Plan) []string {
	var out []string
	for _, d := range p.Dependencies {
		for _, c := range d.From.Clusters {
			out = append(out, fmt.Sprintln(d.From.Object, "on", c, d.Rule, d.To, d.Why))
		}
	}
	slices.Sort(out)
	return out
}

// TestAPlanWithFieldsOfANewerVersionIsRead shows that the version of a plan keeps it from
// being misread, and not the fields that this version has.
func TestAPlanWithFieldsOfANewerVersionIsRead(t *testing.T) {
	want := planOf(t, fleetOf(2, 2))
	files, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(files["plan.yaml"]), "    repo: gitops\n", "    repo: gitops\n    urgency: high\n")
	text += "weather: {sun: true}\n"
	if strings.Count(text, "urgency") != len(want.Tiers) {
		t.Fatalf("the fields are not in\n%s", text)
	}
	got, err := plan.Decode(from(map[string][]byte{"plan.yaml": []byte(text)}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
}

// TestPlansOfOtherVersions: those of newer minor versions are read, and those of newer major ones
// refused for that, whatever else they hold.
func TestPlansOfOtherVersions(t *testing.T) {
	want := planOf(t, fleetOf(1, 2))
	files, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	written := string(files["plan.yaml"])
	if !strings.Contains(written, "version: \"1.0\"\n") {
		t.Fatalf("there is no version in\n%s", written)
	}
	texts := golden.Of(t)
	for sentence, tc := range map[string]struct {
		version, more string
		reason        v1alpha1.Reason
	}{
		"none":                  {"", "", ""},
		"a newer minor version": {`version: "1.7"`, "weather: sunny\n", ""},
		"a newer major version": {`version: "2.0"`, "", v1alpha1.ReasonUnsupportedVersion},
		"a newer major version of another format": {`version: "2.1"`, "parts: none\n", v1alpha1.ReasonUnsupportedVersion},
		"an older major version":                  {`version: "0.9"`, "", v1alpha1.ReasonUnsupportedVersion},
		"a newer minor version of another format": {`version: "1.7"`, "parts: none\n", v1alpha1.ReasonUnsupportedVersion},
		"no version at all":                       {`version: soon`, "", v1alpha1.ReasonInvalidPlan},
	} {
		t.Run(sentence, func(t *testing.T) {
			text := strings.Replace(written, `version: "1.0"`, tc.version, 1) + tc.more
			got, err := plan.Decode(from(map[string][]byte{"plan.yaml": []byte(text)}))
			if tc.reason != "" {
				if err == nil || manifest.ReasonOf(err) != tc.reason {
					t.Fatalf("the error is %v", err)
				}
				texts.Add(sentence, err.Error())
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got.Version = want.Version
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the plan differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestValuesOfANewerVersionAreNotInvalid: they are refused, and the plan is not said to be wrong.
func TestValuesOfANewerVersionAreNotInvalid(t *testing.T) {
	files, err := planOf(t, fleetOf(1, 2)).Encode()
	if err != nil {
		t.Fatal(err)
	}
	texts := golden.Of(t)
	for sentence, value := range map[string][2]string{
		"a reconciler": {"reconciler: Flux", "reconciler: Other"},
		"a mode":       {"mode: file", "mode: symlink"},
	} {
		for version, want := range map[string]v1alpha1.Reason{"1.0": v1alpha1.ReasonInvalidPlan, "1.9": v1alpha1.ReasonUnsupportedVersion} {
			text := strings.NewReplacer(value[0], value[1], `version: "1.0"`, `version: "`+version+`"`).Replace(string(files["plan.yaml"]))
			_, err := plan.Decode(from(map[string][]byte{"plan.yaml": []byte(text)}))
			if got := manifest.ReasonOf(err); got != want {
				t.Fatalf("%s of version %s: %s: %v", sentence, version, got, err)
			}
			texts.Add(sentence+" of version "+version, err.Error())
		}
	}
}

// TestAPlanThatTouchesMoreThanItsOwnIsNotRead changes one thing of a good plan.
func TestAPlanThatTouchesMoreThanItsOwnIsNotRead(t *testing.T) {
	other := githash.Blob([]byte("other"))
	dir := func(p *plan.Plan) *plan.Entry { return &p.Tiers[0].Entries[0] }
	file := func(p *plan.Plan) *plan.Entry { return &p.Tiers[0].Entries[1] }
	object := func(p *plan.Plan) *plan.Object { return &p.Contents[0].Objects[0] }
	cases := map[string]func(*plan.Plan){
		"a directory of another seed":      func(p *plan.Plan) { dir(p).Path = "planted/edge-0000/shop/tier-00" },
		"a directory of another tier":      func(p *plan.Plan) { dir(p).Path = "planted/edge-0000/web/tier-01" },
		"a reconciler of another seed":     func(p *plan.Plan) { file(p).Path = "clusters/edge-0000/furrow/shop/tier-00.yaml" },
		"a path that leaves the directory": func(p *plan.Plan) { file(p).Path = "clusters/furrow/web/../../x.yaml" },
		"a mode that nobody knows":         func(p *plan.Plan) { file(p).Mode = "link" },
		"half of a tier":                   func(p *plan.Plan) { file(p).Hash = githash.Hash{} },
		"no entries":                       func(p *plan.Plan) { p.Tiers[0].Entries = nil },
		"two directories":                  func(p *plan.Plan) { p.Tiers[0].Entries = append(p.Tiers[0].Entries, *dir(p)) },
		"a reconciler that nobody knows":   func(p *plan.Plan) { p.Tiers[0].Reconciler = "Cron" },
		"another directory than contents":  func(p *plan.Plan) { dir(p).Hash = other },
		"other contents than planned":      func(p *plan.Plan) { object(p).Hash = other },
		"an object without a hash":         func(p *plan.Plan) { object(p).Hash = githash.Hash{} },
		"a file outside the directory":     func(p *plan.Plan) { object(p).File = "../namespace.shop.yaml" },
		"contents that are not there":      func(p *plan.Plan) { p.Tiers[0].Contents = "c9" },
		"contents that are there twice":    func(p *plan.Plan) { p.Contents = append(p.Contents, p.Contents[0]) },
	}
	texts := golden.Of(t)
	for sentence, change := range cases {
		t.Run(sentence, func(t *testing.T) {
			p := planOf(t, fleetOf(1, 2))
			change(p)
			files, err := p.Encode()
			if err != nil {
				t.Fatal(err)
			}
			_, err = plan.Decode(from(files))
			if p := manifest.AsProblem(err); p.Reason != v1alpha1.ReasonInvalidPlan || p.Path != "plan.yaml" {
				t.Errorf("the error is %v", err)
			}
			texts.Add(sentence, err.Error())
		})
	}
}

func TestWrongPlansAreNotRead(t *testing.T) {
	cases := map[string]struct {
		files map[string][]byte
		want  v1alpha1.Reason
	}{
		"there is none":       {nil, v1alpha1.ReasonInvalidPlan},
		"another kind":        {map[string][]byte{"plan.yaml": []byte("apiVersion: v1\nkind: Plan\n")}, v1alpha1.ReasonInvalidPlan},
		"another version":     {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1beta1\nkind: Plan\n")}, v1alpha1.ReasonInvalidPlan},
		"a part is missing":   {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\nparts: [plan-001.yaml]\n")}, v1alpha1.ReasonInvalidPlan},
		"a hash that is none": {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\ntiers: [{entries: [{path: x, hash: HEAD}]}]\n")}, v1alpha1.ReasonInvalidPlan},
		"an empty file":       {map[string][]byte{"plan.yaml": nil}, v1alpha1.ReasonInvalidPlan},
		"an invalid id":       {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\nplacements: [{object: web}]\n")}, v1alpha1.ReasonInvalidPlan},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := plan.Decode(from(c.files))
			if err == nil {
				t.Fatal("no error")
			}
			texts.Add(sentence, err.Error())
			if got := manifest.ReasonOf(err); got != c.want {
				t.Errorf("the reason is %s, want %s", got, c.want)
			}
		})
	}
}

// What Furrow writes it must be able to read.
func TestAPlanThatCouldNotBeReadIsNotWritten(t *testing.T) {
	for sentence, change := range map[string]func(*plan.Plan){
		"a file that is too large": func(p *plan.Plan) { p.From = strings.Repeat("x", plan.MaxFileSize) },
		"too many objects": func(p *plan.Plan) {
			p.Contents[0].Objects = slices.Repeat(p.Contents[0].Objects, 300_000)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := planOf(t, fleetOf(1, 2))
			change(p)
			if files, err := p.Encode(); manifest.ReasonOf(err) != v1alpha1.ReasonPlanTooLarge || files != nil {
				t.Errorf("%d files, %v", len(files), err)
			}
		})
	}
}

// A small file may have many values, and each takes a hundred times its bytes in memory.
func TestAFileOfTooManyValuesIsNotParsed(t *testing.T) {
	file := []byte("tiers: [" + strings.Repeat("a,", 4<<20) + "a]\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := plan.Decode(from(map[string][]byte{"plan.yaml": file}))
	runtime.ReadMemStats(&after)
	if manifest.ReasonOf(err) != v1alpha1.ReasonInvalidPlan {
		t.Errorf("%v", err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
		t.Errorf("%d bytes were allocated to refuse %d", took, len(file))
	}
}
