package git

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	headsPrefix = "refs/heads/"

	// BranchPrefix starts the name of every branch that is Furrow's own.
	BranchPrefix = "furrow/"
)

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

// Seen gives the branches as the server had them when it was asked last, without asking it.
func (m *Mirror) Seen() (Refs, error) { return readRefs(m.dir) }

// readRefs reads the mirror's refs. They stand in packed-refs only, so that they change all at once.
func readRefs(dir string) (Refs, error) {
	refs := Refs{}
	raw, err := os.ReadFile(filepath.Join(dir, packedRefsName))
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
		branch, ok := strings.CutPrefix(name, headsPrefix)
		hash, err := ParseHash(hex)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s has a malformed line %q", packedRefsName, line)
		}
		refs[branch] = hash
	}
	return refs, nil
}

func writeRefs(dir string, refs Refs) error {
	var text bytes.Buffer
	text.WriteString("# pack-refs with: sorted\n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "%s %s%s\n", refs[name], headsPrefix, name)
	}
	return writeFile(filepath.Join(dir, packedRefsName), text.Bytes())
}
