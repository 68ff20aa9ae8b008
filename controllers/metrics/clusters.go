package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/probe"
)

// askedFor is for how long a cluster counts after it was queried.
const askedFor = 10 * time.Minute

// Channel counts the clusters that a namespace's health channel cannot observe.
func (m *Metrics) Channel(namespace string, next probe.Channel) probe.Channel {
	c := channel{next, namespace, m.clusters}
	if w, ok := next.(probe.Watcher); ok {
		return watched{c, w}
	}
	return c
}

// channel is a health channel that notes which clusters answered what it was asked.
type channel struct {
	probe.Channel
	namespace string
	clusters  *clusters
}

// watched is a channel that signals changes.
type watched struct {
	channel
	probe.Watcher
}

// Reconcilers implements probe.Channel.
func (c channel) Reconcilers(ctx context.Context, keys []probe.ReconcilerKey) (map[probe.ReconcilerKey]health.Reconciler, error) {
	got, err := c.Channel.Reconcilers(ctx, keys)
	return got, took(c, "reconcilers", keys, err, func(key probe.ReconcilerKey) (string, bool) { return key.Cluster, got[key].Known })
}

// Creators implements probe.Channel. It does not count the clusters that are being created.
func (c channel) Creators(ctx context.Context, keys []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	got, err := c.Channel.Creators(ctx, keys)
	return got, took(c, "creators", keys, err, func(key probe.CreatorKey) (string, bool) { return key.Cluster, got[key].Known })
}

// Roots implements probe.Channel.
func (c channel) Roots(ctx context.Context, keys []probe.RootKey) (map[probe.RootKey]health.Root, error) {
	got, err := c.Channel.Roots(ctx, keys)
	return got, took(c, "roots", keys, err, func(key probe.RootKey) (string, bool) { return key.Cluster, got[key].Known })
}

// note records whether everything that was queried of a cluster is known.
func note(known map[string]bool, cluster string, is bool) {
	was, there := known[cluster]
	known[cluster] = is && (was || !there)
}

// took records which clusters were queried and whether they are known, unless the query failed as a
// whole.
func took[K any](c channel, question string, keys []K, err error, of func(K) (cluster string, known bool)) error {
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, key := range keys {
		cluster, is := of(key)
		note(known, cluster, is)
	}
	c.clusters.asked(c.namespace, question, known)
	return nil
}

// clusters has what was last answered about each cluster, by namespace and kind of question. It is
// a collector: the numbers are counted when they are read, so a cluster which nobody asks
// about any more drops out by itself.
type clusters struct {
	clock         clock.PassiveClock
	total, silent gauges

	mu      sync.Mutex
	answers map[question]answer
}

// question is a query of a cluster.
type question struct{ namespace, cluster, what string }

// answer is whether the last answer was known, and when it came.
type answer struct {
	known bool
	at    time.Time
}

func newClusters(clock clock.PassiveClock) *clusters {
	return &clusters{clock: clock, answers: map[question]answer{}, total: clustersAsked.gauges(), silent: clustersSilent.gauges()}
}

// asked notes, for each cluster that a channel was asked about, whether the answer was known.
func (c *clusters) asked(namespace, what string, known map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for cluster, is := range known {
		c.answers[question{namespace, cluster, what}] = answer{is, now}
	}
}

// forget drops all answers of a namespace, whose channel ends.
func (c *clusters) forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for q := range c.answers {
		if q.namespace == namespace {
			delete(c.answers, q)
		}
	}
}

// Describe implements prometheus.Collector.
func (c *clusters) Describe(out chan<- *prometheus.Desc) {
	out <- c.total.of
	out <- c.silent.of
}

// Collect implements prometheus.Collector. Answers are forgotten when nobody has asked for them for
// a while (askedFor), so a cluster that left the fleet leaves no series.
func (c *clusters) Collect(out chan<- prometheus.Metric) {
	known := map[string]map[string]bool{}
	c.mu.Lock()
	for q, a := range c.answers {
		if c.clock.Since(a.at) >= askedFor {
			delete(c.answers, q)
			continue
		}
		if known[q.namespace] == nil {
			known[q.namespace] = map[string]bool{}
		}
		note(known[q.namespace], q.cluster, a.known)
	}
	c.mu.Unlock()
	for namespace, of := range known {
		silent := 0
		for _, is := range of {
			if !is {
				silent++
			}
		}
		c.total.send(out, float64(len(of)), namespace)
		c.silent.send(out, float64(silent), namespace)
	}
}
