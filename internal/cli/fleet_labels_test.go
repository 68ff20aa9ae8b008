package cli

import "testing"

func TestManyClustersAreNamedByTheirLabel(t *testing.T) {
	all := []string{"c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08"}
	labels := fleetLabels{}
	for i, name := range all {
		labels[name] = map[string]string{"name": name, "region": []string{"eu", "us"}[i%2]}
	}
	odd := []string{"c01", "c03", "c05", "c07"}
	for name, tt := range map[string]struct {
		labels fleetLabels
		names  []string
		want   string
	}{
		"a label chooses exactly them":   {labels, odd, "region=eu (4 clusters)"},
		"a label chooses others as well": {labels, []string{"c01", "c03", "c05", "c08"}, "c01, c03, c05, c08"},
		"the list is short":              {labels, []string{"c01", "c03"}, "c01, c03"},
		"no label is known":              {nil, odd, "c01, c03, c05, c07"},
	} {
		if got := tt.labels.on(tt.names, all); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
