// Package demo has the repositories and the story of furrow demo: a control plane with a fleet and
// a seed, a GitOps repository, and an update of the seed. They are made of the files that are
// embedded here, so the demo needs no network, and by the user's git, so people can inspect them
// with it.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/internal/controlplane"
)

// Seed is the name of the demo's seed.
const Seed = "edge-5g"

//go:embed files
var files embed.FS

// Repositories is where a demo's repositories are.
type Repositories struct {
	Dir string
}

// ControlPlane returns the control-plane repository, with a work tree to commit in.
func (p Repositories) ControlPlane() string { return filepath.Join(p.Dir, "control-plane") }

// GitOps returns the GitOps repository, a bare one.
func (p Repositories) GitOps() string { return filepath.Join(p.Dir, "gitops.git") }

// Cache returns the directory of the mirrors.
func (p Repositories) Cache() string { return filepath.Join(p.Dir, "cache") }

// SeedFile returns the seed in the control plane, UpdateFile its next version.
func (p Repositories) SeedFile() string {
	return filepath.Join(p.ControlPlane(), "seeds", Seed+".yaml")
}

// UpdateFile returns the next version of the seed.
func (p Repositories) UpdateFile() string { return filepath.Join(p.Dir, "update", Seed+".yaml") }

// Prepare makes the repositories, or finds those that an interrupted demo left (again), which it
// does not change. It refuses any other directory that is not empty. The GitOps repository is made
// last and marked as simulated, so one that is there means that all is there.
func Prepare(ctx context.Context, dir string) (repos Repositories, again bool, err error) {
	repos = Repositories{dir}
	if _, err := exec.LookPath("git"); err != nil {
		return repos, false, errors.New("the demo needs git; install it")
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return repos, false, err
	}
	if made, err := controlplane.IsSimulated(ctx, repos.GitOps()); err == nil && made {
		return repos, true, nil
	}
	if len(entries) > 0 {
		return repos, false, fmt.Errorf("%s is not empty and holds no demo; name another directory with --dir", dir)
	}
	steps := []func(context.Context) error{repos.copyFiles, repos.makeControlPlane, repos.makeGitOps}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return repos, false, err
		}
	}
	return repos, false, nil
}

func (p Repositories) copyFiles(context.Context) error {
	tree, err := fs.Sub(files, "files")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	return os.CopyFS(p.Dir, tree)
}

func (p Repositories) makeControlPlane(ctx context.Context) error {
	return git(ctx, p.ControlPlane(), [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"config", "user.name", "Demo"},
		{"config", "user.email", "demo@example.com"},
		{"add", "."},
		{"commit", "--quiet", "-m", "Declare the fleet and plant edge-5g"},
	})
}

// makeGitOps makes the bare repository with what bootstrapping a cluster leaves
// there: a directory for each root.
func (p Repositories) makeGitOps(ctx context.Context) error {
	roots := map[string]string{}
	for _, cluster := range []string{"mgmt", "site-a", "site-b"} {
		roots[cluster] = "clusters/" + cluster
	}
	return controlplane.MakeSimulated(ctx, p.GitOps(), "main", roots)
}

// Update commits the next version of the seed.
func (p Repositories) Update(ctx context.Context) error {
	data, err := os.ReadFile(p.UpdateFile())
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.SeedFile(), data, 0o644); err != nil {
		return err
	}
	return git(ctx, p.ControlPlane(), [][]string{{"commit", "--quiet", "--all", "-m", "Update edge-5g to 1.1.0"}})
}

// git runs commands in a directory, without the user's own settings and hooks.
func git(ctx context.Context, dir string, commands [][]string) error {
	for _, args := range commands {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
