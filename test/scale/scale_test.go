package scale

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The most writes for one cluster, from the first pass until its five tiers are Released.
const (
	// One Planting, its status at most three times per tier: proposed, merged, and released with
	// the next one proposed. The Cluster's status twice: accepted, and with a planting.
	mostWrites = 1 + 3*tiersPerCluster + 2
	// Each tier is reported as proposed and as released.
	mostEvents = 2 * tiersPerCluster
	// fixed is the number of writes for the whole fleet: the Seed.
	fixed = 20
)

// TestCallsGrowWithTheFleetAndNoFaster compares the requests for 10 and for 20 clusters.
func TestCallsGrowWithTheFleetAndNoFaster(t *testing.T) {
	server := apiServer(t)
	small, large := measure(t, server, 10), measure(t, server, 20)
	for _, f := range []figures{small, large} {
		mustBeBounded(t, f)
	}
	mustBeLinear(t, small, large)
	if s, l := small.planting, large.planting; s.passes != l.passes || small.steps != large.steps {
		t.Errorf("%d passes in %d steps for 10 clusters, %d in %d for 20; want the same", s.passes, small.steps, l.passes, large.steps)
	}
	if s, l := small.planting.git.all(), large.planting.git.all(); l > s {
		t.Errorf("the Git server had %d requests for 10 clusters and %d for 20; want no more", s, l)
	}
	if t.Failed() {
		t.Log(table(small, large))
	}
}

// mustBeBounded asserts the limits for fleets of any size.
func mustBeBounded(t testing.TB, f figures) {
	t.Helper()
	if got, most := f.planting.api.writes(), fixed+mostWrites*f.clusters; got > most {
		t.Errorf("%d clusters: %d writes to the API server, want at most %d: %s", f.clusters, got, most, f.planting.api)
	}
	if got, most := f.planting.api.events(), fixed+mostEvents*f.clusters; got > most {
		t.Errorf("%d clusters: %d events, want at most %d", f.clusters, got, most)
	}
	// Every half a minute, in no pass, the controller finds out whether Flux is installed.
	if got := f.idle.api.all() - f.idle.api[discovery]; got > 0 {
		t.Errorf("%d clusters: an idle pass sends requests to the API server: %s", f.clusters, f.idle.api)
	}
	for what, n := range f.idle.git {
		if n != idlePasses || !strings.HasSuffix(what, ": info/refs for git-upload-pack") {
			t.Errorf("%d clusters: %d idle passes make %d requests %s; want one list of branches each", f.clusters, idlePasses, n, what)
		}
	}
	for name, p := range map[string]phase{"warm": f.warm, "cold": f.cold} {
		if p.took > mostRestart {
			t.Errorf("%d clusters: a %s restart takes %s, want at most %s", f.clusters, name, p.took, mostRestart)
		}
		if p.api.writes()+p.api.events() > 0 || p.git.of("gitops: git-receive-pack") > 0 {
			t.Errorf("%d clusters: a %s restart writes, although nothing has changed: %s; %s", f.clusters, name, p.api, p.git)
		}
	}
}

const (
	// mostRestart is the longest time of a restart until the controllers are idle, with everything planted.
	mostRestart = time.Minute
	// slack is how much more a cluster may cost in a larger fleet.
	slack = 2
)

// mustBeLinear asserts that a cluster costs about as many calls in a large fleet as in a small one.
func mustBeLinear(t testing.TB, small, large figures) {
	t.Helper()
	for name, of := range map[string]func(figures) phase{
		"planting": func(f figures) phase { return f.planting }, "warm restart": func(f figures) phase { return f.warm }, "cold restart": func(f figures) phase { return f.cold },
	} {
		for what, counts := range map[string][2]calls{"API server": {of(small).api, of(large).api}, "Git server": {of(small).git, of(large).git}} {
			one, other := float64(counts[0].all())/float64(small.clusters), float64(counts[1].all())/float64(large.clusters)
			if other > slack*one {
				t.Errorf("%s: a cluster costs %.1f requests to the %s in a fleet of %d and %.1f in one of %d", name, one, what, small.clusters, other, large.clusters)
			}
		}
	}
}

// mustFit asserts that memory does not grow faster than the fleet. It ignores small fleets.
func mustFit(t testing.TB, small, large figures) {
	t.Helper()
	for what, of := range map[string]func(figures) float64{
		"the planting": func(f figures) float64 { return f.planting.peak }, "the planted fleet": func(f figures) float64 { return f.planted },
		"a warm restart": func(f figures) float64 { return f.warm.peak }, "a cold restart": func(f figures) float64 { return f.cold.peak },
	} {
		one, other := of(small)/float64(small.clusters), of(large)/float64(large.clusters)
		if other > slack*one {
			t.Errorf("%s takes %.2f MiB a cluster in a fleet of %d and %.2f in one of %d", what, one, small.clusters, other, large.clusters)
		}
	}
}

