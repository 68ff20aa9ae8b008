package flux

import (
	"maps"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// TestCreatorsCompile checks that every expression of the data file can be
// evaluated and explained.
func TestCreatorsCompile(t *testing.T) {
	data, err := os.ReadFile("../../core/catalog/creators.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []catalog.CreatorKind
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if row.Current == "" {
			continue
		}
		e, err := compile(row.Current)
		if err != nil {
			t.Errorf("%s/%s: %v", row.Group, row.Kind, err)
			continue
		}
		if e.condition == "" && e.field == "" {
			t.Errorf("%s/%s: no message for while it is not true", row.Group, row.Kind)
		}
		other := map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}}}
		for _, empty := range []map[string]any{{}, {"status": nil}, {"status": map[string]any{}}, {"status": map[string]any{"conditions": []any{}}}, {"status": other}} {
			if e.Holds(empty) {
				t.Errorf("%s/%s holds of %v", row.Group, row.Kind, empty)
			}
		}
	}
}

func TestExpressionHolds(t *testing.T) {
	status := func(fields map[string]any) map[string]any { return map[string]any{"status": fields} }
	ready := "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"
	tests := map[string]struct {
		source  string
		object  map[string]any
		want    bool
		missing string
	}{
		"a field that is true": {
			"status.initialization.controlPlaneInitialized", status(map[string]any{"initialization": map[string]any{"controlPlaneInitialized": true}}), true, "",
		},
		"a field that is one of several values": {
			"has(status.phase) && status.phase in ['Ready', 'Upgrading']", status(map[string]any{"phase": "Upgrading"}), true, "",
		},
		"a field that is another one is not yet": {
			"has(status.phase) && status.phase in ['Ready', 'Upgrading']", status(map[string]any{"phase": "Provisioning"}), false, "phase is not 'Ready', 'Upgrading' yet",
		},
		"a field that is missing is not yet": {
			"status.initialization.controlPlaneInitialized", map[string]any{}, false, "controlPlaneInitialized is not true yet",
		},
		"a condition that is True": {ready, status(map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}), true, ""},
		"a condition that is False says why": {
			ready, status(map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Waiting", "message": "for nodes"}}}),
			false, "condition Ready is False (Waiting: for nodes)",
		},
		"no condition":                 {ready, status(map[string]any{"conditions": []any{}}), false, "it has no condition Ready yet"},
		"conditions of another type":   {ready, status(map[string]any{"conditions": []any{map[string]any{"type": "Other", "status": "True"}}}), false, "it has no condition Ready yet"},
		"not a list of conditions":     {ready, status(map[string]any{"conditions": "none"}), false, "it has no condition Ready yet"},
		"not a boolean":                {"status.phase", status(map[string]any{"phase": "Ready"}), false, "phase is not true yet"},
		"other fields of the object":   {"has(metadata.name) && kind == 'Cluster'", map[string]any{"kind": "Cluster", "metadata": map[string]any{"name": "a"}}, true, ""},
		"numbers are compared as such": {"status.ready >= 3", status(map[string]any{"ready": int64(3)}), true, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e, err := compile(tc.source)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.Holds(tc.object); got != tc.want {
				t.Errorf("holds: %t", got)
			}
			if got := e.missing(tc.object); !tc.want && got != tc.missing {
				t.Errorf("missing %q, want %q", got, tc.missing)
			}
		})
	}
}

func TestExpressionIsBounded(t *testing.T) {
	e, err := compile("status.l.all(a, status.l.all(b, status.l.all(c, status.l.all(d, a + b + c + d >= 0))))")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]any, 100)
	for i := range list {
		list[i] = int64(i)
	}
	if e.Holds(map[string]any{"status": map[string]any{"l": list}}) {
		t.Error("100 million steps were taken")
	}
}

func TestExpressionRefusesWhatItDoesNotKnow(t *testing.T) {
	if _, err := compile("object.status.ready"); err == nil || !strings.Contains(err.Error(), "object") {
		t.Errorf("got %v", err)
	}
}

func TestJudgeCreatorUsesTheNewestGenerationOnly(t *testing.T) {
	kind := catalog.CreatorKind{Current: "status.ready"}
	creator := func(generation int64, status, metadata map[string]any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{}, "status": status}}
		u.SetGeneration(generation)
		maps.Copy(u.Object["metadata"].(map[string]any), metadata)
		return u
	}
	tests := map[string]struct {
		kind    catalog.CreatorKind
		object  *unstructured.Unstructured
		missing string // why it is not current; empty where it is
	}{
		"of this generation":             {kind, creator(2, map[string]any{"ready": true, "observedGeneration": int64(2)}, nil), ""},
		"of the generation before":       {kind, creator(2, map[string]any{"ready": true, "observedGeneration": int64(1)}, nil), "its controller has not seen its newest generation yet"},
		"of no generation":               {kind, creator(2, map[string]any{"ready": true}, nil), ""},
		"not ready":                      {kind, creator(2, map[string]any{"ready": false, "observedGeneration": int64(2)}, nil), "ready is not true yet"},
		"being deleted":                  {kind, creator(2, map[string]any{"ready": true}, map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}), "the creator is being deleted"},
		"of a kind that reports nothing": {catalog.CreatorKind{}, creator(2, nil, nil), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			ch := New(Options{})
			defer ch.Close()
			if got := ch.judgeCreator(tc.kind, tc.object); got.current != (tc.missing == "") || got.missing != tc.missing {
				t.Errorf("got %+v, want %q", got, tc.missing)
			}
		})
	}
}
