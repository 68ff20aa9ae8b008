package metrics

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/backoff"
)

// Transport counts the requests to a forge's server, and records the rate limits in its
// responses.
func (m *Metrics) Transport(namespace, name string, next http.RoundTripper) http.RoundTripper {
	at := repo{namespace, name}
	m.open(at)
	return transport{next, at, m}
}

// transport counts the requests to a repository's server, by what it answers.
type transport struct {
	next    http.RoundTripper
	repo    repo
	metrics *Metrics
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		t.count("none")
	default:
		t.count(strconv.Itoa(response.StatusCode/100) + "xx")
		t.metrics.rates.observe(t.repo, response.Header)
	}
	return response, err
}

func (t transport) count(status string) {
	t.metrics.requests.WithLabelValues(t.repo.namespace, t.repo.name, status).Inc()
}

// rates has the rate limits of servers.
type rates struct {
	clock                   clock.PassiveClock
	remaining, limit, reset gauges

	mu   sync.Mutex
	last map[repo]rate
}

// rate has a server's last rate limit. Fields that it did not send are nil or zero.
type rate struct {
	remaining, limit *float64
	reset            time.Time
}

func newRates(clock clock.PassiveClock) *rates {
	return &rates{clock: clock, last: map[repo]rate{}, remaining: rateRemaining.gauges(), limit: rateLimit.gauges(), reset: rateReset.gauges()}
}

// observe records a response's headers. A response without rate limits changes nothing, and one
// that asks to wait moves the reset.
func (r *rates) observe(at repo, h http.Header) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	until := func(pause time.Duration) (t time.Time) {
		if pause > 0 {
			t = now.Add(pause)
		}
		return t
	}
	asked, _ := backoff.Until(h, "Retry-After", now)
	last := r.last[at]
	if last.over(now) {
		last = rate{}
	}
	if of, ok := backoff.RateOf(h, now); ok {
		last = rate{number(of.Remaining), number(of.Limit), until(of.Reset)}
	}
	last.reset = latest(last.reset, until(asked))
	r.last[at] = last
	if last == (rate{}) {
		delete(r.last, at)
	}
}

// over reports whether the limit was reset since.
func (r rate) over(now time.Time) bool { return !r.reset.IsZero() && !now.Before(r.reset) }

func number(n *int64) *float64 {
	if n == nil {
		return nil
	}
	value := float64(*n)
	return &value
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (r *rates) forget(at repo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.last, at)
}

// Describe implements prometheus.Collector.
func (r *rates) Describe(out chan<- *prometheus.Desc) {
	out <- r.remaining.of
	out <- r.limit.of
	out <- r.reset.of
}

// Collect implements prometheus.Collector.
func (r *rates) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	for at, rate := range r.last {
		if rate.over(now) {
			continue
		}
		if rate.remaining != nil {
			r.remaining.send(out, *rate.remaining, at.namespace, at.name)
		}
		if rate.limit != nil {
			r.limit.send(out, *rate.limit, at.namespace, at.name)
		}
		if !rate.reset.IsZero() {
			r.reset.send(out, rate.reset.Sub(now).Seconds(), at.namespace, at.name)
		}
	}
}
