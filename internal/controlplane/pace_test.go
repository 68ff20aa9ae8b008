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

func TestServersAreAskedLessAfterAQuietMinute(t *testing.T) {
	began := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after    time.Duration
		changed  bool
		interval time.Duration
		want     time.Duration
	}{
		"something changed half a minute ago": {30 * time.Second, false, 4 * time.Second, 4 * time.Second},
		"nothing has changed for a minute":    {61 * time.Second, false, 4 * time.Second, 20 * time.Second},
		"the interval is short":               {61 * time.Second, false, time.Second, 5 * time.Second},
		"the interval is longer":              {61 * time.Second, false, time.Minute, time.Minute},
		"something changes again":             {61 * time.Second, true, 4 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var p Pace
			p.Next(&engine.Report{Now: began, Changed: true}, nil, c.interval)
			pause, _ := p.Next(&engine.Report{Now: began.Add(c.after), Changed: c.changed}, nil, c.interval)
			if off := pause - c.want; off.Abs() > c.want/5 {
				t.Errorf("the pause is %s, want %s", pause, c.want)
			}
		})
	}
}
