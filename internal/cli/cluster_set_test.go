package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

// regions are clusters c01, c02 and so on, the odd ones in region eu and the others in us. Two of each
// four are of type edge.
func regions(clusters int) []state.Cluster {
	var out []state.Cluster
	for i := range clusters {
		name := fmt.Sprintf("c%02d", i+1)
		out = append(out, state.Cluster{Name: name, Type: []string{"edge", "edge", "core", "core"}[i%4], Labels: map[string]string{"name": name, "region": []string{"eu", "us"}[i%2]}})
	}
	return out
}

func TestManyClustersAreNamedByWhatChoosesThem(t *testing.T) {
	clusters := regions(20)
	known := traitsOf(clusters)
	var all, odd, edge, both []string
	for i, c := range clusters {
		all = append(all, c.Name)
		if i%2 == 0 {
			odd = append(odd, c.Name)
		}
		if c.Type == "edge" {
			edge = append(edge, c.Name)
		}
		if c.Type == "edge" && i%2 == 0 {
			both = append(both, c.Name)
		}
	}
	for sentence, tt := range map[string]struct {
		among clusterSet
		names []string
		want  string
	}{
		"a label chooses exactly them":       {clusterSet{all, known}, odd, "region=eu (10 clusters)"},
		"their type chooses exactly them":    {clusterSet{all, known}, edge, "type edge (10 clusters)"},
		"a label and the type together":      {clusterSet{all, known}, both, "region=eu and type edge (5 clusters)"},
		"a label chooses others as well":     {clusterSet{all, known}, []string{"c01", "c03", "c05", "c08"}, "c01, c03, c05, c08"},
		"all but one that the label chooses": {clusterSet{all, known}, odd[1:], "c03, c05, c07, c09, c11, c13, c15, c17 and 1 more"},
		"the others are not among all":       {clusterSet{odd[1:], known}, odd[1:5], "c03, c05, c07, c09"},
		"clusters that follow each other":    {clusterSet{all, known}, all, "c01 … c20"},
		"the list is short":                  {clusterSet{all, known}, []string{"c01", "c03"}, "c01, c03"},
		"no label is known":                  {clusterSet{all, nil}, odd[:4], "c01, c03, c05, c07"},
		"a cluster without known labels":     {clusterSet{append(all, "x"), known}, append(odd[:4:4], "x"), "c01, c03, c05, c07, x"},
		"the same cluster twice":             {clusterSet{all, known}, append(odd[:10:10], odd...), "region=eu (10 clusters)"},
	} {
		if got := tt.among.on(tt.names); got != tt.want {
			t.Errorf("%s: got %q, want %q", sentence, got, tt.want)
		}
	}
}

// TestListsOfClustersAreNamedByWhatChoosesThem has each view that folds clusters show ten that only their
// label chooses.
func TestListsOfClustersAreNamedByWhatChoosesThem(t *testing.T) {
	st := fleetOf(20)
	st.Clusters = regions(20)
	for i := range st.Seeds {
		for j := range st.Seeds[i].Tiers {
			if st.Clusters[j%20].Labels["region"] == "us" && st.Seeds[i].Name == "kourier" {
				st.Seeds[i].Tiers[j].Message = "the load balancer of us is not ready"
			}
		}
	}
	cat := &catalog.Catalog{Inventory: &catalog.Inventory{Clusters: map[string]catalog.Cluster{}}}
	for _, c := range st.Clusters {
		cat.Inventory.Clusters[c.Name] = catalog.Cluster{Name: c.Name, Labels: c.Labels, Type: c.Type}
	}
	before, next := planOf(20), planOf(20)
	id := manifest.ID{Kind: "ConfigMap", Namespace: "projectcontour", Name: "us"}
	next.Contents = append(next.Contents, plan.Contents{ID: "c3", Objects: append([]plan.Object{{ID: id}}, next.Contents[1].Objects...)})
	reviewed := &reviewed{located: located{states: controlplane.SeedStates{Clusters: st.Clusters}}, plan: next, is: map[string]controlplane.File{}}
	for i := range next.Tiers {
		if tier := &next.Tiers[i]; tier.Ordinal == 1 && cat.Inventory.Clusters[tier.Cluster].Labels["region"] == "us" {
			tier.Contents = "c3"
			one := review.Tier{Tier: tier, Changes: []change.Change{{Kind: change.Added, Object: id, File: "configmap.us.yaml"}}}
			reviewed.is[layoutPath(one, one.Changes[0])] = controlplane.File{Hash: layout.Hash{1}, Content: []byte("data: {}\n")}
			reviewed.tiers = append(reviewed.tiers, one)
		}
	}
	for view, tt := range map[string]struct {
		show func(io.Writer)
		want string
	}{
		"status": {func(w io.Writer) { (&statusView{State: st, now: noon}).body(w) }, "  region=us (10 clusters) tier 00 "},
		"plan --diff": {func(w io.Writer) {
			planDiffOf(&engine.Preview{Seed: "contour", InForce: before, Next: next, Catalog: cat}).table(w, false)
		}, "~ region=us (10 clusters) tier 01\n"},
		"pr diff": {reviewed.writeDiff, "+ core/ConfigMap/projectcontour/us on region=us (10 clusters) tier 01\n"},
	} {
		p := &page{width: 160}
		tt.show(p)
		if !strings.Contains(p.String(), tt.want) {
			t.Errorf("%s lacks %q:\n%s", view, tt.want, p.String())
		}
	}
}
