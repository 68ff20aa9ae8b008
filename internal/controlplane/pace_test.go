package controlplane

import (
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/engine"
)

func TestTheNextPassBeginsWhenARolloutMayGoOn(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		until       time.Time
		least, most time.Duration
	}{
		"nothing waits for a time":     {time.Time{}, 50 * time.Second, 70 * time.Second},
		"a window opens much later":    {now.Add(time.Hour), 50 * time.Second, 70 * time.Second},
		"a soak ends before":           {now.Add(10 * time.Second), 10 * time.Second, 10 * time.Second},
		"it ended while the pass went": {now.Add(-time.Second), firstBackoff, firstBackoff},
	} {
		t.Run(name, func(t *testing.T) {
			pause, interruptible := new(Pace).Next(&engine.Report{Now: now, Until: c.until}, nil, time.Minute)
			if pause < c.least || pause > c.most || !interruptible {
				t.Errorf("the pause is %s (%v), want %s to %s", pause, interruptible, c.least, c.most)
			}
		})
	}
}
