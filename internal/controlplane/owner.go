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

// CheckOwner refuses what cannot be part of an owner; an empty id is that of the control plane's URL, which is checked
// once it is known that no ControlPlane document gives another one.
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

// givenOwner is <control-plane id>/<environment> of a control plane without a ControlPlane document. The id defaults
// to the name of the repository, which is that of what a local clone was cloned from, with the branch and the path
// where they are not the usual ones, so that two control planes in one repository are two owners.
func (s *Session) givenOwner() string {
	id := s.options.ID
	if id == "" {
		at, _, err := s.source(context.Background())
		if err != nil { // the first pass meets the error
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

// identity is whose plans those of the control plane are. Its catalog has no seeds.
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

// Revision of the control plane that was read last for its identity.
func (s *Session) Revision() string { return s.revision }

// Owner of the control plane's plans, as far as it is known.
func (s *Session) Owner() string { return cmp.Or(s.owner, s.givenOwner()) }

// Prepare says what no waiting changes about a control plane that can be read: that its owner has no valid name, or
// that a simulation must not write to its GitOps repositories. Those that a simulation finds missing on this machine
// are made, and returned.
func (s *Session) Prepare(ctx context.Context) (made []string, err error) {
	_, c, err := s.identity(ctx)
	if _, refused := errors.AsType[catalog.OwnerError](err); refused {
		return nil, err
	}
	if err != nil || s.options.Simulation == nil {
		return nil, nil // the first pass meets the same error
	}
	if made, err = s.makeMissing(ctx, c); err != nil {
		return made, err
	}
	err = s.OpenRepos(c)
	if _, refused := errors.AsType[notSimulatedError](err); refused {
		return made, err
	}
	return made, nil
}

// originOf is the origin of the control plane: its URL or, for a local clone, that of its remote; otherwise the first
// directory, because each copy of a repository is its own control plane.
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

// source is the repository that the control plane is, or was cloned from; it is resolved once.
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

// maxClones bounds how many clones of clones are followed.
const maxClones = 8

// clonedFrom is what a local repository was cloned from, directly or through other local ones: a URL on a server or,
// where there is none, the local repository with which it began.
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
