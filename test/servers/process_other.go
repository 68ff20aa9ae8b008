//go:build !linux

package servers

import "syscall"

// attributes make a process a group of its own.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as}
}
