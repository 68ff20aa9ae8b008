package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is furrow run.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// err is how it ended; it counts once done is closed.
	err error
	// screen gets its output, too.
	screen *untilStopped
}

// untilStopped shows what furrow prints until the demo stops it. How to go on is of no use then, because
// the folder is removed, too.
type untilStopped struct {
	out     io.Writer
	stopped atomic.Bool
}

func (u *untilStopped) Write(p []byte) (int, error) {
	if u.stopped.Load() {
		return len(p), nil
	}
	return u.out.Write(p)
}

// stopLimit is how long furrow may take to end by itself.
const stopLimit = 15 * time.Second

// startProcess starts a command whose output goes to the end of log, and to out. It ends when this
// process does, if it is called on the main goroutine.
func startProcess(cmd *exec.Cmd, log string, out io.Writer) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of furrow: %w", err)
	}
	screen := &untilStopped{out: out}
	both := io.MultiWriter(file, screen)
	cmd.Stdout, cmd.Stderr = both, both
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start furrow: %w", err), file.Close())
	}
	p := &process{cmd: cmd, log: log, screen: screen, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_ = file.Close()
		close(p.done)
	}()
	return p, nil
}

// stop interrupts the process as a person does, and kills it when that does not help. It is fine on
// none, and on one that ended.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	p.screen.stopped.Store(true)
	_ = p.cmd.Process.Signal(os.Interrupt)
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.done
	return fmt.Errorf("furrow run, process %d, did not end within %s of an interrupt", p.cmd.Process.Pid, stopLimit)
}

// lastLines returns the end of the log.
func (p *process) lastLines() string {
	return tail(p.log, 15)
}

// tail returns the last n lines of a file, and nothing when it cannot be read.
func tail(path string, n int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
