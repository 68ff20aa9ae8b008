// Package gitcmd runs the git that is installed, for tests: without configuration of the machine,
// and as a person named Ann.
package gitcmd

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

var environment = map[string]string{
	"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
	"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com",
	"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
}

// Main runs the tests of a package, isolated.
func Main(m *testing.M) {
	Isolate()
	os.Exit(m.Run())
}

// Isolate sets the environment of the process to that of Run, for code that runs git itself.
func Isolate() {
	for name, value := range environment {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// Run runs git in dir and returns its trimmed output.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return Input(t, dir, "", args...)
}

// Input is Run with a standard input.
func Input(t testing.TB, dir, input string, args ...string) string {
	t.Helper()
	out, err := try(dir, input, args)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Run where git may fail.
func Try(dir string, args ...string) (string, error) { return try(dir, "", args) }

func try(dir, input string, args []string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
	for name, value := range environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, os.Environ()...) // the last value of a name counts
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w\n%s%s", strings.Join(args, " "), err, stderr.String(), out)
	}
	return strings.TrimSpace(string(out)), err
}
