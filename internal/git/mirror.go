// Package git is Furrow's only door to Git. It keeps a bare mirror of one remote repository, reads commits and trees from it,
// builds new trees and commits in its object database, and pushes many branches in one request, each with a lease.
//
// It speaks Git's protocols through go-git's plumbing. There is no work tree and no index, and no blob is read to build a commit.
//
// Invariants:
//   - Objects come before the refs that name them, so a ref in the mirror always has its whole history and all its trees. Blobs may be
//     missing where the server can send them later; they are then fetched when they are read.
//   - The mirror holds the base branch and Furrow's own branches (furrow/**), as the server had them at the last Fetch or Push. It is
//     a cache: a broken one, or one of another repository, is emptied and filled again.
//   - Objects that no ref reaches stay while a Mirror is in use: from Open or Fetch until Collect or Close.
//   - A push never overwrites what the caller has not seen: each branch goes with the hash that the caller expects on the server.
//   - No token, password or URL with credentials appears in an error or in the String of any value.
//
// Concurrency: a Mirror may be used by several goroutines, and several processes may open one directory. Objects are written under
// temporary names and renamed, so they need no lock; fetching and moving refs take a file lock in the directory.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/gofrs/flock"
)

const (
	lockName = "furrow.lock"

	// networkLimit bounds a network call whose context has no deadline.
	networkLimit = 10 * time.Minute
)

// Mirror is a bare mirror of one remote repository.
type Mirror struct {
	dir    string
	remote *endpoint
	store  *store
	// use is held, shared, while somebody needs what the refs may not reach; see Collect.
	use    *flock.Flock
	limits limits
}

// Open opens the mirror of remote in dir, and creates it if dir is absent or empty. A mirror that is broken, or that belongs to another
// remote, is emptied. A directory with anything else in it is refused.
func Open(dir string, remote Remote) (*Mirror, error) {
	ep, err := newEndpoint(remote)
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	m := &Mirror{dir: dir, remote: ep, use: flock.New(filepath.Join(dir, useName), flock.SetPermissions(0o644)), limits: usualLimits}
	if err := m.hold(context.Background()); err != nil {
		return nil, err
	}
	unlock, err := m.lock(context.Background())
	if err != nil {
		return nil, errors.Join(err, m.use.Close())
	}
	defer unlock()
	if err := m.prepare(); err != nil {
		return nil, errors.Join(err, m.use.Close())
	}
	return m, nil
}

// prepare makes the mirror's files, and empties it first if it is not a sound mirror of the remote.
func (m *Mirror) prepare() error {
	url, marked := readMark(m.dir)
	if marked && url != m.remote.url {
		if err := wipe(m.dir); err != nil {
			return err
		}
	}
	if err := m.create(); err != nil {
		return err
	}
	if m.sound() {
		return nil
	}
	return m.empty()
}

func (m *Mirror) create() error {
	if err := writeLayout(m.dir, m.remote.url); err != nil {
		return err
	}
	m.store = openStore(osfs.New(m.dir))
	return nil
}

// sound says that every ref of the mirror can be read, down to its root tree, and that all that is there is whole.
func (m *Mirror) sound() bool {
	if m.store.dropping() {
		return false
	}
	refs, err := readRefs(m.dir)
	if err != nil {
		return false
	}
	for _, hash := range refs {
		commit, err := m.Commit(hash)
		if err != nil {
			return false
		}
		if _, err := m.store.tree(commit.Tree); err != nil {
			return false
		}
	}
	return true
}

// Close collects the mirror, and lets go of open files and idle connections. The mirror stays on disk.
func (m *Mirror) Close() error {
	_ = m.Collect(context.Background()) // the next one tries again
	m.remote.close()
	return errors.Join(m.use.Close(), m.store.close())
}

// String names the remote, without credentials.
func (m *Mirror) String() string { return "mirror of " + m.remote.url }

// lock takes the directory's lock, which orders fetches and moves of refs among goroutines and processes.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	file, err := osfs.New(m.dir).OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the mirror's lock: %w", err)
	}
	locked := make(chan error, 1)
	go func() { locked <- file.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the mirror %s: %w", m.dir, err), file.Close())
		}
		return func() { release(file) }, nil
	case <-ctx.Done():
		go func() {
			<-locked
			release(file)
		}()
		return nil, m.remote.translate(ctx, "wait for the lock of the mirror of", ctx.Err())
	}
}

func release(file billy.File) {
	_ = file.Unlock()
	_ = file.Close()
}

// withDeadline bounds ctx where the caller did not.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, networkLimit)
}
