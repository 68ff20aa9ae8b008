package controlplane

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/internal/git"
)

// ledger is a directory of the cache with an empty file for each plan. It needs no lock: several processes
// may add and remove files at once.
type ledger struct{ dir string }

// ledger returns that of this control plane.
func (s *Session) ledger() ledger {
	o := s.options
	sum := sha256.Sum256([]byte(strings.Join([]string{o.ControlPlane, o.Branch, o.Path, o.ID, o.Environment}, "\n")))
	return ledger{filepath.Join(o.Cache, "plans-"+hex.EncodeToString(sum[:6]))}
}

func (l ledger) file(repo string, commit git.Hash) string {
	return filepath.Join(l.dir, url.PathEscape(repo)+"."+commit.String())
}

// Has implements engine.Ledger.
func (l ledger) Has(repo string, commit git.Hash) bool {
	_, err := os.Lstat(l.file(repo, commit))
	return err == nil
}

// Put implements engine.Ledger.
func (l ledger) Put(repo string, commit, old git.Hash) {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return
	}
	if os.WriteFile(l.file(repo, commit), nil, 0o600) == nil && !old.IsZero() {
		_ = os.Remove(l.file(repo, old))
	}
}
