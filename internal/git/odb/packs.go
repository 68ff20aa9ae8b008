package odb

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	objectCacheSize = 4 * cache.MiByte
	openPacks       = 16

	packDir = "objects/pack"
)

// pack is a pack of the database, with its index in memory.
type pack struct {
	name  string // with .pack
	index *idxfile.MemoryIndex
	file  *packfile.Packfile // nil while the file is closed
}

// packs are those of the database. They are not safe for concurrent use (see store.mu), since
// go-git reads one object of a pack at a time.
//
// All indexes are in memory, and at most openPacks files are open. A database that Collect keeps
// small has few packs, so a search goes through all of them.
type packs struct {
	dir   string
	bases cache.Object // of differences
	list  []*pack
	open  []*pack // the file that was opened first comes first
	// broken is why packs cannot be read, if there are such.
	broken error
	// changes counts how often the list has changed.
	changes int
}

// find returns the pack that has an object, or nil. It changes the order of the list: the pack
// where the last object was found is searched first, since objects are mostly read from one pack
// one after the other.
func (p *packs) find(hash Hash) (found *pack, offset int64) {
	for i, candidate := range p.list {
		if offset, err := candidate.index.FindOffset(plumbing.Hash(hash)); err == nil {
			p.list[0], p.list[i] = p.list[i], p.list[0]
			return candidate, offset
		}
	}
	return nil, 0
}

// read returns the type and content of an object; ok is false if no pack has it.
func (p *packs) read(hash Hash) (typ plumbing.ObjectType, content []byte, ok bool, err error) {
	found, _ := p.find(hash)
	if found == nil {
		return 0, nil, false, p.broken
	}
	if err := p.reopen(found); err != nil {
		return 0, nil, true, err
	}
	object, err := found.file.Get(plumbing.Hash(hash))
	if err != nil {
		return 0, nil, true, err
	}
	reader, err := object.Reader()
	if err != nil {
		return 0, nil, true, err
	}
	content = make([]byte, object.Size())
	_, err = io.ReadFull(reader, content)
	return object.Type(), content, true, errors.Join(err, reader.Close())
}

// size returns the size of an object without reading it; ok is false if no pack has it.
func (p *packs) size(hash Hash) (size int64, ok bool, err error) {
	found, offset := p.find(hash)
	if found == nil {
		return 0, false, p.broken
	}
	if err := p.reopen(found); err != nil {
		return 0, true, err
	}
	size, err = found.file.GetSizeByOffset(offset)
	return size, true, err
}

// reopen opens the file of a pack unless it is open.
func (p *packs) reopen(closed *pack) error {
	if closed.file != nil {
		return nil
	}
	if len(p.open) == openPacks {
		p.closeFile(p.open[0])
	}
	file, err := osfs.New(p.dir, osfs.WithBoundOS()).Open(closed.name)
	if err != nil {
		return err
	}
	closed.file = packfile.NewPackfileWithCache(closed.index, nil, file, p.bases, 0)
	p.open = append(p.open, closed)
	return nil
}

// closeFile closes the file of a pack, and keeps its index.
func (p *packs) closeFile(opened *pack) {
	if opened.file == nil {
		return
	}
	_ = opened.file.Close() // it was only read
	opened.file = nil
	p.open = slices.DeleteFunc(p.open, func(other *pack) bool { return other == opened })
}

func (p *packs) close() {
	for len(p.open) > 0 {
		p.closeFile(p.open[0])
	}
}

