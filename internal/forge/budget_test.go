package forge_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
)

func TestRoomForProposals(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	soon, later := now.Add(time.Minute), now.Add(time.Hour)
	of := func(kept string) string {
		return "waits until 13:00:00 UTC, because the last " + kept + " requests that the server allows until then are kept for reading"
	}
	cases := map[string]struct {
		budget forge.Budget
		want   forge.Quota
	}{
		"nothing is known":             {forge.Budget{}, forge.Unlimited},
		"without a reset":              {forge.Budget{Limit: 60}, forge.Unlimited},
		"after the reset":              {forge.Budget{Limit: 60, Reset: now}, forge.Unlimited},
		"much is left":                 {forge.Budget{Limit: 5000, Left: 4900, Reset: later}, forge.Quota{Proposals: 1100, Until: later, Why: of("500 of the 5000")}},
		"a little more than is kept":   {forge.Budget{Limit: 60, Left: 7, Reset: later}, forge.Quota{Proposals: 1, Until: later, Why: of("6 of the 60")}},
		"what is kept":                 {forge.Budget{Limit: 60, Left: 6, Reset: later}, forge.Quota{Until: later, Why: of("6 of the 60")}},
		"a small budget":               {forge.Budget{Limit: 3, Left: 2, Reset: later}, forge.Quota{Proposals: 1, Until: later, Why: of("1 of the 3")}},
		"the last one of it":           {forge.Budget{Limit: 3, Left: 1, Reset: later}, forge.Quota{Until: later, Why: of("1 of the 3")}},
		"of an unknown limit":          {forge.Budget{Left: 1, Reset: later}, forge.Quota{Until: later, Why: of("1")}},
		"it wants no writes":           {forge.Budget{Limit: 60, Left: 60, Reset: later, Writes: soon}, forge.Quota{Until: soon, Why: "waits until 12:01:00 UTC, as the server asked"}},
		"it wants nothing":             {forge.Budget{Pause: soon}, forge.Quota{Until: soon, Why: "waits until 12:01:00 UTC, as the server asked"}},
		"it wanted nothing for a time": {forge.Budget{Left: math.MaxInt64, Pause: now, Writes: now}, forge.Unlimited},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, tc.budget.Quota(now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAServerIsClosedToAllRequests(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	cases := map[string]struct {
		budget forge.Budget
		want   time.Time
	}{
		"nothing is known":   {forge.Budget{}, time.Time{}},
		"used up":            {forge.Budget{Limit: 60, Reset: later}, later},
		"one is left":        {forge.Budget{Limit: 60, Left: 1, Reset: later}, time.Time{}},
		"after the reset":    {forge.Budget{Limit: 60, Reset: now}, time.Time{}},
		"it wants nothing":   {forge.Budget{Left: 9, Pause: later}, later},
		"it wants no writes": {forge.Budget{Left: 9, Writes: later}, time.Time{}},
	}
	for name, tc := range cases {
		if got := tc.budget.Closed(now); !got.Equal(tc.want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}
