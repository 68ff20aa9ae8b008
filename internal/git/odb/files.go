package odb

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Files is what a database needs of a file system in order to write. What the database writes
// itself goes through it, so a test can fail each write, or lose what was not synced. Paths
// are relative to the database's directory.
type Files interface {
	// CreateTemp creates a file with a name of its own in dir, and dir if it is absent.
	CreateTemp(dir, prefix string) (file File, path string, err error)
	Rename(from, to string) error
	Remove(path string) error
	// SyncDir returns when the names that a directory holds are on the disk.
	SyncDir(dir string) error
}

// File is a file that is written. Sync returns when its content is on the disk.
type File interface {
	io.WriteCloser
	Sync() error
}

// osFiles are the files below a directory.
type osFiles string

func (root osFiles) path(name string) string { return filepath.Join(string(root), name) }

// CreateTemp creates the directory only when it is missing, which saves a call for nearly every
// file.
func (root osFiles) CreateTemp(dir, prefix string) (File, string, error) {
	path := filepath.Join(dir, prefix+rand.Text())
	file, err := root.create(path)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(root.path(dir), 0o755); err != nil {
			return nil, "", err
		}
		file, err = root.create(path)
	}
	if err != nil {
		return nil, "", err // an interface that holds a nil file is not nil
	}
	return file, path, nil
}

func (root osFiles) create(path string) (*os.File, error) {
	return os.OpenFile(root.path(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
}

func (root osFiles) Rename(from, to string) error { return os.Rename(root.path(from), root.path(to)) }
func (root osFiles) Remove(path string) error     { return os.Remove(root.path(path)) }

func (root osFiles) SyncDir(dir string) error {
	opened, err := os.Open(root.path(dir))
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// disk writes files such that each is whole or absent. If it is durable, a file that has its name
// stays after a power failure.
type disk struct {
	root    string
	files   Files
	durable bool
}

// create writes a file under a temporary name in dir, and renames it to what write returns, in the
// same directory. The content is synced before the rename: a file system may persist the name
// first, and a power failure would leave a file with the right name and no content. Whether the
// name is on disk is up to the caller (see syncDir), so several files cost one sync of their
// directory.
func (d disk) create(dir, prefix string, write func(io.Writer) (name string, err error)) (err error) {
	file, temporary, err := d.files.CreateTemp(dir, prefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.files.Remove(temporary)
		}
	}()
	name, err := write(file)
	if err == nil && d.durable {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return d.files.Rename(temporary, filepath.Join(dir, name))
}

// syncDir returns when the names in dir are on disk, if the database is durable.
func (d disk) syncDir(dir string) error {
	if !d.durable {
		return nil
	}
	return d.files.SyncDir(dir)
}

// replace replaces a file as a whole, or leaves it as it was. Equal content is not written again.
func (d disk) replace(path string, content []byte) error {
	if old, err := os.ReadFile(filepath.Join(d.root, path)); err == nil && bytes.Equal(old, content) {
		return nil
	}
	err := d.create(filepath.Dir(path), temporaryPrefix, func(w io.Writer) (string, error) {
		_, err := w.Write(content)
		return filepath.Base(path), err
	})
	if err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}
