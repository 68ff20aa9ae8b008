package plugin

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/furrow-dev/furrow/internal/core/plugin"
)

// start is the first thing that the worker of a module reads, and call each of the next ones. To each
// it answers with a plugin.Run.
type (
	start struct {
		Module []byte
		Memory int64
	}
	call struct {
		Name    string
		Input   []byte
		Timeout time.Duration
	}
)

const (
	// maxCompile bounds how long the worker may take to compile a module.
	maxCompile = time.Minute
	// compilerMemory is what the worker may use besides the memory of the module.
	compilerMemory = 512 << 20
	pageSize       = 64 << 10
	// exitMemory is the exit code of a worker that took too much memory.
	exitMemory = 5
)

// moduleWorker is a process that has compiled a module, and runs it again and again.
type moduleWorker struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	// wait waits until the process has ended, once.
	wait func()
	to   *gob.Encoder
	from *gob.Decoder
}

// module runs a module in its worker, which it starts where there is none.
func (h *Host) module(ctx context.Context, p plugin.Plugin, input []byte, timeout time.Duration) plugin.Run {
	key := fmt.Sprintf("%s %d", p.Digest, p.Memory)
	w := h.modules[key]
	if w == nil {
		var err error
		if w, err = startModule(); err != nil {
			return notStarted(err)
		}
		if run, _ := w.ask(ctx, start{p.Module, p.Memory}, maxCompile); run.Ending != plugin.Exited {
			w.close()
			return run
		}
		if h.modules == nil {
			h.modules = map[string]*moduleWorker{}
		}
		h.modules[key] = w
	}
	run, alive := w.ask(ctx, call{p.Name, input, timeout}, timeout+grace)
	if !alive {
		delete(h.modules, key)
		w.close()
	}
	return run
}

func startModule() (*moduleWorker, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &moduleWorker{cancel: cancel}
	w.cmd = exec.CommandContext(ctx, self)
	w.cmd.Args = []string{program, workerArgument, "module"}
	w.cmd.Env = []string{}
	w.wait = sync.OnceFunc(func() { _ = w.cmd.Wait() })
	in, err := w.cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		if out, err = w.cmd.StdoutPipe(); err == nil {
			w.to, w.from = gob.NewEncoder(in), gob.NewDecoder(out)
			err = w.cmd.Start()
		}
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return w, nil
}

// close ends the worker.
func (w *moduleWorker) close() {
	w.cancel()
	w.wait()
}

// ask sends something and returns the answer. A worker that does not answer in time, or ends, is not
// alive and cannot be asked again.
func (w *moduleWorker) ask(ctx context.Context, what any, timeout time.Duration) (run plugin.Run, alive bool) {
	answered := make(chan plugin.Run, 1)
	go func() {
		var run plugin.Run
		err := w.to.Encode(what)
		if err == nil {
			err = w.from.Decode(&run)
		}
		if err == nil {
			answered <- run
			return
		}
		w.wait()
		close(answered)
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case run, alive := <-answered:
		switch {
		case alive:
			return run, true
		case w.cmd.ProcessState.ExitCode() == exitMemory:
			return plugin.Run{Ending: plugin.OverMemory}, false
		}
		return plugin.Run{Ending: plugin.Signalled, Detail: "its worker ended early"}, false
	case <-ctx.Done():
		return plugin.Run{Ending: plugin.OverTime}, false
	}
}

// serveModule compiles a module and runs it as often as it is asked to.
func serveModule(in io.Reader, out io.Writer) int {
	from, to := gob.NewDecoder(in), gob.NewEncoder(out)
	var s start
	if err := from.Decode(&s); err != nil {
		return 1
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) // where memory is short, the worker goes first
	debug.SetMemoryLimit(s.Memory + compilerMemory)
	go watchMemory(uint64(s.Memory + compilerMemory))
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCloseOnContextDone(true).WithMemoryLimitPages(uint32(s.Memory/pageSize)))
	module, err := compile(ctx, runtime, s.Module)
	if err != nil {
		return answer(to, plugin.Run{Ending: plugin.InvalidProgram, Detail: err.Error()})
	}
	if answer(to, plugin.Run{Ending: plugin.Exited}) != 0 {
		return 1
	}
	for {
		var c call
		if err := from.Decode(&c); err != nil {
			return 0
		}
		if answer(to, runModule(ctx, runtime, module, c)) != 0 {
			return 1
		}
	}
}

func answer(to *gob.Encoder, run plugin.Run) int {
	if to.Encode(run) != nil {
		return 1
	}
	return 0
}

// watchMemory ends the process when it has taken too much.
func watchMemory(most uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(10 * time.Millisecond) { //nolint:forbidigo // memory is watched for as long as the process lives
		if metrics.Read(sample); sample[0].Value.Uint64() > most {
			os.Exit(exitMemory)
		}
	}
}

// compile compiles a module with nothing but the functions of WASI.
func compile(ctx context.Context, runtime wazero.Runtime, module []byte) (wazero.CompiledModule, error) {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return nil, err
	}
	compiled, err := runtime.CompileModule(ctx, module)
	if err != nil {
		return nil, err
	}
	if _, command := compiled.ExportedFunctions()["_start"]; !command {
		return nil, errors.New("it exports no function _start")
	}
	return compiled, nil
}

// runModule runs a module once, in a new instance. Its clock and its random numbers are those of
// wazero, the same each time.
func runModule(ctx context.Context, runtime wazero.Runtime, module wazero.CompiledModule, c call) plugin.Run {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	out, errs := &bounded{most: plugin.MaxOutput, over: cancel}, &tail{}
	instance, err := runtime.InstantiateModule(ctx, module, wazero.NewModuleConfig().WithName("").WithArgs(c.Name).
		WithStdin(bytes.NewReader(c.Input)).WithStdout(out).WithStderr(errs))
	if instance != nil {
		defer instance.Close(ctx)
	}
	run := plugin.Run{Ending: plugin.Exited, Output: out.kept.Bytes(), Stderr: errs.String()}
	exit := (*sys.ExitError)(nil)
	switch {
	case out.exceeded():
		run.Ending, run.Output = plugin.OverOutput, nil
	case ctx.Err() != nil:
		run.Ending = plugin.OverTime
	case errors.As(err, &exit):
		run.Code = int(exit.ExitCode())
	case err != nil:
		run.Ending, run.Detail = plugin.Signalled, err.Error()
	}
	return run
}
