// Package soak keeps tests that are long, and rarely find anything new, out of the runs of every
// push.
package soak

import (
	"os"
	"testing"
)

// On reports whether long tests run: make soak sets FURROW_SOAK.
func On() bool { return os.Getenv("FURROW_SOAK") != "" }

// Only skips a test in all runs but those of make soak.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("long: runs with make soak")
	}
}
