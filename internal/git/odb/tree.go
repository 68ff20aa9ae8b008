package odb

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/furrow-dev/furrow/internal/core/gitname"
)

// treeEntry is one line of a tree.
type treeEntry struct {
	name string
	Entry
}

// tree is a decoded tree, with entries in Git's order. The names are parts of raw, so a name that
// is kept longer than its tree must be cloned. Trees are cached and shared: they must not be
// changed.
type tree struct {
	raw     string
	entries []treeEntry
}

// compareEntries is the order of a tree: bytewise, with a directory sorted as if its name ended
// with a slash. So "a.yaml" comes before the directory "a" and after the file "a". Git rejects a
// tree in any other order, and its hash would differ from that of the same tree written by Git.
func compareEntries(a, b treeEntry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	return int(a.byteAt(n)) - int(b.byteAt(n))
}

// byteAt returns the byte at i of the name as it is sorted; past its end that is 0, which no name
// has.
func (e treeEntry) byteAt(i int) byte {
	switch {
	case i < len(e.name):
		return e.name[i]
	case e.Mode == ModeDir:
		return '/'
	}
	return 0
}

// find looks up a name by binary search. The position of a name depends on whether it is a
// directory, which the caller does not know, so both are tried.
func (t *tree) find(name string) (Entry, bool) {
	for _, mode := range []Mode{ModeFile, ModeDir} {
		key := treeEntry{name, Entry{Mode: mode}}
		i := sort.Search(len(t.entries), func(i int) bool { return compareEntries(t.entries[i], key) >= 0 })
		if i < len(t.entries) && t.entries[i].name == name {
			return t.entries[i].Entry, true
		}
	}
	return Entry{}, false
}

// parseTree decodes a tree: for each entry the mode in octal, a space, the name, a NUL, and the 20
// bytes of the hash.
func parseTree(raw string) (*tree, error) {
	t := &tree{raw: raw}
	for rest := raw; rest != ""; {
		mode, tail, ok := strings.Cut(rest, " ")
		name, tail, ok2 := strings.Cut(tail, "\x00")
		bits, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !ok2 || err != nil || len(tail) < len(Hash{}) {
			return nil, fmt.Errorf("malformed tree")
		}
		t.entries = append(t.entries, treeEntry{name, Entry{Hash: Hash([]byte(tail[:20])), Mode: Mode(bits)}})
		rest = tail[20:]
	}
	return t, nil
}

// encodeTree writes a tree as Git stores it. The entries must be sorted as Git sorts them.
func encodeTree(entries []treeEntry) []byte {
	var raw bytes.Buffer
	for _, e := range entries {
		raw.Grow(len(e.name) + 28)
		raw.WriteString(strconv.FormatUint(uint64(e.Mode), 8))
		raw.WriteByte(' ')
		raw.WriteString(e.name)
		raw.WriteByte(0)
		raw.Write(e.Hash[:])
	}
	return raw.Bytes()
}

// tree reads a tree, from the cache where it can. The result is shared: it must not be changed.
func (o *Objects) tree(hash Hash) (*tree, error) {
	const entrySize = 48
	size := func(t *tree) int { return len(t.raw) + entrySize*len(t.entries) }
	return o.store.trees.of(hash, size, func() (*tree, error) {
		if err := o.checkSize(hash, maxTree, "directory"); err != nil {
			return nil, err
		}
		typ, raw, err := o.read(hash)
		if err != nil {
			return nil, err
		}
		if typ != plumbing.TreeObject {
			return nil, unknown(hash, "is a "+typ.String()+", not a tree")
		}
		t, err := parseTree(string(raw))
		if err != nil {
			return nil, corrupt(hash, err.Error())
		}
		return t, nil
	})
}

// splitPath checks a path before it is written and splits it.
func splitPath(path string) ([]string, error) {
	if path == "" {
		return nil, fmt.Errorf("path is empty")
	}
	parts := strings.Split(path, "/")
	for _, part := range parts {
		if fault := gitname.FileFault(part); fault != "" {
			return nil, fmt.Errorf("path %q %s", path, fault)
		}
	}
	return parts, nil
}
