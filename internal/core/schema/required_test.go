package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/schema"
)

func TestRequiredFieldsThatAreDropped(t *testing.T) {
	deployment := schema.Typed("apps", "v1", "Deployment")
	const before = "spec: {replicas: 1, selector: {matchLabels: {a: b}}, template: {spec: {nodeName: x, containers: [{name: a, image: x}]}}}"
	for name, c := range map[string]struct {
		after string
		want  [][]any
	}{
		"nothing":                             {before, nil},
		"an optional field":                   {"spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: x}]}}}", nil},
		"a selector":                          {"spec: {template: {spec: {containers: [{name: a, image: x}]}}}", [][]any{{"spec", "selector"}}},
		"a field that is null":                {"spec: {selector: null, template: {spec: {containers: [{name: a}]}}}", [][]any{{"spec", "selector"}}},
		"the name of a container":             {"spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: [{image: x}]}}}", [][]any{{"spec", "template", "spec", "containers", 0, "name"}}},
		"all containers":                      {"spec: {selector: {matchLabels: {a: b}}, template: {spec: {}}}", [][]any{{"spec", "template", "spec", "containers"}}},
		"a container goes from a longer list": {"spec: {selector: {matchLabels: {a: b}}, template: {spec: {containers: []}}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var was, is map[string]any
			for text, into := range map[string]*map[string]any{before: &was, c.after: &is} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if c.after == before {
				is = was
			}
			if diff := cmp.Diff(c.want, schema.Dropped(was, is, deployment)); diff != "" {
				t.Errorf("what is dropped (-want +got):\n%s", diff)
			}
		})
	}
}
