// Package githash owns the ids of Git's objects, which core compares and the object
// database reads and writes.
package githash

import (
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // G505: Git names its objects by SHA-1
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Hash is the id of a Git object. The zero Hash means none, or that nothing is there; as
// text it is empty.
type Hash [20]byte

// Parse reads the 40 hexadecimal digits of an object id.
func Parse(s string) (Hash, error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(Hash{}) {
		return Hash{}, fmt.Errorf("%q is not a Git object id of 40 hexadecimal digits", s)
	}
	return Hash(raw), nil
}

// String returns the 40 hexadecimal digits.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// IsZero reports whether h names no object.
func (h Hash) IsZero() bool { return h == Hash{} }

// Compare orders hashes.
func (h Hash) Compare(o Hash) int { return bytes.Compare(h[:], o[:]) }

// MarshalText writes the hexadecimal digits, so a Hash can be in YAML and JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	*h, err = Parse(string(text))
	return err
}

// objectHash hashes an object as Git does: its type, its size, a zero byte, and its content.
func objectHash(kind string, data []byte) Hash {
	h := sha1.New() //nolint:gosec // G401: Git names its objects by SHA-1
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return Hash(h.Sum(nil))
}

// Blob returns the id that Git gives a file of this content.
func Blob(data []byte) Hash { return objectHash("blob", data) }

// Entry is a file or a directory, by its id.
type Entry struct {
	Hash Hash
	Dir  bool
}

// Tree returns the id that Git gives a directory of regular files, by path below it. A directory
// without files is absent.
func Tree(files map[string]Hash) Hash {
	entries := make(map[string]Entry, len(files))
	for p, hash := range files {
		entries[p] = Entry{Hash: hash}
	}
	return TreeOf(entries)
}

// TreeOf returns the id that Git gives a directory of regular files and directories, by path below
// it. A directory without entries is absent.
func TreeOf(below map[string]Entry) Hash {
	if len(below) == 0 {
		return Hash{}
	}
	type entry struct {
		name, sortKey, mode string
		hash                Hash
	}
	var entries []entry
	// Git orders a directory as if its name ended in a slash.
	directory := func(name string, hash Hash) entry { return entry{name, name + "/", "40000", hash} }
	dirs := map[string]map[string]Entry{}
	for _, p := range slices.Sorted(maps.Keys(below)) {
		dir, rest, nested := strings.Cut(p, "/")
		switch {
		case nested && dirs[dir] == nil:
			dirs[dir] = map[string]Entry{rest: below[p]}
		case nested:
			dirs[dir][rest] = below[p]
		case below[p].Dir:
			entries = append(entries, directory(p, below[p].Hash))
		default:
			entries = append(entries, entry{p, p, "100644", below[p].Hash})
		}
	}
	for name, in := range dirs {
		entries = append(entries, directory(name, TreeOf(in)))
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.sortKey, b.sortKey) })
	var data []byte
	for _, e := range entries {
		data = append(append(data, e.mode+" "+e.name+"\x00"...), e.hash[:]...)
	}
	return objectHash("tree", data)
}

// Dirs returns the id of a directory that holds nothing but directories, by their names.
func Dirs(dirs map[string]Hash) Hash {
	if len(dirs) == 0 {
		return Hash{}
	}
	var data []byte
	for _, name := range slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return cmp.Compare(a+"/", b+"/") }) {
		hash := dirs[name]
		data = append(append(data, "40000 "+name+"\x00"...), hash[:]...)
	}
	return objectHash("tree", data)
}
