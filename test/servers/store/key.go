package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// layout is raised when what a folder holds changes for the same recipe.
const layout = 1

// place is the folder of what r makes from the module as it is now: <name>-<version>-<12 hex digits>.
func (s *Store) place(r recipe) (string, error) {
	key, err := s.key(r)
	if err != nil {
		return "", err
	}
	return filepath.Join(s.dir, fmt.Sprintf("%s-%s-%s", r.name, r.version, key)), nil
}

// key digests all that decides what r makes. A server without a module of its own has only data.
func (s *Store) key(r recipe) (string, error) {
	digest := sha256.New()
	_, _ = fmt.Fprintln(digest, layout, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	_, _ = fmt.Fprintf(digest, "%q %q %q %q %t %t\n", r.packages, r.programs, r.tags, r.ldflags, r.cgo, r.mergeOlder)
	for _, d := range r.data {
		_, _ = fmt.Fprintf(digest, "%q\n", []string{d.module.path, d.module.version, d.module.sum, d.from, d.to})
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(s.modules, string(r.name), name))
		if errors.Is(err, fs.ErrNotExist) && len(r.packages) == 0 {
			continue
		} else if err != nil {
			return "", fmt.Errorf("read what pins %s: %w", r.name, err)
		}
		_, _ = fmt.Fprintf(digest, "%s %d\n%s", name, len(content), content)
	}
	return hex.EncodeToString(digest.Sum(nil))[:12], nil
}
