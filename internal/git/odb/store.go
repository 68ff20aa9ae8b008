package odb

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" // Git's object ids are SHA-1.
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	pool "github.com/go-git/go-git/v5/utils/sync"
)

// How large the caches of a store are.
const (
	treeCacheSize       = 8 << 20
	infoCacheSize       = 8 << 20
	commitCacheSize     = 200_000
	deltaCacheSize      = 100_000
	differenceCacheSize = 100_000

	// infoSize is about what a commit takes in memory beside its message and parents.
	infoSize = 300
)

// lacking is what an error says of an object that is not here.
const lacking = "the repository does not have this object"

// store keeps objects on disk, in packs or in a file each, and what was decoded of them in caches.
//
// An object is known by the hash of its content, so a cached one is never out of date and needs no
// expiry. It may outlive the object, though, so every removal empties the caches with forget: a
// graft must not build on a tree that is no longer on disk.
//
// The store is safe for several goroutines. mu guards the packs, reads from them included, and
// cacheMu guards the maps; neither is taken while the other is held.
type store struct {
	disk disk
	// remedy is what helps against broken objects.
	remedy string

	mu    sync.Mutex
	packs packs

	trees   memo[Hash, *tree]
	infos   memo[Hash, CommitInfo]
	commits memo[Hash, commitNode]
	deltas  memo[Hash, delta]
	// differences are those of pairs of trees.
	differences memo[[2]Hash, []difference]
}

// openStore opens the objects below disk. A remedy is what errors about broken objects advise.
func openStore(disk disk, remedy string) *store {
	s := &store{
		disk:   disk,
		remedy: remedy,
		packs:  packs{dir: filepath.Join(disk.root, packDir), bases: cache.NewObjectLRU(objectCacheSize)},
	}
	s.trees.most, s.infos.most, s.commits.most = treeCacheSize, infoCacheSize, commitCacheSize
	s.deltas.most, s.differences.most = deltaCacheSize, differenceCacheSize
	s.packs.refresh()
	return s
}

// forget empties the caches.
func (s *store) forget() {
	s.trees.clear()
	s.infos.clear()
	s.commits.clear()
	s.deltas.clear()
	s.differences.clear()
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.packs.close()
}

// has reports whether the object is here. Packs that another process has added are known after
// refresh.
func (s *store) has(hash Hash) bool { return s.packed(hash) || s.isLoose(hash) }

// kept reports whether put may skip the object: it is here and, in a durable store, it will be here
// after a power failure. A pack is synced before it is listed. A loose file is not proof: another
// goroutine may have renamed it and not synced its directory yet, so a durable store writes it
// again.
func (s *store) kept(hash Hash) bool { return s.packed(hash) || !s.disk.durable && s.isLoose(hash) }

func (s *store) packed(hash Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, _ := s.packs.find(hash)
	return found != nil
}

func (s *store) isLoose(hash Hash) bool {
	_, err := os.Lstat(s.loosePath(hash))
	return err == nil
}

// read returns an object's type and content. The content belongs to the caller.
//
// A collection moves objects from files and old packs into a new pack. Between the search of the
// packs and that of the files, the object may move from where read has not searched yet to where it
// already has. So a miss is an answer only if the list of packs did not change meanwhile, whether
// this process changed it or another did; otherwise read starts over.
func (s *store) read(hash Hash) (plumbing.ObjectType, []byte, error) {
	before := s.changes()
	typ, content, err := s.readOnce(hash)
	for err != nil && (s.refresh() || s.changes() != before) { // a collection may have moved the object
		before = s.changes()
		typ, content, err = s.readOnce(hash)
	}
	switch {
	case err == nil:
		return typ, content, nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, plumbing.ErrObjectNotFound):
		return 0, nil, unknown(hash, lacking)
	}
	return 0, nil, corrupt(hash, "the object is broken ("+err.Error()+"); "+s.remedy)
}

// readOnce reads a packed object, else a loose one. If it is in no file, an unreadable pack is
// the more useful error, since the object may be in it.
func (s *store) readOnce(hash Hash) (plumbing.ObjectType, []byte, error) {
	s.mu.Lock()
	typ, content, packed, packErr := s.packs.read(hash)
	s.mu.Unlock()
	if packed && packErr == nil {
		return typ, content, nil
	}
	typ, content, err := readLoose(s.loosePath(hash))
	if os.IsNotExist(err) && packErr != nil {
		err = packErr
	}
	return typ, content, err
}

// size returns a blob's size without reading it.
func (s *store) size(hash Hash) (int64, error) {
	s.mu.Lock()
	size, packed, err := s.packs.size(hash)
	s.mu.Unlock()
	if packed {
		return size, err
	}
	return looseSize(s.loosePath(hash))
}

