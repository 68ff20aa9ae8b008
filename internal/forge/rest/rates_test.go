package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// in returns the time in a while, as GitHub sends it.
func in(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }

func TestTheBudgetIsWhatTheLastAnswerSays(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		began := time.Now()
		later := began.Add(time.Minute)
		cases := map[string]struct {
			headers []string
			want    forge.Budget
		}{
			"nothing": {},
			"GitHub":  {[]string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4990", "X-RateLimit-Used", "10", "X-RateLimit-Reset", in(time.Minute)}, forge.Budget{Limit: 5000, Left: 4990, Reset: later}},
			"GitHub, by a clock that is an hour ahead": {[]string{"Date", began.Add(time.Hour).UTC().Format(http.TimeFormat), "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", in(time.Hour + time.Minute)},
				forge.Budget{Left: 1, Reset: later}},
			"GitHub, searches":     {[]string{"X-RateLimit-Resource", "search", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", in(time.Minute)}, forge.Budget{}},
			"GitLab":               {[]string{"RateLimit-Limit", "600", "RateLimit-Remaining", "599", "RateLimit-Reset", in(time.Minute)}, forge.Budget{Limit: 600, Left: 599, Reset: later}},
			"the IETF's draft":     {[]string{"RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "7", "RateLimit-Reset", "60"}, forge.Budget{Limit: 100, Left: 7, Reset: later}},
			"a reset in a day":     {[]string{"X-RateLimit-Remaining", "1", "X-RateLimit-Reset", in(24 * time.Hour)}, forge.Budget{Left: 1, Reset: began.Add(time.Hour)}},
			"without a reset":      {[]string{"X-RateLimit-Remaining", "0"}, forge.Budget{}},
			"a reset that is over": {[]string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(-time.Minute)}, forge.Budget{}},
		}
		for name, tc := range cases {
			c := newClient(t, options{Transport: &wire{handle: answering(200, "{}", tc.headers...)}})
			if diff := cmp.Diff(forge.Budget{}, c.Budget()); diff != "" {
				t.Errorf("%s: before the first answer (-want +got):\n%s", name, diff)
			}
			if err := get(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, c.Budget()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestAResetIsTheSameInAllAnswers: a time that changes by a second would be news to everybody.
func TestAResetIsTheSameInAllAnswers(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		reset := in(time.Minute)
		c := newClient(t, options{Transport: &wire{handle: func(w http.ResponseWriter, r *http.Request) {
			answering(200, "{}", "Date", time.Now().UTC().Format(http.TimeFormat), "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", reset)(w, r)
		}}})
		at := map[time.Time]bool{}
		for range 5 {
			if err := get(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			at[c.Budget().Reset] = true
			skip(t, 1700*time.Millisecond)
		}
		if len(at) != 1 {
			t.Errorf("there are resets at %v", at)
		}
	})
}

func TestWithoutBudgetRequestsFailAtOnceUntilTheReset(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := &wire{handle: answering(200, "{}", "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", in(time.Minute))}
		c := newClient(t, options{Transport: w})
		if err := get(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		skip(t, 10*time.Second)
		for range 3 {
			want := failure{Kind: forge.FailedNetwork, Wait: 50 * time.Second, Limited: true, Text: "all requests that the server allows (60) are used up; it allows more at 00:01:00 UTC"}
			if diff := cmp.Diff(want, failureOf(t, get(t.Context(), c))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if len(w.take()) != 1 {
			t.Errorf("asked %q", w.asked)
		}
		skip(t, 50*time.Second)
		if diff := cmp.Diff(forge.Budget{}, c.Budget()); diff != "" {
			t.Errorf("the budget after its reset (-want +got):\n%s", diff)
		}
		w.handle = answering(200, "{}")
		if err := get(t.Context(), c); err != nil {
			t.Error(err)
		}
	})
}

func TestAServerThatAsksToWaitGetsNoRequests(t *testing.T) {
	t.Parallel()
	const secondary = `{"message":"You have exceeded a secondary rate limit and have been temporarily blocked from content creation."}`
	cases := map[string]struct {
		status  int
		body    string
		headers []string
		// ask is the request that is refused.
		ask func(context.Context, *rest.Client) error
		// reads and writes are how long those fail at once.
		reads, writes time.Duration
	}{
		"a read":                     {429, "", []string{"Retry-After", "30"}, get, 30 * time.Second, 30 * time.Second},
		"a write":                    {403, secondary, []string{"Retry-After", "30"}, post, 0, 30 * time.Second},
		"a write, for no given time": {403, secondary, nil, post, 0, time.Minute},
		"a failing server":           {503, "", []string{"Retry-After", "30"}, get, 30 * time.Second, 30 * time.Second},
		"a wait of a day":            {429, "", []string{"Retry-After", "86400"}, get, time.Hour, time.Hour},
		"no wait":                    {429, "", nil, get, 0, 0},
		"another failure":            {500, "", []string{"Retry-After", "30"}, get, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := &wire{handle: answering(tc.status, tc.body, tc.headers...)}
				c := newClient(t, options{Transport: w})
				if err := tc.ask(t.Context(), c); err == nil {
					t.Fatal("it was not refused")
				}
				w.handle = answering(200, "{}")
				blocked := func(ask func(context.Context, *rest.Client) error) (wait time.Duration) {
					if err := ask(t.Context(), c); err != nil {
						got := failureOf(t, err)
						want := "the server asked to wait; it allows requests again at " + time.Now().Add(got.Wait).UTC().Format("15:04:05 MST")
						if got.Text != want || !got.Limited || got.Kind != forge.FailedNetwork {
							t.Errorf("got %v, want %q", got, want)
						}
						return got.Wait
					}
					return 0
				}
				if reads, writes := blocked(get), blocked(post); reads != tc.reads || writes != tc.writes {
					t.Errorf("reads wait %s, writes %s, want %s and %s", reads, writes, tc.reads, tc.writes)
				}
				if b, now := c.Budget(), time.Now(); b.Pause.Sub(now) != tc.reads && tc.reads > 0 || max(b.Pause.Sub(now), b.Writes.Sub(now)) != tc.writes && tc.writes > 0 {
					t.Errorf("the budget is %+v", b)
				}
				skip(t, max(tc.reads, tc.writes))
				if blocked(get) != 0 || blocked(post) != 0 {
					t.Error("they fail after that")
				}
			})
		})
	}
}

func TestSecondaryLimitsWithoutATimeAreWaitedForLongerEachTime(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := &wire{handle: answering(403, `{"message":"no","documentation_url":"https://docs.github.com/rest#about-secondary-rate-limits"}`)}
		c := newClient(t, options{Transport: w})
		var got []time.Duration
		for range 6 {
			wait := failureOf(t, post(t.Context(), c)).Wait
			got = append(got, wait)
			skip(t, wait)
		}
		w.handle = answering(201, "{}")
		if err := post(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		w.handle = answering(403, `{"message":"a secondary rate limit"}`)
		got = append(got, failureOf(t, post(t.Context(), c)).Wait)
		const m = time.Minute
		if diff := cmp.Diff([]time.Duration{m, 2 * m, 4 * m, 8 * m, 16 * m, 16 * m, m}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsCreatedIsPaced(t *testing.T) {
	t.Parallel()
	paced := rest.Forge{Name: "GitHub", Pace: time.Second}
	bubble(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var at []time.Duration
		limits := &rest.Limits{}
		open := func(token string) *rest.Client {
			w := answering(201, "{}")
			return newClient(t, options{Forge: paced, Limits: limits, Source: newSource(t, rest.Login{Token: token}, rest.Bearer), Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(began))
				return (&wire{handle: w}).RoundTrip(r)
			})})
		}
		a, b, other := open(secret), open(secret), open("another")
		var all sync.WaitGroup
		for _, c := range []*rest.Client{a, b, a, b, other} { // those of one token share its pace
			all.Go(func() {
				if err := post(t.Context(), c); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		const s = time.Second
		if diff := cmp.Diff([]time.Duration{0, 0, s, 2 * s, 3 * s}, at); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		at = nil
		for range 3 {
			if err := get(t.Context(), a); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]time.Duration{3 * s, 3 * s, 3 * s}, at); diff != "" {
			t.Errorf("reads wait (-want +got):\n%s", diff)
		}
	})
}

func TestTooManyThatWaitForTheirTurnFailAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		c := newClient(t, options{Forge: rest.Forge{Name: "GitHub", Pace: 4 * time.Second}, Transport: &wire{handle: answering(201, "{}")}})
		var mu sync.Mutex
		var failed []failure
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := post(t.Context(), c); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, failureOf(t, err))
				}
			})
		}
		all.Wait()
		want := failure{Kind: forge.FailedNetwork, Wait: 12 * time.Second, Limited: true,
			Text: "too much is created at once; requests that create something are sent one every 4s, and the next one can be sent at 00:00:12 UTC"}
		if diff := cmp.Diff([]failure{want, want}, failed); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := failureOf(t, post(ctx, c)); got.Text != "took too long: context deadline exceeded" {
			t.Errorf("a caller that gives up: %v", got)
		}
	})
}

