//go:build !linux

package store

import "syscall"

// attributes are those of any command.
func attributes() *syscall.SysProcAttr {
	return nil
}
