package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LocalConfig returns a value of the configuration of a repository on this machine; empty where it
// has none. The user's own configuration, such as safe.directory, is ignored.
func LocalConfig(ctx context.Context, dir, key string) (string, error) {
	out, err := local(ctx, dir, "config", "--local", "--get", key)
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == 1 {
		return "", nil // no such key
	}
	return out, err
}

// LocalPath returns the canonical path of a repository on this machine: that of its directory, or
// of its main work tree, without symbolic links.
func LocalPath(ctx context.Context, dir string) (string, error) {
	path, err := local(ctx, dir, "rev-parse", "--git-common-dir")
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	return strings.TrimSuffix(path, string(filepath.Separator)+".git"), nil
}

// local runs git on a repository of this machine, whose directory or work tree is dir. The
// directory is named by --git-dir, so git neither searches the parents of dir nor refuses a
// repository of another user, which it does only with those that it found by searching.
func local(ctx context.Context, dir string, args ...string) (string, error) {
	at := filepath.Join(dir, ".git")
	if _, err := os.Lstat(at); err != nil {
		at = dir // it has no work tree
	}
	out, err := exec.CommandContext(ctx, "git", append([]string{"--git-dir", at}, args...)...).Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return "", fmt.Errorf("the repository %s cannot be read: %s (%w)", dir, strings.TrimSpace(string(exit.Stderr)), err)
	}
	return strings.TrimSpace(string(out)), err
}
