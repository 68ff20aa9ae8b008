package readiness

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// stateOf judges an object as Flux does, which compares generations first.
func stateOf(t *testing.T, rule v1alpha1.ReadinessRule, object map[string]any) string {
	t.Helper()
	status, _ := object["status"].(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	if observed, ok := status["observedGeneration"].(float64); ok && observed != metadata["generation"] {
		return "inProgress"
	}
	for _, part := range []struct{ state, text string }{{"inProgress", rule.InProgress}, {"failed", rule.Failed}, {"current", rule.Current}} {
		if part.text == "" {
			continue
		}
		e, err := Compile(part.text)
		if err != nil {
			t.Fatalf("%s of %s/%s: %v", part.state, rule.Group, rule.Kind, err)
		}
		holds, err := e.holds(object)
		if err != nil {
			t.Fatalf("%s of %s/%s cannot be evaluated of %v: %v", part.state, rule.Group, rule.Kind, status, err)
		}
		if holds {
			return part.state
		}
	}
	return "inProgress"
}

// TestStatusesOfRealKindsAreJudged tries every expression of the table, each kind with a status that is current and
// one that is not.
func TestStatusesOfRealKindsAreJudged(t *testing.T) {
	data, err := os.ReadFile("testdata/statuses.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Kinds                       []string
		Spec                        map[string]any
		Current, InProgress, Failed []map[string]any
	}
	if err := yaml.UnmarshalStrict(data, &recorded); err != nil {
		t.Fatal(err)
	}
	seen := map[string]map[string]bool{} // by row, which states
	for _, r := range recorded {
		for _, name := range r.Kinds {
			group, kind, _ := strings.Cut(name, "/")
			rule, known := Of(manifest.GroupKind{Group: group, Kind: kind})
			if !known {
				t.Errorf("%s has statuses and no rule", name)
				continue
			}
			row := rowKey(manifest.GroupKind{Group: group, Kind: kind})
			if seen[row] == nil {
				seen[row] = map[string]bool{}
			}
			for want, statuses := range map[string][]map[string]any{"current": r.Current, "inProgress": r.InProgress, "failed": r.Failed} {
				for _, status := range statuses {
					object := map[string]any{"kind": kind, "metadata": map[string]any{"name": "a", "generation": 2.0}, "spec": map[string]any{}, "status": status}
					if r.Spec != nil {
						object["spec"] = r.Spec
					}
					if got := stateOf(t, rule, object); got != want {
						t.Errorf("%s with status %v is %s, want %s", name, status, got, want)
					}
					seen[row][want] = true
				}
			}
		}
	}
	for kind, r := range rowsOf() {
		row := fmt.Sprint(kind)
		switch states := seen[row]; {
		case !states["current"] || !states["inProgress"] && !states["failed"]:
			t.Errorf("%s needs a status that is current and one that is not", row)
		case r.Failed != "" && !states["failed"]:
			t.Errorf("%s needs a status that is failed", row)
		}
	}
	if n := len(rowsOf()); n < 60 {
		t.Errorf("the table has %d kinds, and must have at least 60", n)
	}
}

// rowKey names the row of the table that is for a kind.
func rowKey(kind manifest.GroupKind) string {
	if _, own := rowsOf()[kind]; own {
		return fmt.Sprint(kind)
	}
	for row := range rowsOf() {
		if row.Kind == "*" && strings.HasSuffix(kind.Group, row.Group) {
			return fmt.Sprint(row)
		}
	}
	return ""
}

func TestRulesOfPeopleComeBeforeTheTable(t *testing.T) {
	kind := manifest.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}
	own := func(current string) []v1alpha1.ReadinessRule {
		return []v1alpha1.ReadinessRule{{Group: kind.Group, Kind: kind.Kind, Current: current}}
	}
	for name, tc := range map[string]struct {
		kind        manifest.GroupKind
		lists       [][]v1alpha1.ReadinessRule
		wantCurrent string
		wantNone    bool
	}{
		"the first list that has the kind decides":   {kind: kind, lists: [][]v1alpha1.ReadinessRule{nil, own("true"), own("false")}, wantCurrent: "true"},
		"a kind that nobody knows has no rule":       {kind: manifest.GroupKind{Group: "example.com", Kind: "Slice"}, wantNone: true},
		"core is the group of Pods":                  {kind: manifest.GroupKind{Kind: "Service"}, lists: [][]v1alpha1.ReadinessRule{{{Group: "core", Kind: "Service", Current: "has(status.loadBalancer)"}}}, wantCurrent: "has(status.loadBalancer)"},
		"settings of a provider have no status":      {kind: manifest.GroupKind{Group: "aws.upbound.io", Kind: "ProviderConfig"}, wantNone: true},
		"a group of its own is not one below it":     {kind: manifest.GroupKind{Group: "upbound.io", Kind: "Thing"}, wantNone: true},
		"another group with such an end is not, too": {kind: manifest.GroupKind{Group: "notupbound.io", Kind: "Thing"}, wantNone: true},
		"a kind without a group has no rule":         {kind: manifest.GroupKind{Kind: "Pod"}, wantNone: true},
	} {
		t.Run(name, func(t *testing.T) {
			rule, known := Of(tc.kind, tc.lists...)
			if known == tc.wantNone || rule.Current != tc.wantCurrent && !tc.wantNone {
				t.Errorf("Of = %+v, %v", rule, known)
			}
		})
	}
}