// BenchmarkScale plants fleets of 100, 300 and 1,000 clusters with five tiers each.
func BenchmarkScale(b *testing.B) {
	server := apiServer(b)
	for b.Loop() {
		var all []figures
		for _, size := range []int{100, 300, 1000} {
			f := measure(b, server, size)
			mustBeBounded(b, f)
			all = append(all, f)
		}
		small, large := all[0], all[len(all)-1]
		mustBeLinear(b, small, large)
		mustFit(b, small, large)
		_, _ = fmt.Fprintln(os.Stderr, table(all...)) // the log of a benchmark is cut after ten lines
		for _, m := range measures {
			if m.unit == "" {
				continue
			}
			for _, f := range all {
				b.ReportMetric(m.of(f), fmt.Sprintf("%s-%d", m.unit, f.clusters))
			}
			if m.of(small) > 0 {
				b.ReportMetric(m.of(large)/m.of(small), fmt.Sprintf("%s-%d/%d", m.unit, large.clusters, small.clusters))
			}
		}
	}
	b.ReportMetric(0, "ns/op")
}

// measureOf is one line of the table, and a metric of the benchmark if it has a unit.
type measureOf struct {
	name, unit string
	of         func(figures) float64
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func (f figures) each(n int) float64 { return float64(n) / float64(f.clusters) }

var measures = []measureOf{
	{"planting: time until all is Released (s)", "planting-s", func(f figures) float64 { return seconds(f.planting.took) }},
	{"planting: passes", "passes", func(f figures) float64 { return float64(f.planting.passes) }},
	{"planting: steps", "", func(f figures) float64 { return float64(f.steps) }},
	{"planting: API requests, a cluster", "api/cluster", func(f figures) float64 { return f.each(f.planting.api.all()) }},
	{"planting: of them creations of Plantings", "", func(f figures) float64 { return f.each(f.planting.api.of("create plantings")) }},
	{"planting: of them patches of Plantings", "", func(f figures) float64 { return f.each(f.planting.api.of("patch plantings")) }},
	{"planting: of them patches of Clusters", "", func(f figures) float64 { return f.each(f.planting.api.of("patch clusters")) }},
	{"planting: of them events", "", func(f figures) float64 { return f.each(f.planting.api.events()) }},
	{"planting: patches of the Seed", "", func(f figures) float64 { return float64(f.planting.api.of("patch seeds")) }},
	{"planting: Git requests", "git-requests", func(f figures) float64 { return float64(f.planting.git.all()) }},
	{"planting: pushes", "pushes", func(f figures) float64 { return float64(f.planting.git.of("gitops: git-receive-pack")) }},
	{"planting: most memory (MiB)", "peak-MiB", func(f figures) float64 { return f.planting.peak }},
	{"planted: memory of the controllers (MiB)", "planted-MiB", func(f figures) float64 { return f.planted }},
	{"planted: memory of the simulated clusters (MiB)", "", func(f figures) float64 { return f.simulator }},
	{"idle pass: time (s)", "idle-s", func(f figures) float64 { return seconds(f.idle.took) }},
	{"idle pass: API requests", "", func(f figures) float64 { return float64(f.idle.api.all()) / idlePasses }},
	{"idle pass: Git requests", "", func(f figures) float64 { return float64(f.idle.git.all()) / idlePasses }},
	{"warm restart: time (s)", "warm-s", func(f figures) float64 { return seconds(f.warm.took) }},
	{"warm restart: API writes", "", func(f figures) float64 { return float64(f.warm.api.writes()) }},
	{"warm restart: most memory (MiB)", "", func(f figures) float64 { return f.warm.peak }},
	{"cold restart: time (s)", "cold-s", func(f figures) float64 { return seconds(f.cold.took) }},
	{"cold restart: API writes", "", func(f figures) float64 { return float64(f.cold.api.writes()) }},
	{"cold restart: most memory (MiB)", "", func(f figures) float64 { return f.cold.peak }},
}

// table formats figures side by side, in Markdown.
func table(all ...figures) string {
	var b strings.Builder
	b.WriteString("\n| what |")
	for _, f := range all {
		fmt.Fprintf(&b, " %d clusters |", f.clusters)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(all)) + "\n")
	for _, m := range measures {
		fmt.Fprintf(&b, "| %s |", m.name)
		for _, f := range all {
			fmt.Fprintf(&b, " %.4g |", m.of(f))
		}
		b.WriteString("\n")
	}
	return b.String()
}
