package controlplane

import (
	"context"
	"fmt"
	"os"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/git"
)

// ancestry remembers which commits are in the history of a commit of the control plane: they are in
// that of every later one, too.
type ancestry struct {
	of    git.Hash
	older map[git.Hash]bool
}

// has returns what is known to be in the history of a commit.
func (a *ancestry) has(m *git.Mirror, read git.Hash) map[git.Hash]bool {
	if a.of == read {
		return a.older
	}
	if !a.of.IsZero() {
		if on, err := m.IsAncestor(a.of, read); err == nil && on {
			a.of = read
			return a.older
		}
	}
	a.of, a.older = read, map[git.Hash]bool{}
	return a.older
}

// relation returns how a commit of the control plane relates to the one that is read.
func (s *Session) relation(read git.Hash) func(git.Hash) (pass.Relation, error) {
	return func(commit git.Hash) (pass.Relation, error) {
		if commit == read {
			return pass.Same, nil
		}
		if commit.IsZero() {
			return pass.Unknown, nil
		}
		if s.ancestry.has(s.mirror, read)[commit] {
			return pass.Older, nil
		}
		switch on, err := s.mirror.IsAncestor(commit, read); {
		case git.IsUnknown(err):
			return pass.Unknown, nil
		case err != nil:
			return "", err
		case on:
			s.ancestry.older[commit] = true
			return pass.Older, nil
		}
		switch on, err := s.mirror.IsAncestor(read, commit); {
		case git.IsUnknown(err):
			return pass.Diverged, nil
		case err != nil:
			return "", err
		case on:
			return pass.Newer, nil
		}
		return pass.Diverged, nil
	}
}

// isClone reports whether what is read is a clone of the control plane and not the repository
// itself.
func (s *Session) isClone(ctx context.Context) (bool, error) {
	dir, local := catalog.LocalDir(s.options.ControlPlane)
	if !local {
		return false, nil
	}
	at, onServer, err := s.source(ctx)
	return err == nil && (onServer || at != dir), err
}

// Process names this process for people, and differs from that of every other one.
func Process(what string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return fmt.Sprintf("%s on %s (process %d)", what, host, os.Getpid())
}
