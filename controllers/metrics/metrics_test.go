package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/state"
)

// world is a Metrics with its own clock and registry.
type world struct {
	*Metrics
	t        *testing.T
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
}

var began = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, clock: clocktesting.NewFakeClock(began), registry: prometheus.NewPedanticRegistry()}
	var err error
	if w.Metrics, err = Register(w.registry, "v1.2.3", w.clock); err != nil {
		t.Fatal(err)
	}
	return w
}

// series returns the series of the metrics whose names begin with one of the prefixes. A
// histogram has the count and the sum.
func (w *world) series(prefixes ...string) map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f.GetName(), p) }) {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "namespace" || l.GetValue() != "prod" {
					labels = append(labels, l.GetValue())
				}
			}
			of := strings.TrimSpace(strings.TrimPrefix(f.GetName(), "furrow_") + " " + strings.Join(labels, " "))
			switch {
			case m.GetHistogram() != nil:
				out[of+" count"], out[of+" sum"] = float64(m.GetHistogram().GetSampleCount()), m.GetHistogram().GetSampleSum()
			case m.GetCounter() != nil:
				out[of] = m.GetCounter().GetValue()
			default:
				out[of] = m.GetGauge().GetValue()
			}
		}
	}
	return out
}

func (w *world) want(want map[string]float64, prefixes ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.series(prefixes...)); diff != "" {
		w.t.Error(diff)
	}
}

var shop, other = fleet.ControlPlane{Namespace: "prod", URL: "https://git.example/shop"}, fleet.ControlPlane{Namespace: "prod", URL: "https://git.example/other"}

func reportOf(repos []string, seeds ...state.Seed) *engine.Report {
	r := &engine.Report{State: state.State{Seeds: seeds}, Repos: map[string]engine.RepoReport{}}
	for _, name := range repos {
		r.Repos[name] = engine.RepoReport{}
	}
	return r
}

// planting returns a Planting with tiers by state and the time since when they are in it.
func planting(seed, cluster string, now time.Time, tiers ...any) v1alpha1.Planting {
	p := v1alpha1.Planting{Spec: v1alpha1.PlantingSpec{Seed: seed, Cluster: cluster}}
	for i := 0; i < len(tiers); i += 2 {
		p.Status.Tiers = append(p.Status.Tiers, v1alpha1.PlantingTier{
			Ordinal: int32(i / 2), State: tiers[i].(string), Since: metav1.NewTime(now.Add(-tiers[i+1].(time.Duration))),
		})
	}
	return p
}

func proposed(p v1alpha1.Planting, ordinal int, repo, url string) v1alpha1.Planting {
	p.Status.Tiers[ordinal].Proposal = &v1alpha1.ProposalLink{Repo: repo, Branch: "b", URL: url}
	return p
}

func TestPasses(t *testing.T) {
	w := newWorld(t)
	raced := reportOf(nil)
	raced.Raced, raced.Changed, raced.Rounds = true, true, 3
	changed := reportOf(nil)
	changed.Changed = true
	w.Pass(shop, reportOf(nil), nil, time.Second)
	w.want(map[string]float64{"passes_total unchanged": 1, "passes_total changed": 0, "passes_total raced": 0, "passes_total stale": 0, "passes_total failed": 0}, "furrow_passes")
	w.Pass(other, reportOf(nil), nil, time.Second)
	w.Pass(shop, changed, nil, 2*time.Second)
	w.Pass(shop, raced, nil, time.Second)
	w.Pass(shop, nil, errors.New("it went wrong"), time.Second)
	unread := reportOf(nil)
	unread.ReadErr, unread.Changed = errors.New("the token has ended"), true
	w.Pass(shop, unread, nil, time.Second)
	w.Pass(shop, nil, fmt.Errorf("stopped: %w", context.Canceled), time.Hour)
	w.want(map[string]float64{
		"passes_total unchanged": 2, "passes_total changed": 1, "passes_total raced": 1, "passes_total stale": 1, "passes_total failed": 1,
		"pass_duration_seconds count": 6, "pass_duration_seconds sum": 7, "pass_rounds count": 5, "pass_rounds sum": 3,
	}, "furrow_pass")
}

