//go:build unix

package usage

import (
	"syscall"
	"time"
)

// Processor returns the processor time that this process has used, and the children of it that have
// ended.
func Processor() time.Duration {
	var used time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			used += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return used
}
