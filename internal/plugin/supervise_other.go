//go:build !linux

package plugin

// superviseExecutable does nothing: executables run only on Linux.
func superviseExecutable() int { return 1 }
