package odb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/gofrs/flock"
)

const (
	lockName = "furrow.lock"
	useName  = "furrow.use"
)

// Objects reads objects by their hashes, and builds new ones.
type Objects struct{ store *store }

// DB is an object database with its branches.
type DB struct {
	*Objects
	// Limits say when a collection is due.
	Limits Limits

	dir    string
	copyOf string
	// use is held, shared, while somebody needs what the refs may not reach.
	use *flock.Flock
}

// Options of a database.
type Options struct {
	// CopyOf names the repository that the database is a copy of, if it is one. Since a copy can be filled again, one that is
	// broken, or of another repository, is emptied where another database fails.
	CopyOf string
	// Limits say when a collection is due; UsualLimits where they are zero.
	Limits Limits
}

// Open opens the database in dir, and creates it if dir is absent or empty. A directory with anything else in it is refused.
func Open(dir string, options Options) (*DB, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(dir, options.CopyOf); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	db := &DB{dir: dir, copyOf: options.CopyOf, Limits: options.Limits}
	if db.Limits == (Limits{}) {
		db.Limits = UsualLimits
	}
	db.use = flock.New(filepath.Join(dir, useName), flock.SetPermissions(0o644))
	if err := db.Use(context.Background()); err != nil {
		return nil, err
	}
	unlock, err := db.Lock(context.Background())
	if err != nil {
		return nil, errors.Join(err, db.use.Close())
	}
	defer unlock()
	if err := db.prepare(); err != nil {
		return nil, errors.Join(err, db.use.Close())
	}
	return db, nil
}

// prepare makes the database's files. A copy is emptied first if it is broken or of another repository.
func (db *DB) prepare() error {
	of, marked := readMark(db.dir)
	if marked && of != db.copyOf {
		if err := wipe(db.dir); err != nil {
			return err
		}
	}
	if err := writeLayout(db.dir, db.copyOf); err != nil {
		return err
	}
	remedy := "restore " + db.dir + " from a backup"
	if db.copyOf != "" {
		remedy = "opening the mirror again, or removing " + db.dir + ", fills it anew"
	}
	db.Objects = &Objects{openStore(osfs.New(db.dir), remedy)}
	err := db.check()
	if err != nil && db.copyOf != "" {
		return db.Empty()
	}
	return err
}

// check fails unless every ref can be read, down to its root tree, and all that is there is whole.
func (db *DB) check() error {
	if db.Interrupted() {
		return errors.New("a collection was interrupted")
	}
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	for _, hash := range refs {
		commit, err := db.Commit(hash)
		if err != nil {
			return err
		}
		if _, err := db.store.tree(commit.Tree); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of open files. What was written stays.
func (db *DB) Close() error { return errors.Join(db.use.Close(), db.store.close()) }

// Use marks the database as in use, so that no process removes what the refs do not reach, until Release. It is in use when it is opened.
func (db *DB) Use(ctx context.Context) error {
	if db.use.RLocked() {
		return nil
	}
	const pause = 20 * time.Millisecond
	_, err := db.use.TryRLockContext(ctx, pause)
	return err
}

// Release ends what Use began.
func (db *DB) Release() error { return db.use.Unlock() }

// Lock takes the directory's lock, which orders moves of refs, and downloads into a copy, among goroutines and processes.
func (db *DB) Lock(ctx context.Context) (unlock func(), err error) {
	file, err := osfs.New(db.dir).OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the object database: %w", err)
	}
	locked := make(chan error, 1)
	go func() { locked <- file.Lock() }()
	select {
	case err := <-locked:
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock the object database %s: %w", db.dir, err), file.Close())
		}
		return func() { release(file) }, nil
	case <-ctx.Done():
		go func() {
			<-locked
			release(file)
		}()
		return nil, ctx.Err()
	}
}

func release(file billy.File) {
	_ = file.Unlock()
	_ = file.Close()
}

// Empty makes the database one that never held anything. The refs go before the objects that they need.
func (db *DB) Empty() error {
	if err := db.store.close(); err != nil {
		return err
	}
	if err := wipe(db.dir); err != nil {
		return err
	}
	if err := writeLayout(db.dir, db.copyOf); err != nil {
		return err
	}
	db.store.reset()
	return nil
}

// Interrupted says that a removal has begun and did not come to its end. What the refs reach is whole, and nothing else is certain.
func (db *DB) Interrupted() bool { return db.store.dropping() }

// OnFiles has the database work on a file system around its own, for tests of what fails.
func (db *DB) OnFiles(wrap func(billy.Filesystem) billy.Filesystem) {
	db.store.files = wrap(db.store.files)
	db.store.objects = newObjects(db.store.files)
}

// Contents says what a pack holds.
type Contents int

const (
	// Some is a pack of objects that reach others elsewhere.
	Some Contents = iota
	// Complete is a pack of all that its objects reach.
	Complete
	// Files is a pack of blobs that trees elsewhere already name.
	Files
)

// AddPack streams a pack from elsewhere into the database. The caller holds the lock.
func (db *DB) AddPack(pack io.Reader, contents Contents) error {
	if contents == Files {
		if known := db.store.settled(); !known.Partial {
			known.Partial = true
			if err := db.store.settle(known); err != nil {
				return err
			}
		}
	}
	before := db.store.listPacks()
	if err := db.store.savePack(pack); err != nil {
		return err
	}
	if added := without(db.store.listPacks(), before); contents == Complete && len(added) == 1 {
		_ = db.store.settle(settled{Packs: added}) // without this note, the next collection takes longer
	}
	return nil
}

// EncodePack makes a pack of objects, each once. With thin, trees go as differences from trees that the receiver has.
func (o *Objects) EncodePack(objects []Hash, thin bool) (io.Reader, error) {
	return o.store.encodePack(objects, thin)
}

// Has says that the object is here. It does not see packs that another process has brought; see Refresh.
func (o *Objects) Has(hash Hash) bool { return o.store.has(hash) }

// Refresh takes up the packs of other processes, and says whether there were any.
func (o *Objects) Refresh() bool { return o.store.refresh() }
