// Package window decides when a maintenance window is open: days of the week, times of day, a time
// zone, and holidays.
//
// Core may not read the time zones of the machine, so a Zone is a value: the offsets from UTC
// around the time in question, which the engine reads and a recorded pass has in its facts.
package window

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Window is open from From to To on some days, in a time zone. Where To is not after From it is open
// over midnight, and belongs to the day on which it begins.
type Window struct {
	// Days are Mon to Sun; every day when there are none.
	Days []string `yaml:"days,omitempty,flow"`
	// From and To are hh:mm; the whole day when both are empty. To may be 24:00.
	From string `yaml:"from,omitempty"`
	To   string `yaml:"to,omitempty"`
	// TimeZone is an IANA name; UTC when empty.
	TimeZone string `yaml:"timeZone,omitempty"`
	// Holidays are dates, as 2026-12-24, on which the window does not begin.
	Holidays []string `yaml:"holidays,omitempty,flow"`
}

// String returns when it is open, for people: "Mon, Tue 09:00–17:00 Europe/Berlin, but for 2 holidays".
func (w Window) String() string {
	days, hours := "every day", "all day"
	if len(w.Days) > 0 {
		days = strings.Join(w.Days, ", ")
	}
	if w.From != "" || w.To != "" {
		hours = w.From + "–" + w.To
	}
	text := days + " " + hours + " " + cmp.Or(w.TimeZone, UTC)
	switch n := len(w.Holidays); n {
	case 0:
	case 1:
		text += ", but for 1 holiday"
	default:
		text += fmt.Sprintf(", but for %d holidays", n)
	}
	return text
}

// Zone is a time zone: its offsets from UTC, in order. A nil Zone is UTC.
type Zone []Offset

// Offset is what a time zone is ahead of UTC, from a moment on.
type Offset struct {
	From    time.Time `json:"from,omitzero"`
	Seconds int       `json:"seconds"`
}

// Horizon is how far ahead windows are searched. Zones have the offsets up to there.
const Horizon = 400 * 24 * time.Hour

// margin is how long before now a window that is open may have begun.
const margin = 48 * time.Hour

// UTC is the name of the time zone that needs no Zone.
const UTC = "UTC"

// Zones returns the names of the time zones that windows need, but for UTC.
func Zones(windows []Window) []string {
	var out []string
	for _, w := range windows {
		if w.TimeZone != "" && w.TimeZone != UTC && !slices.Contains(out, w.TimeZone) {
			out = append(out, w.TimeZone)
		}
	}
	return out
}

// ZoneOf returns the offsets of a location around a moment.
func ZoneOf(at *time.Location, now time.Time) Zone {
	var out Zone
	for t, end := now.Add(-margin), now.Add(Horizon+margin); ; {
		from, until := t.In(at).ZoneBounds()
		_, seconds := t.In(at).Zone()
		out = append(out, Offset{From: from.UTC(), Seconds: seconds})
		if until.IsZero() || until.After(end) {
			out[0].From = time.Time{}
			return out
		}
		t = until
	}
}

// offset returns what the zone is ahead of UTC at a moment.
func (z Zone) offset(at time.Time) time.Duration {
	seconds := 0
	for _, o := range z {
		if !o.From.After(at) {
			seconds = o.Seconds
		}
	}
	return time.Duration(seconds) * time.Second
}

// utc returns the moment at which clocks in the zone show a time. A time that they skip is the
// moment as far after the change; of a time that they show twice it is the first.
func (z Zone) utc(shown time.Time) time.Time {
	before := shown.Add(-z.offset(shown.Add(-24 * time.Hour)))
	if after := shown.Add(-z.offset(before)); z.offset(after) == z.offset(before) {
		return after
	}
	return before
}

// days are the names of days, in the order of time.Weekday.
var days = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

// dateFormat is how holidays are written.
const dateFormat = time.DateOnly

// Fault returns the first field of a window that cannot be used, and a text that follows its name;
// empty where all can.
func (w Window) Fault() (field, why string) {
	for _, day := range w.Days {
		if !slices.Contains(days, day) {
			return "days", fmt.Sprintf("%q is not one of Mon, Tue, Wed, Thu, Fri, Sat, Sun", day)
		}
	}
	if (w.From == "") != (w.To == "") {
		return "from", "and to belong together"
	}
	if _, ok := clock(w.From); w.From != "" && (!ok || w.From == "24:00") {
		return "from", fmt.Sprintf("%q is not a time of day, as 09:00", w.From)
	}
	if _, ok := clock(w.To); w.To != "" && !ok {
		return "to", fmt.Sprintf("%q is not a time of day, as 16:30 or 24:00", w.To)
	}
	if w.From != "" && w.From == w.To {
		return "to", fmt.Sprintf("is %s, as from, which may mean a whole day or none; a window without from and to is open all day", w.To)
	}
	if w.TimeZone != "" && !slices.Contains(names(), w.TimeZone) {
		return "timeZone", fmt.Sprintf("%q is not the IANA name of a time zone, as Europe/Berlin", w.TimeZone)
	}
	for _, date := range w.Holidays {
		if _, err := time.Parse(dateFormat, date); err != nil {
			return "holidays", fmt.Sprintf("%q is not a date, as 2026-12-24", date)
		}
	}
	return "", ""
}

