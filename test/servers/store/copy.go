package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is the Go module that pins what is built: the folder dir of test/servers.
type source struct {
	dir string
	// copies replace modules that it requires.
	copies []copied
}

// copied is a module that is built from a copy in which files are left out, changed or replaced: so
// that what the suite does not use is not compiled, and what cannot be downloaded is not needed.
type copied struct {
	// path is the path of the module that the copy replaces.
	path string
	// parts are what is copied; a part may be a single file.
	parts []data
	// drop are files that are left out, edits what is changed in files.
	drop  []string
	edits []edit
	// own is a folder of the source whose files come on top.
	own string
}

// edit replaces all of old, which must be there, in a file.
type edit struct {
	file, old, new string
}

// prepare writes to dir the go.mod to build with, next to the copies, and gives its path.
func (s *Store) prepare(ctx context.Context, dir string, from source) (string, error) {
	module := filepath.Join(s.modules, from.dir)
	goMod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read what pins %s: %w", from.dir, err)
	}
	for i, c := range from.copies {
		to := filepath.Join(dir, fmt.Sprint("copy-", i))
		if err := s.makeCopy(ctx, to, module, c); err != nil {
			return "", fmt.Errorf("copy %s: %w", c.path, err)
		}
		goMod = fmt.Appendf(goMod, "\nreplace %s => %s\n", c.path, to)
	}
	goSum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", fmt.Errorf("read what pins %s: %w", from.dir, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), goSum, 0o644); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "go.mod")
	return path, os.WriteFile(path, goMod, 0o644)
}

// makeCopy makes one copy in the folder to.
func (s *Store) makeCopy(ctx context.Context, to, module string, c copied) error {
	for _, part := range c.parts {
		if err := s.copyData(ctx, to, part, false); err != nil {
			return err
		}
	}
	for _, file := range c.drop {
		if err := os.Remove(filepath.Join(to, filepath.FromSlash(file))); err != nil {
			return fmt.Errorf("leave out a file: %w", err)
		}
	}
	for _, e := range c.edits {
		path := filepath.Join(to, filepath.FromSlash(e.file))
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("change a file: %w", err)
		}
		if !strings.Contains(string(content), e.old) {
			return fmt.Errorf("change a file: %q is not in %s", e.old, e.file)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(content), e.old, e.new)), 0o644); err != nil {
			return err
		}
	}
	if err := copyTree(filepath.Join(module, filepath.FromSlash(c.own)), to, false); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.parts, func(part data) bool { return part.to == "." }) {
		return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module "+c.path+"\n"), 0o644)
	}
	return nil
}
