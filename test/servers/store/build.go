package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// keptUnused is how long a folder of an older build is kept after its last use.
const keptUnused = 30 * 24 * time.Hour

// buildOne builds r unless another process does so first.
func (s *Store) buildOne(ctx context.Context, out io.Writer, r recipe) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of built servers: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(s.dir, ".lock-"+string(r.name)), func() {
		say(out, "servers: %s: waiting for another process that builds it", r.name)
	})
	if err != nil {
		return err
	}
	defer unlock()
	folder, err := s.folder(r)
	if err != nil {
		return err
	}
	if complete(folder, r) {
		return nil
	}
	// We hold the lock, so nobody is at work in what is left of an interrupted build.
	leftovers, _ := filepath.Glob(filepath.Join(s.dir, ".build-"+string(r.name)+"-*"))
	for _, dir := range append(leftovers, folder) {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("clear away an interrupted build: %w", err)
		}
	}
	temporary, err := os.MkdirTemp(s.dir, ".build-"+string(r.name)+"-")
	if err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := s.fill(ctx, temporary, r); err != nil {
		return err
	}
	if err := os.Rename(temporary, folder); err != nil {
		return fmt.Errorf("move what was built to its folder: %w", err)
	}
	s.clearUnused(r.name, folder)
	return nil
}

// fill makes all that r makes, in dir.
func (s *Store) fill(ctx context.Context, dir string, r recipe) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return fmt.Errorf("open the folder for others: %w", err)
	}
	if len(r.packages) > 0 {
		if err := s.buildPrograms(ctx, dir, r); err != nil {
			return err
		}
	}
	for _, d := range r.data {
		if err := s.copyData(ctx, dir, d, r.kustomizations); err != nil {
			return err
		}
	}
	return nil
}

// buildPrograms builds the programs of r into the folder bin of dir.
func (s *Store) buildPrograms(ctx context.Context, dir string, r recipe) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return fmt.Errorf("make the folder of programs: %w", err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return fmt.Errorf("make the folder of sources: %w", err)
	}
	goMod, err := s.prepare(ctx, work, r.source)
	if err != nil {
		return err
	}
	module := filepath.Join(s.modules, r.source.dir)
	if _, all, err := s.run(ctx, module, r.env(), r.buildArgs(goMod, bin)); err != nil {
		return fmt.Errorf("%w\n%s", err, lastLines(all, 15))
	}
	for alias, program := range r.aliases {
		if err := os.Symlink(program, filepath.Join(bin, alias)); err != nil {
			return fmt.Errorf("give %s its other name: %w", program, err)
		}
	}
	return os.RemoveAll(work)
}

// copyData copies a folder or a file of a module into dir.
func (s *Store) copyData(ctx context.Context, dir string, d data, kustomizations bool) error {
	source, err := s.download(ctx, d.module)
	if err != nil {
		return err
	}
	from := filepath.Join(source, filepath.FromSlash(d.from))
	if err := copyTree(from, filepath.Join(dir, filepath.FromSlash(d.to)), kustomizations); err != nil {
		return fmt.Errorf("copy %s of %s: %w", d.from, d.module.path, err)
	}
	return nil
}

// download brings m into the module cache and gives its folder there. It refuses other content than
// the pinned one.
func (s *Store) download(ctx context.Context, m module) (string, error) {
	// Outside any module, so no go.mod takes part.
	stdout, all, err := s.run(ctx, os.TempDir(), nil, []string{"mod", "download", "-json", m.path + "@" + m.version})
	if err != nil {
		return "", fmt.Errorf("download %s@%s: %w\n%s", m.path, m.version, err, lastLines(all, 15))
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(stdout, &got); err != nil {
		return "", fmt.Errorf("download %s@%s: read the go command's answer: %w", m.path, m.version, err)
	}
	if got.Sum != m.sum {
		return "", fmt.Errorf("download %s@%s: its digest is %s, not %s", m.path, m.version, got.Sum, m.sum)
	}
	return got.Dir, nil
}

// copyTree copies a file or the regular files of a folder, without what only tests read and, unless
// kustomizations is set, what only kustomize reads.
func copyTree(from, to string, kustomizations bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir() && entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case !entry.Type().IsRegular(), entry.Name() == "kustomization.yaml" && !kustomizations, strings.HasSuffix(entry.Name(), "_test.go"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// clearUnused removes folders of name with other keys that nobody used for long.
func (s *Store) clearUnused(name Name, keep string) {
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(string(name)) + `-v[0-9][^-]*-[0-9a-f]{12}$`)
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		dir := filepath.Join(s.dir, entry.Name())
		info, err := entry.Info()
		if err != nil || dir == keep || !ours.MatchString(entry.Name()) {
			continue
		}
		if s.now().Sub(info.ModTime()) > keptUnused {
			_ = os.RemoveAll(dir)
		}
	}
}
