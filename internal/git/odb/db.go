package odb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/semaphore"
)

const (
	// furrow.lock orders changes of refs (see Lock). furrow.use is held by processes that have the
	// database open, or use it (see DB.processes). They are two files because a user, who holds the
	// second for long, takes the first in between.
	lockName = "furrow.lock"
	useName  = "furrow.use"
)

// DB is an object database with its branches. It is safe for several goroutines.
//
// Three things exclude each other:
//   - Two collections, by collecting.
//   - Users and the removal at the end of a collection, by the weights of users: a user takes 1, a
//     removal all.
//   - Two changes of refs, by Lock, which also holds between processes.
//
// They are taken in this order, so no two wait for each other.
type DB struct {
	*Objects
	// Limits say when a collection is necessary.
	Limits Limits

	dir    string
	copyOf string
	// users are those who need what the refs may not reach, and everybody at once is a collection
	// that removes. moving is the one who moves refs.
	users, collecting, moving *semaphore.Weighted
	// processes is held by the process that has the database open; for a copy, shared while the
	// process has users. movers is held by the process that moves refs.
	processes, movers *flock.Flock
	mu                sync.Mutex
	counted           int // users, of a copy
}

// everybody is the weight of a removal: as much as all users that there could be.
const everybody = math.MaxInt64

// Options of a database.
type Options struct {
	// CopyOf names the repository that the database is a copy of, if it is one. Since a copy can be
	// filled again, one that is broken, or of another repository, is emptied where another database
	// fails. Several processes may open a copy.
	CopyOf string
	// Durable has a file written to the disk before anything refers to it: what has returned is
	// there after a power failure.
	Durable bool
	// Limits say when a collection is necessary; UsualLimits where they are zero.
	Limits Limits
}

// Open opens the database in dir, and creates it if dir is absent or empty. A directory with
// anything else in it is refused, and so is a database, but for a copy, that is open already.
func Open(ctx context.Context, dir string, options Options) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return openOn(ctx, osFiles(dir), dir, options)
}

// openOn opens a database on files, which tests let fail.
func openOn(ctx context.Context, files Files, dir string, options Options) (*DB, error) {
	if !isBeingMade(dir) { // nothing of ours, not even a lock, is put into a directory of others
		if err := refuseForeign(dir, options.CopyOf); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	db := &DB{
		dir: dir, copyOf: options.CopyOf, Limits: cmp.Or(options.Limits, UsualLimits),
		users: semaphore.NewWeighted(everybody), collecting: semaphore.NewWeighted(1), moving: semaphore.NewWeighted(1),
		processes: flock.New(filepath.Join(dir, useName), flock.SetPermissions(0o644)), movers: flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o644)),
	}
	if err := db.open(ctx, disk{dir, files, options.Durable}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// open takes the database, prepares its files, and completes a removal that was interrupted.
func (db *DB) open(ctx context.Context, disk disk) error {
	if db.copyOf == "" {
		if alone, err := db.processes.TryLock(); !alone || err != nil {
			return errors.Join(fmt.Errorf("the object database %s is open already: close it there first", db.dir), err)
		}
	}
	release, err := db.Use(ctx)
	if err != nil {
		return err
	}
	interrupted, err := db.prepare(ctx, disk)
	release()
	if interrupted && err == nil {
		err = db.Collect(ctx)
	}
	return err
}

// prepare makes the database's files. A copy is emptied first if it is broken or of another
// repository; what is nobody's copy is never emptied, and its faults are for people.
func (db *DB) prepare(ctx context.Context, disk disk) (interrupted bool, err error) {
	unlock, err := db.Lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := refuseForeign(db.dir, db.copyOf); err != nil {
		return false, err
	}
	if of, marked := readMark(db.dir); marked && of != db.copyOf {
		if err := wipe(db.dir); err != nil {
			return false, err
		}
	}
	if err := writeLayout(disk, db.copyOf); err != nil {
		return false, err
	}
	remedy := "restore " + db.dir + " from a backup"
	if db.copyOf != "" {
		remedy = "opening the mirror again, or removing " + db.dir + ", fills it anew"
	}
	db.Objects = &Objects{store: openStore(disk, remedy)}
	switch err := db.check(); {
	case db.copyOf == "":
		return db.Interrupted(), errors.Join(err, refuseLooseRefs(db.dir))
	case err != nil, db.Interrupted():
		return false, db.Empty()
	}
	return false, nil
}

// check fails unless every ref can be read, down to its root tree. It is not fsck: whether every
// object below is here would cost as much as the repository is large, and the order of writes
// guarantees it. It finds what breaks that order: files that were removed by hand, and disks that
// lost some.
func (db *DB) check() error {
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	for name, hash := range refs {
		commit, err := db.Commit(hash)
		if err == nil {
			_, err = db.tree(commit.Tree)
		}
		if err != nil {
			return fmt.Errorf("branch %s: %w", name, err)
		}
	}
	return nil
}

// refuseLooseRefs fails if Git has moved a branch, since that hides the branches that this package
// writes.
func refuseLooseRefs(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			err = fmt.Errorf("%s was written by another program: run git -C %s pack-refs --all --prune", path, dir)
		}
		return err
	})
}

