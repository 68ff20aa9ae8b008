package pass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/pass"
)

// byCluster gives each of n clusters a variant of its own of the seed web, in which a ConfigMap
// has the number that content gives the cluster.
func byCluster(t testing.TB, n int, groupBy string, content func(i int) int) *fleet {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("c%02d", i))
	}
	f := newFleet(t, map[string][]string{"a": names})
	f.group(groupBy, 0)
	f.onCatalog = func(cat *catalog.Catalog) {
		s := &cat.Seeds[slices.IndexFunc(cat.Seeds, func(s catalog.Seed) bool { return s.Name == "web" })]
		one := s.Variants[0]
		s.Variants = nil
		for i, name := range names {
			v := catalog.Variant{Name: name, Clusters: []string{name}}
			for _, o := range one.Objects {
				o.Body = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": o.Body["metadata"], "data": map[string]any{"version": fmt.Sprint(content(i))}}
				v.Objects = append(v.Objects, o)
			}
			s.Variants = append(s.Variants, v)
		}
	}
	return f
}

// section is a section of the body of the decision's first proposal.
func section(t *testing.T, d *pass.Decision, title string) string {
	t.Helper()
	i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose })
	if i < 0 {
		t.Fatal("nothing is proposed")
	}
	_, rest, _ := strings.Cut(d.Actions[i].Body, "## "+title+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(text)
}

func TestProposalsShowWhereContentDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		groupBy string
		content func(i int) int
		want    string
	}{
		"one tier, with the clusters that have another content": {"Tier", func(i int) int { return i / 2 }, "- `core/ConfigMap/default/c` has another content on c02, c03"},
		"several tiers, each object once with what all clusters have": {
			"Level", func(i int) int { return i / 2 }, "- `core/ConfigMap/default/c` has one content on c00, c01; another one on c02, c03",
		},
		"nothing where all have the same": {"Level", func(int) int { return 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := section(t, byCluster(t, 4, tc.groupBy, tc.content).decide(), "Differs by cluster"); got != tc.want {
				t.Errorf("it shows %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAProposalOfManyContentsSaysHowManyItLeavesOut(t *testing.T) {
	for clusters, want := range map[int]string{10: "", 13: "And 3 more contents, of other tiers."} {
		objects := section(t, byCluster(t, clusters, "Level", func(i int) int { return i }).decide(), "Objects")
		if shown := strings.Count(objects, "On c"); shown != 10 {
			t.Errorf("of %d contents it shows %d", clusters, shown)
		}
		if _, more, _ := strings.Cut(objects, "And "); strings.TrimPrefix(want, "And ") != strings.TrimSpace(more) {
			t.Errorf("of %d contents it says %q at the end, want %q", clusters, more, want)
		}
	}
}
