package dependency

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/test/golden"
)

// fleet is a management cluster and a workload cluster; both are there.
const fleet = `
-- clusters.yaml --
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
`

// capi creates cluster edge-1.
const capi = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: edge-1, namespace: default}
`

// graphOf draws the graph of a control plane that is given as an archive.
func graphOf(t *testing.T, archive string) Result {
	t.Helper()
	cat := catalogOf(t, archive)
	if failed := placement.AddImplied(cat.Inventory, cat.Seeds); len(failed) > 0 {
		t.Fatal(failed)
	}
	return Build(seedsOf(t, cat), cat.Inventory)
}

func catalogOf(t *testing.T, archive string) *catalog.Catalog {
	t.Helper()
	tree := fstest.MapFS{}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		tree[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	cat, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.Problems) > 0 {
		t.Fatal(cat.Problems)
	}
	return cat
}

func seedsOf(t *testing.T, cat *catalog.Catalog) []Seed {
	t.Helper()
	var seeds []Seed
	for i := range cat.Seeds {
		s := &cat.Seeds[i]
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		placed, err := placement.Place(s, cat.Inventory)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, Seed{Name: s.Name, Spec: s.Spec, Contents: placed.Contents, Placements: placed.Placements})
	}
	return seeds
}

// edges are the graph's edges for people: "A on x waits for B on y (rule: why)".
func edges(g *Graph) []string {
	var out []string
	for _, e := range g.Edges {
		out = append(out, g.Vertices[e.From].String()+" waits for "+g.Vertices[e.To].String()+" ("+e.Rule+": "+e.Why+")")
	}
	return out
}

// edgesOf are those of one rule.
func edgesOf(g *Graph, rule string) []string {
	return slices.DeleteFunc(edges(g), func(s string) bool { return !strings.Contains(s, " ("+rule+": ") })
}

// fields are findings without their texts, in order.
func fields(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		p := manifest.Problem{Reason: f.Reason, Object: f.Object.String(), Field: f.Field, Cluster: f.Cluster}
		out = append(out, f.Seed+": "+golden.Fields(p))
	}
	slices.Sort(out)
	return out
}

// said are findings for people, in order.
func said(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Seed+": "+f.Object.String()+": "+f.Message+". "+f.Next)
	}
	slices.Sort(out)
	return out
}

// object is a vertex' name for tests that need no documents.
func object(name string) manifest.ID { return manifest.ID{Kind: "ConfigMap", Name: name} }

// testGraph makes graphs without documents: makeGraph().wait("s a@c", "s b@c").graph().
type testGraph struct {
	vertices []Vertex
	waits    [][2]Vertex
}

func makeGraph() *testGraph { return &testGraph{} }

// vertex reads "seed object@cluster".
func vertex(text string) Vertex {
	seed, rest, _ := strings.Cut(text, " ")
	name, cluster, _ := strings.Cut(rest, "@")
	return Vertex{Seed: seed, Object: object(name), Cluster: cluster}
}

func (b *testGraph) add(v Vertex) *testGraph {
	b.vertices = append(b.vertices, v)
	return b
}

func (b *testGraph) wait(from, to string) *testGraph {
	return b.waitFor(vertex(from), vertex(to))
}

func (b *testGraph) waitFor(from, to Vertex) *testGraph {
	b.waits = append(b.waits, [2]Vertex{from, to})
	return b.add(from).add(to)
}

func (b *testGraph) graph() *Graph {
	g := &Graph{index: map[Vertex]int{}, Vertices: slices.Clone(b.vertices)}
	slices.SortFunc(g.Vertices, Vertex.Compare)
	g.Vertices = slices.Compact(g.Vertices)
	for i, v := range g.Vertices {
		g.index[v] = i
	}
	for _, w := range b.waits {
		g.Edges = append(g.Edges, Edge{From: g.index[w[0]], To: g.index[w[1]], Kind: Hard, Rule: "test", Why: "it is said so"})
	}
	slices.SortFunc(g.Edges, func(a, b Edge) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	g.finish()
	return g
}
