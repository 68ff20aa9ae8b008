package odb

import (
	"fmt"

	"github.com/furrow-dev/furrow/internal/core/githash"
)

// Hash is the id of a Git object. The zero Hash means none.
type Hash = githash.Hash

// ParseHash reads the 40 hexadecimal digits of an object id.
func ParseHash(s string) (Hash, error) { return githash.Parse(s) }

// Mode is the mode of a tree entry.
type Mode uint32

// The modes that Git knows.
const (
	ModeDir        Mode = 0o40000
	ModeFile       Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeSubmodule  Mode = 0o160000
)

// modeGroupWritable was written by early versions of Git; it is read as ModeFile and never written
// anew.
const modeGroupWritable Mode = 0o100664

// IsFile reports whether the entry is a regular file, executable or not.
func (m Mode) IsFile() bool {
	return m == ModeFile || m == ModeExecutable || m == modeGroupWritable
}

// writable reports whether a tree may be written with m. Other modes that Git once wrote are only
// read.
func (m Mode) writable() bool {
	switch m {
	case ModeDir, ModeFile, ModeExecutable, ModeSymlink, ModeSubmodule:
		return true
	}
	return false
}

// Entry is what a tree holds at a path: the hash of a blob, of a tree (ModeDir) or, for a
// submodule, of a commit in another repository. The zero Entry means that there is nothing.
type Entry struct {
	Hash Hash
	Mode Mode
}

// Identity is the hash of a regular file or of a directory. Of anything else, as an executable or a
// symbolic link with the same content, it is a hash that no object has: plans have neither.
func (e Entry) Identity() Hash {
	if e.Mode == ModeFile || e.Mode == ModeDir {
		return e.Hash
	}
	if e == (Entry{}) {
		return Hash{}
	}
	return githash.Blob(fmt.Appendf(nil, "%o %s", e.Mode, e.Hash))
}
