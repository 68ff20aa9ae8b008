package backoff_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/backoff"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestPausesGrowWithEachFailureInARow(t *testing.T) {
	c := backoff.NewCooldown(backoff.Doubling(time.Second, 6*time.Second))
	failed := errors.New("no answer")
	var got []time.Duration
	for range 5 {
		got = append(got, c.Fail(noon, failed, 0))
	}
	if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 6 * time.Second, 6 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := c.Err(noon.Add(6*time.Second - 1)); !errors.Is(err, failed) {
		t.Errorf("during the pause: %v", err)
	}
	if err := c.Err(noon.Add(6 * time.Second)); err != nil {
		t.Errorf("after the pause: %v", err)
	}
	c.Succeed()
	if c.Active(noon) {
		t.Error("active after a success")
	}
	if pause := c.Fail(noon, failed, 0); pause != time.Second {
		t.Errorf("the first pause after a success is %s", pause)
	}
}

func TestAPauseIsAsLongAsTheServerAsks(t *testing.T) {
	for name, tc := range map[string]struct{ asked, want time.Duration }{
		"shorter than ours":   {time.Millisecond, time.Second},
		"longer than ours":    {30 * time.Second, 30 * time.Second},
		"longer than the cap": {time.Hour, time.Minute},
	} {
		c := backoff.NewCooldown(backoff.Doubling(time.Second, time.Minute))
		if got := c.Fail(noon, errors.New("busy"), tc.asked); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	date := noon.Format(http.TimeFormat)
	for name, tc := range map[string]struct {
		after, date string
		want        time.Duration
	}{
		"nothing":                    {"", date, 0},
		"seconds":                    {"120", "", 2 * time.Minute},
		"a date":                     {noon.Add(time.Minute).Format(http.TimeFormat), date, time.Minute},
		"a date in the past":         {noon.Add(-time.Minute).Format(http.TimeFormat), date, 0},
		"a date, of an unknown time": {noon.Add(time.Minute).Format(http.TimeFormat), "", 0},
		"seconds since 1970":         {"1767355260", date, time.Minute},
		"a negative number":          {"-5", date, 0},
		"words":                      {"soon", date, 0},
	} {
		if got := backoff.RetryAfter(http.Header{"Retry-After": {tc.after}, "Date": {tc.date}}); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestSleepEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := backoff.Sleep(t.Context(), backoff.RealClock{}, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := backoff.Sleep(ctx, backoff.RealClock{}, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestRateOf(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for name, tc := range map[string]struct {
		header http.Header
		want   backoff.Rate
		ok     bool
	}{
		"nothing":               {http.Header{"X-Ratelimit-Reset": {"60"}}, backoff.Rate{}, false},
		"GitHub":                {http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1767355260"}}, backoff.Rate{Limit: n(5000), Remaining: n(0), Reset: time.Minute}, true},
		"by the server's clock": {http.Header{"X-Ratelimit-Remaining": {"7"}, "X-Ratelimit-Reset": {"1767355260"}, "Date": {noon.Add(30 * time.Second).Format(http.TimeFormat)}}, backoff.Rate{Remaining: n(7), Reset: 30 * time.Second}, true},
		"GitLab":                {http.Header{"Ratelimit-Limit": {"600, 600;w=60"}, "Ratelimit-Reset": {"30"}}, backoff.Rate{Limit: n(600), Reset: 30 * time.Second}, true},
		"another resource":      {http.Header{"X-Ratelimit-Remaining": {"7"}, "X-Ratelimit-Resource": {"search"}}, backoff.Rate{}, false},
		"words":                 {http.Header{"X-Ratelimit-Remaining": {"many"}, "X-Ratelimit-Limit": {"-1"}}, backoff.Rate{}, false},
	} {
		got, ok := backoff.RateOf(tc.header, noon)
		if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
			t.Errorf("%s: %v (-want +got):\n%s", name, ok, diff)
		}
	}
}
