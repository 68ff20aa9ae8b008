// Package loudly skips tests in a way that people see. go test does not show what the tests of a package that passes say,
// unless it is verbose. So each test that is skipped here is also told in the file that the variable FURROW_SKIPPED names,
// which make test sets, and shows at its end.
package loudly

import (
	"fmt"
	"io"
	"os"
	"testing"
)

// fileVariable names the file that gets a line for each test that is skipped.
const fileVariable = "FURROW_SKIPPED"

// Skip skips a test that lacks something.
func Skip(t testing.TB, why error) {
	t.Helper()
	if path := os.Getenv(fileVariable); path != "" {
		if err := tell(path, fmt.Sprintf("SKIPPED: %s: %v\n", t.Name(), why)); err != nil {
			t.Fatalf("tell that the test is skipped, as %v: %v", why, err)
		}
	}
	t.Skipf("SKIPPED: %v", why)
}

// tell adds a line to the file at path, at once, as other processes do.
func tell(path, line string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(file, line); err != nil {
		return err
	}
	return file.Close()
}
