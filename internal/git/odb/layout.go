package odb

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// The configuration marks the directory as ours: furrow.mirror names the repository that a copy is
// of, and is empty for any other database. All branches are in packed-refs.
const (
	configName     = "config"
	packedRefsName = "packed-refs"
	// temporaryPrefix begins the names of files that are being written.
	temporaryPrefix = "tmp_"
)

// refuseForeign fails for a directory that holds something other than a database of the same kind,
// because a copy may be emptied at any time: a wrong path in a configuration must not cost somebody
// their files. An interrupted Open leaves our locks and a temporary file, and the root of a fresh
// volume has lost+found: these are ignored.
func refuseForeign(dir, copyOf string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the object database: %w", err)
	}
	if of, marked := readMark(dir); marked {
		if (of == "") != (copyOf == "") {
			return errForeign(dir, copyOf)
		}
		return nil
	}
	for _, entry := range entries {
		temporary := strings.HasPrefix(entry.Name(), temporaryPrefix) && entry.Type().IsRegular()
		if entry.Name() != lockName && entry.Name() != useName && entry.Name() != "lost+found" && !temporary {
			return errForeign(dir, copyOf)
		}
	}
	return nil
}

// isBeingMade reports whether a directory without a mark has our locks: another process may be
// making a database there. Whether it is one is known under the lock.
func isBeingMade(dir string) bool {
	_, marked := readMark(dir)
	_, err := os.Lstat(filepath.Join(dir, useName))
	return !marked && err == nil
}

func errForeign(dir, copyOf string) error {
	return &Error{op: "open the object database in", object: dir, kind: kindForeign,
		text: "the directory is not empty and not " + what(copyOf) + " made by Furrow; give it an empty directory of its own"}
}

// what names the kind of database for an error.
func what(copyOf string) string {
	if copyOf == "" {
		return "an object database"
	}
	return "a mirror"
}

// readMark returns what the database in dir is a copy of; marked is false if dir holds no database.
func readMark(dir string) (copyOf string, marked bool) {
	raw, err := os.ReadFile(filepath.Join(dir, configName))
	if err != nil {
		return "", false
	}
	cfg := config.New()
	if err := config.NewDecoder(bytes.NewReader(raw)).Decode(cfg); err != nil {
		return "", false
	}
	section := cfg.Section("furrow")
	return section.Option("mirror"), section.HasOption("mirror")
}

// writeLayout makes the files of a bare repository, or those that are missing. The configuration
// comes first, since it marks the directory as ours: the next Open continues a creation that was
// interrupted. HEAD comes last, since Git does not recognise a repository without it.
func writeLayout(disk disk, copyOf string) error {
	cfg := config.New()
	cfg.SetOption("core", config.NoSubsection, "repositoryformatversion", "0")
	cfg.SetOption("core", config.NoSubsection, "bare", "true")
	cfg.SetOption("furrow", config.NoSubsection, "mirror", copyOf)
	var text bytes.Buffer
	if err := config.NewEncoder(&text).Encode(cfg); err != nil {
		return err
	}
	if err := disk.replace(configName, text.Bytes()); err != nil {
		return err
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(disk.root, filepath.FromSlash(sub)), 0o755); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(disk.root, removed)); err != nil {
		return err
	}
	if err := disk.replace("HEAD", []byte("ref: refs/heads/main\n")); err != nil {
		return err
	}
	for _, dir := range []string{"objects", "refs", ".", ".."} {
		if err := disk.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// removed is what the objects are called while they are removed.
const removed = "objects.removed"

// wipe removes everything of a database but its locks. Wherever it is interrupted, what is left is
// whole or has no branches: the refs go first, then the objects all at once by a rename, since a
// removal file by file would leave some objects without those that they need. The mark goes last,
// so the next Open still recognises the directory.
func wipe(dir string) error {
	for _, name := range []string{packedRefsName, "refs", "HEAD", removed, "objects", removed, configName} {
		path := filepath.Join(dir, name)
		err := error(nil)
		if name == "objects" {
			err = os.Rename(path, filepath.Join(dir, removed))
		} else {
			err = os.RemoveAll(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("empty the object database: %w", err)
		}
	}
	return nil
}