// zoneNames are the names of all time zones, those in lib/time/zoneinfo.zip of Go, one a line.
//
//go:embed zones.txt
var zoneNames string

// names returns the names of all time zones.
var names = sync.OnceValue(func() []string { return strings.Fields(zoneNames) })

// clock returns a time of day.
func clock(text string) (time.Duration, bool) {
	if text == "24:00" {
		return 24 * time.Hour, true
	}
	t, err := time.Parse("15:04", text)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err == nil && len(text) == 5
}

// on returns when the window that begins on a day is open; false where it does not begin on it. The
// day is given as its midnight in the zone, written as if it were UTC.
func (w Window) on(day time.Time, zone Zone) (span, bool) {
	if len(w.Days) > 0 && !slices.Contains(w.Days, days[day.Weekday()]) || slices.Contains(w.Holidays, day.Format(dateFormat)) {
		return span{}, false
	}
	from, to := time.Duration(0), 24*time.Hour
	if w.From != "" {
		from, _ = clock(w.From)
		to, _ = clock(w.To)
		if to <= from {
			to += 24 * time.Hour
		}
	}
	s := span{zone.utc(day.Add(from)), zone.utc(day.Add(to))}
	return s, s.to.After(s.from)
}

// span is from one moment to another, the latter not included.
type span struct{ from, to time.Time }

// State is whether windows are open, and when that changes.
type State struct {
	Open bool
	// Changes is when they open, or close, next; zero where they do not within the Horizon. Zone is
	// the time zone of the window that does.
	Changes  time.Time
	TimeZone string
	// Unknown is a time zone that does not exist; nothing is open then.
	Unknown string
}

// At returns whether any of some windows is open at a moment. Without windows it always is. Zones
// has those that the windows need; one that is empty does not exist.
func At(windows []Window, zones map[string]Zone, now time.Time) State {
	if len(windows) == 0 {
		return State{Open: true}
	}
	for _, name := range Zones(windows) {
		if len(zones[name]) == 0 {
			return State{Unknown: name}
		}
	}
	if slices.ContainsFunc(windows, Window.always) {
		return State{Open: true}
	}
	var out State
	end := now.Add(Horizon)
	for until := now; ; until = out.Changes { // until none that is open, or follows at once, goes on
		last, zone := latestEnd(windows, zones, until)
		if last.IsZero() {
			break
		}
		out = State{Open: true, Changes: last, TimeZone: zone}
		if !last.Before(end) {
			return State{Open: true}
		}
	}
	if out.Open {
		return out
	}
	for _, w := range windows {
		zone := zones[w.TimeZone]
		for day := midnight(now, zone); day.Before(end); day = day.AddDate(0, 0, 1) {
			s, ok := w.on(day, zone)
			if !ok || !s.from.After(now) {
				continue
			}
			if out.Changes.IsZero() || s.from.Before(out.Changes) {
				out.Changes, out.TimeZone = s.from, w.TimeZone
			}
			break
		}
	}
	return out
}

// always reports whether the window is open on all days, for the whole day.
func (w Window) always() bool {
	for _, day := range days {
		if len(w.Days) > 0 && !slices.Contains(w.Days, day) {
			return false
		}
	}
	from, _ := clock(w.From)
	to, _ := clock(w.To)
	return len(w.Holidays) == 0 && (w.From == "" || from == to || to-from == 24*time.Hour)
}

// latestEnd returns the latest end of the windows that are open at a moment; zero where none is.
func latestEnd(windows []Window, zones map[string]Zone, at time.Time) (latest time.Time, timeZone string) {
	for _, w := range windows {
		zone := zones[w.TimeZone]
		today := midnight(at, zone)
		for _, day := range []time.Time{today.AddDate(0, 0, -1), today} {
			if s, ok := w.on(day, zone); ok && !s.from.After(at) && s.to.After(at) && s.to.After(latest) {
				latest, timeZone = s.to, w.TimeZone
			}
		}
	}
	return latest, timeZone
}

// midnight returns the beginning of the day that clocks in a zone show, as if it were UTC.
func midnight(at time.Time, zone Zone) time.Time {
	shown := at.UTC().Add(zone.offset(at))
	return time.Date(shown.Year(), shown.Month(), shown.Day(), 0, 0, 0, 0, time.UTC)
}

// Show returns a moment as clocks in a time zone show it, for people.
func Show(at time.Time, name string, zones map[string]Zone) string {
	if name == "" {
		name = UTC
	}
	return at.UTC().Add(zones[name].offset(at)).Format("Mon 2006-01-02 15:04") + " " + name
}
