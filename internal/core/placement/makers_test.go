package placement_test

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// TestPlacementAndTiersKnowTheSameSecrets: what places an object by the Secret that it makes must not be another name
// than what puts it into tiers.
func TestPlacementAndTiersKnowTheSameSecrets(t *testing.T) {
	for kind, field := range placement.SecretMakers {
		body := map[string]any{}
		want := makes.Thing{Kind: "Secret", Namespace: "a", Name: "x"}
		if len(field) > 0 {
			want.Name = "made"
			at := body
			for _, key := range field[:len(field)-1] {
				next := map[string]any{}
				at[key], at = next, next
			}
			at[field[len(field)-1]] = want.Name
		}
		o := &manifest.Object{ID: manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: "a", Name: "x"}, Body: body}
		made := makes.By(o, func(manifest.ID) *manifest.Object { return nil })
		if !slices.ContainsFunc(made, func(m makes.Thing) bool { return m.Kind == want.Kind && m.Is(want.Namespace, want.Name) }) {
			t.Errorf("a %v makes Secret %s by its placement, and %v by its tiers", kind, want.Name, made)
		}
	}
}
