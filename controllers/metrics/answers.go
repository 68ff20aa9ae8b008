package metrics

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
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
	if was := r.last[at]; !was.over(now) {
		was.reset = latest(was.reset, wait(h.Get("Retry-After"), now))
		r.last[at] = was
	} else {
		r.last[at] = rate{reset: wait(h.Get("Retry-After"), now)}
	}
	for _, prefix := range rateHeaders {
		remaining, limit := number(h.Get(prefix+"Remaining")), number(h.Get(prefix+"Limit"))
		if remaining == nil && limit == nil {
			continue
		}
		r.last[at] = rate{remaining, limit, latest(wait(h.Get(prefix+"Reset"), now), wait(h.Get("Retry-After"), now))}
		break
	}
	if r.last[at] == (rate{}) {
		delete(r.last, at)
	}
}

// over says that the server counts anew since, so that what it said is no longer so.
func (r rate) over(now time.Time) bool { return !r.reset.IsZero() && !now.Before(r.reset) }

// number is the first number of a header, as of "100, 100;w=60".
func number(header string) *float64 {
	header, _, _ = strings.Cut(header, ",")
	header, _, _ = strings.Cut(header, ";")
	n, err := strconv.ParseUint(strings.TrimSpace(header), 10, 53)
	if err != nil {
		return nil
	}
	value := float64(n)
	return &value
}

// wait is the time that a header names: as a date, as seconds from now or, where that
// would be decades, as seconds since 1970. It is zero where there is none.
func wait(header string, now time.Time) time.Time {
	const decades = 1_000_000_000
	if date, err := http.ParseTime(header); err == nil {
		return date
	}
	n := number(header)
	switch {
	case n == nil:
		return time.Time{}
	case *n < decades:
		return now.Add(time.Duration(*n) * time.Second)
	}
	return time.Unix(int64(*n), 0)
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
