package engine_test

import (
	"slices"
	"strings"
	"testing"
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
	w, texts := plantSizes(t, overridden)
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
	w, _ := plantSizes(t, overridden)
	w.control.put("main", "grow prod", map[string]string{"seeds/web/seed.yaml": overridesOf("huge")})
	w.mustReleaseOnProd(t)
	w.control.put("main", "prod-2 leaves prod", map[string]string{"clusters/prod-2.yaml": document("Cluster", "prod-2", "spec: {}")})
	w.release(t)
	w.mustHaveSizes(t, "east: small", "prod-1: huge", "prod-2: small")
	w.check()
}
