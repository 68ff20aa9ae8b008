package odb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// A database gathers what nobody needs any more: the objects of branches that were replaced or deleted, and of commits that
// no branch ever reached. A collection removes it. The packs of a database are
//
//	settled   in order: what AddPack brought as Complete, then one for each collection. All that an object of a settled pack
//	          reaches is in the same pack or in one before it, so nobody has to look into them
//	new       those that came later
//
// A collection writes what the refs reach of the new packs and of the loose objects into one more settled pack, and then
// removes both. It takes up the last settled packs, too, while they are not much larger than what is new, so that there are
// few, and each object is written seldom. What the refs no longer reach in the others stays; a copy that becomes more than
// twice as large as it was is emptied, since a server sends it packed better than it can be packed here.
//
// Removal follows no order, so a commit may outlive what it needs. Whoever fills a copy would take such a commit as whole if a
// branch came back to it; so a copy whose removal did not come to its end is emptied before it is filled further.
const (
	settledName  = "furrow.packs"
	droppingName = "furrow.dropping"

	// collectionLimit bounds the time of a collection of a copy. One that takes longer is emptied.
	collectionLimit = 5 * time.Minute
)

// Limits say when a collection is due.
type Limits struct {
	// Loose objects, and packs; every look-up goes through all packs.
	Loose, Packs int
	// Growth in bytes, beyond twice of what the database had when it was first collected.
	Growth int64
}

// UsualLimits are those of a database whose options have none.
var UsualLimits = Limits{Loose: 500, Packs: 50, Growth: 64 << 20}

// CollectIfDue collects the database if there is enough to collect and nobody uses it, in this process or another. A collection
// that ends early, at whatever point, leaves all that the refs reach.
func (db *DB) CollectIfDue(ctx context.Context) error {
	if !db.store.due(db.Limits) {
		return nil
	}
	if alone, err := db.use.TryLock(); !alone || err != nil {
		return err
	}
	defer func() { _ = db.use.Unlock() }()
	unlock, err := db.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	limited, cancel := context.WithTimeout(ctx, collectionLimit)
	defer cancel()
	err = db.repack(limited)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil || IsUnknown(err) || IsCorrupt(err):
		return db.Empty()
	case err != nil:
		return err
	}
	known, size := db.store.settled(), db.store.packed(db.store.listPacks())
	if known.Bytes == 0 {
		known.Bytes = size
		return db.store.settle(known)
	}
	if size > known.most(db.Limits) {
		return db.Empty()
	}
	return nil
}

// settled are the packs of which nothing is missing, in order, and how large the database was when it was first collected.
type settled struct {
	Packs []string `json:"packs"`
	Bytes int64    `json:"bytes,omitempty"`
	// Partial is set once files were fetched one by one. They are not in the packs of the trees that name them.
	Partial bool `json:"partial,omitempty"`
}

// most is how large the database may grow.
func (k settled) most(l Limits) int64 { return 2*k.Bytes + l.Growth }

// settled gives none where they are not known; then all that is reachable is looked at, and packed.
func (s *store) settled() (k settled) {
	raw, err := os.ReadFile(s.settledPath())
	if err != nil || json.Unmarshal(raw, &k) != nil {
		return settled{}
	}
	packs := s.listPacks()
	if slices.ContainsFunc(k.Packs, func(pack string) bool { return !slices.Contains(packs, pack) }) {
		return settled{}
	}
	return k
}

func (s *store) settle(k settled) error {
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return writeFile(s.settledPath(), raw)
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(some, one) })
}

// settledPath is among the objects, so that it goes with them.
func (s *store) settledPath() string { return filepath.Join(s.dir, "info", settledName) }

// due says that there is enough to collect.
func (s *store) due(l Limits) bool {
	packs, known := s.listPacks(), s.settled()
	if len(packs) > 0 && known.Bytes == 0 {
		return true // its size is to be noted
	}
	return len(packs)-len(known.Packs) > l.Packs || s.packed(packs) > known.most(l) || len(s.loose()) > l.Loose
}