func TestTiersAndProposals(t *testing.T) {
	w := newWorld(t)
	w.Pass(shop, reportOf([]string{"fleet", "idle"}, state.Seed{Name: "web", State: "Proposed"}, state.Seed{Name: "db", State: "Stalled"}), nil, 0)
	w.Pass(other, reportOf(nil, state.Seed{Name: "dns", State: "Stalled"}), nil, 0)
	w.Tiers(shop, []v1alpha1.Planting{
		proposed(planting("web", "a", began, "Released", time.Hour, "Proposed", 10*time.Minute), 1, "fleet", "/1"),
		proposed(proposed(planting("web", "b", began, "Proposed", 20*time.Minute, "Blocked", time.Minute), 0, "fleet", "/2"), 1, "fleet", "/3"),
		proposed(planting("web", "c", began, "Rejected", time.Hour), 0, "fleet", "/4"),
	})
	w.Tiers(other, []v1alpha1.Planting{planting("dns", "a", began, "Blocked", time.Second)})
	prefixes := []string{"furrow_seeds", "furrow_tier", "furrow_proposal"}
	want := map[string]float64{
		"seeds Proposed": 1, "seeds Stalled": 2,
		"tiers web Released": 1, "tiers web Proposed": 2, "tiers web Blocked": 1, "tiers web Rejected": 1, "tiers dns Blocked": 1,
		"tier_oldest_seconds web Proposed": 1200, "tier_oldest_seconds web Blocked": 60, "tier_oldest_seconds web Rejected": 3600, "tier_oldest_seconds dns Blocked": 1,
		"proposals_open fleet": 3, "proposals_open idle": 0, "proposal_oldest_seconds fleet": 1200,
	}
	w.want(want, prefixes...)

	w.clock.Step(time.Minute)
	for name := range want {
		if strings.Contains(name, "oldest") {
			want[name] += 60 // ages grow with time
		}
	}
	w.want(want, prefixes...)
	w.Pass(shop, nil, errors.New("it failed"), 0) // does not change the gauges
	w.want(want, prefixes...)

	w.Tiers(other, nil)
	w.Forget(shop)
	w.want(map[string]float64{"seeds Stalled": 1}, prefixes...)
	w.Forget(other)
	w.want(map[string]float64{}, append(prefixes, "furrow_pass")...)
}

func TestStatesThatTiersLeave(t *testing.T) {
	w := newWorld(t)
	show := func(tiers ...any) {
		w.Tiers(shop, []v1alpha1.Planting{planting("web", "a", w.clock.Now(), tiers...)})
	}
	show("Blocked", time.Hour, "Released", time.Hour) // from before a restart: no state was left yet
	w.want(map[string]float64{}, "furrow_tier_state")
	w.clock.Step(10 * time.Minute)
	show("Blocked", 70*time.Minute, "Released", 70*time.Minute)
	w.want(map[string]float64{}, "furrow_tier_state")
	show("Proposed", 5*time.Minute, "Outdated", time.Minute)
	w.want(map[string]float64{"tier_state_duration_seconds Blocked count": 1, "tier_state_duration_seconds Blocked sum": 65 * 60}, "furrow_tier_state")
	w.Tiers(shop, nil)
	show("Merged", time.Duration(0))
	w.want(map[string]float64{"tier_state_duration_seconds Blocked count": 1, "tier_state_duration_seconds Blocked sum": 65 * 60}, "furrow_tier_state")
}

// TestAProposalAgesOverStates updates a proposal, and opens the next one.
func TestAProposalAgesOverStates(t *testing.T) {
	w := newWorld(t)
	show := func(state, url string, since time.Duration) {
		w.Tiers(shop, []v1alpha1.Planting{proposed(planting("web", "a", w.clock.Now(), state, since), 0, "fleet", url)})
	}
	show("Proposed", "/1", time.Hour)
	show("Outdated", "/1", 0)
	w.want(map[string]float64{"proposal_oldest_seconds fleet": 3600}, "furrow_proposal_oldest")
	show("Proposed", "/2", time.Minute)
	w.want(map[string]float64{"proposal_oldest_seconds fleet": 60}, "furrow_proposal_oldest")
	w.clock.Step(-time.Hour)
	w.want(map[string]float64{"proposal_oldest_seconds fleet": 0}, "furrow_proposal_oldest")

	w.clock.Step(2 * time.Hour)
	shut := proposed(planting("web", "a", w.clock.Now(), "Proposed", time.Hour), 0, "fleet", "/2")
	shut.Status.Tiers[0].Proposal.Gate = "waits for another tier"
	w.Tiers(shop, []v1alpha1.Planting{shut}) // does not wait for a person
	w.want(map[string]float64{"proposal_oldest_seconds fleet": 0, "proposals_open fleet": 1}, "furrow_proposal")
}

// fakeChannel knows the clusters whose names are in it.
type fakeChannel struct {
	known map[string]bool
	err   error
}

func (c *fakeChannel) Reconcilers(_ context.Context, keys []probe.ReconcilerKey) (map[probe.ReconcilerKey]health.Reconciler, error) {
	out := map[probe.ReconcilerKey]health.Reconciler{}
	for _, key := range keys {
		out[key] = health.Reconciler{Known: c.known[key.Cluster]}
	}
	return out, c.err
}

func (c *fakeChannel) Creators(context.Context, []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	return nil, c.err
}

func (c *fakeChannel) Roots(_ context.Context, keys []probe.RootKey) (map[probe.RootKey]health.Root, error) {
	out := map[probe.RootKey]health.Root{}
	for _, key := range keys {
		out[key] = health.Root{Known: c.known[key.Cluster]}
	}
	return out, c.err
}

type fakeWatcher struct {
	*fakeChannel
	changed chan struct{}
}

func (c fakeWatcher) Changed() <-chan struct{} { return c.changed }

