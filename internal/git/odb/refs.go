package odb

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// HeadsPrefix starts the full name of a branch.
const HeadsPrefix = "refs/heads/"

// Refs maps branch names, without refs/heads/, to the commits they are at.
type Refs map[string]Hash

// CheckRef says why name cannot be a branch, by the rules of git check-ref-format.
func CheckRef(name string) error {
	fault := refFault(name)
	if fault == "" {
		return nil
	}
	return fmt.Errorf("branch name %q %s", name, fault)
}

func refFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "@" || name == "HEAD":
		return "is reserved by Git"
	case strings.HasPrefix(name, "-"):
		return "begins with a dash"
	case strings.HasSuffix(name, "."):
		return "ends with a dot"
	case strings.Contains(name, ".."):
		return "has two dots in a row"
	case strings.Contains(name, "@{"):
		return "contains @{"
	}
	for _, r := range []byte(name) {
		if r <= ' ' || r == 0x7f || strings.IndexByte(`~^:?*[\`, r) >= 0 {
			return fmt.Sprintf("contains %q", rune(r))
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return "has an empty part between slashes"
		case strings.HasPrefix(part, "."):
			return "has a part that begins with a dot"
		case strings.HasSuffix(part, ".lock"):
			return "has a part that ends with .lock"
		}
	}
	return ""
}

// Refs reads the branches. They are in packed-refs only, so that they change all at once.
func (db *DB) Refs() (Refs, error) {
	refs := Refs{}
	raw, err := os.ReadFile(filepath.Join(db.dir, packedRefsName))
	if os.IsNotExist(err) {
		return refs, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		hex, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		branch, ok := strings.CutPrefix(name, HeadsPrefix)
		hash, err := ParseHash(hex)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s has a malformed line %q", packedRefsName, line)
		}
		refs[branch] = hash
	}
	return refs, nil
}

// SetRefs replaces all branches. The caller holds the lock.
func (db *DB) SetRefs(refs Refs) error {
	var text bytes.Buffer
	text.WriteString("# pack-refs with: sorted\n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "%s %s%s\n", refs[name], HeadsPrefix, name)
	}
	return writeFile(filepath.Join(db.dir, packedRefsName), text.Bytes())
}