// Close lets go of open files. What was written stays.
func (db *DB) Close() error {
	if db.Objects != nil {
		db.store.close()
	}
	return db.processes.Close()
}

// Use keeps objects that no ref reaches, until release is called: those that the caller has built
// and not committed yet, or reads at a commit whose branch may move meanwhile. It may be held by
// many at once, and nested. It must not be held while Collect is called, which waits for its end.
func (db *DB) Use(ctx context.Context) (release func(), err error) {
	if err := db.users.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if db.copyOf == "" {
		return func() { db.users.Release(1) }, nil
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.counted == 0 {
		if _, err := db.processes.TryRLockContext(ctx, lockPause); err != nil {
			db.users.Release(1)
			return nil, err
		}
	}
	db.counted++
	return db.unuse, nil
}

// lockPause is between two tries to take a lock that another process has.
const lockPause = 20 * time.Millisecond

// unuse ends one use of a copy. The last one in this process lets other processes remove objects.
func (db *DB) unuse() {
	db.mu.Lock()
	if db.counted--; db.counted == 0 {
		_ = db.processes.Unlock()
	}
	db.mu.Unlock()
	db.users.Release(1)
}

// alone waits until nobody uses the database.
func (db *DB) alone(ctx context.Context) (release func(), err error) {
	if err := db.users.Acquire(ctx, everybody); err != nil {
		return nil, err
	}
	if db.copyOf == "" {
		return db.admit, nil
	}
	if _, err := db.processes.TryLockContext(ctx, lockPause); err != nil {
		db.users.Release(everybody)
		return nil, err
	}
	return db.admit, nil
}

// tryAlone is alone for a copy, unless somebody uses it.
func (db *DB) tryAlone() (release func(), ok bool, err error) {
	if !db.users.TryAcquire(everybody) {
		return nil, false, nil
	}
	if ok, err := db.processes.TryLock(); !ok || err != nil {
		db.users.Release(everybody)
		return nil, false, err
	}
	return db.admit, true, nil
}

// admit lets others use the database again.
func (db *DB) admit() {
	if db.copyOf != "" {
		_ = db.processes.Unlock()
	}
	db.users.Release(everybody)
}

// Lock takes the directory's lock, which orders changes of refs, and downloads into a copy, among
// goroutines and processes.
func (db *DB) Lock(ctx context.Context) (unlock func(), err error) {
	if err := db.moving.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if _, err := db.movers.TryLockContext(ctx, lockPause); err != nil {
		db.moving.Release(1)
		return nil, fmt.Errorf("lock the object database %s: %w", db.dir, err)
	}
	return func() {
		_ = db.movers.Unlock()
		db.moving.Release(1)
	}, nil
}

// Empty makes a copy one that never held anything, in place: its DB stays open. The caller holds
// the lock, and nobody else uses the database.
func (db *DB) Empty() error {
	if db.copyOf == "" {
		return fmt.Errorf("the object database %s is not a copy: refusing to empty it", db.dir)
	}
	db.store.close()
	if err := wipe(db.dir); err != nil {
		return err
	}
	if err := writeLayout(db.store.disk, db.copyOf); err != nil {
		return err
	}
	db.store.refresh()
	db.store.forget()
	return nil
}

// Interrupted reports whether a removal has begun and did not come to its end. What the refs reach
// is whole, and nothing else is certain.
func (db *DB) Interrupted() bool { return db.store.dropping() }

// OnFiles has the database write to files around its own, for tests of what fails.
func (db *DB) OnFiles(wrap func(Files) Files) { db.store.disk.files = wrap(db.store.disk.files) }

// Contents says what a pack holds.
type Contents int

const (
	// Some is a pack of objects that reach others elsewhere.
	Some Contents = iota
	// Complete is a pack of all that its objects reach.
	Complete
	// Blobs is a pack of blobs that trees elsewhere already name.
	Blobs
)

// AddPack streams a pack from elsewhere into the database; it is neither held in memory nor
// unpacked. The caller holds the lock. What the pack contains decides what a collection has to read
// later: a Complete one is never walked again, and after a pack of Blobs trees no longer imply
// their files.
func (db *DB) AddPack(pack io.Reader, contents Contents) error {
	if contents == Blobs {
		if known := db.store.complete(); !known.Partial {
			known.Partial = true
			if err := db.store.noteComplete(known); err != nil {
				return err
			}
		}
	}
	if db.copyOf != "" { // where nobody else writes a pack without the lock
		db.store.removeUnfinished()
		defer db.store.removeUnfinished()
	}
	name, err := db.store.savePack(pack)
	if err == nil && name != "" && contents == Complete {
		_ = db.store.noteComplete(complete{Packs: []string{name}}) // without this note, the next collection takes longer
	}
	return err
}
