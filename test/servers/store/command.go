package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// runGo runs the go command in dir. Flags and workspaces of the caller's environment do not reach
// it.
func runGo(ctx context.Context, dir string, env, args []string) (stdout, all []byte, err error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The go command would replace an empty GOFLAGS by that of its own file.
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "PWD="+dir), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	// Linux kills the child of a process that was killed; for that the thread that started it must
	// stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = attributes()
	var out, both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &both
	if err := cmd.Run(); err != nil {
		both.Write(out.Bytes())
		return out.Bytes(), both.Bytes(), fmt.Errorf("go %s: %w", args[0], err)
	}
	return out.Bytes(), both.Bytes(), nil
}

// lastLines returns the last n lines with content, indented.
func lastLines(output []byte, n int) string {
	var lines []string
	for line := range strings.Lines(string(output)) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, "    "+line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
