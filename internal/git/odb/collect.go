package odb

import (
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A database accumulates garbage: the objects of branches that were replaced or deleted, and of
// commits that no branch ever reached. A collection removes it. The packs of a database are
//
//	complete  in order: what AddPack brought as Complete, then one for each collection. All that an object of a complete pack
//	          reaches is in the same pack or in one before it, so a collection need not read them
//	new       all others
//
// A collection writes what the refs reach of the new packs and of the loose objects into one more
// complete pack, and then removes both. It also rewrites the last complete packs while they are not
// much larger than what is new. That keeps them few, and writes each object seldom. What the refs
// no longer reach in the others stays, until they are rewritten as a whole.
//
// Removal has no order, so a commit may outlive what it needs. If a branch then came back to this
// commit, whoever fills a copy would not fetch what is missing. So an interrupted removal is
// completed when the database is opened, and a copy is emptied: then, or before it is filled
// further. A copy that has doubled in size is emptied, too, since a server sends it better packed.
const (
	// They are among the objects, so they go with them.
	completeName = "objects/info/furrow.packs"
	droppingName = "objects/info/furrow.dropping"

	// collectionLimit bounds the time of a collection of a copy. One that takes longer is emptied.
	collectionLimit = 5 * time.Minute
)

// Limits say when a collection is necessary.
type Limits struct {
	// Loose objects, and packs; every look-up goes through all packs.
	Loose, Packs int
	// Growth in bytes, beyond twice the size of the database after its last collection, or of a
	// copy after its first.
	Growth int64
}

// UsualLimits are those of a database whose options have none.
var UsualLimits = Limits{Loose: 500, Packs: 50, Growth: 64 << 20}

// CollectIfDue collects the database if there is enough to collect. It rewrites large packs only
// when there is as much that is new, so it may be called often. A copy is only collected if nobody
// uses it, in this process or another.
//
// A collection that ends early, at whatever point, leaves all that the refs reach.
func (db *DB) CollectIfDue(ctx context.Context) error {
	if !db.due() {
		return nil
	}
	if db.copyOf == "" {
		return db.collect(ctx, false)
	}
	release, alone, err := db.tryAlone()
	if !alone || err != nil {
		return err
	}
	defer release()
	return db.collectCopy(ctx, false)
}

// Collect removes all that the refs do not reach, and packs the rest as one. Reading, building and
// committing go on meanwhile, but for the removal itself, for which it waits until nobody uses the
// database: neither may the caller.
func (db *DB) Collect(ctx context.Context) error {
	if db.copyOf == "" {
		return db.collect(ctx, true)
	}
	release, err := db.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	return db.collectCopy(ctx, true)
}

// collect collects a database in two steps. The long one, repack, only reads and adds a pack, so it
// runs beside users and writers. The short one has the database for itself: it packs what branches
// have come to reach meanwhile, and removes the rest. Removing beside users would be wrong even for
// objects that no ref reaches, since a batch may just have decided not to write one because it is
// here.
func (db *DB) collect(ctx context.Context, whole bool) error {
	if err := db.collecting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer db.collecting.Release(1)
	used, err := db.Use(ctx)
	if err != nil {
		return err
	}
	c, err := db.repack(ctx, whole)
	used()
	if err != nil {
		return err
	}
	release, err := db.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	unlock, err := db.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.rescue(ctx); err != nil {
		return err
	}
	return c.finish()
}

// collectCopy collects a copy that nobody else uses. Where that fails, or is not worth the time,
// the copy is emptied: what it has can be fetched again. That is also for a copy that is still too
// large when all that is left is in use.
func (db *DB) collectCopy(ctx context.Context, whole bool) error {
	unlock, err := db.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	limited, cancel := context.WithTimeout(ctx, collectionLimit)
	defer cancel()
	c, err := db.repack(limited, whole)
	if err == nil {
		err = c.finish()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil || IsUnknown(err) || IsCorrupt(err):
		return db.Empty()
	case err != nil:
		return err
	}
	if db.store.packedSize(db.store.listPacks()) > db.store.complete().most(db.Limits) {
		return db.Empty()
	}
	return nil
}

// complete is what is noted of the complete packs: their names in order, and the size of the
// database after its last collection, or of a copy after its first.
type complete struct {
	Packs []string `json:"packs"`
	Bytes int64    `json:"bytes,omitempty"`
	// Partial is set once files were fetched one by one. They are not in the packs of the trees
	// that name them.
	Partial bool `json:"partial,omitempty"`
}

// most returns how large the database may grow.
func (k complete) most(l Limits) int64 { return 2*k.Bytes + l.Growth }

// complete reads the note. It returns none if the note is missing or names a pack that is gone;
// then all that is reachable is walked, and packed. So the note may be lost, but must never be
// wrong.
func (s *store) complete() (k complete) {
	raw, err := os.ReadFile(filepath.Join(s.disk.root, completeName))
	if err != nil || json.Unmarshal(raw, &k) != nil {
		return complete{}
	}
	packs := s.listPacks()
	if slices.ContainsFunc(k.Packs, func(pack string) bool { return !slices.Contains(packs, pack) }) {
		return complete{}
	}
	return k
}

func (s *store) noteComplete(k complete) error {
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return s.onDisk().replace(completeName, raw)
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(some, one) })
}

