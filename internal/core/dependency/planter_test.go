package dependency

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// planterCase reads a file of Planter's own example, which lies beside the repository.
func planterCase(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(dir, "..", "shared", "cases", "planter", "hello-world", name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("SKIPPED: no example of Planter: %v", err)
	}
	return data
}

// goldenPlacement is what Planter wrote into its annotations: where objects go, and what
// they wait for on their own cluster.
type goldenPlacement struct {
	clusters map[string]string
	waits    map[string][]string
}

func goldenOf(t *testing.T) goldenPlacement {
	t.Helper()
	objects, err := manifest.Parse("planted.yaml", planterCase(t, "planted.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g := goldenPlacement{map[string]string{}, map[string][]string{}}
	for _, o := range objects {
		cluster := "central" // SELF
		if _, name, named := strings.Cut(o.Annotation("planter.nephio.org/cluster"), "|"); named {
			cluster = name
		}
		g.clusters[o.ID.String()] = cluster
		for id := range strings.SplitSeq(o.Annotation("planter.nephio.org/dependencies"), ",") {
			if id == "" {
				continue
			}
			parts := strings.Split(id, "|")
			group, _, grouped := strings.Cut(parts[0], "/")
			if !grouped {
				group = ""
			}
			target := manifest.ID{Group: group, Kind: parts[1], Namespace: parts[2], Name: parts[3]}
			g.waits[o.ID.String()] = append(g.waits[o.ID.String()], target.String())
		}
	}
	return g
}

// without is what is left of the golden result when the seed lacks an object.
func (g goldenPlacement) without(id string) goldenPlacement {
	out := goldenPlacement{maps.Clone(g.clusters), maps.Clone(g.waits)}
	delete(out.clusters, id)
	delete(out.waits, id)
	for from, to := range out.waits {
		out.waits[from] = slices.DeleteFunc(slices.Clone(to), func(target string) bool { return target == id })
	}
	return out
}

// TestPlanterSeedsArePlantedAsPlanterDoes plants Planter's unchanged example, before and
// after Planter's own heuristics.
func TestPlanterSeedsArePlantedAsPlanterDoes(t *testing.T) {
	want := goldenOf(t)
	cases := map[string]struct {
		file string
		want goldenPlacement
	}{
		"the seed alone, without the CRD that a plugin adds":  {"seed.yaml", want.without("apiextensions.k8s.io/CustomResourceDefinition/networks.planter.nephio.org")},
		"the seed after the plugin for networks":              {"after-network-plugin.yaml", want},
		"the seed with Planter's placements and dependencies": {"planted.yaml", want},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat := catalogOf(t, "-- clusters.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: central}\nspec: {role: Management}\n"+
				"-- seeds/hello-world.yaml --\n"+string(planterCase(t, c.file)))
			if failed := placement.AddImplied(cat.Inventory, cat.Seeds); len(failed) > 0 {
				t.Fatal(failed)
			}
			seeds := seedsOf(t, cat)
			clusters := map[string]string{}
			for _, p := range seeds[0].Placements {
				clusters[p.Object.String()] = strings.Join(p.Clusters, ",")
			}
			if diff := cmp.Diff(c.want.clusters, clusters); diff != "" {
				t.Errorf("the placements differ (-want +got):\n%s", diff)
			}
			result := Build(seeds, cat.Inventory)
			if len(result.Errors) > 0 {
				t.Fatal(said(result.Errors))
			}
			checkPlanterEdges(t, c.want, result.Graph)
			if _, conflict := result.Graph.Tiers(nil); conflict != nil {
				t.Error(conflict)
			}
		})
	}
}

// checkPlanterEdges holds the edges to the golden ones, and to the one that
// Planter draws without writing it down: everything on a cluster waits for it.
func checkPlanterEdges(t *testing.T, want goldenPlacement, g *Graph) {
	t.Helper()
	const creator = "planter.nephio.org/Cluster/network-service/edge1"
	waits, across := map[string][]string{}, map[string][]string{}
	for _, e := range g.Edges {
		if g.Reason(e).Kind != Hard {
			continue // Planter has nothing like it
		}
		from, to := g.Vertex(e.From), g.Vertex(e.To)
		into := waits
		if from.Cluster != to.Cluster {
			into = across
		}
		if !slices.Contains(into[from.Object.String()], to.Object.String()) {
			into[from.Object.String()] = append(into[from.Object.String()], to.Object.String())
		}
	}
	wantAcross := map[string][]string{}
	for id, cluster := range want.clusters {
		if cluster == "edge1" {
			wantAcross[id] = []string{creator}
		}
	}
	for _, list := range []map[string][]string{waits, want.waits} {
		for id := range list {
			slices.Sort(list[id])
		}
	}
	if diff := cmp.Diff(want.waits, waits); diff != "" {
		t.Errorf("the dependencies on one cluster differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantAcross, across); diff != "" {
		t.Errorf("the dependencies between clusters differ (-want +got):\n%s", diff)
	}
}
