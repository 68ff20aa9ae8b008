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

// Tree returns the id that Git gives a directory of regular files, by path below it. A directory
// without files is absent.
func Tree(files map[string]Hash) Hash {
	if len(files) == 0 {
		return Hash{}
	}
	type entry struct {
		name, sortKey, mode string
		hash                Hash
	}
	var entries []entry
	dirs := map[string]map[string]Hash{}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		dir, rest, nested := strings.Cut(p, "/")
		if !nested {
			entries = append(entries, entry{p, p, "100644", files[p]})
			continue
		}
		if dirs[dir] == nil {
			dirs[dir] = map[string]Hash{}
		}
		dirs[dir][rest] = files[p]
	}
	for dir, below := range dirs {
		// Git orders a directory as if its name ended in a slash.
		entries = append(entries, entry{dir, dir + "/", "40000", Tree(below)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.sortKey, b.sortKey) })
	var data []byte
	for _, e := range entries {
		data = append(append(data, e.mode+" "+e.name+"\x00"...), e.hash[:]...)
	}
	return objectHash("tree", data)
}
