package manifest_test

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestNearest(t *testing.T) {
	names := []string{"beta", "web-shop", "x", "web", "alpha"}
	if got, want := manifest.Nearest("wbe", names), []string{"web", "beta", "x", "alpha", "web-shop"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := manifest.Nearest("web-", names)[0]; got != "web-shop" {
		t.Errorf("web- is nearest to %q", got)
	}
	if names[0] != "beta" {
		t.Errorf("the names were reordered: %v", names)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"web", "web", 0}, {"web", "wb", 1}, {"wbe", "web", 2}, {"a", "xyz", 3}} {
		if got := manifest.Distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
