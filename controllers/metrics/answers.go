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

// Answers counts the requests to a forge's server, and keeps what its answers say of
// how much may be asked for yet.
func (m *Metrics) Answers(namespace, name string, next http.RoundTripper) http.RoundTripper {
	at := repo{namespace, name}
	m.open(at)
	return answers{next, at, m}
}

type answers struct {
	next    http.RoundTripper
	repo    repo
	metrics *Metrics
}

// RoundTrip implements http.RoundTripper.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(request)
	switch {
	case errors.Is(err, context.Canceled):
	case err != nil:
		a.count("none")
	default:
		a.count(strconv.Itoa(response.StatusCode/100) + "xx")
		a.metrics.rates.told(a.repo, response.Header)
	}
	return response, err
}

func (a answers) count(status string) {
	a.metrics.requests.WithLabelValues(a.repo.namespace, a.repo.name, status).Inc()
}

// rates are what servers let us ask for.
type rates struct {
	clock                   clock.PassiveClock
	remaining, limit, reset gauges

	mu   sync.Mutex
	last map[repo]rate
}

// rate is what a server said last. What it did not say is nil, or zero.
type rate struct {
	remaining, limit *float64
	reset            time.Time
}

func newRates(clock clock.PassiveClock) *rates {
	return &rates{clock: clock, last: map[repo]rate{}, remaining: rateRemaining.gauges(), limit: rateLimit.gauges(), reset: rateReset.gauges()}
}

// Headers in which servers tell of their budget: GitHub's and Gitea's, and those of
// the IETF's draft.
var rateHeaders = []string{"X-Ratelimit-", "Ratelimit-"}

// told takes in an answer's headers. An answer that says nothing changes nothing.
func (r *rates) told(at repo, h http.Header) {
	if resource := h.Get("X-Ratelimit-Resource"); resource != "" && resource != "core" {
		return // searches and the like have budgets of their own
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	until := func(header string) (t time.Time) {
		if pause, ok := backoff.Until(h, header, now); ok {
			t = now.Add(pause)
		}
		return t
	}
	if was := r.last[at]; !was.over(now) {
		was.reset = latest(was.reset, until("Retry-After"))
		r.last[at] = was
	} else {
		r.last[at] = rate{reset: until("Retry-After")}
	}
	for _, prefix := range rateHeaders {
		remaining, limit := number(h.Get(prefix+"Remaining")), number(h.Get(prefix+"Limit"))
		if remaining == nil && limit == nil {
			continue
		}
		r.last[at] = rate{remaining, limit, latest(until(prefix+"Reset"), until("Retry-After"))}
		break
	}
	if r.last[at] == (rate{}) {
		delete(r.last, at)
	}
}

// over says that the server counts anew since, so that what it said is no longer so.
func (r rate) over(now time.Time) bool { return !r.reset.IsZero() && !now.Before(r.reset) }

// number is the one that a header begins with.
func number(header string) *float64 {
	n, ok := backoff.Number(header)
	if !ok {
		return nil
	}
	value := float64(n)
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
