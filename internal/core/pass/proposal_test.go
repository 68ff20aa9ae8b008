package pass_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/test/golden"
)

// byCluster gives each of n clusters a variant of its own of the seed web, in which a ConfigMap
// has the number that content gives the cluster.
func byCluster(t testing.TB, n int, groupBy string, content func(i int) int) *fleet {
	return named(t, n, groupBy, content, func(int) string { return "c" })
}

// named is byCluster with a name of the ConfigMap for each cluster.
func named(t testing.TB, n int, groupBy string, content func(i int) int, name func(i int) string) *fleet {
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
		for i, cluster := range names {
			v := catalog.Variant{Name: cluster, Clusters: []string{cluster}}
			for _, o := range one.Objects {
				o.ID.Name = name(i)
				o.Body = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": o.ID.Name, "namespace": o.ID.Namespace}, "data": map[string]any{"version": fmt.Sprint(content(i))}}
				v.Objects = append(v.Objects, o)
			}
			s.Variants = append(s.Variants, v)
		}
	}
	return f
}

// sectionWith is the section of the body of the decision's first proposal that has some words; empty where none has.
func sectionWith(t *testing.T, d *pass.Decision, words string) string {
	t.Helper()
	i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose })
	if i < 0 {
		t.Fatal("nothing is proposed")
	}
	for section := range strings.SplitSeq(d.Actions[i].Body, "\n## ") {
		if strings.Contains(section, words) {
			return strings.TrimSpace(section)
		}
	}
	return ""
}

var clusterName = regexp.MustCompile(`c\d\d`)

func TestProposalsShowWhereContentDiffers(t *testing.T) {
	texts := golden.Of(t)
	for name, tc := range map[string]struct {
		groupBy string
		content func(i int) int
		want    string // the clusters that are named, in order
	}{
		"one tier, with the clusters that have another content":       {"Tier", func(i int) int { return i / 2 }, "c02 c03"},
		"several tiers, each object once with what all clusters have": {"Level", func(i int) int { return i / 2 }, "c00 c01 c02 c03"},
		"nothing where all have the same":                             {"Level", func(int) int { return 1 }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := sectionWith(t, byCluster(t, 4, tc.groupBy, tc.content).decide(), "Differs by cluster")
			if got := strings.Join(clusterName.FindAllString(text, -1), " "); got != tc.want {
				t.Errorf("it names %q, want %q", got, tc.want)
			}
			texts.Add(name, text)
		})
	}
}

func TestAProposalOfManyContentsSaysHowManyItLeavesOut(t *testing.T) {
	texts := golden.Of(t)
	for _, clusters := range []int{10, 13} {
		f := named(t, clusters, "Level", func(i int) int { return i }, func(i int) string { return fmt.Sprint("c", i) })
		objects := sectionWith(t, f.decide(), "Changes\n")
		if shown := strings.Count(objects, "| added |"); shown != 10 {
			t.Errorf("of %d contents it shows %d", clusters, shown)
		}
		objects, _, named := strings.Cut(objects, "\n\nReconciler object ")
		if !named {
			t.Error("no reconciler object is named")
		}
		lines := strings.Split(objects, "\n")
		texts.Add(fmt.Sprint(clusters), lines[len(lines)-1])
	}
}

func TestATitleCountsClustersWithLongNames(t *testing.T) {
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprintf("%s-%d", strings.Repeat("n", 60), i))
	}
	f := newFleet(t, map[string][]string{"a": names})
	f.group("Level", 0)
	d := f.decide()
	i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose })
	if i < 0 || d.Actions[i].Title != "Plant web on 3 clusters, 3 tiers" {
		t.Errorf("the actions are %v", actions(d))
	}
}

// TestOnlyWhatWasProposedBeforeIsProposedAgain lets a person retry a plan whose first tier was rejected. Another one
// comes for the first time.
func TestOnlyWhatWasProposedBeforeIsProposedAgain(t *testing.T) {
	f := one(t)
	f.seed("web", append(chain(1, "east"), configMap("third", 1, on("west")))...)
	s := f.step().Seeds["web"]
	f.reject("web/east/00")
	f.step()
	f.mark("a", layout.RetryBranch, "web")
	f.record("web", release.Record{Retried: &release.Retry{Inputs: s.Plan.Inputs, Request: release.Request{By: "Grace", At: f.facts().Now}}})
	again := map[string]bool{}
	for range 4 {
		d := f.decide()
		for _, a := range d.Actions {
			if a.Verb == pass.Propose {
				again[a.Branch] = strings.Contains(a.Body, "**Proposed again** because `Grace` asked for it")
			}
		}
		f.act(d)
		f.mergeAll()
		f.sync()
	}
	want := map[string]bool{"furrow/main/tier/web/east/00": true, "furrow/main/tier/web/east/01": false}
	if diff := gocmp.Diff(want, again); diff != "" {
		t.Errorf("what is proposed again (-want +got):\n%s", diff)
	}
}
