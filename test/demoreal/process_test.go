package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Furrow says that it can be started again when it is interrupted, and the demo cannot.
func TestAStoppedFurrowIsNotShown(t *testing.T) {
	shown := lines{begun: make(chan struct{})}
	log := filepath.Join(t.TempDir(), "furrow.log")
	p, err := startProcess(exec.Command("sh", "-c", "trap 'echo start it again; exit' INT; echo works; while :; do read -r _ || sleep 0.1; done"), log, &shown)
	if err != nil {
		t.Fatal(err)
	}
	<-shown.begun
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if got := shown.text.String(); got != "works\n" {
		t.Errorf("it shows %q", got)
	}
	if got := tail(log, 2); !strings.Contains(got, "start it again") {
		t.Errorf("the log has %q", got)
	}
}

// lines collects what is shown.
type lines struct {
	text strings.Builder
	// begun is closed when something is shown.
	begun chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	if l.text.Len() == 0 {
		defer close(l.begun)
	}
	return l.text.Write(p)
}
