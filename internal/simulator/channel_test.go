package simulator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/probe"
)

var (
	shopRoot = probe.ReconcilerKey{Cluster: "shop", Namespace: "flux-system", Name: "flux-system"}
	mgmtRoot = probe.ReconcilerKey{Cluster: "mgmt", Namespace: "flux-system", Name: "flux-system"}
)

// revisionsSeen commits in every tick and returns the root's revision as the
// channel reports it: "error", "unknown", or a number.
func revisionsSeen(t *testing.T, c Chaos, seed int64, ticks int) []string {
	t.Helper()
	w := newWorld(t, func(o *Options) { o.Chaos, o.Seed = c, seed })
	var seen []string
	for i := range ticks {
		after(1, map[string]string{"clusters/shop/README.md": fmt.Sprint(i)})(w)
		got, err := w.Channel().Reconcilers(t.Context(), []probe.ReconcilerKey{shopRoot})
		r, answered := got[shopRoot]
		switch {
		case err != nil:
			seen = append(seen, "error")
		case !answered || !r.Known:
			if r.Found || r.Ready != "" {
				t.Errorf("an answer that is not known says %+v", r)
			}
			seen = append(seen, "unknown")
		default:
			seen = append(seen, strings.TrimLeft(r.Revision[max(0, len(r.Revision)-4):], "0"))
		}
	}
	return seen
}

func TestChaosOfTheChannel(t *testing.T) {
	number := func(s string) (n int) {
		fmt.Sscanf(s, "%x", &n)
		return n
	}
	truth := revisionsSeen(t, Chaos{}, 1, 60)
	cases := map[string]struct {
		chaos Chaos
		holds func(seen []string) bool
	}{
		"a late channel is behind and never goes back": {
			Chaos{Late: 0.7, Until: 50}, func(seen []string) bool {
				return !slices.Equal(seen, truth) && slices.IsSortedFunc(seen, func(a, b string) int { return number(a) - number(b) })
			},
		},
		"a stale channel goes back": {
			Chaos{Stale: 0.5, Until: 50}, func(seen []string) bool {
				return !slices.IsSortedFunc(seen, func(a, b string) int { return number(a) - number(b) })
			},
		},
		"a channel that misses answers says unknown": {
			Chaos{Missing: 0.5, Until: 50}, func(seen []string) bool { return slices.Contains(seen, "unknown") && slices.Contains(seen, "2f") },
		},
		"a failing channel fails whole calls": {
			Chaos{Error: 0.5, Until: 50}, func(seen []string) bool { return slices.Contains(seen, "error") },
		},
		"a source that lags skips revisions": {
			Chaos{FetchLag: 5, Until: 50}, func(seen []string) bool { return len(slices.Compact(slices.Clone(seen))) < 40 },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := revisionsSeen(t, tc.chaos, 1, 60)
			if !tc.holds(seen) {
				t.Errorf("unexpected answers: %v", seen)
			}
			if diff := cmp.Diff(truth[55:], seen[55:]); diff != "" {
				t.Errorf("the channel does not report the truth in the end (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	w := newWorld(t, nil)
	w.ticks(1)
	w.Silence("shop", true)
	got, err := w.Channel().Reconcilers(t.Context(), []probe.ReconcilerKey{shopRoot, mgmtRoot, {Cluster: "nowhere"}})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for key, answer := range got {
		known[key.Cluster] = answer.Known
	}
	if diff := cmp.Diff(map[string]bool{"shop": false, "mgmt": true, "nowhere": false}, known); diff != "" {
		t.Errorf("known (-want +got):\n%s", diff)
	}
}

// history is everything observable of a story with random disturbances.
func history(t *testing.T, seed int64) []string {
	t.Helper()
	w := newWorld(t, func(o *Options) {
		o.Seed = seed
		o.Chaos = Chaos{Late: 0.2, Stale: 0.2, Missing: 0.2, Error: 0.1, FetchLag: 3, Reorder: true, Until: 60}
	})
	var seen []string
	for i := range 80 {
		switch i {
		case 0:
			w.commit(edge())
		case 20:
			w.commit(map[string]string{
				"clusters/shop/a.yaml": tier{name: "a", path: "./planted/a"}.String(),
				"planted/a/crd.yaml":   widgetCRD, "planted/a/w.yaml": widget("v1"), "planted/a/x.yaml": configMap("web", "x"),
			})
		case 40:
			w.Wipe("shop")
		}
		w.ticks(1)
		got, err := w.Channel().Reconcilers(t.Context(), []probe.ReconcilerKey{shopRoot, mgmtRoot})
		seen = append(seen, fmt.Sprintf("%+v %+v %v %+v", w.Describe(), got, err, w.Rejections()))
	}
	return seen
}

func TestSameSeedSameHistory(t *testing.T) {
	first := history(t, 7)
	if diff := cmp.Diff(first, history(t, 7)); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if slices.Equal(first, history(t, 8)) {
		t.Error("another seed gave the same history: nothing is left to chance")
	}
}

// TestAnyOrder applies a tier in many orders: what is in it needs nothing of it.
func TestAnyOrder(t *testing.T) {
	for seed := range int64(30) {
		w := newWorld(t, func(o *Options) {
			o.Seed = seed
			o.Chaos = Chaos{FetchLag: 4, Reorder: true, Until: 30}
		})
		after(60, edge())(w)
		if got := w.Rejections(); len(got) > 0 {
			t.Fatalf("seed %d: %v", seed, got)
		}
		if got := len(w.Objects("edge")); got != 2 {
			t.Errorf("seed %d: %d objects on the created cluster, want 2", seed, got)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Chaos = Chaos{Late: 0.5, Stale: 0.2, Until: 1000} })
	w.commit(edge())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				w.Tick(t.Context())
				w.Channel().Reconcilers(t.Context(), []probe.ReconcilerKey{shopRoot})
				w.Channel().Creators(t.Context(), []probe.CreatorKey{{Cluster: "mgmt", Object: idOf("cluster.x-k8s.io/Cluster/fleet/edge"), Creates: "edge"}})
				w.Describe()
				w.Silence("edge", w.Now()%2 == 0)
			}
		})
	}
	wg.Wait()
}

