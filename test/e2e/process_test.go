package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running furrow. Its output is appended to log.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// err is the result; it is valid once done is closed.
	err error
}

// spawner runs functions on a thread that lives as long as this process: Linux kills a child when the thread that
// started it ends.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// startProcess starts a command that is killed when this process ends, for any reason.
func startProcess(cmd *exec.Cmd, log string) (*process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{cmd: cmd, log: log, done: make(chan struct{})}
	began := make(chan error)
	spawner() <- func() { began <- cmd.Start() }
	if err := <-began; err != nil {
		return nil, err
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end sends the signal and waits; it fails if the process ends otherwise.
func (p *process) end(signal syscall.Signal) error {
	if p.ended() {
		return fmt.Errorf("it ended by itself: %w", p.err)
	}
	_ = p.cmd.Process.Signal(signal)
	select {
	case <-p.done:
	case <-time.After(45 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("it did not end by %s", signal)
	}
	if signal != syscall.SIGKILL && p.err != nil {
		return fmt.Errorf("it ended with an error: %w", p.err)
	}
	return nil
}

// output returns the log.
func (p *process) output() string {
	content, _ := os.ReadFile(p.log)
	return string(content)
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
