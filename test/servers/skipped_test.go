package servers

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/loudly"
)

// childVariable is set for the tests that TestMakeTestShowsWhatWasSkipped starts.
const childVariable = "FURROW_SKIPPED_CHILD"

// otherGo plays go for make test: it runs one test in the place of all that are short, and fails after that if it is told
// to. Of the others there are none.
const otherGo = `#!/bin/sh
case "$1 $*" in
test*-short*) go test -count=1 -run "^$CHILD$" ./test/servers && exit "$CODE" ;;
test* | run*) ;;
*) exec go "$@" ;;
esac
`

func TestMakeTestShowsWhatWasSkipped(t *testing.T) {
	if testing.Short() {
		t.Skip("runs make and go: not in a short run")
	}
	if _, err := exec.LookPath("make"); err != nil {
		loudly.Skip(t, err)
	}
	const line = "SKIPPED: TestThatLacksSomething: it is not built\n"
	for name, test := range map[string]struct {
		child, code, want string
		fails             bool
	}{
		"the tests pass":      {child: "TestThatLacksSomething", code: "0", want: line},
		"they fail":           {child: "TestThatLacksSomething", code: "1", want: line, fails: true},
		"nothing was skipped": {child: "TestThatLacksNothing", code: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			said, err := makeTest(t, test.child, test.code)
			if (err != nil) != test.fails {
				t.Errorf("make test: %v\n%s", err, said)
			}
			shown := strings.Join(slices.DeleteFunc(strings.SplitAfter(said, "\n"), func(line string) bool {
				return !strings.HasPrefix(line, "SKIPPED")
			}), "")
			if shown != test.want {
				t.Errorf("it shows %q, not %q, in:\n%s", shown, test.want, said)
			}
		})
	}
}

// makeTest runs make test, with one test in the place of all.
func makeTest(t *testing.T, child, code string) (said string, err error) {
	program := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(program, []byte(otherGo), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "test", "GO="+program)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains([]string{"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", requireVariable}, name)
	})
	cmd.Env = append(cmd.Env, childVariable+"=1", "CHILD="+child, "CODE="+code)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// onlyAsChild skips a test that another one starts.
func onlyAsChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("runs in TestMakeTestShowsWhatWasSkipped")
	}
}

func TestThatLacksSomething(t *testing.T) {
	onlyAsChild(t)
	Lacks(t, errors.New("it is not built"))
}

func TestThatLacksNothing(t *testing.T) { onlyAsChild(t) }
