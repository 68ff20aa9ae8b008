package odb

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // Git's object ids are SHA-1.
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

const (
	objectCacheSize = 4 * cache.MiByte
	openPacks       = 16

	// The caches below start anew when they are full.
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

// store keeps objects in files. Reading goes through go-git, which is not safe for concurrent use, so mu guards it.
type store struct {
	dir string
	// remedy is what helps against broken objects.
	remedy string
	// files is the database's directory.
	files billy.Filesystem

	mu      sync.Mutex
	objects *filesystem.ObjectStorage
	packs   []string

	cacheMu   sync.Mutex
	trees     map[Hash]*tree
	treesSize int
	infos     map[Hash]CommitInfo
	infosSize int
	commits   map[Hash]commitNode
	deltas    map[Hash]delta
	// differences are those of pairs of trees; their size is how many there are, and how many pairs.
	differences     map[[2]Hash][]difference
	differencesSize int
}

func openStore(files billy.Filesystem, remedy string) *store {
	s := &store{
		remedy:  remedy,
		dir:     filepath.Join(files.Root(), "objects"),
		files:   files,
		objects: newObjects(files),
		trees:   map[Hash]*tree{},
		infos:   map[Hash]CommitInfo{},
		commits: map[Hash]commitNode{},
		deltas:  map[Hash]delta{},

		differences: map[[2]Hash][]difference{},
	}
	s.packs = s.listPacks()
	return s
}

// reset forgets the objects that were here.
func (s *store) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.objects.Close()
	s.objects = newObjects(s.files)
	s.packs = s.listPacks()
	s.forget()
}

// forget empties the caches.
func (s *store) forget() {
	s.cacheMu.Lock()
	defer s.cacheMu.Unlock()
	clear(s.trees)
	clear(s.infos)
	clear(s.commits)
	clear(s.deltas)
	clear(s.differences)
	s.treesSize, s.infosSize, s.differencesSize = 0, 0, 0
}

func newObjects(files billy.Filesystem) *filesystem.ObjectStorage {
	options := filesystem.Options{MaxOpenDescriptors: openPacks}
	return filesystem.NewObjectStorageWithOptions(dotgit.New(files), cache.NewObjectLRU(objectCacheSize), options)
}

func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.Close()
}

// has says that the object is here. It does not look for packs that another process has brought; see refresh.
func (s *store) has(hash Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.HasEncodedObject(plumbing.Hash(hash)) == nil
}

// read gives an object's type and content.
func (s *store) read(hash Hash) (plumbing.ObjectType, []byte, error) {
	typ, content, err := s.readOnce(hash)
	for err != nil && s.refresh() {
		typ, content, err = s.readOnce(hash)
	}
	if err == nil {
		return typ, content, nil
	}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return 0, nil, unknown(hash, lacking)
	}
	return 0, nil, corrupt(hash, "the object is broken ("+err.Error()+"); "+s.remedy)
}

func (s *store) readOnce(hash Hash) (plumbing.ObjectType, []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := s.objects.EncodedObject(plumbing.AnyObject, plumbing.Hash(hash))
	if err != nil {
		return 0, nil, err
	}
	reader, err := object.Reader()
	if err != nil {
		return 0, nil, err
	}
	content := make([]byte, object.Size())
	_, err = io.ReadFull(reader, content)
	return object.Type(), content, errors.Join(err, reader.Close())
}

// size gives a blob's size without reading it.
func (s *store) size(hash Hash) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects.EncodedObjectSize(plumbing.Hash(hash))
}

// refresh takes up the packs of other processes, and says whether there were any.
func (s *store) refresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.listPacks()
	if slices.Equal(now, s.packs) {
		return false
	}
	s.packs = now
	_ = s.objects.Close() // also of packs that are gone, which take room on the disk until then
	s.objects = newObjects(s.files)
	return true
}

func (s *store) listPacks() []string {
	entries, err := os.ReadDir(filepath.Join(s.dir, "pack"))
	if err != nil {
		return nil
	}
	var packs []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".pack") {
			packs = append(packs, entry.Name())
		}
	}
	return packs
}

// savePack streams a pack into the store and indexes it. The caller holds the database's lock, so all unfinished packs are its own.
func (s *store) savePack(pack io.Reader) error {
	s.removeUnfinished()
	s.mu.Lock()
	writer, err := s.objects.PackfileWriter()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = io.Copy(writer, pack)
	s.mu.Lock()
	defer s.mu.Unlock()
	if closeErr := writer.Close(); err == nil {
		err = closeErr
	}
	s.packs = s.listPacks()
	if err != nil {
		s.removeUnfinished()
	}
	return err
}

// removeUnfinished removes what is left of packs that were not finished. An index is written before its pack has its name; a broken
// one would be kept when the same pack is saved again.
func (s *store) removeUnfinished() {
	entries, _ := os.ReadDir(filepath.Join(s.dir, "pack"))
	packs := map[string]bool{}
	for _, entry := range entries {
		packs[entry.Name()] = true
	}
	for name := range packs {
		index, isIndex := strings.CutSuffix(name, ".idx")
		if strings.HasPrefix(name, "tmp_pack_") || isIndex && !packs[index+".pack"] {
			_ = s.remove(filepath.Join("pack", name))
		}
	}
}

// remove removes a file below objects.
func (s *store) remove(path string) error { return s.files.Remove(filepath.Join("objects", path)) }

// hashOf computes an object's id.
func hashOf(typ plumbing.ObjectType, content []byte) Hash {
	sum := sha1.New()
	_, _ = sum.Write(objectHeader(typ, content))
	_, _ = sum.Write(content)
	return Hash(sum.Sum(nil))
}

func objectHeader(typ plumbing.ObjectType, content []byte) []byte {
	return fmt.Appendf(nil, "%s %d\x00", typ, len(content))
}

// put adds a loose object, unless it is here.
func (s *store) put(typ plumbing.ObjectType, content []byte) (Hash, error) {
	hash := hashOf(typ, content)
	path := filepath.Join(s.dir, loosePath(hash))
	if _, err := os.Lstat(path); err == nil || s.has(hash) {
		return hash, nil
	}
	if err := s.writeLoose(path, typ, content); err != nil {
		return Hash{}, fmt.Errorf("write an object: %w", err)
	}
	return hash, nil
}

func loosePath(hash Hash) string {
	hex := hash.String()
	return filepath.Join(hex[:2], hex[2:])
}

// looseWriters compress fast rather than well: trees are mostly hashes, and loose objects stay on this disk.
var looseWriters = sync.Pool{New: func() any {
	writer, _ := zlib.NewWriterLevel(io.Discard, zlib.BestSpeed)
	return writer
}}

func (s *store) writeLoose(path string, typ plumbing.ObjectType, content []byte) (err error) {
	var packed bytes.Buffer
	writer := looseWriters.Get().(*zlib.Writer)
	defer looseWriters.Put(writer)
	writer.Reset(&packed)
	_, _ = writer.Write(objectHeader(typ, content))
	_, _ = writer.Write(content)
	if err := writer.Close(); err != nil {
		return err
	}
	tmp, err := s.createTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	_, err = tmp.Write(packed.Bytes())
	if err = errors.Join(err, tmp.Chmod(0o444), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func (s *store) createTemp(dir string) (*os.File, error) {
	tmp, err := os.CreateTemp(dir, "tmp_obj_")
	if !os.IsNotExist(err) {
		return tmp, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "tmp_obj_")
}