func TestDescribeSaysThatItIsASimulation(t *testing.T) {
	w := newWorld(t, nil)
	after(2, edge())(w)
	w.Silence("shop", true)
	states := map[string]string{}
	for _, c := range w.Describe() {
		states[c.Name] = c.State
		for _, k := range c.Kustomizations {
			if k.Message != "" && !strings.Contains(k.Message, "simulated") {
				t.Errorf("%s/%s says %q without saying that it is simulated", c.Name, k.Name, k.Message)
			}
		}
	}
	want := map[string]string{"edge": StateCreating, "mgmt": StateRunning, "shop": StateSilent}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), w.Clusters()); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
}

func TestOptionsThatCannotWorkAreReported(t *testing.T) {
	n := New(Options{Clusters: []Cluster{{Name: "a", Root: Root{Path: "clusters/a", RepoID: "gone"}}}})
	if err := n.Tick(t.Context()); err == nil || !strings.Contains(err.Error(), `no source for repository "gone"`) {
		t.Errorf("error %v, want one that names the repository", err)
	}
}

// orchard has clusters of several tiers each, all planted and ready.
func orchard(tb testing.TB, clusters, tiers int) (*Simulator, *garden) {
	tb.Helper()
	git := &garden{}
	o := Options{Sources: map[string]Source{"fleet": git}, Seed: 1}
	files := map[string]string{}
	for c := range clusters {
		name := fmt.Sprintf("edge-%04d", c)
		o.Clusters = append(o.Clusters, Cluster{Name: name, Role: RoleWorkload, Root: Root{Path: "clusters/" + name, RepoID: "fleet"}})
		for i := range tiers {
			k := tier{name: fmt.Sprintf("s.%s.%02d", name, i), path: fmt.Sprintf("./planted/%s/%d", name, i)}
			if i > 0 {
				k.more = fmt.Sprintf("dependsOn: [{name: s.%s.%02d}]\n", name, i-1)
			}
			files[fmt.Sprintf("clusters/%s/%d.yaml", name, i)] = k.String()
			files[fmt.Sprintf("planted/%s/%d/a.yaml", name, i)] = configMap("default", fmt.Sprintf("a%d", i))
			files[fmt.Sprintf("planted/%s/%d/b.yaml", name, i)] = deployment(fmt.Sprintf("b%d", i))
		}
	}
	git.commit(files)
	n := New(o)
	for range 4 * tiers {
		if err := n.Tick(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	for _, c := range n.Describe() {
		for _, k := range c.Kustomizations {
			if k.Ready != "True" {
				tb.Fatalf("%s %s is %s: %s", c.Name, k.Name, k.Ready, k.Message)
			}
		}
	}
	return n, git
}

func TestAFleetIsPlanted(t *testing.T) {
	n, _ := orchard(t, 20, 5)
	keys := []probe.ReconcilerKey{{Cluster: "edge-0007", Namespace: "flux-system", Name: "s.edge-0007.04"}}
	got, err := n.Channel().Reconcilers(t.Context(), keys)
	if err != nil || got[keys[0]].Ready != "True" || got[keys[0]].Revision != revisionOf(1) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// BenchmarkIdleTick is a tick in which no source has moved; only intervals
// schedule work.
func BenchmarkIdleTick(b *testing.B) {
	n, _ := orchard(b, 1000, 5)
	for b.Loop() {
		if err := n.Tick(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
