package odb

import (
	"compress/zlib"
	"context"
	"sync"
)

// Batch collects objects in memory, which are then written as one pack: what makes thousands of small commits a second cheap, and one
// that is durable as well. It reads and builds objects like the database, its own ones included.
type Batch struct {
	*Objects
	db      *DB
	release func()
}

// Begin starts a batch. It ends with Commit or Discard; until then, nothing is removed from the database.
func (db *DB) Begin(ctx context.Context) (*Batch, error) {
	release, err := db.Use(ctx)
	if err != nil {
		return nil, err
	}
	objects := &Objects{store: db.store, batch: &pending{byHash: map[Hash]encoded{}}}
	return &Batch{Objects: objects, db: db, release: sync.OnceFunc(release)}, nil
}

// Commit writes the objects of the batch and moves branches to them, as Update does: all or none, and each only if it is at Old. If
// the database is durable, all of this outlasts a crash once Commit has returned. The batch has ended in any case.
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

func (b *Batch) write() error {
	b.batch.mu.Lock()
	defer b.batch.mu.Unlock()
	if len(b.batch.order) == 0 {
		return nil
	}
	_, err := b.store.writePack(b.store.disk, len(b.batch.order), zlib.BestSpeed, func(w *packWriter) error {
		for _, hash := range b.batch.order {
			if d, ok := b.store.deltaOf(hash); !ok || !w.delta(hash, d) {
				w.object(hash, b.batch.byHash[hash])
			}
		}
		return w.err
	})
	return err
}
