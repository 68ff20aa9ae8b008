package program

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Run runs a command to its end and returns the most memory that it had resident, in MiB, or 0 where the
// system has no /proc.
//
// The system's own account (getrusage) is of no use here: it starts with the peak of the process that started
// the command, which is a test with memory of its own. So this asks for the peak of the program's own memory
// while it runs.
func Run(cmd *exec.Cmd) (peak int, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-ticker.C:
			peak = max(peak, resident(cmd.Process.Pid))
		}
	}
}

func resident(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			return kib >> 10
		}
	}
	return 0
}
