package pass

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// outage is a control plane that cannot be read while plans of some seeds leave a cluster whose document is
// broken, which has each plan ask what seeds create.
func outage(tb testing.TB, seeds, clusters int) *decider {
	tb.Helper()
	cat, err := catalog.Load(fstest.MapFS{"broken.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: broken}\nspec: {role: Other}\n")}})
	if err != nil || cat.Inventory.BrokenOrLost("broken") == "" {
		tb.Fatalf("the document is not broken: %v", err)
	}
	d := newDecider(&Facts{ControlPlane: ControlPlane{Unread: "it does not answer", Catalog: cat}}, new(Memo))
	d.previous = map[string]*Previous{}
	for i := range seeds {
		p := &plan.Plan{Seed: fmt.Sprintf("seed-%d", i)}
		for j := range clusters {
			p.Tiers = append(p.Tiers, plan.Tier{Cluster: fmt.Sprintf("c%d", j), Creates: []plan.Creates{{Cluster: fmt.Sprintf("made-%d-%d", i, j)}}})
		}
		p.Tiers = append(p.Tiers, plan.Tier{Cluster: "broken", Leaving: &plan.Leaving{}})
		d.previous[p.Seed] = &Previous{Plan: p}
	}
	return d
}

func BenchmarkKeepAll(b *testing.B) {
	for _, seeds := range []int{100, 400} {
		b.Run(fmt.Sprintf("seeds=%d,clusters=50", seeds), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				d := outage(b, seeds, 50)
				b.StartTimer()
				d.keepAll()
			}
		})
	}
}

// Plans are kept in every pass of an outage. With four times the seeds that allocates four times as much, and
// not sixteen times.
func TestKeepingAllPlansIsLinear(t *testing.T) {
	cost := func(seeds int) float64 {
		d := outage(t, seeds, 50)
		for name, o := range d.keepAll() {
			if o.Err == nil {
				t.Fatalf("seed %s leaves a broken cluster, and is not on hold", name)
			}
		}
		return testing.AllocsPerRun(3, func() { outage(t, seeds, 50).keepAll() })
	}
	if few, many := cost(100), cost(400); many > 5*few {
		t.Errorf("100 seeds take %.0f allocations, 400 seeds %.0f", few, many)
	}
}
