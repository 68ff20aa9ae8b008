package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// walker finds the files that are read, and names those that are not. It finds the same
// whether the tree is a directory or a commit: links are followed by their text, and
// only within the tree.
//
// Each file and directory counts once, by whatever links it is reached, and under the
// path that it has without links.
type walker struct {
	tree fs.FS
	// leave reports whether a directory is not part of the walk; nil where all are.
	leave func(dir string) bool
	// mixed reports whether the tree holds files of all kinds, so only names of manifests
	// matter.
	mixed bool
	// markers are the names of files by which a package is more than manifests, and marked says
	// that one was found. Then the directory is walked again for all files, with any name,
	// including links to files.
	markers []string
	marked  bool
	all     bool

	files   []foundFile
	skipped manifest.Problems
	// lost are those among them whose content is unknown: a dangling link, a submodule, a
	// device. What they held may still be wanted.
	lost []manifest.Source
	// unnamed are the files and directories that cannot be opened because of their names. They are
	// meant to be read, so a package that has any of them is refused.
	unnamed manifest.Problems
	// unknown are the first files whose names are not those of manifests, of so many.
	unknown  []string
	unknowns int
	// most is how much is visited before the walk ends with an error.
	most int
	// seen are the files and directories that count already.
	seen map[string]bool
	// visited counts what was visited, and dirs the directories whose entries were.
	visited, dirs int
}

// foundFile is a file that is read: its path, and that of the file that a link leads to.
type foundFile struct{ name, target string }

func newWalker(tree fs.FS) *walker {
	return &walker{tree: tree, most: maxFiles, seen: map[string]bool{}}
}

// again returns a walker of the same tree that finds all files.
func (w *walker) again() *walker {
	all := newWalker(w.tree)
	all.all = true
	return all
}

const (
	// maxFiles and maxTreeFiles bound the walks of a package and of a tree: a commit may
	// hold one directory any number of times.
	maxFiles     = 100_000
	maxTreeFiles = 1_000_000
	// maxPath is the length of the longest path that Linux opens.
	maxPath = 4096
	maxName = 255
	// maxLinks is how many links are followed to one file, as Linux does.
	maxLinks = 40
	// maxUnknown is how many files with unknown names are named in a warning.
	maxUnknown = 5
)

// errTooManyFiles ends a walk.
var errTooManyFiles = errors.New("too many files and directories")

const notRead = ", which is not read"

// walk visits what a directory holds. There must be no link in its path.
func (w *walker) walk(dir string) error {
	entries, err := fs.ReadDir(w.tree, dir)
	if err != nil {
		return err
	}
	w.seen[dir] = true
	w.dirs++
	for _, entry := range entries {
		if !openable(entry.Name()) {
			w.refuseName(dir, entry.Name(), entry.Type())
			continue
		}
		if err := w.visit(path.Join(dir, entry.Name()), entry.Type()); err != nil {
			return err
		}
	}
	return nil
}

// visit takes in a file or directory, whose path has no link before its last element. Every visit
// counts, links that lead nowhere included, so a tree of links cannot take long.
func (w *walker) visit(name string, kind fs.FileMode) error {
	if w.visited++; w.visited > w.most {
		return fmt.Errorf("%w: more than %d", errTooManyFiles, w.most)
	}
	switch {
	case hidden(name) && (!w.all || kind.IsDir()):
		return w.passOver(name, kind)
	case len(name) > maxPath:
		w.lose(truncate.Text(name, 67), "its path is too long", "Move it up.")
		return nil
	case kind.IsDir():
		return w.enter(name)
	case kind&fs.ModeSymlink != 0:
		return w.follow(name)
	case w.mixed && kind.IsRegular() && !isProse(name) && wasManifest(name):
		return w.warnOfManifest(name, "the file holds a document of Furrow and is not read", "Give it a name that ends in .yaml, .yml or .json, or remove it.")
	case kind.IsRegular() && !w.all && isText(name):
		return w.warnOfText(name)
	case kind.IsRegular() && !w.all && !w.mixed && ofTool(name):
		return w.leaveToTool(name)
	}
	w.take(name, name, kind)
	return nil
}

