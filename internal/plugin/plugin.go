// Package plugin runs plugins: executables that the operator of Furrow allows, and WASM modules.
//
//	Host.Run ─▶ furrow plugin-worker executable ─▶ the executable        one process a run
//	         ─▶ furrow plugin-worker module     ─▶ wazero ─▶ the module  one process a module
//
// A plugin never runs in this process: a worker of the same program has no environment, and ends it,
// and all that it has started, where it takes too long or too much. What a plugin writes goes to a
// pipe, and is read up to a limit.
//
// An executable runs only where the kernel is Linux, because only there its memory can be bounded.
// It has an empty environment, a working directory of its own that is removed, a process group of its
// own, and, where the kernel has Landlock, neither the files of Furrow nor TCP. A module has standard
// input and output.
package plugin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/core/plugin"
)

// workerArgument is the first argument of a process that runs plugins.
const workerArgument = "plugin-worker"

// self is this program and program the name it was called by, where it can start itself as a worker.
var self, program string

// Worker runs plugins where the program was started for it, and reports whether it was, with the
// exit code. Otherwise it lets plugins run in workers from now on. main calls it first, before
// anything reads the environment or opens files.
func Worker(name string, args []string, stdin io.Reader, stdout io.Writer) (bool, int) {
	switch {
	case len(args) == 2 && args[0] == workerArgument && args[1] == "executable":
		return true, superviseExecutable()
	case len(args) == 2 && args[0] == workerArgument && args[1] == "module":
		return true, serveModule(stdin, stdout)
	}
	if path, err := os.Executable(); err == nil {
		self, program = path, name
	}
	return false, 0
}

// Host runs plugins. It is for one goroutine; Close ends its workers.
type Host struct {
	// Dir is the directory of the executables that the operator allows; empty for none.
	Dir     string
	modules map[string]*moduleWorker
}

// Close ends the workers that the host has started.
func (h *Host) Close() {
	for _, w := range h.modules {
		w.close()
	}
	h.modules = nil
}

// Run runs a plugin until it ends, deadline passes or ctx ends. The error is that of ctx.
func (h *Host) Run(ctx context.Context, p plugin.Plugin, input []byte, timeout time.Duration) (plugin.Run, error) {
	var run plugin.Run
	switch {
	case p.Executable != "" && h.Dir == "":
		run.Ending = plugin.NotAllowed
	case self == "":
		run = notStarted(errors.New("this program cannot start itself"))
	case p.Executable != "":
		run = h.executable(ctx, p, input, timeout)
	default:
		run = h.module(ctx, p, input, timeout)
	}
	return run, ctx.Err()
}

func notStarted(err error) plugin.Run {
	return plugin.Run{Ending: plugin.NotStarted, Detail: withoutPaths(err)}
}

// withoutPaths returns an error without the paths of this machine.
func withoutPaths(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// open opens an executable below the directory. A link may not lead out of it.
func (h *Host) open(name string) (*os.File, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return nil, os.ErrNotExist
	}
	root, err := os.OpenRoot(h.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	}
	return root.Open(name)
}

// bounded keeps what is written, and calls over, once, where that is too much.
type bounded struct {
	mutex sync.Mutex
	kept  bytes.Buffer
	most  int
	over  func()
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.full || b.kept.Len()+len(p) > b.most {
		if !b.full {
			b.full = true
			b.over()
		}
		return 0, errors.New("too much output")
	}
	return b.kept.Write(p)
}

// exceeded reports whether too much was written.
func (b *bounded) exceeded() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.full
}

// tail keeps the end of what is written.
type tail struct{ kept []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - plugin.MaxStderr; over > plugin.MaxStderr {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	return string(t.kept[max(0, len(t.kept)-plugin.MaxStderr):])
}
