package servers

import "syscall"

// attributes make a process a group of its own, that dies with the thread that started it.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: as}
}
