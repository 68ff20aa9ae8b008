package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
)

// Simulation restricts which GitOps repositories a simulation may write to. What it proposes,
// releases and reports is not true of any cluster, so it must not mix with what people rely on: it
// never writes to a repository on a server, and to one on this machine only if that was made for
// simulations.
type Simulation struct {
	// AnyLocal allows writes to every repository on this machine.
	AnyLocal bool
}

// madeForSimulation is the Git configuration key that marks a repository made for simulations.
const madeForSimulation = "furrow.simulation"

// MakeSimulated creates a bare GitOps repository for simulations, with a directory for the root of
// each cluster, as after the setup of real clusters.
func MakeSimulated(ctx context.Context, dir, branch string, roots map[string]string) error {
	work, err := os.MkdirTemp("", "furrow-simulation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for cluster, root := range roots {
		at := filepath.Join(work, filepath.FromSlash(root))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, "README.md"), []byte("The root of cluster "+cluster+" syncs this directory.\n"), 0o644); err != nil {
			return err
		}
	}
	who := []string{"-c", "user.name=Furrow", "-c", "user.email=" + author.Email}
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=" + branch}, {"add", "."},
		append(who, "commit", "--quiet", "--allow-empty", "--message=Set up the clusters"),
		{"clone", "--quiet", "--bare", ".", dir}, {"--git-dir", dir, "remote", "remove", "origin"},
		{"--git-dir", dir, "config", madeForSimulation, "true"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("making the repository %s: git %s: %w: %s", dir, args[0], manifest.About(manifest.Problem{Reason: v1alpha1.ReasonRepositoryFailed}, err), strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// IsSimulated reports whether a repository was made for simulations.
func IsSimulated(ctx context.Context, dir string) (bool, error) {
	made, err := git.LocalConfig(ctx, dir, madeForSimulation)
	return made == "true", err
}

// makeMissing creates the missing GitOps repositories on this machine. One that the mirror has
// commits of was not missing before: it was moved or deleted, and a new one instead would
// begin all over.
func (s *Session) makeMissing(ctx context.Context, c *catalog.Catalog) (made []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(c.Repos)) {
		spec := c.Repos[name].Spec
		dir := s.resolve(spec.URL)
		if spec.URL == "" || s.checkURL(dir) != nil || catalog.IsRemoteURL(dir) {
			continue
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if refs, err := s.seen(ctx, name, dir, spec.Credentials); err != nil {
			return made, err
		} else if len(refs) > 0 {
			return made, manifest.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Repo: name, Message: fmt.Sprintf("GitOpsRepo %q: there is no directory %s, which had commits when it was last read", name, dir), Next: "Restore it, or correct spec.url; 'git init --bare' makes an empty one"}
		}
		roots := map[string]string{}
		for _, cluster := range c.Inventory.Names() {
			if cl := c.Inventory.Clusters[cluster]; cl.Repo == name && cl.Hub == "" {
				roots[cluster] = path.Join(spec.Path, cl.RootPath)
			}
		}
		if err := MakeSimulated(ctx, dir, spec.BranchOrDefault(), roots); err != nil {
			return made, err
		}
		made = append(made, dir)
	}
	return made, nil
}

// seen returns the branches that a repository had when it was last read.
func (s *Session) seen(ctx context.Context, name, url, credentials string) (git.Refs, error) {
	remote, err := s.remote(url, credentials)
	if err != nil {
		return nil, err
	}
	m, err := s.open(ctx, name, remote)
	if err != nil {
		return nil, err
	}
	refs, err := m.Seen()
	return refs, errors.Join(err, m.Close())
}

// notSimulatedError reports a GitOps repository that a simulation must not write to.
type notSimulatedError struct{ message string }

func (e notSimulatedError) Error() string { return e.message }

// Reason is read by manifest.ReasonOf.
func (e notSimulatedError) Reason() string { return string(v1alpha1.ReasonSimulationRefused) }

// checkSimulation refuses a GitOps repository that a simulation must not write to: what it writes
// there is true of no cluster, and a real run would act on it. It refuses as well what it cannot
// find out about.
func (s *Session) checkSimulation(at string) error {
	if s.options.Simulation == nil {
		return nil
	}
	if catalog.IsRemoteURL(at) {
		return notSimulatedError{fmt.Sprintf("%s is on a server, and a simulation never writes there: its plans, proposals and status are true of no cluster. "+
			"In a copy of the control plane, let spec.url name a local copy of the repository, made by 'git clone --bare', and run it with --simulate --yes", git.Remote{URL: at})}
	}
	if s.options.Simulation.AnyLocal {
		return nil
	}
	switch made, err := IsSimulated(context.Background(), at); {
	case err != nil:
		return notSimulatedError{fmt.Sprintf("unknown whether %s was made for a simulation, so nothing is written to it: %v. Correct it, or let spec.url name a copy of it in a copy of the control plane", at, err)}
	case !made:
		return notSimulatedError{fmt.Sprintf("%s was not made for a simulation, which would write plans, proposals and a status to it that are true of no cluster. "+
			"If it is there to be tried on, add --yes; else let spec.url name a copy of it in a copy of the control plane", at)}
	}
	return nil
}
