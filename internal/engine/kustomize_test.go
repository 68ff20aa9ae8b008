package engine_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/render"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/golden"
)

// overlays is a seed whose clusters choose overlays by name and by label.
var overlays = map[string]string{
	"clusters/prod-1.yaml": document("Cluster", "prod-1, labels: {env: prod}", "spec: {}"),
	"clusters/prod-2.yaml": document("Cluster", "prod-2, labels: {env: prod}", "spec: {}"),
	"seeds/web/seed.yaml": document("Seed", "web", `spec:
  render:
    kustomize:
      variants:
      - {overlay: overlays/east, clusters: [east]}
      - {overlay: overlays/prod, clusterSelector: {matchLabels: {env: prod}}}`),
	"seeds/web/base/kustomization.yaml":          "resources: [web.yaml]\n",
	"seeds/web/base/web.yaml":                    "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\ndata: {size: small}\n",
	"seeds/web/overlays/east/kustomization.yaml": "resources: [../../base]\n",
	"seeds/web/overlays/prod/kustomization.yaml": "resources: [../../base]\n" + sizePatch("large"),
}

func sizePatch(size string) string {
	return "patches:\n- target: {kind: ConfigMap}\n  patch: |\n    - {op: replace, path: /data/size, value: " + size + "}\n"
}

// release merges all proposals until all is released, and returns their texts by branch.
func (w *world) release(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for range 20 {
		w.pass()
		for _, p := range w.open() {
			texts[strings.TrimPrefix(p.Branch, "furrow/main/tier/web/")] = p.Body
			w.merge(p)
		}
		w.tick()
		if w.report != nil && len(w.report.Seeds) == 1 && !w.report.Changed && len(w.open()) == 0 && w.report.Done() {
			return texts
		}
	}
	t.Fatalf("the seed is not released:\n%s", w.describe())
	return nil
}

// plantSizes releases seed web on three clusters, with size large on those of env prod, and decides each
// pass again from its record. It returns the texts of the proposals by branch.
func plantSizes(t *testing.T, tree map[string]string) (*world, map[string]string) {
	t.Helper()
	w := newWorld(t, fleet{workload: []string{"east", "prod-1", "prod-2"}})
	replay := &replayer{t: t, r: rand.New(rand.NewPCG(1, 3))}
	w.config = func(c *engine.Config) { c.Record = replay.record }
	w.restart()
	w.control.put("main", "plant web", tree)
	texts := w.release(t)
	if replay.passes == 0 {
		t.Error("no pass was decided again")
	}
	w.check()
	w.mustHaveSizes(t, "east: small", "prod-1: large", "prod-2: large")
	return w, texts
}

func (w *world) mustHaveSizes(t *testing.T, want ...string) {
	t.Helper()
	var sizes []string
	for _, cluster := range []string{"east", "prod-1", "prod-2"} {
		o, _ := w.simulator.Object(cluster, manifest.ID{Kind: "ConfigMap", Namespace: "web", Name: "web"})
		sizes = append(sizes, cluster+": "+o.Text("data", "size"))
	}
	if diff := cmp.Diff(want, sizes); diff != "" {
		t.Errorf("the clusters have (-want +got):\n%s", diff)
	}
}

// mustReleaseOnProd releases a change, which must concern the clusters of env prod alone.
func (w *world) mustReleaseOnProd(t *testing.T) {
	t.Helper()
	branches := slices.Sorted(maps.Keys(w.release(t)))
	if diff := cmp.Diff([]string{"prod-1/01", "prod-2/01"}, branches); diff != "" {
		t.Errorf("proposed (-want +got):\n%s", diff)
	}
}