// refresh adds packs that others have written to the list, removes those that are gone, and reports
// whether there were any. An index that cannot be read leaves its pack out and an error in broken,
// which read returns for objects that no other pack has: they are not missing, they cannot be read.
func (p *packs) refresh() (changed bool) {
	now := listPacks(p.dir)
	p.list = slices.DeleteFunc(p.list, func(known *pack) bool {
		gone := !slices.Contains(now, known.name)
		if gone {
			p.closeFile(known) // which takes up space on the disk until then
			changed = true
		}
		return gone
	})
	p.broken = nil
	for _, name := range now {
		if slices.ContainsFunc(p.list, func(known *pack) bool { return known.name == name }) {
			continue
		}
		index, err := readIndex(filepath.Join(p.dir, indexName(name)))
		if err != nil {
			p.broken = errors.Join(p.broken, err)
			continue
		}
		p.list, changed = append(p.list, &pack{name: name, index: index}), true
	}
	if changed {
		p.changes++
	}
	return changed
}

// add lists a pack, once: its name is a checksum of its content, so equal names are the same pack.
func (p *packs) add(name string, index *idxfile.MemoryIndex) {
	if !slices.ContainsFunc(p.list, func(known *pack) bool { return known.name == name }) {
		p.list = append(p.list, &pack{name: name, index: index})
		p.changes++
	}
}

// named returns a pack by its name.
func (p *packs) named(name string) (*pack, error) {
	for _, known := range p.list {
		if known.name == name {
			return known, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the pack %s cannot be read", name), p.broken)
}

// listPacks lists the packs of a directory that have an index. As Git does, it ignores others: they
// are being written, or were when a process was killed.
func listPacks(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // without a directory there are none
	indexed := map[string]bool{}
	for _, entry := range entries { // in order, so .idx comes before .pack
		if name := entry.Name(); strings.HasSuffix(name, ".idx") {
			indexed[name] = true
		} else if strings.HasSuffix(name, ".pack") && indexed[indexName(name)] {
			names = append(names, name)
		}
	}
	return names
}

func packName(checksum Hash) string { return "pack-" + checksum.String() + ".pack" }

func indexName(pack string) string { return strings.TrimSuffix(pack, ".pack") + ".idx" }

func readIndex(path string) (*idxfile.MemoryIndex, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	index := idxfile.NewMemoryIndex()
	return index, idxfile.NewDecoder(file).Decode(index)
}

// listObjects adds the objects of a pack.
func (p *pack) listObjects(objects *objectList) error {
	entries, err := p.index.Entries()
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

// savePack streams a pack from elsewhere into the store, indexes it on the way, and returns its
// name, or "" for a pack without objects, which Git servers send when there is nothing new.
func (s *store) savePack(content io.Reader) (name string, err error) {
	writer, err := dotgit.New(osfs.New(s.disk.root)).NewObjectPack()
	if err != nil {
		return "", err
	}
	var index *idxfile.MemoryIndex
	writer.Notify = func(checksum plumbing.Hash, built *idxfile.Writer) {
		name = packName(Hash(checksum))
		index, _ = built.Index()
	}
	_, err = io.Copy(writer, content)
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	if err == nil && index != nil {
		err = s.syncPack(name)
	}
	if err != nil || index == nil { // an empty pack has no index
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs.add(name, index)
	return name, nil
}

// syncPack returns when a pack that has its name is on the disk, if the store is durable.
func (s *store) syncPack(name string) error {
	if !s.disk.durable {
		return nil
	}
	for _, path := range []string{name, indexName(name)} {
		file, err := os.Open(filepath.Join(s.disk.root, packDir, path))
		if err != nil {
			return err
		}
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return s.disk.syncDir(packDir)
}

// removeUnfinished removes what is left of packs that were not finished. An index is written before
// its pack has its name; a broken one would be kept when the same pack is saved again.
func (s *store) removeUnfinished() {
	entries, _ := os.ReadDir(filepath.Join(s.disk.root, packDir))
	found := map[string]bool{}
	for _, entry := range entries {
		found[entry.Name()] = true
	}
	for name := range found {
		index, isIndex := strings.CutSuffix(name, ".idx")
		if strings.HasPrefix(name, "tmp_") || isIndex && !found[index+".pack"] {
			_ = s.disk.files.Remove(filepath.Join(packDir, name))
		}
	}
}
