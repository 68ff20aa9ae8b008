package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/version"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// layout is raised when what a folder holds changes for the same recipe.
const layout = 2

// folder returns the folder of what r makes from the module as it is now: <name>-<version>-<12 hex
// digits>.
func (s *Store) folder(r recipe) (string, error) {
	key, err := s.key(r)
	if err != nil {
		return "", err
	}
	return filepath.Join(s.dir, fmt.Sprintf("%s-%s-%s", r.name, r.version, key)), nil
}

// key digests all that decides what r makes. Of Go only the language version counts: a patch release of the
// compiler makes no other server.
func (s *Store) key(r recipe) (string, error) {
	digest := sha256.New()
	_, _ = fmt.Fprintln(digest, layout, version.Lang(runtime.Version()), runtime.GOOS, runtime.GOARCH)
	_, _ = fmt.Fprintf(digest, "%q %q %q %q %q %q\n", r.buildArgs("go.mod", "bin"), r.env(), r.programs, r.aliases, r.data, r.source.copies)
	if r.kustomizations {
		_, _ = fmt.Fprintln(digest, "kustomizations")
	}
	if len(r.packages) > 0 {
		if err := digestFiles(digest, filepath.Join(s.modules, r.source.dir)); err != nil {
			return "", fmt.Errorf("read what pins %s: %w", r.name, err)
		}
	}
	return hex.EncodeToString(digest.Sum(nil))[:12], nil
}

// digestFiles adds all files of a folder, go.mod, go.sum and programs of our own, to digest.
func digestFiles(digest io.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(digest, "%s %d\n%s", name, len(content), content)
		return err
	})
}
