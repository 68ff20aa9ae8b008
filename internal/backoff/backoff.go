// Package backoff owns the one rule for servers that fail: no request for a pause that
// grows with each failure in a row, and is never shorter than the server asks for.
//
// The pauses are those of wait.Backoff. Nothing here reads a clock or waits by itself,
// except Sleep.
package backoff

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// Doubling are pauses from first to most, each twice as long as the one before.
func Doubling(first, most time.Duration) wait.Backoff {
	const enough = 64 // steps: no Duration can be doubled more often
	return wait.Backoff{Duration: first, Factor: 2, Steps: enough, Cap: most}
}

// Constant returns the same pause every time.
func Constant(pause time.Duration) wait.Backoff { return wait.Backoff{Duration: pause} }

// Cooldown keeps requests from a server after a failure. It only says when: the caller asks Err or
// Active before each request and reports how it went. It is not safe for use by several goroutines.
type Cooldown struct {
	// pauses are those of a server that has not failed yet, left those to come.
	pauses, left wait.Backoff
	until        time.Time
	err          error
}

// NewCooldown makes a cooldown with these pauses, which is not active.
func NewCooldown(pauses wait.Backoff) Cooldown { return Cooldown{pauses: pauses, left: pauses} }

// Fail starts the next pause: as long as the server asked for if that is longer, but never longer
// than the cap of the pauses, if they have one. The cap holds also against servers: one that asks
// for a day, by mistake or by a clock that is wrong, is asked again earlier.
func (c *Cooldown) Fail(now time.Time, err error, asked time.Duration) (pause time.Duration) {
	pause = max(c.left.Step(), asked)
	if c.pauses.Cap > 0 {
		pause = min(pause, c.pauses.Cap)
	}
	c.until, c.err = now.Add(pause), err
	return pause
}

// Err returns the failure that started the pause, or nil if it is over.
func (c *Cooldown) Err(now time.Time) error {
	if c.Active(now) {
		return c.err
	}
	return nil
}

// Active reports whether requests must wait.
func (c *Cooldown) Active(now time.Time) bool { return now.Before(c.until) }

// Succeed ends the pause; the next one is short again.
func (c *Cooldown) Succeed() { *c = NewCooldown(c.pauses) }

// RetryAfter returns how long a response asks to wait, with dates by the server's own clock, which
// its header Date has: this machine's may be another (RFC 9110, sections 6.6.1 and 10.2.3).
func RetryAfter(h http.Header) time.Duration {
	now, _ := http.ParseTime(h.Get("Date"))
	pause, _ := Until(h, "Retry-After", now)
	return pause
}

// Until returns how far the time is away that a header names: as a date, as seconds from now or,
// where that would be decades, as seconds since 1970, as servers that limit rates send it. Dates
// mean nothing where now is zero; ok is then false.
func Until(h http.Header, name string, now time.Time) (pause time.Duration, ok bool) {
	const decades = 1_000_000_000
	at, err := http.ParseTime(h.Get(name))
	if err != nil {
		n, ok := Number(h.Get(name))
		if !ok {
			return 0, false
		}
		if n < decades {
			return time.Duration(n) * time.Second, true
		}
		at = time.Unix(n, 0)
	}
	if now.IsZero() {
		return 0, false
	}
	return max(at.Sub(now), 0), true
}

// Number returns the first number of a header, as of "100, 100;w=60".
func Number(header string) (n int64, ok bool) {
	header, _, _ = strings.Cut(header, ",")
	header, _, _ = strings.Cut(header, ";")
	u, err := strconv.ParseUint(strings.TrimSpace(header), 10, 53)
	return int64(u), err == nil //nolint:gosec // G115: of 53 bits
}

// Rate is what a response says of the requests that a server allows. Fields that it does not say are
// nil or zero.
type Rate struct {
	Limit, Remaining *int64
	// Reset is how far the time is away from which all requests are allowed again.
	Reset time.Duration
}

// rateHeaders are the prefixes of rate-limit headers: GitHub's and Gitea's, and those of the IETF's
// draft, which GitLab has.
var rateHeaders = []string{"X-Ratelimit-", "Ratelimit-"}

// RateOf returns the rate in a response's headers; ok is false if there is none, or one of another
// resource than the usual API, such as searches. now is used where the response has no date.
func RateOf(h http.Header, now time.Time) (rate Rate, ok bool) {
	if resource := h.Get("X-Ratelimit-Resource"); resource != "" && resource != "core" {
		return rate, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	for _, prefix := range rateHeaders {
		rate.Limit, rate.Remaining = optional(h.Get(prefix+"Limit")), optional(h.Get(prefix+"Remaining"))
		if rate.Limit != nil || rate.Remaining != nil {
			rate.Reset, _ = Until(h, prefix+"Reset", now)
			return rate, true
		}
	}
	return rate, false
}

// optional returns the first number of a header, or nil.
func optional(header string) *int64 {
	if n, ok := Number(header); ok {
		return &n
	}
	return nil
}

// Clock is the clock that the pauses are measured by.
type Clock = clock.Clock

// Timer is one of a Clock.
type Timer = clock.Timer

// RealClock is that of the machine.
type RealClock = clock.RealClock

// Sleep waits, unless the context ends before; the error is then the context's.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}
