//go:build !race

package engine_test

// slower is how much longer the tests take with the race detector or without it. Those that repeat themselves repeat
// themselves less by that in short runs: make test runs them with and without it.
const slower = 1
