// Package metrics owns the Prometheus metrics of 'furrow controller'. A Metrics records
// passes, tiers, repositories and clusters, and is registered when it is made.
// docs/metrics.md has every metric with its purpose, and alerts.
//
// Invariants: labels are namespaces, seeds, repositories, or one of a few words. The
// series of a control plane are replaced as a whole, and dropped with it, so no stale
// series remain. Ages are computed when they are read, from times that survive a restart.
//
// Concurrency: a Metrics may be used by several goroutines.
package metrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/engine"
)

// Metrics has the metrics for Prometheus. Counters and histograms are updated as things happen;
// rates, snapshots and clusters are collectors, which count when Prometheus asks.
type Metrics struct {
	clock clock.PassiveClock

	passes       *prometheus.CounterVec
	passDuration *prometheus.HistogramVec
	passRounds   *prometheus.HistogramVec
	tierDuration *prometheus.HistogramVec
	git, forge   calls
	requests     *prometheus.CounterVec

	rates     *rates
	snapshots *snapshots
	clusters  *clusters

	mu sync.Mutex
	// opened has the repositories that were opened and not forgotten since.
	opened map[repo]bool
}

// repo names a GitOps repository.
type repo struct{ namespace, name string }

// Register makes a Metrics and registers it with a registry, such as that of
// controller-runtime. It may be called once per registry.
func Register(registry prometheus.Registerer, version string, clock clock.PassiveClock) (*Metrics, error) {
	m := &Metrics{
		clock: clock, opened: map[repo]bool{},
		passes: passes.counters(), passDuration: passDuration.histograms(), passRounds: passRounds.histograms(), tierDuration: tierDuration.histograms(),
		git: calls{gitCalls.counters(), gitDuration.histograms()}, forge: calls{forgeCalls.counters(), forgeDuration.histograms()},
		requests: forgeRequests.counters(),
		rates:    newRates(clock), snapshots: newSnapshots(clock), clusters: newClusters(clock),
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.name, Help: buildInfo.help}, buildInfo.labels)
	info.WithLabelValues(version).Set(1)
	for _, c := range []prometheus.Collector{
		info, m.passes, m.passDuration, m.passRounds, m.git.total, m.git.duration, m.forge.total, m.forge.duration, m.requests,
		m.rates, m.snapshots, m.tierDuration, m.clusters,
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Outcomes of passes.
const (
	unchanged = "unchanged"
	changed   = "changed"
	raced     = "raced"
	stale     = "stale"
	failed    = "failed"
)

// passOutcomes are all, so each has a series from the start.
var passOutcomes = []string{unchanged, changed, raced, stale, failed}

// passOutcome returns the outcome of a pass; empty for a canceled one, which is neither good nor
// bad. The worst that is true counts.
func passOutcome(report *engine.Report, err error) string {
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case err != nil || report == nil:
		return failed
	case report.ReadErr != nil:
		return stale
	case report.Raced:
		return raced
	case report.Changed:
		return changed
	}
	return unchanged
}

// Pass records a pass over a control plane. If the report is nil, err has the cause, and the
// last report remains in force.
func (m *Metrics) Pass(cp fleet.ControlPlane, report *engine.Report, err error, took time.Duration) {
	outcome := passOutcome(report, err)
	if outcome == "" {
		return
	}
	for _, o := range passOutcomes { // also at 0, so the first of its kind is an increase
		m.passes.WithLabelValues(cp.Namespace, o)
	}
	m.passes.WithLabelValues(cp.Namespace, outcome).Inc()
	m.passDuration.WithLabelValues(cp.Namespace).Observe(took.Seconds())
	if report != nil {
		m.passRounds.WithLabelValues(cp.Namespace).Observe(float64(report.Rounds))
		m.forgetRepos(m.snapshots.update(cp, report))
	}
}

// Forget drops the series of a control plane.
func (m *Metrics) Forget(cp fleet.ControlPlane) {
	gone, last := m.snapshots.forget(cp)
	if last { // also what no pass has reported
		m.mu.Lock()
		for r := range m.opened {
			if r.namespace == cp.Namespace {
				gone = append(gone, r)
			}
		}
		m.mu.Unlock()
		of := prometheus.Labels{"namespace": cp.Namespace}
		m.passes.DeletePartialMatch(of)
		m.passDuration.DeletePartialMatch(of)
		m.passRounds.DeletePartialMatch(of)
		m.clusters.forget(cp.Namespace)
	}
	m.forgetRepos(gone)
}

// forgetRepos drops the series of repositories that are no longer named.
func (m *Metrics) forgetRepos(gone []repo) {
	for _, r := range gone {
		of := prometheus.Labels{"namespace": r.namespace, "repo": r.name}
		m.git.forget(of)
		m.forge.forget(of)
		m.requests.DeletePartialMatch(of)
		m.rates.forget(r)
		m.mu.Lock()
		delete(m.opened, r)
		m.mu.Unlock()
	}
}

func (m *Metrics) open(r repo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened[r] = true
}
