package dependency

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/api/v1alpha1"
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

func catalogOf(t testing.TB, archive string) *catalog.Catalog {
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
		seeds = append(seeds, Seed{Name: s.Name, Spec: s.Spec, Contents: placed.Contents, Placements: placed.Placements, Compact: s.Spec.Tiers == v1alpha1.TiersCompact})
	}
	return seeds
}

// edges are the graph's edges for people: "A on x waits for B on y (rule: why)".
func edges(g *Graph) []string {
	var out []string
	for _, e := range g.Edges {
		out = append(out, g.Vertex(e.From).String()+" waits for "+g.Vertex(e.To).String()+" ("+g.Reason(e).Rule+": "+g.Reason(e).Why+")")
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
	weak     map[int]bool // of waits
	once     map[int]bool // of waits
}

func makeGraph() *testGraph { return &testGraph{weak: map[int]bool{}, once: map[int]bool{}} }

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

// needs is wait by a weak edge.
func (b *testGraph) needs(from, to string) *testGraph {
	b.weak[len(b.waits)] = true
	return b.wait(from, to)
}

// waitOnce is wait, where the order matters only until both are there.
func (b *testGraph) waitOnce(from, to string) *testGraph {
	b.once[len(b.waits)] = true
	return b.wait(from, to)
}

func (b *testGraph) waitFor(from, to Vertex) *testGraph {
	b.waits = append(b.waits, [2]Vertex{from, to})
	return b.add(from).add(to)
}

func (b *testGraph) graph() *Graph {
	seeds := map[string]*Seed{}
	for _, v := range b.vertices {
		if seeds[v.Seed] == nil {
			seeds[v.Seed] = &Seed{Name: v.Seed}
		}
		seeds[v.Seed].Placements = append(seeds[v.Seed].Placements, placement.Placement{Object: v.Object, Clusters: []string{v.Cluster}})
	}
	var all []Seed
	for _, seed := range seeds {
		all = append(all, *seed)
	}
	w := newWorld(all, &catalog.Inventory{})
	for i, wait := range b.waits {
		from, _ := w.Find(wait[0])
		to, _ := w.Find(wait[1])
		r := Reason{Kind: Hard, Rule: "test", Why: "it is said so"}
		if b.weak[i] {
			r.Kind = Weak
		}
		if b.once[i] {
			r.Rule = webhook.Name
		}
		w.add(from, to, w.intern(r))
	}
	w.graph.finish()
	return w.graph
}

// verticesOf lists the vertices of a graph.
func verticesOf(g *Graph) []Vertex {
	var out []Vertex
	for i := range g.Len() {
		out = append(out, g.Vertex(i))
	}
	return out
}
