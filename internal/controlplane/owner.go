package controlplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/git"
)

// CheckOwner refuses an id or environment that cannot be part of an owner. An empty id means one
// derived from the URL, which is checked once it is known that no ControlPlane document sets
// another one.
func CheckOwner(id, environment string) error {
	if err := catalog.CheckOwnerPart("environment", environment); err != nil {
		return fmt.Errorf("%w; correct --environment", err)
	}
	if id == "" {
		return nil
	}
	if err := catalog.CheckOwnerPart("control-plane id", id); err != nil {
		return fmt.Errorf("%w; correct --id", err)
	}
	return nil
}

// givenOwner returns <control-plane id>/<environment> for a control plane without a ControlPlane
// document. The id defaults to the name of the repository (for a local clone, of its origin),
// followed by the branch and the path if they are not the defaults, so two control planes in
// one repository have different owners.
func (s *Session) givenOwner() string {
	id := s.options.ID
	if id == "" {
		at, _, err := s.source(context.Background())
		if err != nil { // the first pass reports the error
			at = s.options.ControlPlane
		}
		id = path.Base(catalog.CanonicalURL(filepath.ToSlash(at)))
		if s.options.PlansOf != catalog.DefaultBranch {
			id += "-" + strings.ReplaceAll(s.options.PlansOf, "/", "-")
		}
		if p := strings.Trim(path.Clean(filepath.ToSlash(s.options.Path)), "/."); p != "" {
			id += "-" + strings.ReplaceAll(p, "/", "-")
		}
	}
	return id + "/" + s.options.Environment
}

// identity returns the identity of the control plane's plans, and its catalog without seeds.
func (s *Session) identity(ctx context.Context) (plan.Identity, *catalog.Catalog, error) {
	tree, err := s.read(ctx)
	if err != nil {
		return plan.Identity{}, nil, err
	}
	c, err := inventoryOf(tree)
	if err != nil {
		return plan.Identity{}, nil, err
	}
	is, err := tree.Identity(c, s.givenOwner())
	if err == nil {
		s.owner, s.revision = is.Owner, tree.Revision
	}
	return is, c, err
}

// Revision returns the revision of the control plane at the last read of its identity.
func (s *Session) Revision() string { return s.revision }

// Owner returns the owner of the control plane's plans; before the first read, the one without a
// ControlPlane document.
func (s *Session) Owner() string { return cmp.Or(s.owner, s.givenOwner()) }

// Prepare returns the errors that waiting cannot fix: the owner's name is invalid, or a simulation
// must not write to a GitOps repository. For a simulation it creates missing GitOps repositories on
// this machine, and returns them.
func (s *Session) Prepare(ctx context.Context) (made []string, err error) {
	_, c, err := s.identity(ctx)
	if manifest.ReasonOf(err) == v1alpha1.ReasonInvalidOwner {
		return nil, err
	}
	if err != nil || s.options.Simulation == nil {
		return nil, nil // the first pass reports the same error
	}
	if made, err = s.makeMissing(ctx, c); err != nil {
		return made, err
	}
	err = s.OpenRepos(ctx, c)
	if _, refused := errors.AsType[notSimulatedError](err); refused {
		return made, err
	}
	return made, nil
}

// originOf returns the origin of the control plane: its URL or, for a local clone, that of its
// remote; otherwise the first directory, because each copy of a repository is its own control
// plane.
func (s *Session) originOf(ctx context.Context) (string, error) {
	if s.origin != "" {
		return s.origin, nil
	}
	at, onServer, err := s.source(ctx)
	if err == nil && !onServer {
		at, err = git.LocalPath(ctx, at)
	}
	if err != nil {
		return "", fmt.Errorf("finding out where %s was cloned from: %w", s.options.ControlPlane, manifest.About(manifest.Problem{Reason: v1alpha1.ReasonSourceFailed}, err))
	}
	s.origin = catalog.Origin(at, s.options.PlansOf, s.options.Path)
	return s.origin, nil
}

// source returns the repository that the control plane is or was cloned from; it is resolved once.
func (s *Session) source(ctx context.Context) (at string, onServer bool, err error) {
	if s.from.at == "" {
		if catalog.IsRemoteURL(s.options.ControlPlane) {
			s.from = source{s.options.ControlPlane, true}
		} else if at, onServer, err = clonedFrom(ctx, s.options.ControlPlane); err == nil {
			s.from = source{at, onServer}
		}
	}
	return s.from.at, s.from.onServer, err
}

// source is where a repository is.
type source struct {
	at       string
	onServer bool
}

// maxClones limits how many clones of clones are followed.
const maxClones = 8

// clonedFrom returns what a local repository was cloned from, directly or through other local ones:
// a URL on a server or, if there is none, the first local repository.
func clonedFrom(ctx context.Context, dir string) (at string, onServer bool, err error) {
	for range maxClones {
		remote, err := git.LocalConfig(ctx, dir, "remote.origin.url")
		if err != nil || remote == "" {
			return dir, false, err
		}
		at, local := catalog.LocalDir(remote)
		if !local {
			return remote, true, nil
		}
		remote = at
		if !filepath.IsAbs(remote) {
			remote = filepath.Join(dir, remote)
		}
		if _, err := os.Stat(remote); err != nil {
			remote += ".git" // which git leaves out
		}
		if _, err := os.Stat(remote); err != nil {
			return dir, false, nil // what it was cloned from is gone
		}
		dir = remote
	}
	return dir, false, nil
}