// passOver leaves out what is hidden, and warns of a document in it.
func (w *walker) passOver(name string, kind fs.FileMode) error {
	if kind.IsRegular() && isManifest(name) {
		return w.warnOfManifest(name, "the file is hidden, so it is not read", "Give it a name that does not begin with '.', or remove it.")
	}
	return nil
}

// openable reports whether a tree opens a file or directory of such a name. Git keeps names of any
// bytes.
func openable(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.Contains(name, "/")
}

// meant reports whether a file or directory is one to be read, by its name and kind.
func (w *walker) meant(name string, kind fs.FileMode) bool {
	return !hidden(name) && (w.all || isManifest(name) || !kind.IsRegular() && !w.ofOthers(name))
}

// refuseName notes a file or directory that cannot be opened because of its name.
func (w *walker) refuseName(dir, name string, kind fs.FileMode) {
	w.visited++
	if !w.meant(name, kind) {
		return
	}
	why := "is not valid UTF-8"
	if utf8.ValidString(name) {
		why = "is not one that a file or directory can have"
	}
	w.unnamed = append(w.unnamed, manifest.Problem{
		Reason: v1alpha1.ReasonFileUnreadable, Source: manifest.Source{File: manifest.Printable(strings.TrimPrefix(dir+"/"+name, "./"))},
		Message: "the name " + why + ", so it cannot be read", Next: "Rename it with 'git mv', or remove it.",
	})
}

// enter walks a directory, unless it is a repository of its own.
func (w *walker) enter(dir string) error {
	if w.seen[dir] || w.leave != nil && w.leave(dir) {
		return nil
	}
	if isRepository(w.tree, dir) {
		w.seen[dir] = true
		w.skipSubmodule(dir)
		return nil
	}
	return w.walk(dir)
}

// follow takes what a link leads to, if that is within the tree. A link to a directory that is
// visited anyway is not walked twice, and one to a directory around it would have no end.
func (w *walker) follow(name string) error {
	target, kind, fault, err := resolve(w.tree, name)
	switch {
	case err != nil:
		return err
	case fault == "" && w.leftAlone(target):
		return nil
	case fault == "" && kind.IsDir() && (target == "." || strings.HasPrefix(name, target+"/")):
		fault = "leads to a directory that it is in"
	case fault == "" && kind.IsDir() && w.all && w.dirs > 0:
		w.lose(name, "it is a link to a directory, and those are not followed in a package that is rendered", "Name that directory where the link is used.")
		return nil
	case fault == "" && kind.IsDir():
		return w.enter(target)
	}
	switch {
	case fault == "":
		w.take(name, target, kind)
	case w.ofOthers(name):
	default:
		w.lose(name, "the link "+fault+", so it is not followed", "Commit the file or directory itself, or link to one in the same tree.")
	}
	return nil
}

// take takes in what is neither a directory nor a link. Its name is that of the link that leads to
// it, and target the file itself: by the latter a manifest to which several links lead is read
// once.
func (w *walker) take(name, target string, kind fs.FileMode) {
	if kind.IsRegular() && slices.Contains(w.markers, path.Base(name)) {
		w.marked = true
	}
	switch {
	case kind&fs.ModeIrregular != 0:
		w.skipSubmodule(name)
	case w.all && kind.IsRegular():
		w.files = append(w.files, foundFile{name, target})
	case !kind.IsRegular() && !w.ofOthers(name):
		w.lose(name, "it is "+deviceName(kind)+notRead, "Remove it.")
	case !kind.IsRegular() || w.seen[target] || isProse(name):
	case isManifest(name):
		w.seen[target] = true
		w.files = append(w.files, foundFile{target, target})
	case !w.mixed:
		if w.unknowns++; w.unknowns <= maxUnknown {
			w.unknown = append(w.unknown, name)
		}
	}
}

// leftAlone reports whether a link leads into a directory that belongs to somebody else.
func (w *walker) leftAlone(name string) bool {
	for ; w.leave != nil && name != "."; name = path.Dir(name) {
		if w.leave(name) {
			return true
		}
	}
	return false
}

func (w *walker) skipSubmodule(name string) {
	w.lose(name, "it is a submodule, or a repository of its own"+notRead, "Commit its files instead.")
}

