package health_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestHolds(t *testing.T) {
	tests := map[string]struct {
		want, have any
		holds      bool
	}{
		"numbers of different decoders":       {map[string]any{"a": int64(1), "b": 2}, map[string]any{"a": float64(1), "b": int64(2)}, true},
		"what the server added":               {map[string]any{"a": "b"}, map[string]any{"a": "b", "c": "d"}, true},
		"an empty mapping that was dropped":   {map[string]any{"a": map[string]any{}}, map[string]any{}, true},
		"an empty list that was dropped":      {map[string]any{"a": []any{}}, map[string]any{}, true},
		"a mapping with content that is gone": {map[string]any{"a": map[string]any{"b": "c"}}, map[string]any{}, false},
		"a list that grew":                    {[]any{"a"}, []any{"a", "b"}, false},
		"a list in another order":             {[]any{"a", "b"}, []any{"b", "a"}, false},
		"an item to which the server added":   {[]any{map[string]any{"name": "a"}}, []any{map[string]any{"name": "a", "namespace": "b"}}, true},
		"text instead of a number":            {1, "1", false},
		"a list instead of a mapping":         {map[string]any{"a": "b"}, []any{"a"}, false},
		"false where nothing is said":         {map[string]any{"suspend": false}, map[string]any{}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := health.Holds(tc.want, tc.have); got != tc.holds {
				t.Errorf("got %v", got)
			}
		})
	}
}