func TestClustersGetTheOverlayThatTheyChoose(t *testing.T) {
	w, texts := plantSizes(t, overlays)
	for _, tier := range w.report.Seeds[0].Tiers {
		if tier.State != release.Released {
			t.Errorf("%s tier %d is %s", tier.Cluster, tier.Ordinal, tier.State)
		}
	}
	refs, _ := w.gitops.Fetch(t.Context(), "main")
	p := w.planOf(refs, "web")
	differ := p.Differ()
	if len(p.Contents) != 3 || len(differ) != 1 || differ[0].Object.Kind != "ConfigMap" || len(differ[0].Contents) != 2 {
		t.Errorf("%d contents, differing: %+v", len(p.Contents), differ)
	}
	if strings.Contains(texts["east/00"], "prod-") {
		t.Errorf("the proposal of equal content says that it differs:\n%s", texts["east/00"])
	}
	bodies := golden.Of(t)
	for _, branch := range []string{"east/01", "prod-1/01"} {
		bodies.Add(branch, sectionWith(texts[branch], "Differs by cluster")) // which differs by cluster
	}
}

func TestAnOverlayThatChangesConcernsItsClustersAlone(t *testing.T) {
	w, _ := plantSizes(t, overlays)
	w.control.put("main", "grow prod", map[string]string{"seeds/web/overlays/prod/kustomization.yaml": "resources: [../../base]\n" + sizePatch("huge")})
	w.mustReleaseOnProd(t)
	w.control.put("main", "move prod-2 to east", map[string]string{"clusters/prod-2.yaml": document("Cluster", "prod-2", "spec: {}"), "seeds/web/seed.yaml": strings.Replace(overlays["seeds/web/seed.yaml"], "[east]", "[east, prod-2]", 1)})
	w.release(t)
	w.mustHaveSizes(t, "east: small", "prod-1: huge", "prod-2: small")
	w.check()
}

// TestAPackageThatCannotBeBuiltHoldsItsSeedAsItIs breaks an overlay after it was released.
func TestAPackageThatCannotBeBuiltHoldsItsSeedAsItIs(t *testing.T) {
	w, _ := plantSizes(t, overlays)
	w.control.put("main", "break prod", map[string]string{"seeds/web/overlays/prod/kustomization.yaml": "resources: [../../basis]\n"})
	for range 3 {
		w.pass()
		w.tick()
	}
	s := w.report.Seeds[0]
	if got := golden.Fields(s.Problems[0]); s.State != state.Stalled || got != `seeds/web/overlays/prod/kustomization.yaml:1: seed "web": RenderFailed seed=web` {
		t.Errorf("the seed is %s: %s: %s", s.State, got, s.Message)
	}
	golden.Of(t).Add("the seed", s.Message)
	if len(w.open()) != 0 {
		t.Errorf("a seed that cannot be rendered proposes %v", w.open())
	}
	w.mustHaveSizes(t, "east: small", "prod-1: large", "prod-2: large")
	w.check()
}

// unfit is a renderer that the machine keeps from its work so many times.
type unfit struct {
	render.Renderer
	times int
}

func (u *unfit) Render(ctx context.Context, p *catalog.Package) (catalog.Rendered, error) {
	if u.times--; u.times >= 0 {
		return catalog.Rendered{}, errors.New("no process can be started")
	}
	return u.Renderer.Render(ctx, p)
}

func TestASeedIsRenderedAgainWhereTheMachineFailed(t *testing.T) {
	before := render.All
	render.All = slices.Clone(before)
	render.All[0] = &unfit{before[0], 2}
	t.Cleanup(func() { render.All = before })
	w := newWorld(t, fleet{workload: []string{"east", "prod-1", "prod-2"}})
	w.control.put("main", "plant web", overlays)
	w.pass()
	s := w.report.Seeds[0]
	if got := golden.Fields(s.Problems[0]); s.State != state.Stalled || got != `seeds/web: seed "web": RenderFailed seed=web` {
		t.Errorf("the seed is %s: %s: %s", s.State, got, s.Message)
	}
	golden.Of(t).Add("the seed", s.Message)
	w.release(t)
	w.check()
}
