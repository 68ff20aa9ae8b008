package main

import "syscall"

// attributes make a process a group of its own, which a Ctrl-C at the terminal does not reach, and
// let it die with the thread that started it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
