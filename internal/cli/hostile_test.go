package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/furrow-dev/furrow/test/golden"
)

// TestHostileInputs runs the scripts in testdata/hostile: one input that a person gets wrong, or an attacker gets
// right, and what Furrow answers. Only commit the changes of -update if you understand what caused them.
func TestHostileInputs(t *testing.T) {
	needGit(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "hostile"),
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			for _, name := range []string{
				"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_TERMINAL_PROMPT",
				"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
			} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
	})
}
