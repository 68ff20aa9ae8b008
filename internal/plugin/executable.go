package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/furrow-dev/furrow/internal/core/plugin"
)

// order is what the supervisor of an executable is started with, in its standard argument: a line of
// JSON in file descriptor orderFile.
type order struct {
	// Name is that of the executable, and Dir where it may be written, with an empty directory "work".
	Name, Dir string
	// Digest is that which the executable must have.
	Digest  string
	Memory  int64
	Timeout time.Duration
}

// The files of a supervisor besides the standard ones.
const (
	orderFile  = 3 // the order is read here
	reportFile = 4 // the report is written here: a plugin.Run without texts
	imageFile  = 5 // the executable itself
)

// grace is how long a supervisor may take to end what it has started.
const grace = 5 * time.Second

// executable runs an executable under a supervisor.
func (h *Host) executable(ctx context.Context, p plugin.Plugin, input []byte, timeout time.Duration) plugin.Run {
	if runtime.GOOS != "linux" {
		return plugin.Run{Ending: plugin.NotStarted, Detail: "executables run only on Linux, which can bound their memory; use a WASM module"}
	}
	image, err := h.open(p.Executable)
	if err != nil {
		return plugin.Run{Ending: plugin.NotFound, Detail: withoutPaths(err)}
	}
	defer image.Close()
	dir, err := os.MkdirTemp("", "furrow-plugin-")
	if err != nil {
		return notStarted(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		return notStarted(err)
	}
	run, err := supervised(ctx, image, input, order{Name: p.Executable, Dir: dir, Digest: p.Digest, Memory: p.Memory, Timeout: timeout})
	if err != nil {
		return notStarted(err)
	}
	return run
}

// supervised starts a supervisor and returns what it reports.
func supervised(ctx context.Context, image *os.File, input []byte, o order) (plugin.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout+grace)
	defer cancel()
	orders, sent, err := os.Pipe()
	if err != nil {
		return plugin.Run{}, err
	}
	defer orders.Close()
	reported, reports, err := os.Pipe()
	if err != nil {
		sent.Close()
		return plugin.Run{}, err
	}
	defer reported.Close()
	out, errs := &bounded{most: plugin.MaxOutput, over: cancel}, &tail{}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{program, workerArgument, "executable"}
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = []string{}, filepath.Join(o.Dir, "work"), bytes.NewReader(input), out, errs
	cmd.ExtraFiles = []*os.File{orders, reports, image}
	// The supervisor ends what it has started when it gets this signal.
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, grace
	err = cmd.Start()
	reports.Close()
	if err != nil {
		sent.Close()
		return plugin.Run{}, err
	}
	go func() {
		_ = json.NewEncoder(sent).Encode(o) // a supervisor that ended reports nothing
		sent.Close()
	}()
	_ = cmd.Wait()
	run := plugin.Run{Ending: plugin.Signalled, Detail: "its supervisor ended early"}
	data, _ := io.ReadAll(io.LimitReader(reported, 64<<10))
	if len(data) > 0 {
		if err := json.Unmarshal(data, &run); err != nil {
			return plugin.Run{}, err
		}
	}
	run.Output, run.Stderr = out.kept.Bytes(), errs.String()
	if out.exceeded() {
		run.Ending, run.Code, run.Detail = plugin.OverOutput, 0, ""
	}
	return run, nil
}
