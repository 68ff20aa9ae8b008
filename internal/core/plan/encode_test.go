package plan_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/plan"
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

func from(files map[string][]byte) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		data, ok := files[name]
		if !ok {
			return nil, errors.New("no such file")
		}
		return data, nil
	}
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

func TestWrongPlansAreNotRead(t *testing.T) {
	cases := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"there is none":       {nil, "reading plan.yaml: no such file"},
		"another kind":        {map[string][]byte{"plan.yaml": []byte("apiVersion: v1\nkind: Plan\n")}, "plan.yaml: it is v1 Plan, where furrow.dev/v1alpha1 Plan is due"},
		"an unknown field":    {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\ntears: []\n")}, "plan.yaml: yaml: unmarshal errors:\n  line 3: field tears not found in type plan.Plan"},
		"a part is missing":   {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\nparts: [plan-001.yaml]\n")}, "reading plan-001.yaml: no such file"},
		"an empty file":       {map[string][]byte{"plan.yaml": nil}, "plan.yaml: EOF"},
		"an id that is no id": {map[string][]byte{"plan.yaml": []byte("apiVersion: furrow.dev/v1alpha1\nkind: Plan\nplacements: [{object: web}]\n")}, `plan.yaml: object id "web" is neither group/Kind/namespace/name nor group/Kind/name`},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := plan.Decode(from(c.files))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("the message differs (-want +got):\n%s", diff)
			}
		})
	}
}
