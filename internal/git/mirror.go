// Package git is Furrow's only door to remote Git repositories. It keeps a bare mirror of one of
// them, an object database of package odb from which it reads and in which it builds commits, and
// pushes many branches in one request, each with a lease.
//
// It speaks Git's protocols through go-git's plumbing.
//
// Invariants:
//   - The mirror holds the base branch and Furrow's own branches (furrow/**), as the server had them at the last Fetch or Push. It is
//     a cache: a broken one, or one of another repository, is emptied and filled again.
//   - Blobs may be missing where the server can send them later; they are then fetched when they are read.
//   - Objects that no ref reaches stay while a Mirror is in use: from Open or Fetch until Collect or Close.
//   - A push never overwrites what the caller has not seen: each branch goes with the hash that the caller expects on the server.
//   - No token, password or URL with credentials appears in an error or in the String of any value.
//
// Concurrency: a Mirror may be used by several goroutines, and several processes may open one
// directory; fetching and moving refs take the lock of the object database.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// networkLimit bounds a network call whose context has no deadline.
const networkLimit = 10 * time.Minute

// Mirror is a bare mirror of one remote repository.
type Mirror struct {
	*odb.Objects

	db     *odb.DB
	remote *endpoint

	mu sync.Mutex
	// release ends the use of the object database; nil while nobody needs what the branches do not
	// reach.
	release func()

	keys       Keys
	identities identities
	closeLimit time.Duration
}

// Open opens the mirror of remote in dir, and creates it if dir is absent or empty. A mirror that
// is broken, or that belongs to another remote, is emptied. A directory with anything else in it is
// refused.
func Open(ctx context.Context, dir string, remote Remote) (*Mirror, error) {
	ep, err := newEndpoint(remote)
	if err != nil {
		return nil, err
	}
	db, err := odb.Open(ctx, dir, odb.Options{CopyOf: ep.url})
	if err != nil {
		return nil, err
	}
	m := &Mirror{Objects: db.Objects, db: db, remote: ep, closeLimit: closeLimit}
	if err := m.hold(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return m, nil
}

// closeLimit bounds the collection of a mirror that is closed, because a process that ends is killed
// soon after it was asked to.
const closeLimit = 2 * time.Second

// Close collects the mirror if that is soon done, and lets go of open files and idle connections. The
// mirror stays on disk.
func (m *Mirror) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.closeLimit)
	defer cancel()
	_ = m.Collect(ctx) // the next one tries again
	m.remote.close()
	return m.db.Close()
}

// Collect declares that the caller keeps nothing of what it has read from the mirror or built in
// it, until it calls Fetch again: what is not reachable from a branch may be removed. If there is
// enough to collect, and no other Mirror uses the directory, in this process or another, it is
// collected now. No other goroutine may use the Mirror meanwhile.
//
// A collection that ends early, at whatever point, leaves all that the branches reach.
func (m *Mirror) Collect(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.release != nil {
		m.release()
		m.release = nil
	}
	if err := m.db.CollectIfDue(ctx); err != nil {
		return fmt.Errorf("collect the garbage of the %s: %w", m, err)
	}
	return nil
}

// Seen returns the branches as the server had them at the last Fetch or Push, without contacting
// it.
func (m *Mirror) Seen() (Refs, error) { return m.db.Refs() }

// FS returns the tree of commit as a read-only file system. Walking it reads trees only; a file's
// content, or its size, is fetched when it is asked for and the mirror has no blobs, within ctx.
// Symbolic links are not followed: they can be read as links, and not opened, so Stat and
// Lstat are the same. Submodules are irregular and cannot be opened.
func (m *Mirror) FS(ctx context.Context, commit Hash) (fs.FS, error) {
	return m.Objects.FS(ctx, commit, func(ctx context.Context, hash Hash) error { return m.fetchBlobs(ctx, []Hash{hash}) })
}

// String names the remote, without credentials.
func (m *Mirror) String() string { return "mirror of " + m.remote.url }

// hold marks the mirror as in use, so no process removes what the refs do not reach.
func (m *Mirror) hold(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.release != nil {
		return nil
	}
	release, err := m.db.Use(ctx)
	if err != nil {
		return m.remote.translate(ctx, "wait for the lock of the mirror of", err)
	}
	m.release = release
	return nil
}

// lock takes the lock of the mirror, which orders fetches and moves of refs among goroutines and
// processes.
func (m *Mirror) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = m.db.Lock(ctx)
	if err != nil && errors.Is(err, ctx.Err()) {
		return nil, m.remote.translate(ctx, "wait for the lock of the mirror of", err)
	}
	return unlock, err
}

// withDeadline bounds ctx where the caller did not.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, networkLimit)
}
