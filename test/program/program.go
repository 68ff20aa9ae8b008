// Package program finds the furrow that tests run as a process.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names the program where it is built already, as make does once for all packages.
const Variable = "FURROW_BIN"

// Furrow returns the path of the program that FURROW_BIN names or, where that is not set, of one
// that it builds into dir.
func Furrow(ctx context.Context, dir string) (string, error) {
	if built := os.Getenv(Variable); built != "" {
		// Reading the file's metadata makes it an input of the test: go test does not reuse a
		// result for another program.
		if _, err := os.Stat(built); err != nil {
			return "", fmt.Errorf("%s: %w", Variable, err)
		}
		return built, nil
	}
	path := filepath.Join(dir, "furrow")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, "github.com/furrow-dev/furrow")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build furrow: %w\n%s", err, output)
	}
	return path, nil
}
