//go:build !linux

package plugin_test

func kernelHasLandlock() bool { return false }
