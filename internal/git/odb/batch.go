package odb

import (
	"compress/zlib"
	"context"
	"sync"
)

// Batch collects objects in memory and writes them as one pack. It reads and builds objects like
// the database does, its own ones included.
//
// Without it, every object is a file: a commit with three trees takes four creations and, if
// durable, twelve syncs of the disk. A batch takes two files and three syncs for any number of
// commits, which is what makes thousands of small commits a second possible.
//
// A batch is safe for several goroutines, but Commit and Discard must come after all else.
type Batch struct {
	*Objects
	db      *DB
	release func()
}

// Begin starts a batch. It ends with Commit or Discard; until then, nothing is removed from the
// database.
func (db *DB) Begin(ctx context.Context) (*Batch, error) {
	release, err := db.Use(ctx)
	if err != nil {
		return nil, err
	}
	objects := &Objects{store: db.store, sign: db.sign, batch: &pending{byHash: map[Hash]encoded{}}}
	return &Batch{Objects: objects, db: db, release: sync.OnceFunc(release)}, nil
}

// Commit writes the objects of the batch and moves branches to them, as Update does: all or none,
// and each only if it is at Old. If the database is durable, all of this outlasts a crash once
// Commit has returned. The batch has ended in any case.
//
// The pack is written outside the lock, so writers wait for each other only while refs move.
// The price is that a batch whose branch moves meanwhile leaves its pack, unreachable, to the next
// collection. To keep that rare, the refs are compared before anything is written, and again by
// Update.
func (b *Batch) Commit(ctx context.Context, moves ...Move) error {
	defer b.Discard()
	refs, err := b.db.Refs()
	if err != nil {
		return err
	}
	if _, err := refs.after(moves); err != nil { // before anything is written; Update checks again
		return err
	}
	if err := b.write(); err != nil {
		return err
	}
	return b.db.Update(ctx, moves...)
}

// Discard ends the batch. Its objects are gone unless it was committed.
func (b *Batch) Discard() { b.release() }

// write packs the objects in the order in which they were built, so the tree that a delta is based
// on is already in the pack if it is of this batch. If it is not, the object is written whole: a
// stored pack has no deltas from objects elsewhere.
func (b *Batch) write() error {
	b.batch.mu.Lock()
	defer b.batch.mu.Unlock()
	if len(b.batch.order) == 0 {
		return nil
	}
	_, err := b.store.writePack(b.store.disk, len(b.batch.order), zlib.BestSpeed, func(w *packWriter) error {
		for _, hash := range b.batch.order {
			if d, ok := b.store.deltas.get(hash); !ok || !w.delta(hash, d) {
				w.object(hash, b.batch.byHash[hash])
			}
		}
		return w.err
	})
	return err
}
