package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// LocalConfig is a value of the configuration of a repository on this machine; empty where it has none.
func LocalConfig(ctx context.Context, dir, key string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "-C", dir, "config", "--local", "--get", key)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") || strings.HasPrefix(kv, "GIT_COMMON_DIR=")
	})
	out, err := cmd.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == 1 {
		return "", nil // no such key
	}
	return strings.TrimSpace(string(out)), err
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
