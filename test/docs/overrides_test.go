package docs

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// TestTheOverridesOfTheReferenceChangeWhatItSays plans the example for a seed that has its targets.
func TestTheOverridesOfTheReferenceChangeWhatItSays(t *testing.T) {
	reference := page{"docs/reference.md", read(t, "docs/reference.md")}
	cat, err := catalog.Load(fstest.MapFS{
		"clusters.yaml": {Data: []byte(`apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: east-1}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: east-2, labels: {size: large}}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: west-1, labels: {size: large}}
`)},
		"seeds/web/seed.yaml": {Data: []byte(reference.marked(t, "overrides"))},
		"seeds/web/web.yaml": {Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: web}
data: {region: west}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  replicas: 3
  template: {spec: {containers: [{name: web, image: "web:1"}, {name: proxy, image: "proxy:1"}]}}
`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome := plan.Compute(plan.Input{Catalog: cat, Owner: "acme/test"})["web"]
	if outcome.Err != nil {
		t.Fatal(outcome.Err)
	}
	var got strings.Builder
	for _, o := range outcome.Plan.Overrides {
		for _, one := range o.Objects {
			fmt.Fprintf(&got, "%s (%s) on %s: %s: %s\n", o.Name, o.From, strings.Join(o.Clusters, ", "), one.ID, strings.Join(one.Changes, "; "))
		}
	}
	if diff := cmp.Diff(reference.marked(t, "overrides: what they change"), got.String()); diff != "" {
		t.Errorf("the overrides change (-reference +plan):\n%s", diff)
	}
}