// packed is the size of packs, in bytes.
func (s *store) packed(packs []string) (bytes int64) {
	for _, pack := range packs {
		if info, err := os.Stat(filepath.Join(s.dir, "pack", pack)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// loose lists the loose objects.
func (s *store) loose() (found []Hash) {
	for i := range 256 {
		prefix := fmt.Sprintf("%02x", i)
		entries, err := os.ReadDir(filepath.Join(s.dir, prefix))
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

// repack puts what the refs reach, beyond the settled packs that stay, into one more, and removes the rest. The new pack is
// on the disk, whole, and noted, before the first file goes.
func (db *DB) repack(ctx context.Context) error {
	s := db.store
	db.removeTemporary()
	s.refresh()
	refs, err := db.Refs()
	if err != nil {
		return err
	}
	known, loose := s.settled(), s.loose()
	packs := without(s.listPacks(), known.Packs)
	size := s.packed(packs) + s.looseSize(loose)
	for last := len(known.Packs) - 1; last > 0 && s.packed(known.Packs[last:]) < 2*size; last-- {
		size += s.packed(known.Packs[last:])
		packs, known.Packs = append(packs, known.Packs[last]), known.Packs[:last]
	}
	candidates := newObjectList()
	for _, hash := range loose {
		candidates.add(hash)
	}
	for _, pack := range packs {
		if err := s.listObjects(pack, candidates); err != nil {
			return err
		}
	}
	live, err := db.reachable(ctx, refs, candidates.seen)
	if err == nil && known.Partial {
		err = db.addFiles(ctx, refs, candidates.seen, live)
	}
	if err != nil {
		return err
	}
	if len(live.list) > 0 {
		grown, err := s.writePack(ctx, live.list)
		if err != nil {
			return err
		}
		known.Packs = append(known.Packs, grown)
	}
	if err := s.settle(known); err != nil {
		return err
	}
	return s.drop(without(packs, known.Packs), loose)
}

// looseSize is about what loose objects take in a pack.
func (s *store) looseSize(loose []Hash) (bytes int64) {
	for _, hash := range loose {
		if info, err := os.Stat(filepath.Join(s.dir, loosePath(hash))); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// removeTemporary removes the files that a process left when it was killed.
func (db *DB) removeTemporary() {
	db.store.removeUnfinished()
	for _, pattern := range []string{"tmp_*", "objects/info/tmp_*", "objects/??/tmp_obj_*"} {
		left, _ := filepath.Glob(filepath.Join(db.dir, filepath.FromSlash(pattern)))
		for _, path := range left {
			_ = os.Remove(path)
		}
	}
}

// reachable lists those of the candidates that the refs reach. Any other object is in a settled pack, and so is what it reaches,
// but for files that came later; see addFiles.
func (db *DB) reachable(ctx context.Context, refs Refs, candidates map[Hash]bool) (*objectList, error) {
	live, elsewhere := newObjectList(), map[Hash]bool{}
	var next []Entry // whose content is to be looked at; commits have no mode
	reach := func(e Entry) error {
		switch {
		case live.seen[e.Hash] || elsewhere[e.Hash] || e.Mode == ModeSubmodule:
		case candidates[e.Hash]:
			live.add(e.Hash)
			if e.Mode == ModeDir || e.Mode == 0 {
				next = append(next, e)
			}
		case (e.Mode == ModeDir || e.Mode == 0) && !db.store.has(e.Hash):
			return unknown(e.Hash, lacking)
		default:
			elsewhere[e.Hash] = true
		}
		return nil
	}
	for _, commit := range refs {
		if err := reach(Entry{Hash: commit}); err != nil {
			return nil, err
		}
	}
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := next[len(next)-1]
		next = next[:len(next)-1]
		held, err := db.references(e)
		if err != nil {
			return nil, err
		}
		for _, e := range held {
			if err := reach(e); err != nil {
				return nil, err
			}
		}
	}
	return live, nil
}

// addFiles adds those of the candidates that are files at the branches' heads, whatever pack their directories are in. Files of
// earlier commits are fetched again when they are read.
func (db *DB) addFiles(ctx context.Context, refs Refs, candidates map[Hash]bool, live *objectList) error {
	walked := map[Hash]bool{}
	var next []Entry
	for _, commit := range refs {
		next = append(next, Entry{Hash: commit})
	}
	for len(next) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		e := next[len(next)-1]
		next = next[:len(next)-1]
		if walked[e.Hash] {
			continue
		}
		walked[e.Hash] = true
		held, err := db.references(e)
		if err != nil {
			return err
		}
		for _, entry := range held {
			switch {
			case entry.Mode == ModeDir:
				next = append(next, entry)
			case entry.Mode != 0 && candidates[entry.Hash]:
				live.add(entry.Hash)
			}
		}
	}
	return nil
}

// references lists what a tree or a commit names.
func (db *DB) references(e Entry) (out []Entry, err error) {
	if e.Mode == ModeDir {
		t, err := db.store.tree(e.Hash)
		if err != nil {
			return nil, err
		}
		for _, entry := range t.entries {
			out = append(out, entry.Entry)
		}
		return out, nil
	}
	commit, err := db.Commit(e.Hash)
	if err != nil {
		return nil, err
	}
	out = append(out, Entry{commit.Tree, ModeDir})
	for _, parent := range commit.Parents {
		out = append(out, Entry{Hash: parent})
	}
	return out, nil
}

func indexName(pack string) string { return strings.TrimSuffix(pack, ".pack") + ".idx" }

func (s *store) listObjects(pack string, objects *objectList) error {
	file, err := os.Open(filepath.Join(s.dir, "pack", indexName(pack)))
	if err != nil {
		return err
	}
	defer file.Close()
	index := idxfile.NewMemoryIndex()
	if err := idxfile.NewDecoder(file).Decode(index); err != nil {
		return err
	}
	entries, err := index.Entries()
	if err != nil {
		return err
	}
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		objects.add(Hash(entry.Hash))
	}
}

// writePack writes objects into a new pack, and gives its name. When it returns, the pack is on the disk.
func (s *store) writePack(ctx context.Context, objects []Hash) (name string, err error) {
	reader, writer := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) })
	defer stop()
	streamed := make(chan Hash, 1)
	go func() {
		sum, err := s.streamPack(writer, objects, false)
		writer.CloseWithError(err)
		streamed <- sum
	}()
	err = s.savePack(reader)
	_ = reader.Close()
	sum := <-streamed
	if err != nil {
		return "", err
	}
	name = "pack-" + sum.String() + ".pack"
	for _, path := range []string{name, indexName(name), "."} {
		if err := syncFile(filepath.Join(s.dir, "pack", path)); err != nil {
			return "", err
		}
	}
	return name, nil
}

func syncFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// drop removes packs and loose objects. The note that it has begun is on the disk before the first file goes, and goes when
// all removals are on the disk. A pack goes before its index, which nobody reads without it.
func (s *store) drop(packs []string, loose []Hash) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := filepath.Join("info", droppingName)
	file, err := s.files.Create(filepath.Join("objects", note))
	if err == nil {
		err = errors.Join(file.Close(), syncFile(filepath.Join(s.dir, "info")))
	}
	if err != nil {
		return err
	}
	err = s.objects.Close()
	changed := map[string]bool{"pack": true}
	for _, pack := range packs {
		err = errors.Join(err, s.remove(filepath.Join("pack", pack)), s.remove(filepath.Join("pack", indexName(pack))))
	}
	for _, hash := range loose {
		err = errors.Join(err, s.remove(loosePath(hash)))
		changed[filepath.Dir(loosePath(hash))] = true
	}
	for dir := range changed {
		err = errors.Join(err, syncFile(filepath.Join(s.dir, dir)))
	}
	s.objects = newObjects(s.files)
	s.packs = s.listPacks()
	s.forget()
	if err != nil {
		return err
	}
	return s.remove(note)
}

// dropping says that a removal has begun and did not come to its end. What the refs reach is whole, and nothing else is certain.
func (s *store) dropping() bool {
	_, err := os.Lstat(filepath.Join(s.dir, "info", droppingName))
	return err == nil
}