func TestAForgeSaysWhatCreates(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		f := rest.Forge{Name: "GitHub", Pace: time.Minute, Creates: func(r *http.Request) bool { return r.Method == http.MethodPut }}
		c := newClient(t, options{Forge: f, Transport: &wire{handle: answering(201, "{}")}})
		for range 3 {
			if err := post(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// versioned is a server whose answers have the version as ETag, and the URL as text.
type versioned struct {
	version, header string
	// full and unchanged count the answers.
	full, unchanged int
}

func (v *versioned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	etag := `W/"` + v.version + `"`
	w.Header().Set("ETag", etag)
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(100-v.full))
	if v.header != "" {
		w.Header().Set("Cache-Control", v.header)
	}
	if r.Header.Get("If-None-Match") == etag {
		v.unchanged++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	v.full++
	w.Header().Set("Link", "<next>")
	_, _ = fmt.Fprintf(w, "%q", v.version+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
}

func TestWhatHasNotChangedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	v := &versioned{version: "1", header: "private, max-age=60"}
	s := &rotating{tokens: []string{"a"}}
	c := newClient(t, options{Source: s, Transport: &wire{handle: v.ServeHTTP}})
	ask := func(path, want string, full, unchanged int) {
		t.Helper()
		var said string
		header, err := c.Call(t.Context(), "read", http.MethodGet, path, nil, &said)
		if err != nil || said != want || header.Get("Link") != "<next>" {
			t.Errorf("got %q, %v, %v", said, header, err)
		}
		if v.full != full || v.unchanged != unchanged {
			t.Errorf("%d were sent and %d unchanged, want %d and %d", v.full, v.unchanged, full, unchanged)
		}
	}
	ask("pulls", "1 /api/v1/pulls Bearer a", 1, 0)
	ask("pulls", "1 /api/v1/pulls Bearer a", 1, 1)
	ask("pulls", "1 /api/v1/pulls Bearer a", 1, 2)
	ask("labels", "1 /api/v1/labels Bearer a", 2, 2)
	v.version = "2"
	ask("pulls", "2 /api/v1/pulls Bearer a", 3, 2)
	ask("pulls", "2 /api/v1/pulls Bearer a", 3, 3)
	if b := c.Budget(); b.Left != 97 {
		t.Errorf("the budget is %v", b)
	}
	s.tokens = []string{"b"} // what one may read, another may not
	ask("pulls", "2 /api/v1/pulls Bearer b", 4, 3)
	v.header = "no-store"
	ask("issues", "2 /api/v1/issues Bearer b", 5, 3)
	ask("issues", "2 /api/v1/issues Bearer b", 6, 3)
	if err := post(t.Context(), c); err != nil || v.full != 7 {
		t.Errorf("%d were sent, %v", v.full, err)
	}
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	sent := map[string]int{}
	c := newClient(t, options{Transport: &wire{handle: func(w http.ResponseWriter, r *http.Request) {
		sent[r.URL.Path+" "+r.Header.Get("If-None-Match")]++
		w.Header().Set("ETag", `"x"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		size := 3 << 20
		if r.URL.Path == "/api/v1/huge" {
			size = 5 << 20
		}
		_, _ = io.WriteString(w, `"`+string(make([]byte, size))+`"`)
	}}})
	ask := func(path string) {
		if _, err := c.Call(t.Context(), "read", http.MethodGet, path, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"a", "b", "c", "d", "e", "a", "f", "a", "b", "huge", "huge"} { // five fit
		ask(path)
	}
	want := map[string]int{}
	for _, path := range []string{"a ", "b ", "c ", "d ", "e ", `a "x"`, `a "x"`, "f ", "b ", "huge ", "huge "} {
		want["/api/v1/"+path]++
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
