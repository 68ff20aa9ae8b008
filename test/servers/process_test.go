package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a command that runs a script.
func shell(t *testing.T, script string) command {
	t.Helper()
	dir := t.TempDir()
	return command{name: "script", program: "/bin/sh", args: []string{"-c", script}, dir: dir, logs: dir}
}

func mustStart(t *testing.T, c command) *process {
	t.Helper()
	p, err := start(c)
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, p.name, func() error { return p.stop(0) })
	return p
}

// never is a check that is never satisfied.
func never(context.Context) error { return errors.New("not yet") }

func TestAServerThatEndsAsItStartsIsReportedWithItsLog(t *testing.T) {
	p := mustStart(t, shell(t, "echo no such flag >&2; exit 3"))
	err := p.await(within(t, time.Minute), never)
	if err == nil || !strings.Contains(err.Error(), "ended as it started") || !strings.Contains(err.Error(), "no such flag") {
		t.Errorf("await = %v", err)
	}
}

func TestAServerThatIsNotReadyInTimeIsStopped(t *testing.T) {
	p := mustStart(t, shell(t, "echo waiting; sleep 300"))
	err := p.await(within(t, 100*time.Millisecond), never)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not yet") || !p.ended() {
		t.Errorf("await = %v, ended %t", err, p.ended())
	}
}

func TestAnotherPortIsTriedWhenOneIsTaken(t *testing.T) {
	var tried []int
	err := onFreePort(func(port int) error {
		tried = append(tried, port)
		if len(tried) == 3 {
			return nil
		}
		p := mustStart(t, shell(t, "echo listen: bind: address already in use; exit 1"))
		return p.await(within(t, time.Minute), never)
	})
	if err != nil || len(tried) != 3 || tried[0] == tried[1] || tried[1] == tried[2] {
		t.Errorf("tried %v: %v", tried, err)
	}
}

func TestAPortIsKept(t *testing.T) {
	path := t.TempDir() + "/port"
	var ports []int
	note := func(port int) error {
		ports = append(ports, port)
		return nil
	}
	for _, wanted := range []int{0, 0, 4711, 0} {
		if err := onKeptPort(path, wanted, note); err != nil {
			t.Fatal(err)
		}
	}
	if ports[0] != ports[1] || ports[2] != 4711 || ports[3] != 4711 {
		t.Errorf("ports: %v", ports)
	}
}

func TestWhoDoesNotEndByItselfIsKilledWithWhatItStarted(t *testing.T) {
	p := mustStart(t, shell(t, `trap "" TERM; sleep 300 & echo $!; wait`))
	var child int
	err := Until(within(t, time.Minute), "it has started another", func(context.Context) error {
		_, err := fmt.Sscan(p.output(), &child)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.stop(10 * time.Millisecond); err != nil || !p.ended() {
		t.Errorf("stop: %v", err)
	}
	if err := p.stop(time.Second); err != nil {
		t.Errorf("stop of one that ended: %v", err)
	}
	awaitGone(t, child)
}

// awaitGone waits until a process is gone, or waits to be noticed by who must notice it.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	err := Until(within(t, 10*time.Second), "the process is gone", func(context.Context) error {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return nil
		}
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && strings.Contains(string(state), ") Z ") {
			return nil
		}
		return fmt.Errorf("process %d is there", pid)
	})
	if err != nil {
		t.Error(err)
	}
}

// helperVariable makes this test binary start a server and wait to be killed.
const helperVariable = "FURROW_TEST_START_AND_WAIT"

func TestServersDieWithUs(t *testing.T) {
	if os.Getenv(helperVariable) != "" {
		p := mustStart(t, shell(t, "exec sleep 300"))
		fmt.Fprintln(os.Stderr, p.cmd.Process.Pid)
		<-p.done
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the children of a process that was killed")
	}
	helper := exec.Command(os.Args[0], "-test.run=^TestServersDieWithUs$")
	helper.Env = append(os.Environ(), helperVariable+"=1", "TMPDIR="+t.TempDir())
	stderr, err := helper.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var server int
	_, scanned := fmt.Fscan(stderr, &server)
	if err := helper.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = helper.Wait()
	if scanned != nil {
		t.Fatalf("the helper did not report its server: %v", scanned)
	}
	awaitGone(t, server)
}
