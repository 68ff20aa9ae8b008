package engine_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/engine"
)

// overridden is a plain seed whose clusters of env prod get more by overrides.
var overridden = map[string]string{
	"clusters/prod-1.yaml": document("Cluster", "prod-1, labels: {env: prod}", "spec: {}"),
	"clusters/prod-2.yaml": document("Cluster", "prod-2, labels: {env: prod}", "spec: {}"),
	"seeds/web/seed.yaml":  overridesOf("large"),
	"seeds/web/web.yaml":   "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\ndata: {size: small}\n",
}

func overridesOf(size string) string {
	return document("Seed", "web", `spec:
  overrides:
  - name: prod
    clusterSelector: {matchLabels: {env: prod}}
    target: {kind: ConfigMap}
    strategicMerge: {data: {size: `+size+`}}`)
}

func TestClustersGetWhatOverridesMakeOfAnObject(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east", "prod-1", "prod-2"}})
	replay := &replayer{t: t, r: rand.New(rand.NewPCG(1, 3))}
	w.config = func(c *engine.Config) { c.Record = replay.record }
	w.restart()
	w.control.put("main", "plant web", overridden)
	texts := w.release(t)
	if replay.passes == 0 {
		t.Error("no pass was decided again")
	}
	w.check()
	if diff := cmp.Diff([]string{"east: small", "prod-1: large", "prod-2: large"}, w.sizes()); diff != "" {
		t.Errorf("the clusters have (-want +got):\n%s", diff)
	}
	for branch, want := range map[string]string{"east/01": "prod-1", "prod-1/01": "east"} {
		if section := sectionWith(texts[branch], "Differs by cluster"); !strings.Contains(section, want) {
			t.Errorf("the proposal of %s does not say that %s has another content:\n%s", branch, want, section)
		}
	}
	refs, _ := w.gitops.Fetch(t.Context(), "main")
	p := w.planOf(refs, "web")
	if len(p.Contents) != 3 || len(p.Overrides) != 1 || !slices.Equal(p.Overrides[0].Clusters, []string{"prod-1", "prod-2"}) || !slices.Equal(p.Overrides[0].Objects[0].Changes, []string{"data.size small → large"}) {
		t.Errorf("%d contents, overrides: %+v", len(p.Contents), p.Overrides)
	}
}

func TestAnOverrideThatChangesConcernsItsClustersAlone(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"east", "prod-1", "prod-2"}})
	w.control.put("main", "plant web", overridden)
	w.release(t)
	w.control.put("main", "grow prod", map[string]string{"seeds/web/seed.yaml": overridesOf("huge")})
	texts := w.release(t)
	var branches []string
	for branch := range texts {
		branches = append(branches, branch)
	}
	slices.Sort(branches)
	if diff := cmp.Diff([]string{"prod-1/01", "prod-2/01"}, branches); diff != "" {
		t.Errorf("proposed (-want +got):\n%s", diff)
	}
	w.control.put("main", "prod-2 leaves prod", map[string]string{"clusters/prod-2.yaml": document("Cluster", "prod-2", "spec: {}")})
	w.release(t)
	if diff := cmp.Diff([]string{"east: small", "prod-1: huge", "prod-2: small"}, w.sizes()); diff != "" {
		t.Errorf("the clusters have (-want +got):\n%s", diff)
	}
	w.check()
}
