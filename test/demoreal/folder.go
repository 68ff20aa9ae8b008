package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folder is the demo's own folder. People find there:
//
//	env             what to source in a shell: where everything is
//	kubeconfig      a context for each cluster that runs
//	repositories/   clones of the repositories, as the person who merges
//
// and the rest is that of the servers and of furrow, with logs in <server>/logs and furrow.log.
type folder struct {
	dir string
	// temporary reports whether it is removed at the end.
	temporary bool
	// lock is held as long as the demo runs.
	lock  *os.File
	state state
}

// state is what is kept from one start to the next.
type state struct {
	// Password is that of the person.
	Password string `json:"password"`
	// Filled reports whether Gitea has the users and repositories. A demo that was stopped before
	// begins anew.
	Filled bool `json:"filled"`
}

// openFolder opens a demo's folder, or makes a temporary one, and locks it until close. The lock is
// the system's (flock), so it ends with the process, however that ends.
func openFolder(dir string) (*folder, error) {
	f := &folder{temporary: dir == ""}
	var err error
	if f.temporary {
		dir, err = os.MkdirTemp("", "furrow-demo-real-")
	} else {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	if f.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the demo's folder: %w", err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if f.lock, err = os.OpenFile(f.path("lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("open the demo's lock: %w", err)
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("a demo runs in %s already; end it, or name another folder with -dir", f.dir), f.lock.Close())
	}
	return f, nil
}

// check refuses a folder that holds something else.
func (f *folder) check() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("read the demo's folder: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(f.path("lock")); err != nil {
		return fmt.Errorf("%s is not empty and holds no demo; name another folder with -dir", f.dir)
	}
	return nil
}

// path is that of something in the folder.
func (f *folder) path(elements ...string) string {
	return filepath.Join(append([]string{f.dir}, elements...)...)
}

// begin reads what was kept, and reports whether a demo is continued. One that was stopped before
// it was filled goes.
func (f *folder) begin() (again bool, err error) {
	content, err := os.ReadFile(f.path("state.json"))
	if err == nil {
		err = json.Unmarshal(content, &f.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read what the demo kept: %w", err)
	}
	if f.state.Filled {
		return true, nil
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return false, fmt.Errorf("read the demo's folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == "lock" {
			continue
		}
		if err := os.RemoveAll(f.path(entry.Name())); err != nil {
			return false, fmt.Errorf("clear a demo that had not got far: %w", err)
		}
	}
	f.state.Password = "demo-" + strings.ToLower(rand.Text()[:8])
	return false, f.remember()
}

// filled notes that Gitea has the users and repositories.
func (f *folder) filled() error {
	f.state.Filled = true
	return f.remember()
}

func (f *folder) remember() error {
	content, err := json.Marshal(f.state)
	if err != nil {
		return fmt.Errorf("keep what the demo needs again: %w", err)
	}
	return f.write(content, "state.json")
}

// write writes a file that is ours alone, as a whole or not at all, and makes the folders above it.
func (f *folder) write(content []byte, elements ...string) error {
	path := f.path(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make a folder of the demo: %w", err)
	}
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return fmt.Errorf("write a file of the demo: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("write a file of the demo: %w", err)
	}
	return nil
}

// keep keeps the folder, for its logs.
func (f *folder) keep() { f.temporary = false }

// close gives the folder free, and removes it if it is temporary.
func (f *folder) close() error {
	err := f.lock.Close()
	if f.temporary {
		err = errors.Join(err, os.RemoveAll(f.dir))
	}
	return err
}
