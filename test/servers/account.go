package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// account is the user that a server runs as. A nil credential is our own user.
type account struct {
	name       string
	credential *syscall.Credential
}

// giteaAccount is nobody when we are root, which Gitea refuses to be, and else our own user.
func giteaAccount() (account, error) {
	if os.Geteuid() != 0 {
		us, err := user.Current()
		if err != nil {
			return account{}, fmt.Errorf("find the current user: %w", err)
		}
		return account{name: us.Username}, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return account{}, fmt.Errorf("find a user for Gitea, which refuses to run as root: %w", err)
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("read the user id of nobody: %w", err)
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("read the group id of nobody: %w", err)
	}
	return account{name: nobody.Username, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// own gives path to the account.
func (a account) own(path string) error {
	if a.credential == nil {
		return nil
	}
	if err := os.Chown(path, int(a.credential.Uid), int(a.credential.Gid)); err != nil {
		return fmt.Errorf("give a file to %s: %w", a.name, err)
	}
	return nil
}

// openPassage lets the account reach dir: folders above it that are in the temporary folder are
// opened for passage, not for reading. The error names another one that is closed.
func (a account) openPassage(dir string) error {
	if a.credential == nil {
		return nil
	}
	temporary := filepath.Clean(os.TempDir()) + string(filepath.Separator)
	for at := filepath.Dir(dir); at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return fmt.Errorf("check a folder above Gitea's: %w", err)
		}
		if info.Mode().Perm()&0o001 != 0 {
			continue
		}
		if !strings.HasPrefix(at, temporary) {
			return fmt.Errorf("%s may not pass through %s: choose a folder in %s", a.name, at, os.TempDir())
		}
		if err := os.Chmod(at, info.Mode().Perm()|0o011); err != nil {
			return fmt.Errorf("open a folder above Gitea's: %w", err)
		}
	}
	return nil
}

// passable reports whether everybody may pass through all folders down to dir, and dir itself.
func passable(dir string) bool {
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// linkTree lays out the files of the folder from in to, as hard links where that works. Files that
// are there stay.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if err := os.Link(path, target); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
}
