package layout

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // G505: Git names its objects by SHA-1
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Hash is the Git object id of a file or directory, 40 hex digits; empty means absent.
type Hash string

func objectHash(kind string, data []byte) Hash {
	h := sha1.New() //nolint:gosec // G401: Git names its objects by SHA-1
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return Hash(hex.EncodeToString(h.Sum(nil)))
}

// BlobHash is the id that Git gives a file of this content.
func BlobHash(data []byte) Hash { return objectHash("blob", data) }

// TreeHash is the id that Git gives a directory of regular files, by path below
// it. A directory without files is absent.
func TreeHash(files map[string]Hash) Hash {
	if len(files) == 0 {
		return ""
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
		entries = append(entries, entry{dir, dir + "/", "40000", TreeHash(below)})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.sortKey, b.sortKey) })
	var data []byte
	for _, e := range entries {
		raw, err := hex.DecodeString(string(e.hash))
		if err != nil {
			panic(fmt.Sprintf("%s: %q is not an object id", e.name, e.hash))
		}
		data = append(append(data, e.mode+" "+e.name+"\x00"...), raw...)
	}
	return objectHash("tree", data)
}