func TestMistakesInRulesAreFound(t *testing.T) {
	rule := func(change func(*v1alpha1.ReadinessRule)) []v1alpha1.ReadinessRule {
		r := v1alpha1.ReadinessRule{Group: "example.com", Kind: "Slice", Current: "has(status.ready) && status.ready"}
		change(&r)
		return []v1alpha1.ReadinessRule{r}
	}
	good := rule(func(*v1alpha1.ReadinessRule) {})
	for name, tc := range map[string]struct {
		rules []v1alpha1.ReadinessRule
		want  []string // field:line
	}{
		"a good rule":                           {rules: good},
		"an expression that cannot be read":     {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "status.ready ==" }), want: []string{"[0].current:0"}},
		"one in its second line":                {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Failed = "true &&\nobject.status.failed" }), want: []string{"[0].failed:1"}},
		"a text":                                {rules: rule(func(r *v1alpha1.ReadinessRule) { r.InProgress = "'no'" }), want: []string{"[0].inProgress:0"}},
		"a number of things":                    {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "size(status.conditions)" }), want: []string{"[0].current:0"}},
		"a value that grows":                    {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "[1].all(a, [a, a].all(b, b > 0))" }), want: []string{"[0].current:0"}},
		"no expression":                         {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "" }), want: []string{"[0].current:0"}},
		"no kind":                               {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Kind = "" }), want: []string{"[0].kind:0"}},
		"no group":                              {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Group = "" }), want: []string{"[0].group:0"}},
		"a version":                             {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Group = "example.com/v1" }), want: []string{"[0].group:0"}},
		"two for a kind":                        {rules: append(slices.Clone(good), good...), want: []string{"[1].kind:0"}},
		"a kind that is judged in another way":  {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Kind = "Reserved" }), want: []string{"[0].kind:0"}},
		"functions that Flux adds to CEL":       {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "sets.contains([status.phase.lowerAscii()], ['ready'])" })},
		"fields outside of spec and status":     {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "has(data.ready) && operation == null" })},
		"an optional field, as Flux reads them": {rules: rule(func(r *v1alpha1.ReadinessRule) { r.Current = "status.?phase.orValue('') == 'Ready'" })},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Faults(tc.rules, func(kind manifest.GroupKind) string {
				return map[string]string{"Reserved": "somebody else"}[kind.Kind]
			}) {
				got = append(got, fmt.Sprintf("%s:%d", f.Field, f.Line))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}
