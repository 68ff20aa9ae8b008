package window_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/window"
)

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWindows(t *testing.T) {
	work := window.Window{Days: []string{"Mon", "Tue", "Wed", "Thu"}, From: "09:00", To: "16:00", TimeZone: "Europe/Berlin", Holidays: []string{"2026-12-24"}}
	night := window.Window{Days: []string{"Fri"}, From: "22:00", To: "04:00"}
	for name, c := range map[string]struct {
		windows []window.Window
		now     string // UTC
		open    bool
		changes string // UTC; empty where nothing changes
	}{
		"without windows it is always open":              {now: "2026-11-23 00:00", open: true},
		"a window of every day is always open":           {[]window.Window{{TimeZone: "Europe/Berlin"}, work}, "2026-11-23 00:00", true, ""},
		"also with times":                                {[]window.Window{{From: "00:00", To: "24:00", Days: []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}}}, "2026-11-23 00:00", true, ""},
		"one without Sundays is not":                     {[]window.Window{{Days: []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}}}, "2026-11-23 00:00", true, "2026-11-29 00:00"},
		"before it opens, in winter":                     {[]window.Window{work}, "2026-11-23 07:59", false, "2026-11-23 08:00"},
		"it opens at its first minute":                   {[]window.Window{work}, "2026-11-23 08:00", true, "2026-11-23 15:00"},
		"it is closed at its end":                        {[]window.Window{work}, "2026-11-23 15:00", false, "2026-11-24 08:00"},
		"in summer clocks are two hours ahead":           {[]window.Window{work}, "2026-07-06 07:00", true, "2026-07-06 14:00"},
		"after Thursday comes Monday, over a change":     {[]window.Window{work}, "2026-10-22 20:00", false, "2026-10-26 08:00"},
		"a holiday is left out":                          {[]window.Window{work}, "2026-12-23 18:00", false, "2026-12-28 08:00"},
		"it is open over midnight":                       {[]window.Window{night}, "2026-11-28 03:59", true, "2026-11-28 04:00"},
		"over midnight only from the day it begins on":   {[]window.Window{night}, "2026-11-27 03:59", false, "2026-11-27 22:00"},
		"windows that follow each other are one":         {[]window.Window{night, {Days: []string{"Sat"}, From: "04:00", To: "06:00"}}, "2026-11-27 23:00", true, "2026-11-28 06:00"},
		"whole days":                                     {[]window.Window{{Days: []string{"Sat", "Sun"}}}, "2026-11-28 12:00", true, "2026-11-30 00:00"},
		"every day at all times never closes":            {[]window.Window{{}}, "2026-11-28 12:00", true, ""},
		"the first that opens counts":                    {[]window.Window{work, night}, "2026-11-27 12:00", false, "2026-11-27 22:00"},
		"24:00 is the end of a day":                      {[]window.Window{{From: "20:00", To: "24:00"}}, "2026-11-27 21:00", true, "2026-11-28 00:00"},
		"an hour that clocks skip is the one after it":   {[]window.Window{{From: "02:30", To: "05:00", TimeZone: "Europe/Berlin"}}, "2026-03-29 00:00", false, "2026-03-29 01:30"},
		"an hour that clocks show twice opens only once": {[]window.Window{{From: "02:00", To: "02:30", TimeZone: "Europe/Berlin"}}, "2026-10-25 00:10", true, "2026-10-25 00:30"},
	} {
		t.Run(name, func(t *testing.T) {
			now := moment(t, c.now)
			zones := map[string]window.Zone{}
			for _, zone := range window.Zones(c.windows) {
				at, err := time.LoadLocation(zone)
				if err != nil {
					t.Fatal(err)
				}
				zones[zone] = window.ZoneOf(at, now)
			}
			got := window.At(c.windows, zones, now)
			changes := ""
			if !got.Changes.IsZero() {
				changes = got.Changes.UTC().Format("2006-01-02 15:04")
			}
			if got.Open != c.open || changes != c.changes {
				t.Errorf("open is %v until %q, want %v until %q", got.Open, changes, c.open, c.changes)
			}
		})
	}
}

func TestAWindowOfAnUnknownTimeZoneIsClosed(t *testing.T) {
	windows := []window.Window{{TimeZone: "Europe/Berln"}}
	got := window.At(windows, map[string]window.Zone{"Europe/Berln": {}}, moment(t, "2026-11-28 12:00"))
	if got.Open || got.Unknown != "Europe/Berln" {
		t.Errorf("it is %+v", got)
	}
}

func TestShow(t *testing.T) {
	at, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := moment(t, "2026-11-23 08:00")
	if got := window.Show(now, "Europe/Berlin", map[string]window.Zone{"Europe/Berlin": window.ZoneOf(at, now)}); got != "Mon 2026-11-23 09:00 Europe/Berlin" {
		t.Errorf("it is shown as %q", got)
	}
	if got := window.Show(now, "", nil); got != "Mon 2026-11-23 08:00 UTC" {
		t.Errorf("in UTC it is shown as %q", got)
	}
}

func TestFaultsOfWindows(t *testing.T) {
	for name, c := range map[string]struct {
		window window.Window
		field  string
	}{
		"all is given":         {window.Window{Days: []string{"Mon"}, From: "09:00", To: "24:00", TimeZone: "Europe/Berlin", Holidays: []string{"2026-12-24"}}, ""},
		"nothing is given":     {window.Window{}, ""},
		"a day in full":        {window.Window{Days: []string{"Monday"}}, "days"},
		"only its beginning":   {window.Window{From: "09:00"}, "from"},
		"a time without zeros": {window.Window{From: "9:00", To: "16:00"}, "from"},
		"a time that is none":  {window.Window{From: "09:00", To: "25:00"}, "to"},
		"the machine's zone":   {window.Window{TimeZone: "Local"}, "timeZone"},
		"no date":              {window.Window{Holidays: []string{"24.12."}}, "holidays"},
	} {
		t.Run(name, func(t *testing.T) {
			if field, why := c.window.Fault(); field != c.field {
				t.Errorf("the fault is in %q (%s), want %q", field, why, c.field)
			}
		})
	}
}

func TestTimeZonesHaveTheNamesThatGoKnows(t *testing.T) {
	for zone, ok := range map[string]bool{"": true, "UTC": true, "Europe/Berlin": true, "US/Eastern": true, "Local": false, "Europe/Berln": false, "europe/berlin": false, "+01:00": false} {
		if field, why := (window.Window{TimeZone: zone}).Fault(); (field == "") != ok {
			t.Errorf("time zone %q: %s %s", zone, field, why)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no Go to compare with: ", err)
	}
	known, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip(err)
	}
	defer known.Close()
	list, err := os.ReadFile("zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	for _, f := range known.File {
		if !strings.HasSuffix(f.Name, "/") && !slices.Contains(names, f.Name) {
			t.Errorf("zones.txt lacks %s", f.Name)
		}
	}
}

func BenchmarkAlwaysOpen(b *testing.B) {
	windows := []window.Window{{}}
	for range b.N {
		window.At(windows, nil, time.Unix(1_800_000_000, 0))
	}
}
