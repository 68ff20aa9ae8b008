package plan_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

func definitionsOf(outcomes map[string]*plan.Outcome) *plan.Definitions {
	plans := map[string]*plan.Plan{}
	for name, o := range outcomes {
		plans[name] = o.Plan
	}
	return plan.NewDefinitions(plans)
}

func TestDefinitionsAreFoundInThePlansOfAllSeeds(t *testing.T) {
	widget := manifest.ID{Group: "example.com", Kind: "Widget", Namespace: "default", Name: "w"}
	onlyOn := func(cluster, text string) string {
		return strings.Replace(text, "metadata: {", "metadata: {annotations: {furrow.dev/cluster: "+cluster+"}, ", 1)
	}
	for sentence, tc := range map[string]struct {
		web, other string // seeds
		cluster    string
		object     manifest.ID
		want       string
	}{
		"in the same seed":                     {widgets + widgetOf("size: 1"), "", "new", widget, "web"},
		"in another seed":                      {widgetOf("size: 1"), widgets, "new", widget, "other"},
		"on each cluster":                      {widgetOf("size: 1"), widgets, "old", widget, "other"},
		"not on another cluster":               {widgetOf("size: 1"), onlyOn("new", widgets), "old", widget, ""},
		"not where no seed has it":             {widgetOf("size: 1"), "", "new", widget, ""},
		"not for a kind of Kubernetes":         {widgets + policy, "", "new", manifest.ID{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: "default", Name: "a"}, ""},
		"not for an object that is not there":  {widgets + widgetOf("size: 1"), "", "new", manifest.ID{Group: "example.com", Kind: "Widget", Namespace: "default", Name: "x"}, ""},
		"not on a cluster that the plan lacks": {widgets + widgetOf("size: 1"), "", "none", widget, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree := fstest.MapFS{"clusters.yaml": {Data: []byte(oldCluster + newCluster)}, "seeds/web.yaml": {Data: []byte(tc.web)}}
			if tc.other != "" {
				tree["seeds/other.yaml"] = &fstest.MapFile{Data: []byte(tc.other)}
			}
			outcomes := compute(t, tree)
			if others := outcomes["web"].Plan.DefiningSeeds(); tc.want != "" && slices.Contains(others, "other") != (tc.want == "other") {
				t.Errorf("the seeds with definitions are %v", others)
			}
			definitions := definitionsOf(outcomes)
			for range 2 { // the second time from what is known
				got := definitions.Of(outcomes["web"].Plan, tc.cluster, tc.object)
				if tc.want == "" {
					if got != nil {
						t.Errorf("it has %+v", got)
					}
					continue
				}
				if got == nil || got.Seed != tc.want || got.Tier.Cluster != tc.cluster || got.Object.ID.Name != "widgets.example.com" || got.Object.Hash.IsZero() {
					t.Errorf("it is %+v, want that of %s", got, tc.want)
				}
			}
		})
	}
}

func TestWithoutAPlanThereIsNoDefinition(t *testing.T) {
	web := compute(t, fstest.MapFS{"clusters.yaml": {Data: []byte(newCluster)}, "seeds/web.yaml": {Data: []byte(widgetOf("size: 1"))}, "seeds/other.yaml": {Data: []byte(widgets)}})["web"].Plan
	widget := manifest.ID{Group: "example.com", Kind: "Widget", Namespace: "default", Name: "w"}
	definitions := plan.NewDefinitions(nil)
	if got := definitions.Of(web, "new", widget); got != nil {
		t.Errorf("it has %+v", got)
	}
	if got := definitions.Of(nil, "new", widget); got != nil {
		t.Errorf("without a plan of its own it has %+v", got)
	}
}
