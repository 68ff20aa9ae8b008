package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/internal/demo"
)

// leftOut is the cluster of the demo that is not started.
const leftOut = "site-b"

// pushRepositories makes the demo's repositories, changes what is different on real servers, and
// pushes them to Gitea. What stays are clones of them, as the person.
func (d *demonstration) pushRepositories(ctx context.Context) error {
	repos, _, err := demo.Prepare(ctx, d.folder.path("repositories"))
	if err != nil {
		return fmt.Errorf("make the repositories: %w", err)
	}
	gitops := filepath.Join(repos.Dir, gitopsRepo)
	if err := git(ctx, repos.Dir, "clone", "--quiet", repos.GitOps(), gitops); err != nil {
		return err
	}
	if err := os.RemoveAll(repos.GitOps()); err != nil {
		return fmt.Errorf("remove a repository: %w", err)
	}
	if err := d.describeFleet(repos.ControlPlane()); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(gitops, "clusters", leftOut)); err != nil {
		return fmt.Errorf("leave out cluster %s: %w", leftOut, err)
	}
	if err := d.push(ctx, repos.ControlPlane(), controlPlaneRepo); err != nil {
		return err
	}
	return d.push(ctx, gitops, gitopsRepo)
}

// describeFleet changes the control plane's description of the fleet.
func (d *demonstration) describeFleet(controlPlane string) error {
	if err := os.Remove(filepath.Join(controlPlane, "clusters", leftOut+".yaml")); err != nil {
		return fmt.Errorf("leave out cluster %s: %w", leftOut, err)
	}
	for file, content := range map[string]string{
		"gitops-repo.yaml": fmt.Sprintf(`apiVersion: furrow.dev/v1alpha1
kind: GitOpsRepo
metadata:
  name: gitops
spec:
  url: %s
  forge: Gitea
  credentials: %s
`, d.people.url(gitopsRepo), gitopsRepo),
		"README.md": `# Control plane of the demo

People commit to this repository. ` + "`clusters/` and `gitops-repo.yaml` describe the fleet, `seeds/`" + ` holds the
workloads. Furrow reads it and opens pull requests for what follows in ` + "`" + organisation + "/" + gitopsRepo + "`" + `.
`,
	} {
		if err := os.WriteFile(filepath.Join(controlPlane, file), []byte(content), 0o644); err != nil {
			return fmt.Errorf("describe the fleet: %w", err)
		}
	}
	return nil
}

// push makes what is in a work tree its only commit, and pushes it to a repository of Gitea.
func (d *demonstration) push(ctx context.Context, dir, repo string) error {
	url, err := d.people.urlAs(d.people.person, repo)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"config", "user.name", personName},
		{"config", "user.email", personName + "@example.invalid"},
		{"add", "--all"},
		{"commit", "--quiet", "--amend", "--no-edit", "--reset-author"},
		{"config", "remote.origin.url", url},
		{"config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"},
		{"push", "--quiet", "--set-upstream", "origin", "main"},
	} {
		if err := git(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// git runs git in a directory, without the user's own settings and hooks.
func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(string(output)))
	}
	return nil
}