// refresh takes up the packs of other processes, and reports whether there were any.
func (s *store) refresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.packs.refresh()
}

// changes returns how often the list of packs has changed.
func (s *store) changes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.packs.changes
}

// hashOf computes an object's id.
func hashOf(typ plumbing.ObjectType, content []byte) Hash {
	sum := sha1.New()
	_, _ = sum.Write(objectHeader(typ, content))
	_, _ = sum.Write(content)
	return Hash(sum.Sum(nil))
}

// objectHeader returns what Git puts in front of the content, both to hash it and to store it
// loose.
func objectHeader(typ plumbing.ObjectType, content []byte) []byte {
	return fmt.Appendf(nil, "%s %d\x00", typ, len(content))
}

// put adds a loose object, unless it is here. Two writers of one object write the same bytes, so
// neither needs to wait for the other: the second rename replaces a file by its equal.
func (s *store) put(hash Hash, typ plumbing.ObjectType, content []byte) error {
	if s.kept(hash) {
		return nil
	}
	if err := s.writeLoose(hash, typ, content); err != nil {
		return fmt.Errorf("write an object: %w", err)
	}
	return nil
}

func looseName(hash Hash) string {
	hex := hash.String()
	return filepath.Join("objects", hex[:2], hex[2:])
}

func (s *store) loosePath(hash Hash) string { return filepath.Join(s.disk.root, looseName(hash)) }

// looseWriters compress fast rather than well: trees are mostly hashes, and loose objects stay on
// this disk.
var looseWriters = sync.Pool{New: func() any {
	writer, _ := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	return writer
}}

// writeLoose writes an object as a file of its own, under another name first. Both directories are
// synced, that of the file and the one above, which may be new.
func (s *store) writeLoose(hash Hash, typ plumbing.ObjectType, content []byte) (err error) {
	var packed bytes.Buffer
	writer := looseWriters.Get().(*zlib.Writer)
	defer looseWriters.Put(writer)
	writer.Reset(&packed)
	_, _ = writer.Write(objectHeader(typ, content))
	_, _ = writer.Write(content)
	if err := writer.Close(); err != nil {
		return err
	}
	dir, name := filepath.Split(looseName(hash))
	err = s.disk.create(dir, "tmp_obj_", func(w io.Writer) (string, error) {
		_, err := w.Write(packed.Bytes())
		return name, err
	})
	if err != nil {
		return err
	}
	return errors.Join(s.disk.syncDir(dir), s.disk.syncDir("objects"))
}

const (
	// maxLooseHeader is more than "commit", a space and the digits of any size take.
	maxLooseHeader = 64
	// maxTrusted is how much memory is reserved for an object because its header says so.
	maxTrusted = 1 << 20
)

// readLoose reads a loose object: the header "type size", a NUL, and the content, compressed
// together. A size that does not match means a damaged file.
func readLoose(path string) (typ plumbing.ObjectType, content []byte, err error) {
	packed, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, err
	}
	unzip, err := pool.GetZlibReader(bytes.NewReader(packed))
	if err != nil {
		return 0, nil, err
	}
	defer pool.PutZlibReader(unzip)
	in := bufio.NewReaderSize(unzip.Reader, maxLooseHeader)
	typ, size, err := readHeader(in)
	if err != nil {
		return 0, nil, err
	}
	var raw bytes.Buffer
	raw.Grow(min(max(size, 0), maxTrusted) + bytes.MinRead)
	if _, err := raw.ReadFrom(in); err != nil {
		return 0, nil, err
	}
	if size != raw.Len() {
		return 0, nil, fmt.Errorf("it has %d bytes, not %d", raw.Len(), size)
	}
	return typ, raw.Bytes(), nil
}

// readHeader reads the type and size that a loose object begins with.
func readHeader(in *bufio.Reader) (typ plumbing.ObjectType, size int, err error) {
	header, err := in.ReadString(0)
	if err != nil {
		return 0, 0, err
	}
	name, digits, _ := strings.Cut(strings.TrimSuffix(header, "\x00"), " ")
	if typ, err = plumbing.ParseObjectType(name); err != nil {
		return 0, 0, err
	}
	size, err = strconv.Atoi(digits)
	return typ, size, err
}

// looseSize returns the size of a loose object without reading it.
func looseSize(path string) (int64, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	unzip, err := pool.GetZlibReader(file)
	if err != nil {
		return 0, err
	}
	defer pool.PutZlibReader(unzip)
	_, size, err := readHeader(bufio.NewReaderSize(unzip.Reader, maxLooseHeader))
	return int64(size), err
}
