package rest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
)

const (
	// maxPause is the longest that a request waits for its turn inside a call.
	maxPause = 10 * time.Second
	// maxBlock bounds how long a server gets no requests, whatever it asks for: no forge has a
	// longer window, and one that asks for a day does so by mistake.
	maxBlock = time.Hour
	// rounding is by how much the time of one reset may differ from answer to answer, because
	// servers send seconds.
	rounding = 2 * time.Second
)

// unnamed are the pauses after a secondary limit that does not say for how long it holds. GitHub
// asks for a minute at least, and for more after each further refusal.
var unnamed = backoff.Doubling(time.Minute, 16*time.Minute)

// Limits has what servers allow, by server and credentials. The zero value is ready to use.
type Limits struct {
	mu sync.Mutex
	by map[string]*limit
}

// of returns the limit for a key; a nil Limits has one for each client.
func (l *Limits) of(key string) *limit {
	if l == nil {
		l = &Limits{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[string]*limit{}
	}
	if l.by[key] == nil {
		l.by[key] = &limit{secondary: backoff.NewCooldown(unnamed)}
	}
	return l.by[key]
}

// limit is what one server allows with one set of credentials.
type limit struct {
	mu sync.Mutex
	// budget is what the last answers said.
	budget forge.Budget
	// turn is when the next request that creates something is allowed.
	turn      time.Time
	secondary backoff.Cooldown
}

// left returns the budget, without what was reset since.
func (l *limit) left(now time.Time) forge.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.budget
	if !b.Reset.IsZero() && !now.Before(b.Reset) {
		b.Limit, b.Left, b.Reset = 0, 0, time.Time{}
	}
	return b
}

// demand is what a request asks of a limit: pace is zero unless it creates something.
type demand struct {
	writes bool
	pace   time.Duration
}

// refusal is why a request is not sent; the zero value is none.
type refusal struct {
	text string
	// wait is how long the server wants no requests; zero if that is not the cause.
	wait time.Duration
}

// admit returns how long a request must wait for its turn, or why it must not be sent.
func (l *limit) admit(now time.Time, d demand) (time.Duration, refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.budget.Pause
	if d.writes {
		until = later(until, l.budget.Writes)
	}
	switch {
	case l.budget.Left == 0 && now.Before(l.budget.Reset):
		return 0, refuse(now, l.budget.Reset, fmt.Sprintf("all requests that the server allows%s are used up; it allows more", per(l.budget)))
	case now.Before(until):
		return 0, refuse(now, until, "the server asked to wait; it allows requests again")
	case d.pace == 0:
		return 0, refusal{}
	}
	turn := later(l.turn, now)
	wait := turn.Sub(now)
	if wait > maxPause {
		return 0, refuse(now, turn, fmt.Sprintf("too much is created at once; requests that create something are sent one every %s, and the next one can be sent", d.pace))
	}
	l.turn = turn.Add(d.pace)
	return wait, refusal{}
}

// refuse makes a refusal from the end of its pause, which a text is completed with.
func refuse(now, until time.Time, text string) refusal {
	wait := min(until.Sub(now), maxBlock)
	return refusal{text: fmt.Sprintf("%s at %s", text, now.Add(wait).UTC().Format("15:04:05 MST")), wait: wait}
}

func per(b forge.Budget) string {
	if b.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", b.Limit)
}

// note records what an answer says about rates.
func (l *limit) note(now time.Time, d demand, got *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rate, ok := backoff.RateOf(got.header, now)
	if ok && rate.Remaining != nil && got.header.Get("X-Ratelimit-Resource") != "graphql" { // which has its own
		was := l.budget.Reset
		l.budget.Limit, l.budget.Left, l.budget.Reset = 0, *rate.Remaining, time.Time{}
		if rate.Limit != nil {
			l.budget.Limit = *rate.Limit
		}
		if rate.Reset > 0 {
			if l.budget.Reset = now.Add(min(rate.Reset, maxBlock)); l.budget.Reset.Sub(was).Abs() < rounding {
				l.budget.Reset = was
			}
		}
	}
	if !got.throttled() && got.status != http.StatusServiceUnavailable {
		if got.status < http.StatusBadRequest && d.writes {
			l.secondary.Succeed()
		}
		return
	}
	wait := min(backoff.RetryAfter(got.header), maxBlock)
	if wait == 0 && got.secondary() {
		wait = l.secondary.Fail(now, nil, 0)
		got.header.Set("Retry-After", fmt.Sprint(int(wait.Seconds()))) // for the error
	}
	if wait == 0 {
		return
	}
	pause := &l.budget.Pause
	if d.writes {
		pause = &l.budget.Writes
	}
	*pause = later(*pause, now.Add(wait))
}

// throttled reports whether the server refuses a request because there were too many.
func (a *answer) throttled() bool {
	switch a.status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		h := a.header
		return h.Get("X-Ratelimit-Remaining") == "0" || h.Get("Retry-After") != "" || a.secondary() || strings.Contains(strings.ToLower(words(a.body)), "rate limit")
	}
	return false
}

// secondaryLimit is how GitHub names a limit that is not the budget, in its text or in the URL of
// its documentation.
var secondaryLimit = regexp.MustCompile(`(?i)(secondary|abuse)[ -](rate[ -]limit|detection)`)

// secondary reports whether the server refuses a request by another limit than the budget.
func (a *answer) secondary() bool {
	return (a.status == http.StatusForbidden || a.status == http.StatusTooManyRequests) && secondaryLimit.Match(a.body)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
