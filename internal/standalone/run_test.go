package standalone_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/standalone"
)

// A push to several branches, or a person who sends events again, is a pass for all of them.
func TestAPassTakesAllHintsBeforeIt(t *testing.T) {
	dir := t.TempDir()
	simulate(t, dir, configMaps(1))
	control := filepath.Join(dir, "control")
	s, err := controlplane.Open(t.Context(), controlplane.Options{ControlPlane: control, Cache: filepath.Join(dir, "cache"), ID: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	hints := make(chan []string, 16)
	hinted := false
	standalone.Run(t.Context(), s, time.Hour, hints, func(r standalone.Result) bool {
		switch {
		case r.Err != nil:
			t.Fatal(r.Err)
		case r.Next == 0:
			return true // it has changed something
		case hinted:
			if len(hints) > 0 {
				t.Errorf("%d hints are left for another pass", len(hints))
			}
			return false
		}
		for range cap(hints) {
			hints <- []string{control}
		}
		hinted = true
		return true
	})
	if !hinted {
		t.Error("no hint was sent")
	}
}

func TestHintsDoNotEndThePauseAfterAFailure(t *testing.T) {
	dir := t.TempDir()
	simulate(t, dir, configMaps(1))
	control := filepath.Join(dir, "control")
	s, err := controlplane.Open(t.Context(), controlplane.Options{ControlPlane: control, Cache: filepath.Join(dir, "cache"), ID: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := os.RemoveAll(control); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		hints := make(chan []string, 16)
		passes, due := 0, time.Now()
		standalone.Run(t.Context(), s, time.Hour, hints, func(r standalone.Result) bool {
			if r.Err == nil {
				t.Fatal("it did not fail")
			}
			if time.Now().Before(due) {
				t.Errorf("pass %d begins %s too soon", passes, time.Until(due))
			}
			hints <- []string{control}
			due = time.Now().Add(r.Next)
			passes++
			return passes < 5
		})
	})
}
