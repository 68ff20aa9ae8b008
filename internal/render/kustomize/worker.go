package kustomize

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// workerArgument is the only argument of a process that builds.
const workerArgument = "kustomize-worker"

// The budget of one package.
const (
	maxTime   = time.Minute
	maxMemory = 512 << 20
	// maxResponse is more than buildAll returns for what it does not refuse.
	maxResponse = 1 << 30
)

// executable is this program and program the name it was called by, where it can start itself
// as a worker; empty where builds run in this process.
var executable, program string

// Worker builds one request where the program was started as a worker, and reports whether it was,
// with the exit code. Otherwise it lets builds run in workers from now on. main calls it first,
// before anything reads the environment or opens files.
func Worker(name string, args []string, in io.Reader, out io.Writer) (bool, int) {
	if len(args) != 1 || args[0] != workerArgument {
		if path, err := os.Executable(); err == nil {
			executable, program = path, name
		}
		return false, 0
	}
	http.DefaultTransport = noNetwork{}
	debug.SetMemoryLimit(maxMemory)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) // where memory is short, the worker goes first
	go watchMemory()
	time.AfterFunc(maxTime, func() { os.Exit(exitTime) }) //nolint:forbidigo // the worker is a process of its own, which nobody else ends
	var r request
	if err := gob.NewDecoder(in).Decode(&r); err != nil {
		return true, 1
	}
	builds, err := buildAll(context.Background(), r)
	if err != nil || gob.NewEncoder(out).Encode(builds) != nil {
		return true, 1
	}
	return true, 0
}

// How a worker ends that was over its budget.
const (
	exitTime   = 4
	exitMemory = 5
)

// watchMemory ends the process when it has taken too much.
func watchMemory() {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for range time.Tick(10 * time.Millisecond) { //nolint:forbidigo // memory is watched for as long as the process lives
		if metrics.Read(sample); sample[0].Value.Uint64() > maxMemory {
			os.Exit(exitMemory)
		}
	}
}

// noNetwork refuses every request.
type noNetwork struct{}

func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("a build has no network")
}

// run builds within the budget. What is over it is a fault, which people have to correct; any other
// error is of the machine, and the build is tried again.
func run(ctx context.Context, r request) ([]build, error) {
	budget, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	build := buildHere
	if executable != "" {
		build = buildInWorker
	}
	builds, err := build(budget, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case budget.Err() != nil:
		return nil, tooLong()
	}
	return builds, err
}

func tooLong() *fault {
	return &fault{Reason: v1alpha1.ReasonRenderBudget, Message: fmt.Sprintf("building it took longer than %s", maxTime), Next: "Make the kustomizations smaller, or split the seed."}
}

// buildHere builds in this process. A build that takes too long ends when it reads its next file.
func buildHere(ctx context.Context, r request) ([]build, error) {
	type result struct {
		builds []build
		err    error
	}
	done := make(chan result, 1)
	go func() {
		builds, err := buildAll(ctx, r)
		done <- result{builds, err}
	}()
	select {
	case out := <-done:
		return out.builds, out.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// buildInWorker builds in a process of its own, which has no environment. Its memory and time are
// bounded there, and its answer here: what people write in a package cannot end this process. Exit
// codes say which bound was reached.
func buildInWorker(ctx context.Context, r request) ([]build, error) {
	var in bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(r); err != nil {
		return nil, err
	}
	out := &bounded{left: maxResponse}
	cmd := exec.CommandContext(ctx, executable)
	cmd.Args = []string{program, workerArgument}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.WaitDelay = []string{}, &in, out, time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process that builds kustomizations: %w", err)
	}
	err := cmd.Wait()
	switch cmd.ProcessState.ExitCode() {
	case 0:
	case exitTime:
		return nil, tooLong()
	case exitMemory:
		return nil, &fault{Reason: v1alpha1.ReasonRenderBudget, Message: fmt.Sprintf("building it takes more than %d MiB of memory", maxMemory>>20), Next: "Make the kustomizations smaller, or split the seed."}
	default: // the runtime, or the system, has ended it
		return nil, &fault{Reason: v1alpha1.ReasonRenderFailed, Message: fmt.Sprintf("the process that builds it ended early (%v)", err), Next: "If memory is short, give Furrow more; else make the kustomizations smaller."}
	}
	var builds []build
	if err := gob.NewDecoder(&out.Buffer).Decode(&builds); err != nil {
		return nil, fmt.Errorf("reading what the process wrote that builds kustomizations: %w", err)
	}
	return builds, nil
}

// bounded refuses what is too much.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("too much output")
	}
	return b.Buffer.Write(p)
}
