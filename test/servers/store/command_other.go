//go:build !linux

package store

import "syscall"

// attributes returns those of any command.
func attributes() *syscall.SysProcAttr {
	return nil
}
