// Demoreal is the demo on real servers: Gitea, API servers, Flux, and furrow run as a process. Only
// the provider of the cluster that the seed creates is simulated, and the nodes and pods. It needs
// Go, git, and the servers that make servers builds; everything listens on the loopback interface
// only.
//
// The flow is in demo.go. What people need is in the demo's folder: see folder.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
)

// errInterrupted is why a demo ends that somebody interrupted.
var errInterrupted = errors.New("interrupted")

// interruptedCode is the exit code of a demo that was interrupted before it had done what it was
// asked for.
const interruptedCode = 130

func main() {
	// Linux kills furrow when the thread that started it ends, and this one lives as long as the
	// process.
	runtime.LockOSThread()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line.
type options struct {
	furrow string
	dir    string
	merge  bool
}

// run is the program without its surroundings; it gives the exit code.
func run(args []string, out, problems io.Writer) int {
	var o options
	flags := flag.NewFlagSet("demoreal", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&o.furrow, "furrow", "bin/furrow", "the program furrow")
	flags.StringVar(&o.dir, "dir", "", "folder of the demo, which is kept; one that was stopped is continued (default: a temporary one)")
	flags.BoolVar(&o.merge, "merge", false, "merge all pull requests, and end when everything is Released")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(problems, "demoreal: it takes no arguments, but got %q\n", flags.Args())
		return 2
	}
	folder, err := openFolder(o.dir)
	if err != nil {
		_, _ = fmt.Fprintln(problems, "demoreal:", err)
		return 1
	}
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	screen := newScreen(out)
	defer onSignals(screen, end, folder)()
	return finish(demonstrate(ctx, end, o, folder, screen), o, folder, problems)
}

// demonstrate runs the demo to its end.
func demonstrate(ctx context.Context, end context.CancelCauseFunc, o options, folder *folder, screen *screen) error {
	program, err := findFurrow(o.furrow)
	if err != nil {
		return err
	}
	d := &demonstration{options: o, folder: folder, screen: screen, program: program, fail: end}
	return d.run(ctx)
}

// finish removes what is not to be kept, and says how it went.
func finish(err error, o options, folder *folder, problems io.Writer) int {
	interrupted := errors.Is(err, errInterrupted)
	if err != nil && !interrupted {
		folder.keep()
	}
	if closing := folder.close(); closing != nil {
		_, _ = fmt.Fprintln(problems, "demoreal:", closing)
	}
	switch {
	case err == nil, interrupted && !o.merge:
		return 0
	case interrupted:
		_, _ = fmt.Fprintln(problems, "demoreal: interrupted before everything was Released")
		return interruptedCode
	}
	_, _ = fmt.Fprintf(problems, "\ndemoreal: %v\nThe logs are in %s.\n", err, folder.dir)
	return 1
}

// findFurrow finds the program, which runs in another directory than ours.
func findFurrow(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", fmt.Errorf("program %s does not exist: build it with make build, or name it with -furrow", path)
	}
	return filepath.Abs(path)
}

// onSignals ends the demo at the first signal, and this process, with all that it started, at the
// second. What it gives back ends that.
func onSignals(screen *screen, end context.CancelCauseFunc, folder *folder) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			if count > 0 {
				screen.show("Killed. %s is left; remove it when you do not need it.\n", folder.dir)
				os.Exit(interruptedCode)
			}
			screen.show("\nStopping everything. Ctrl-C again kills it at once.\n")
			end(errInterrupted)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