// ofOthers reports whether a file has a name that nobody gives to manifests.
func (w *walker) ofOthers(name string) bool {
	return isProse(name) || w.mixed && path.Ext(name) != "" && !isManifest(name)
}

// warnOfManifest names a manifest that is not read because of its name: its author may not
// expect its objects to be removed. Files of other tools are ignored.
func (w *walker) warnOfManifest(name, message, next string) error {
	text, err := firstBytes(w.tree, name)
	declares := "apiVersion:"
	if w.mixed {
		declares = v1alpha1.Group + "/"
	}
	if err == nil && bytes.Contains(text, []byte(declares)) {
		w.skip(v1alpha1.ReasonFileSkipped, name, message, next)
	}
	return err
}

// warnOfText names a file of text, or without an ending, that is a manifest all the same.
func (w *walker) warnOfText(name string) error {
	text, err := firstBytes(w.tree, name)
	switch {
	case err != nil:
		return err
	case w.mixed && mayDeclareAtTop(text):
		w.skip(v1alpha1.ReasonFileSkipped, name, "the file holds a document of Furrow and is not read", "Give it a name that ends in .yaml, .yml or .json, or remove it.")
	case !w.mixed && bytes.HasPrefix(text, []byte("apiVersion:")) && bytes.Contains(text, []byte("\nkind:")):
		w.skip(v1alpha1.ReasonFileSkipped, name, "the file holds a manifest and is not read", "Give it a name that ends in .yaml, .yml or .json, or remove it.")
	}
	w.take(name, name, 0)
	return nil
}

// toolFiles are names of files that other tools keep beside manifests, as patterns of path.Match. Each is
// YAML or JSON, and none is a manifest.
var toolFiles = []string{
	"renovate.json", "package.json", "package-lock.json", "tsconfig*.json", "lerna.json", "nx.json", "turbo.json", "composer.json", "deno.json", "biome.json",
	"values.yaml", "values.yml", "values-*.yaml", "values-*.yml", "values.*.yaml", "*.schema.json",
	"docker-compose*.yaml", "docker-compose*.yml", "compose.yaml", "compose.yml", "Taskfile.yaml", "Taskfile.yml", "mkdocs.yaml", "mkdocs.yml", "codecov.yaml", "codecov.yml",
	"azure-pipelines.yaml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml", "cloudbuild.json", "buildspec.yml", "dependabot.yml", "release-please-config.json",
	"ct.yaml", "helmfile.yaml", "pnpm-lock.yaml", "pnpm-workspace.yaml", "OWNERS.yaml",
}

// ofTool reports whether a file has the name of one of another tool.
func ofTool(name string) bool {
	return slices.ContainsFunc(toolFiles, func(pattern string) bool {
		is, _ := path.Match(pattern, path.Base(name))
		return is
	})
}

// leaveToTool names a file of another tool, which is not read. One that holds a manifest is read
// whatever its name.
func (w *walker) leaveToTool(name string) error {
	text, err := firstBytes(w.tree, name)
	switch {
	case err != nil:
		return err
	case bytes.Contains(text, []byte("apiVersion")):
		w.take(name, name, 0)
	default:
		w.skip(v1alpha1.ReasonFileSkipped, name, "the file has a name that another tool gives its files, and holds no manifest, so it is not read", "Move it out of the seed to be rid of this warning.")
	}
	return nil
}

// firstBytes are enough of a file to detect what it is.
func firstBytes(tree fs.FS, name string) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// lose names what is not read and may hold anything.
func (w *walker) lose(name, message, next string) {
	w.lost = append(w.lost, manifest.Source{File: name})
	w.skip(v1alpha1.ReasonFileUnreadable, name, message, next)
}

func (w *walker) skip(reason v1alpha1.Reason, name, message, next string) {
	w.skipped = append(w.skipped, manifest.Problem{Reason: reason, Source: manifest.Source{File: name}, Message: message, Next: next})
}

