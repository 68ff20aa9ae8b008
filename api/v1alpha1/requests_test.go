package v1alpha1_test

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

func TestAListOfAbandonedClustersSaysWhoAsks(t *testing.T) {
	for value, want := range map[string]struct {
		clusters []string
		by       string
	}{
		"edge-1":                           {[]string{"edge-1"}, ""},
		"edge-1,edge-2 by Ada Lovelace":    {[]string{"edge-1", "edge-2"}, "Ada Lovelace"},
		"edge-1, edge-2":                   {[]string{"edge-1", "edge-2"}, ""},
		"edge-1, edge-2 by Ada because of": {[]string{"edge-1", "edge-2"}, "Ada"},
		"by,edge-1":                        {[]string{"by", "edge-1"}, ""},
		"edge-1 edge-2 by Ada":             {[]string{"edge-1", "edge-2"}, "Ada"},
		"":                                 {nil, ""},
	} {
		if got, by := v1alpha1.ParseAbandon(value); !slices.Equal(got, want.clusters) || by != want.by {
			t.Errorf("%q: %q by %q", value, got, by)
		}
	}
}
