package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/furrow-dev/furrow/internal/core/plugin"
)

const (
	// watchInterval is the time between two measurements of what an executable uses.
	watchInterval = 20 * time.Millisecond
	// headroom is what a process may reserve beyond the memory that it may use, which is measured.
	headroom = 256 << 20
	maxFiles = plugin.MaxOutput
)

// superviseExecutable runs the executable of an order and reports how it ended.
func superviseExecutable() int {
	for fd := orderFile; fd <= imageFile; fd++ {
		syscall.CloseOnExec(fd)
	}
	var o order
	if err := json.NewDecoder(os.NewFile(orderFile, "order")).Decode(&o); err != nil {
		return 1
	}
	run := o.supervise(os.NewFile(imageFile, "executable"))
	if err := json.NewEncoder(os.NewFile(reportFile, "report")).Encode(run); err != nil {
		return 1
	}
	return 0
}

// supervise copies the executable while it takes its digest, so nobody can change it in between, and
// runs the copy. What the executable leaves running is ended with it: whatever it starts is a child
// of this process once its own parent has ended.
//
// The thread that starts it is bound by Landlock before, and the executable inherits that.
func (o order) supervise(image io.Reader) plugin.Run {
	runtime.LockOSThread()
	path := filepath.Join(o.Dir, "program", o.Name)
	digest, err := copyExecutable(path, image)
	if err != nil {
		return notStarted(err)
	}
	if digest != o.Digest {
		return plugin.Run{Ending: plugin.OtherDigest, Detail: digest}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) // where memory is short, the executable goes first
	cancelled := make(chan os.Signal, 1)
	signal.Notify(cancelled, syscall.SIGTERM)
	if err := errors.Join(
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0),
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: maxFiles, Max: maxFiles}),
		restrict(o.Dir),
	); err != nil {
		return notStarted(err)
	}
	cmd := exec.Command(path)
	cmd.Args = []string{o.Name}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{}, os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return notStarted(fmt.Errorf("%w; its interpreter must be installed, and the temporary directory must not be mounted noexec", errors.New(withoutPaths(err))))
	}
	// Only now: the supervisor itself may use more. Until then what the executable takes is measured.
	_ = unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(o.Memory) + headroom, Max: uint64(o.Memory) + headroom}, nil)
	ended := make(chan struct{})
	why := make(chan plugin.Ending, 1)
	go func() { // on another thread, which may read /proc
		ending := o.watch(cmd.Process.Pid, ended, cancelled)
		<-ended
		endDescendants(cmd.Process.Pid)
		why <- ending
	}()
	state, err := cmd.Process.Wait()
	close(ended)
	ending := <-why
	switch {
	case ending != "":
		return plugin.Run{Ending: ending}
	case err != nil:
		return notStarted(err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return plugin.Run{Ending: plugin.Signalled, Detail: status.Signal().String()}
	}
	return plugin.Run{Ending: plugin.Exited, Code: state.ExitCode()}
}

// copyExecutable writes an executable to a directory of its own and returns its digest.
func copyExecutable(path string, image io.Reader) (digest string, err error) {
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.Copy(io.MultiWriter(file, hash), image); err != nil {
		file.Close()
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), file.Close()
}

// watch ends the executable where it exceeds a limit, and returns which one; empty where it ended by
// itself.
func (o order) watch(pid int, ended <-chan struct{}, cancelled <-chan os.Signal) plugin.Ending {
	timeout, tick := time.NewTimer(o.Timeout), time.NewTicker(watchInterval) //nolint:forbidigo // the supervisor is a process of its own, which keeps the time of another
	defer tick.Stop()
	for {
		over := plugin.Ending("")
		select {
		case <-ended:
			return ""
		case <-timeout.C:
			over = plugin.OverTime
		case <-cancelled:
			over = plugin.Signalled
		case <-tick.C:
			switch {
			case memoryOf(descendants(os.Getpid())) > o.Memory:
				over = plugin.OverMemory
			case sizeOf(".") > maxFiles:
				over = plugin.OverFiles
			}
		}
		if over != "" {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return over
		}
	}
}

// endDescendants kills all that is left, until nothing is: a process that was about to start another
// one may have done so meanwhile. Where the kernel does not list the children of processes, these are
// the ones of the process group.
func endDescendants(group int) {
	for deadline := time.Now().Add(grace / 2); time.Now().Before(deadline); { //nolint:forbidigo // the supervisor is a process of its own
		_ = syscall.Kill(-group, syscall.SIGKILL)
		for _, pid := range descendants(os.Getpid()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return
		}
		if pid == 0 {
			time.Sleep(time.Millisecond) //nolint:forbidigo // until the kernel has ended them
		}
	}
}

// descendants returns the processes below one.
func descendants(of int) []int {
	var found []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // it has just ended
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				found = append(append(found, pid), descendants(pid)...)
			}
		}
	}
	return found
}

// memoryOf returns how much memory processes use together.
func memoryOf(pids []int) int64 {
	var pages int64
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue // it has just ended
		}
		var size, resident int64
		if _, err := fmt.Sscan(string(data), &size, &resident); err == nil {
			pages += resident
		}
	}
	return pages * int64(os.Getpagesize())
}

// sizeOf returns how much is in a directory.
func sizeOf(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