// onDisk returns the disk for what a collection writes: it is there for good before anything goes.
func (s *store) onDisk() disk { return disk{s.disk.root, s.disk.files, true} }

func (s *store) listPacks() []string { return listPacks(filepath.Join(s.disk.root, packDir)) }

// due reports whether there is enough to collect.
func (db *DB) due() bool {
	s, l := db.store, db.Limits
	packs, known := s.listPacks(), s.complete()
	if len(packs) > 0 && known.Bytes == 0 && db.copyOf != "" {
		return true // its size must be noted
	}
	return len(packs)-len(known.Packs) > l.Packs || s.packedSize(packs) > known.most(l) || len(s.loose()) > l.Loose
}

// packedSize returns the size of packs, in bytes.
func (s *store) packedSize(packs []string) (bytes int64) {
	for _, pack := range packs {
		if info, err := os.Stat(filepath.Join(s.disk.root, packDir, pack)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// loose lists the loose objects.
func (s *store) loose() (found []Hash) {
	for i := range 256 {
		prefix := fmt.Sprintf("%02x", i)
		entries, err := os.ReadDir(filepath.Join(s.disk.root, "objects", prefix))
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if hash, err := ParseHash(prefix + entry.Name()); err == nil {
				found = append(found, hash)
			}
		}
	}
	return found
}

// collection is one in progress.
type collection struct {
	db *DB
	// refs are those that were there when it began.
	refs Refs
	// known are the complete packs, those that stay and the new one.
	known complete
	// packs and loose objects will be removed; candidates are all objects in them. The new pack
	// has the live ones.
	packs      []string
	loose      []Hash
	candidates *objectList
	live       *live
}

// repack puts what the refs reach, beyond the complete packs that stay, into one more. When it
// returns, the new pack is on the disk, and nothing was removed.
//
// The last complete pack is rewritten, too, while it is less than twice as large as all that is
// newer. So sizes fall at least by half from pack to pack, their number is logarithmic in the size
// of the database, and an object is rewritten about as often. Rewriting all each time would make
// frequent collections cost the whole history, and rewriting none would let each search go through
// ever more packs. The first pack, mostly by far the largest, is only rewritten with whole.
//
// Refs are read before the objects, because writers work meanwhile: all that these refs reach is on
// the disk by then. What is written later is not listed, so it is neither packed nor removed.
func (db *DB) repack(ctx context.Context, whole bool) (*collection, error) {
	s := db.store
	refs, err := db.Refs() // before the objects: all that they reach is there then
	if err != nil {
		return nil, err
	}
	c := &collection{db: db, refs: refs, known: s.complete(), loose: s.loose()}
	c.packs = without(s.readable(), c.known.Packs)
	size := s.packedSize(c.packs) + s.looseSize(c.loose)
	for last := len(c.known.Packs) - 1; last >= 0 && (whole || last > 0 && s.packedSize(c.known.Packs[last:]) < 2*size); last-- {
		size += s.packedSize(c.known.Packs[last:])
		c.packs, c.known.Packs = append(c.packs, c.known.Packs[last]), c.known.Packs[:last]
	}
	if c.candidates, err = s.listObjects(c.packs, c.loose); err != nil {
		return nil, err
	}
	c.live, err = db.reachable(ctx, refs, c.candidates.seen)
	if err == nil && c.known.Partial {
		err = db.addFiles(ctx, refs, c.candidates.seen, c.live)
	}
	if err != nil {
		return nil, err
	}
	grown, err := db.packLive(ctx, c.live)
	if grown != "" {
		c.known.Packs = append(c.known.Packs, grown)
	}
	return c, err
}

// rescue packs what the new pack lacks because a branch came to reach it since the collection
// began. A branch can reach an old object again: a writer builds on a commit that no branch
// reached, or builds a tree whose parts were here, so put skipped them. Nobody uses the
// database now.
//
// Two kinds of objects may lead to such ones: those that were added since, which stay where they
// are, and the candidates that were not live. Both are walked, and only the latter are packed. The
// pack counts as new in the next collection, since what it reaches may be among the added.
func (c *collection) rescue(ctx context.Context) error {
	refs, err := c.db.Refs()
	if err != nil || maps.Equal(refs, c.refs) {
		return err
	}
	s := c.db.store
	old := map[Hash]bool{}
	for _, hash := range c.loose {
		old[hash] = true
	}
	loose := slices.DeleteFunc(s.loose(), func(hash Hash) bool { return old[hash] })
	added, err := s.listObjects(without(without(s.readable(), c.packs), c.known.Packs), loose)
	if err != nil {
		return err
	}
	incomplete := maps.Clone(added.seen)
	for _, hash := range c.candidates.list {
		if !c.live.seen[hash] {
			incomplete[hash] = true
		}
	}
	late, err := c.db.reachable(ctx, refs, incomplete)
	if err != nil {
		return err
	}
	late.remove(added.seen)
	rescued, err := c.db.packLive(ctx, late)
	c.packs = without(c.packs, []string{rescued})
	return err
}

// finish notes the new pack, and removes what it replaces. The note comes first: after a crash in
// between, it names packs that are there, and the old ones are collected again.
func (c *collection) finish() error {
	s := c.db.store
	c.db.removeTemporary()
	if c.known.Bytes == 0 || c.db.copyOf == "" {
		c.known.Bytes = s.packedSize(without(s.listPacks(), without(c.packs, c.known.Packs)))
	}
	if err := s.noteComplete(c.known); err != nil {
		return err
	}
	return s.drop(without(c.packs, c.known.Packs), c.loose)
}

// packLive writes live objects into a new pack, and gives its name, if there are any: each file,
// and each directory, from its newest version to its oldest, since one differs little from the
// next.
func (db *DB) packLive(ctx context.Context, l *live) (name string, err error) {
	if len(l.seen) == 0 {
		return "", nil
	}
	return db.store.writePack(db.store.onDisk(), len(l.seen), zlib.DefaultCompression, func(w *packWriter) error {
		v := versions{pack: w}
		for _, hashes := range l.versions {
			for i, hash := range hashes {
				typ, content, err := db.store.read(hash)
				if err := errors.Join(err, ctx.Err(), w.err); err != nil {
					return err
				}
				v.write(version{hash, encoded{typ, content}}, i == 0)
			}
		}
		return nil
	})
}

// looseSize is about what loose objects take in a pack.
func (s *store) looseSize(loose []Hash) (bytes int64) {
	for _, hash := range loose {
		if info, err := os.Stat(s.loosePath(hash)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// removeTemporary removes the files that a process left when it was killed. Nobody else writes now.
func (db *DB) removeTemporary() {
	db.store.removeUnfinished()
	for _, pattern := range []string{"tmp_*", "objects/info/tmp_*", "objects/??/tmp_obj_*"} {
		left, _ := filepath.Glob(filepath.Join(db.dir, filepath.FromSlash(pattern)))
		for _, path := range left {
			if name, err := filepath.Rel(db.dir, path); err == nil {
				_ = db.store.disk.files.Remove(name)
			}
		}
	}
}

// readable lists the packs that can be read; a batch may be about to add one.
func (s *store) readable() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs.refresh()
	for _, known := range s.packs.list {
		names = append(names, known.name)
	}
	return names
}

// listObjects lists all objects in packs, and loose ones.
func (s *store) listObjects(packs []string, loose []Hash) (*objectList, error) {
	objects := newObjectList()
	for _, hash := range loose {
		objects.add(hash)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range packs {
		listed, err := s.packs.named(name)
		if err == nil {
			err = listed.listObjects(objects)
		}
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// drop removes packs and loose objects. The note that it has begun is on the disk before the first
// file goes, and goes when all removals are on the disk; see Interrupted. A pack goes before its
// index, which nobody reads without it. One that cannot be removed does not keep the others; the
// note then stays, so the next Open tries again.
func (s *store) drop(packs []string, loose []Hash) error {
	disk := s.onDisk()
	err := disk.replace(droppingName, []byte("objects are being removed\n"))
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.packs.close()
	s.mu.Unlock()
	changed := map[string]bool{packDir: true}
	for _, pack := range packs {
		removeErr := disk.files.Remove(filepath.Join(packDir, pack))
		if removeErr == nil {
			removeErr = disk.files.Remove(filepath.Join(packDir, indexName(pack)))
		}
		err = errors.Join(err, removeErr)
	}
	for _, hash := range loose {
		err = errors.Join(err, disk.files.Remove(looseName(hash)))
		changed[filepath.Dir(looseName(hash))] = true
	}
	for dir := range changed {
		err = errors.Join(err, disk.syncDir(dir))
	}
	s.refresh()
	s.forget()
	if err != nil {
		return err
	}
	return disk.files.Remove(droppingName)
}

// dropping reports whether a removal has begun and did not come to its end. What the refs reach is
// whole, and nothing else is certain.
func (s *store) dropping() bool {
	_, err := os.Lstat(filepath.Join(s.disk.root, droppingName))
	return err == nil
}