func TestSilentClusters(t *testing.T) {
	w := newWorld(t)
	fake := &fakeChannel{known: map[string]bool{"a": true}}
	if _, ok := w.Channel("prod", fake).(probe.Watcher); ok {
		t.Error("a channel that does not signal changes is a Watcher")
	}
	ch := w.Channel("prod", fakeWatcher{fake, make(chan struct{})})
	if _, ok := ch.(probe.Watcher); !ok {
		t.Fatal("a Watcher is not a Watcher any more")
	}
	ask := func(clusters ...string) {
		var keys []probe.ReconcilerKey
		var roots []probe.RootKey
		for _, c := range clusters {
			keys = append(keys, probe.ReconcilerKey{Cluster: c, Name: "0"}, probe.ReconcilerKey{Cluster: c, Name: "1"})
			roots = append(roots, probe.RootKey{Cluster: c})
		}
		_, _ = ch.Reconcilers(t.Context(), keys)
		_, _ = ch.Roots(t.Context(), roots)
	}
	ask("a", "b")
	w.want(map[string]float64{"clusters_asked": 2, "clusters_silent": 1}, "furrow_clusters")
	_, _ = ch.Creators(t.Context(), []probe.CreatorKey{{Cluster: "a", Creates: "newborn"}}) // without an answer
	w.want(map[string]float64{"clusters_asked": 2, "clusters_silent": 2}, "furrow_clusters")
	fake.err = errors.New("the health channel is closed")
	ask("c")
	w.want(map[string]float64{"clusters_asked": 2, "clusters_silent": 2}, "furrow_clusters")
	fake.err = nil
	w.clock.Step(askedFor - time.Second)
	ask("a")
	w.clock.Step(time.Second)
	w.want(map[string]float64{"clusters_asked": 1, "clusters_silent": 0}, "furrow_clusters")
	w.Forget(shop)
	w.want(map[string]float64{}, "furrow_clusters")
}

// TestDocumentation compares the metrics with their definitions and the documentation.
func TestDocumentation(t *testing.T) {
	w := newWorld(t)
	r := w.Repo("prod", "fleet", engine.Repo{Mirror: &fakeMirror{}, Forge: &fakeForge{}})
	_, _ = r.Mirror.Fetch(t.Context(), "main")
	_, _ = r.Forge.List(t.Context(), nil)
	header := http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Limit": {"2"}, "X-Ratelimit-Reset": {"60"}}
	_ = w.answer(header, http.StatusOK)
	w.Pass(shop, reportOf([]string{"fleet"}, state.Seed{State: "Stalled"}), nil, time.Second)
	for _, state := range []string{"Blocked", "Proposed"} {
		w.Tiers(shop, []v1alpha1.Planting{proposed(planting("web", "a", began, state, time.Minute), 0, "fleet", "")})
	}
	_, _ = w.Channel("prod", &fakeChannel{}).Reconcilers(t.Context(), []probe.ReconcilerKey{{Cluster: "a"}})

	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		got = append(got, row(f.GetName(), strings.ToLower(f.GetType().String()), labels, f.GetHelp()))
	}
	document := read(t, "../../docs/metrics.md")
	for _, line := range strings.Split(document, "\n") {
		if strings.HasPrefix(line, "| `furrow_") {
			want = append(want, line)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/metrics.md has (-), registered is (+):\n%s", diff)
	}
	if len(families) != len(definitions) {
		t.Errorf("%d metrics of %d definitions", len(families), len(definitions))
	}
}

// TestAlerts compares the documented rules with the metrics, and with the table of
// responses.
func TestAlerts(t *testing.T) {
	document := read(t, "../../docs/metrics.md")
	_, block, _ := strings.Cut(document, "```yaml\n")
	block, _, _ = strings.Cut(block, "```")
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert string `json:"alert"`
				Expr  string `json:"expr"`
				For   string `json:"for"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(block), &rules); err != nil || len(rules.Groups) != 1 {
		t.Fatalf("the rules cannot be read: %v", err)
	}
	var ruled, explained []string
	for _, r := range rules.Groups[0].Rules {
		ruled = append(ruled, r.Alert)
		if !strings.Contains(r.Expr, "furrow_") || strings.Count(r.Expr, "(") != strings.Count(r.Expr, ")") {
			t.Errorf("%s: %s", r.Alert, r.Expr)
		}
	}
	for _, line := range strings.Split(document, "\n") {
		if name, ok := strings.CutPrefix(line, "| `Furrow"); ok {
			name, _, _ = strings.Cut(name, "`")
			explained = append(explained, "Furrow"+name)
		}
	}
	if diff := cmp.Diff(ruled, explained); diff != "" || len(ruled) == 0 {
		t.Errorf("alerts with rules (-), with responses (+):\n%s", diff)
	}
	named := map[string]bool{}
	for _, d := range definitions {
		named[d.name] = true
		if d.kind == histogram {
			named[d.name+"_bucket"], named[d.name+"_count"], named[d.name+"_sum"] = true, true, true
		}
	}
	for _, word := range strings.FieldsFunc(document, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if strings.HasPrefix(word, "furrow_") && !named[word] {
			t.Errorf("there is no metric %s", word)
		}
	}
}

func row(name, kind string, labels []string, help string) string {
	slices.Sort(labels)
	return fmt.Sprintf("| `%s` | %s | %s | %s |", name, kind, strings.Join(labels, ", "), help)
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")))
}
