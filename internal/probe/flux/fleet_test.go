package flux

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fleetRepo is a clone of the repository that Flux reads.
type fleetRepo struct{ dir, token string }

func cloneFleet(t *testing.T, url, user, token string) fleetRepo {
	t.Helper()
	f := fleetRepo{t.TempDir(), token}
	f.git(t, "clone", "-q", strings.Replace(url, "://", "://"+user+":"+token+"@", 1), ".")
	return f
}

func (f fleetRepo) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", args[0], err, strings.ReplaceAll(string(out), f.token, "…"))
	}
	return strings.TrimSpace(string(out))
}

// push writes files, takes others away, and returns the commit that has been pushed.
func (f fleetRepo) push(t *testing.T, written map[string]string, removed ...string) string {
	t.Helper()
	for file, content := range written {
		if err := os.MkdirAll(filepath.Join(f.dir, filepath.Dir(file)), 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, f.dir, file, []byte(content))
	}
	for _, file := range removed {
		if err := os.Remove(filepath.Join(f.dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	f.git(t, "add", "--all", ".")
	f.git(t, "commit", "-qm", "fleet")
	f.git(t, "push", "-q")
	return f.git(t, "rev-parse", "HEAD")
}

func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: edge}\n", name)
}
