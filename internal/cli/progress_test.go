package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/engine"
)

func TestProgressIsALineThatIsRewritten(t *testing.T) {
	var out bytes.Buffer
	l := newProgressLine(&out)
	var logged bytes.Buffer
	log := newTransitions(&logged, func() time.Time { return time.Unix(0, 0).UTC() })
	l.andLog(log)(engine.Progress{Stage: "planning", Took: time.Second})
	l.andLog(log)(engine.Progress{Stage: "planning", Took: time.Minute})
	if got, want := logged.String(), "1970-01-01T00:00:00Z  the pass goes on: planning (1m0s)\n"; got != want {
		t.Errorf("it logs %q, want %q", got, want)
	}
	logged.Reset()
	l.andLog(log)(engine.Progress{Stage: "pushing to a", Took: 13 * time.Second, Waited: 10 * time.Second})
	if got, want := logged.String(), "1970-01-01T00:00:00Z  still pushing to a for 10s; the server has not answered yet\n"; got != want {
		t.Errorf("it logs %q, want %q", got, want)
	}
	l.show(engine.Progress{Stage: "planning", Took: time.Hour})
	l.clear()
	if out.Len() > 0 {
		t.Errorf("what is not a terminal shows %q", out.String())
	}
	l.write(engine.Progress{Stage: "planning", Took: time.Second})
	l.write(engine.Progress{Stage: "planning", Took: 2 * time.Second})
	l.clear()
	l.clear()
	if got, want := out.String(), "\r\x1b[Kplanning (1s)\r\x1b[Kplanning (2s)\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
