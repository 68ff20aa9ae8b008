package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// recorder is a test that only notes how it ended.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()      {}
func (r *recorder) Name() string { return "TestOfOthers" }

func (r *recorder) Skipf(format string, args ...any) {
	r.said = "skip: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.said = "fatal: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// said runs Need for a test of its own and gives how that ended.
func said(names ...Name) string {
	r := &recorder{said: "found"}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Need(r, names...)
	}()
	<-done
	return r.said
}

func TestNeedSkipsOrFails(t *testing.T) {
	if testing.Short() {
		t.Skip("Need skips without a word in a short run")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(requireVariable, "")
	const missing = "etcd, gitea are not built; run: make servers"
	if got := said(GiteaServer, Etcd); got != "skip: SKIPPED: "+missing {
		t.Errorf("Need: %s", got)
	}
	t.Setenv(requireVariable, "1")
	if got := said(GiteaServer); got != "fatal: TestOfOthers: gitea is not built; run: make servers" {
		t.Errorf("Need where none may be skipped: %s", got)
	}
	if got := said("nonesuch"); !strings.HasPrefix(got, "fatal: ") {
		t.Errorf("Need of what nobody knows: %s", got)
	}
}

func TestTheLogsOfATestThatFailedAreKept(t *testing.T) {
	root, logs := t.TempDir(), t.TempDir()
	t.Setenv(logsVariable, root)
	if err := os.WriteFile(filepath.Join(logs, "etcd.log"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		keepLogs(t, "edge-1", logs)
	}
	kept, err := os.ReadFile(filepath.Join(root, t.Name(), "edge-1", "etcd.log"))
	if err != nil || string(kept) != "one\n" {
		t.Errorf("kept %q, %v", kept, err)
	}
}
