package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// variantsOf is a catalog of n clusters whose seed web has some variants, which the clusters
// choose by turns. Each has a large object of its own and a small one that all share.
func variantsOf(tb testing.TB, n, variants int) *catalog.Catalog {
	tb.Helper()
	cat := load(tb, fleetOf(n, 2))
	var made []catalog.Variant
	for i := range variants {
		tree := fleetOf(1, 2)
		tree["seeds/web.yaml"].Data = fmt.Appendf(tree["seeds/web.yaml"].Data, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large, namespace: shop}\ndata: {variant: \"%d\", text: %s}\n", i, strings.Repeat("x", 100_000))
		of, _ := load(tb, tree).Seed("web")
		v := catalog.Variant{Name: fmt.Sprintf("overlays/%d", i), Objects: of.Objects()}
		for c := i; c < n; c += variants {
			v.Clusters = append(v.Clusters, fmt.Sprintf("edge-%04d", c))
		}
		made = append(made, v)
	}
	cat.Seeds[0].Variants = made
	return cat
}

func planVariants(tb testing.TB, cat *catalog.Catalog) *plan.Outcome {
	tb.Helper()
	o := plan.Compute(plan.Input{Catalog: cat, Owner: owner})["web"]
	if o.Err != nil {
		tb.Fatal(o.Err)
	}
	return o
}

func TestAPlanHasOneContentForEachVariant(t *testing.T) {
	o := planVariants(t, variantsOf(t, 4, 2))
	if diff := cmp.Diff([]plan.Variant{{Name: "overlays/0", Clusters: []string{"edge-0000", "edge-0002"}}, {Name: "overlays/1", Clusters: []string{"edge-0001", "edge-0003"}}}, o.Plan.Variants); diff != "" {
		t.Errorf("the variants differ (-want +got):\n%s", diff)
	}
	var got []string
	for _, d := range o.Plan.Differ() {
		for _, c := range d.Contents {
			got = append(got, fmt.Sprintf("%s on %s by %s", d.Object, strings.Join(c.Clusters, ", "), strings.Join(c.Variants, ", ")))
		}
		if elsewhere, more := d.Elsewhere(d.Contents[0].Hash, 8); !slices.Equal(elsewhere, []string{"edge-0001", "edge-0003"}) || more != 0 {
			t.Errorf("another content is on %v and %d more", elsewhere, more)
		}
		if elsewhere, more := d.Elsewhere(d.Contents[0].Hash, 1); !slices.Equal(elsewhere, []string{"edge-0001"}) || more != 1 {
			t.Errorf("another content is on %v and %d more", elsewhere, more)
		}
	}
	want := []string{"core/ConfigMap/shop/large on edge-0000, edge-0002 by overlays/0", "core/ConfigMap/shop/large on edge-0001, edge-0003 by overlays/1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what differs (-want +got):\n%s", diff)
	}
	files, err := o.Plan.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := plan.Decode(from(files))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(o.Plan, read); diff != "" {
		t.Errorf("the plan is not read as it was written (-want +got):\n%s", diff)
	}
}

// TestAVariantOfAnotherNameIsTheSamePlan moves clusters between variants with equal content.
func TestAVariantOfAnotherNameIsTheSamePlan(t *testing.T) {
	cat := variantsOf(t, 4, 1)
	was := planVariants(t, cat).Plan
	first := cat.Seeds[0].Variants[0]
	other := first
	other.Name, other.Clusters = "overlays/other", first.Clusters[:1]
	first.Clusters = first.Clusters[1:]
	cat.Seeds[0].Variants = []catalog.Variant{first, other}
	if is := planVariants(t, cat).Plan; !plan.SamePlan(was, is) {
		t.Error("variants with equal content make another plan")
	}
}

// contentsIn counts the objects' contents that an outcome keeps in memory, and their bytes.
func contentsIn(o *plan.Outcome) (count, size int) {
	seen := map[*byte]bool{}
	for _, files := range o.Files {
		for at, f := range files.Flat() {
			if strings.HasPrefix(at, "planted/") && !seen[&f.Data[0]] {
				seen[&f.Data[0]] = true
				count, size = count+1, size+len(f.Data)
			}
		}
	}
	return count, size
}

func TestContentCostsNothingForAnotherClusterOfItsVariant(t *testing.T) {
	one, oneSize := contentsIn(planVariants(t, variantsOf(t, 2, 2)))
	many, manySize := contentsIn(planVariants(t, variantsOf(t, 400, 2)))
	if one != 4 || many != one || manySize != oneSize {
		t.Errorf("2 clusters keep %d contents of %d bytes, 400 clusters of the same variants %d of %d bytes", one, oneSize, many, manySize)
	}
	o := planVariants(t, variantsOf(t, 400, 2))
	if n := len(o.Plan.Contents); n != 3 {
		t.Errorf("the plan lists %d contents", n)
	}
}

// BenchmarkVariants plans 10,000 clusters whose large object of 100 kB has so many contents.
func BenchmarkVariants(b *testing.B) {
	for _, variants := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("%d", variants), func(b *testing.B) {
			cat := variantsOf(b, 10_000, variants)
			b.ReportAllocs()
			for b.Loop() {
				planVariants(b, cat)
			}
		})
	}
}

func TestTheFirstClustersWithAnotherContentAreInOrder(t *testing.T) {
	d := plan.Differing{}
	for i := range 20 {
		d.Contents = append(d.Contents, plan.ContentOn{Hash: layout.Hash{byte(i)}, Clusters: []string{fmt.Sprintf("c%02d", 19-i), fmt.Sprintf("d%02d", i)}})
	}
	if first, more := d.Elsewhere(layout.Hash{19}, 3); !slices.Equal(first, []string{"c01", "c02", "c03"}) || more != 35 {
		t.Errorf("another content is on %v and %d more", first, more)
	}
}
