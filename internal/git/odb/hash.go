package odb

import (
	"encoding/hex"
	"fmt"
)

// Hash is the id of a Git object. The zero Hash means none.
type Hash [20]byte

// ParseHash reads the 40 hexadecimal digits of an object id.
func ParseHash(s string) (Hash, error) {
	var h Hash
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(h) {
		return Hash{}, fmt.Errorf("%q is not a Git object id of 40 hexadecimal digits", s)
	}
	return Hash(raw), nil
}

// String gives the 40 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero says that h names no object.
func (h Hash) IsZero() bool { return h == Hash{} }

// MarshalText writes the hexadecimal digits, so a Hash can be written to YAML and JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHash(string(text))
	return err
}

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

// modeGroupWritable was written by early versions of Git; it is read as ModeFile and never written anew.
const modeGroupWritable Mode = 0o100664

// IsFile says that the entry is a regular file.
func (m Mode) IsFile() bool {
	return m == ModeFile || m == ModeExecutable || m == modeGroupWritable
}

func (m Mode) writable() bool {
	switch m {
	case ModeDir, ModeFile, ModeExecutable, ModeSymlink, ModeSubmodule:
		return true
	}
	return false
}

// Entry is what a tree holds at a path.
type Entry struct {
	Hash Hash
	Mode Mode
}
