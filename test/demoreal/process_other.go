//go:build !linux

package main

import "syscall"

// attributes make a process a group of its own, which a Ctrl-C at the terminal does not reach.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