// allSkipped returns what was skipped below a directory, with one line for all files of unknown
// names. shown is a file's path as people know it.
func (w *walker) allSkipped(dir string, shown func(string) string) manifest.Problems {
	skipped := slices.Clone(w.skipped)
	for i := range skipped {
		skipped[i].Source.File = shown(skipped[i].Source.File)
	}
	if w.unknowns == 0 {
		return skipped
	}
	unknown := slices.Clone(w.unknown)
	for i := range unknown {
		unknown[i] = manifest.Printable(shown(unknown[i]))
	}
	names := strings.Join(unknown, ", ")
	if more := w.unknowns - len(w.unknown); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return append(skipped, manifest.Problem{Reason: v1alpha1.ReasonFileSkipped, Source: manifest.Source{File: shown(dir)}, Message: "these files are not read: " + names,
		Next: "Manifests have names that end in .yaml, .yml or .json."})
}

// isRepository reports whether a directory has a repository of its own, as a submodule that is
// checked out.
func isRepository(tree fs.FS, dir string) bool {
	_, err := fs.Lstat(tree, path.Join(dir, ".git"))
	return err == nil
}

// resolve follows links to where a path leads in the tree, element by element as Linux does.
// Neither os nor io/fs would do: links in a commit are text, and one that leads out of the tree
// must not be followed in a directory either. fault says why it leads to nothing there; the error,
// why that is not known.
func resolve(tree fs.FS, name string) (target string, kind fs.FileMode, fault string, err error) {
	target, kind = ".", fs.ModeDir
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case !kind.IsDir() || len(part) > maxName || len(target) > maxPath:
			return "", 0, "leads to nothing", nil
		case part == ".." && target == ".":
			return "", 0, "leads out of the tree", nil
		case part == "..":
			target = path.Dir(target)
			continue
		}
		at := path.Join(target, part)
		info, err := fs.Lstat(tree, at)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
			return "", 0, "leads to nothing", nil
		case err != nil:
			return "", 0, "", err
		case info.Mode()&fs.ModeSymlink == 0:
			target, kind = at, info.Mode().Type()
			continue
		}
		text, err := fs.ReadLink(tree, at)
		switch links++; {
		case err != nil && !errors.Is(err, fs.ErrInvalid):
			return "", 0, "", err
		case err != nil, len(text) > maxPath, links > maxLinks:
			return "", 0, "leads in a circle", nil
		case path.IsAbs(text):
			return "", 0, "leads out of the tree", nil
		}
		rest = append(strings.Split(text, "/"), rest...)
	}
	return target, kind, "", nil
}

// Sub returns the directory of a tree, by whatever links within the tree it is reached.
func Sub(tree fs.FS, dir string) (fs.FS, error) {
	target, kind, fault, err := resolve(tree, path.Clean(dir))
	switch {
	case err != nil:
		return nil, err
	case path.IsAbs(dir), fault == "leads out of the tree":
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("is not inside the repository")}
	case fault != "" || !kind.IsDir():
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	return fs.Sub(tree, target)
}

func hidden(p string) bool { return p != "." && strings.HasPrefix(path.Base(p), ".") }

// isManifest reports whether a file's name is that of a manifest.
func isManifest(p string) bool {
	switch strings.ToLower(path.Ext(p)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// wasManifest reports whether a file's name is that of a manifest with an ending of its own:
// east.yaml.bak.
func wasManifest(p string) bool {
	return !isManifest(p) && (isManifest(strings.TrimSuffix(p, path.Ext(p))) || isManifest(strings.TrimSuffix(p, "~")))
}

// isText reports whether a file may be a manifest although its name does not say so: east.txt, or east.
func isText(p string) bool {
	ext := strings.ToLower(path.Ext(p))
	return ext == ".txt" || ext == "" && !isProse(p)
}

// isProse reports whether a file's name is one of those that people keep beside manifests
// and nobody expects to be applied: README, OWNERS, notes.md.
func isProse(p string) bool {
	switch ext := strings.ToLower(path.Ext(p)); ext {
	case "":
		first, _ := utf8.DecodeRuneInString(path.Base(p))
		return unicode.IsUpper(first)
	case ".md", ".txt", ".rst", ".adoc", ".html", ".pdf", ".png", ".jpg", ".svg":
		return true
	}
	return false
}

func deviceName(kind fs.FileMode) string {
	switch {
	case kind&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case kind&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
