package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// mostPacks is how many packs a mirror may have before all but the largest are made one: each fetch with news brings a pack, and every
// look-up goes through all of them.
const mostPacks = 50

// compact joins the small packs if there are many. The caller holds the mirror's lock. Other processes notice that packs are gone when
// they read, and look again.
func (s *store) compact() error {
	small := s.smallPacks()
	if len(small) < mostPacks {
		return nil
	}
	objects := newObjectList()
	for _, pack := range small {
		if err := s.listObjects(pack, objects); err != nil {
			return err
		}
	}
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(s.streamPack(writer, objects.list, false)) }()
	err := s.savePack(reader)
	_ = reader.Close()
	if err != nil {
		return err
	}
	return s.dropPacks(small)
}

// smallPacks lists all packs but the largest.
func (s *store) smallPacks() []string {
	packs := s.listPacks()
	largest, most := -1, int64(-1)
	for i, pack := range packs {
		if info, err := os.Stat(filepath.Join(s.dir, "pack", pack)); err == nil && info.Size() > most {
			largest, most = i, info.Size()
		}
	}
	if largest < 0 {
		return nil
	}
	return append(packs[:largest:largest], packs[largest+1:]...)
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

func (s *store) dropPacks(packs []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.objects.Close()
	for _, pack := range packs {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, "pack", pack)), os.Remove(filepath.Join(s.dir, "pack", indexName(pack))))
	}
	s.objects = newObjects(filepath.Dir(s.dir))
	s.packs = s.listPacks()
	return err
}
