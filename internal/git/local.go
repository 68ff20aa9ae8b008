package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LocalConfig is a value of the configuration of a repository on this machine; empty where it has none. Settings of the
// user, such as which repositories git looks at, have no part in it.
func LocalConfig(ctx context.Context, dir, key string) (string, error) {
	if at := filepath.Join(dir, ".git"); exists(at) {
		dir = at // as git itself looks for it
	}
	out, err := exec.CommandContext(ctx, "git", "--git-dir", dir, "config", "--local", "--get", key).Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		if exit.ExitCode() == 1 {
			return "", nil // no such key
		}
		return "", fmt.Errorf("the configuration of %s cannot be read: %s", dir, cmp.Or(strings.TrimSpace(string(exit.Stderr)), err.Error()))
	}
	return strings.TrimSpace(string(out)), err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// FirstCommit is the commit with which the history of a commit begins: the last one along its first parents.
func (m *Mirror) FirstCommit(commit Hash) (Hash, error) {
	for {
		info, err := m.Commit(commit)
		if err != nil || len(info.Parents) == 0 {
			return commit, err
		}
		commit = info.Parents[0]
	}
}
