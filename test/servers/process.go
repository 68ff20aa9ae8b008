package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command is what there is to start.
type command struct {
	// name is that of the log file, without .log.
	name    string
	program string
	args    []string
	// dir is the working directory and HOME, logs the folder of the log file. Both are there.
	dir, logs string
	// env comes on top of PATH, HOME and TMPDIR.
	env []string
	// as is the user to run as; nil is this process's own.
	as *syscall.Credential
}

// process is a running server.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	// from is the length in bytes that the log had at the start.
	from int64
	done chan struct{}
}

// errPortTaken means that a server ended because somebody else listens on its port.
var errPortTaken = errors.New("the port is taken")

// spawner runs functions on a thread that lives as long as this process. Linux kills a child when
// the thread that started it ends, and Go ends threads as it likes, but not the one of a goroutine
// that stays locked to it.
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

// start starts c. Its output goes to the end of the log file, below that of earlier starts.
func start(c command) (*process, error) {
	p := &process{name: c.name, log: filepath.Join(c.logs, c.name+".log"), done: make(chan struct{})}
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", c.name, err)
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil {
		p.from = info.Size()
	}
	p.cmd = c.prepare(file)
	began := make(chan error)
	spawner() <- func() { began <- p.cmd.Start() }
	if err := <-began; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go func() {
		// Its log says how it ended.
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// run runs c to its end and gives what it printed on stdout.
func run(ctx context.Context, c command) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := c.prepare(&stderr)
	cmd.Stdout = &stdout
	began := make(chan error)
	spawner() <- func() { began <- cmd.Start() }
	if err := <-began; err != nil {
		return "", fmt.Errorf("start %s: %w", c.name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", c.name, err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// prepare makes the command that writes to out.
func (c command) prepare(out io.Writer) *exec.Cmd {
	cmd := exec.Command(c.program, c.args...)
	cmd.Dir = c.dir
	// Servers of tests live briefly. Collecting garbage less often saves an API server a sixth of its
	// processor time, and costs memory up to the limit.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "TMPDIR=" + os.TempDir(), "GOGC=400", "GOMEMLIMIT=512MiB"}, c.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = attributes(c.as)
	return cmd
}

// ended reports whether the process is gone.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends the process: gently, and by force, with its group, when it is still there after grace.
// It is fine on one that ended, and on nil.
func (p *process) stop(grace time.Duration) error {
	if p == nil || p.ended() {
		return nil
	}
	// A stopped process handles no other signal until it continues.
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if p.waitFor(grace) {
		return nil
	}
	// The group, so what it started goes too; it exists as long as its leader was not waited
	// for.
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	if p.waitFor(10 * time.Second) {
		return nil
	}
	return fmt.Errorf("%s, process %d, does not end", p.name, p.cmd.Process.Pid)
}

// waitFor waits for the process's end, for at most limit.
func (p *process) waitFor(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// await waits until check answers without an error. When the process ends before, or at ctx's end,
// it is stopped and the error holds the end of its log; it is errPortTaken when that was the
// reason.
func (p *process) await(ctx context.Context, check func(context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-waiting.Done():
		}
	}()
	err := Until(waiting, p.name+" is ready", check)
	// Somebody else may have answered.
	if err == nil && !p.ended() {
		return nil
	}
	if p.ended() {
		err = fmt.Errorf("%s ended as it started", p.name)
	}
	_ = p.stop(time.Second)
	output := p.output()
	if strings.Contains(output, "address already in use") {
		return fmt.Errorf("%s: %w", p.name, errPortTaken)
	}
	return fmt.Errorf("%w; see %s:\n%s", err, p.log, lastLines(output, 10))
}

// startLimit bounds the wait for one server to become ready.
const startLimit = 2 * time.Minute

// output returns what the process wrote since it was started.
func (p *process) output() string {
	file, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	content, _ := io.ReadAll(io.NewSectionReader(file, p.from, 1<<30))
	return string(content)
}

// lastLines returns the last n lines of text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
