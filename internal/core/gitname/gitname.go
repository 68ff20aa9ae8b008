// Package gitname says which names Git, servers and file systems accept: those of files and
// directories in a tree, and those of branches. What is written is checked by it last, and what people
// declare first, so a name that a push would refuse is found before anything is planned.
//
// Everything here is a pure function of text. A fault follows the name in a sentence, as in `path
// "a//b" has an empty part`; an empty fault means that the name is fine.
package gitname

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// MaxName is the longest name of a file or directory, in bytes, that Linux and Windows create.
	MaxName = 255
	// MaxPath is the longest path of a directory that people may declare, in bytes: below it there are
	// names of Furrow's own.
	MaxPath = 512
	// MaxBase is the longest name of a base branch, in bytes: Furrow's own branches have it in their
	// names, and GitHub accepts no branch above 244 bytes.
	MaxBase = 100
)

// specialName is a name that Git gives a meaning, and the beginnings of the 8.3 names by which Windows
// may find such a file: the usual one, and the one for directories with many names alike.
type specialName struct{ name, short, hashed string }

// special are the names that Git's protectHFS and protectNTFS refuse. All but the first are files, and
// no server accepts a directory of the second or third name.
var special = []specialName{
	{".git", "git", ""},
	{".gitmodules", "gitmod", "gi7eba"}, {".gitattributes", "gitatt", "gi7d29"}, {".gitignore", "gitign", "gi250a"}, {".mailmap", "mailma", "ma30f4"},
}

// FileFault returns why a name must not be in a tree. It refuses what 'git fsck' refuses, since a
// server may check that on a push; names that some file systems read as .git (in any case, with dots or
// spaces at the end, with an NTFS stream after a colon, by the short name git~1); and characters that a
// reviewer cannot see.
func FileFault(name string) string {
	switch name {
	case "":
		return "is absolute or has an empty part"
	case ".", "..":
		return fmt.Sprintf("has a part %q", name)
	}
	if !utf8.ValidString(name) {
		return "is not UTF-8"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
		return "has a control or invisible character"
	}
	if strings.Contains(name, `\`) {
		return "has a backslash"
	}
	if means(name) == special[0].name {
		return "has a part that means .git"
	}
	return ""
}

// DirFault returns why a directory must not be declared as one that Furrow writes to. It refuses what
// FileFault refuses of any part; the other special names, which are files; and names that cannot be
// created on Linux or on Windows.
func DirFault(dir string) string {
	switch {
	case len(dir) > MaxPath:
		return fmt.Sprintf("is longer than %d bytes", MaxPath)
	case path.IsAbs(dir):
		return "is absolute"
	case dir == "." || dir == "":
		return "is the repository itself"
	}
	for part := range strings.SplitSeq(dir, "/") {
		if fault := FileFault(part); fault != "" {
			return fault
		}
		if meant := means(part); meant != "" {
			return "has a part that means " + meant
		}
		switch {
		case len(part) > MaxName:
			return fmt.Sprintf("has a part that is longer than %d bytes", MaxName)
		case strings.ContainsAny(part, `:*?"<>|`):
			return fmt.Sprintf("has a part %q with a character that Windows does not allow", part)
		case strings.TrimRight(part, ". ") != part || strings.TrimLeft(part, " ") != part:
			return fmt.Sprintf("has a part %q with a space around it or a dot at its end, which Windows drops", part)
		}
	}
	return ""
}

// means returns the special name as which some file system reads a name; empty where none does.
func means(name string) string {
	plain, _, _ := strings.Cut(strings.ToLower(name), ":")
	plain = strings.TrimRight(plain, ". ")
	for _, s := range special {
		if plain == s.name || s.isShort(plain) {
			return s.name
		}
	}
	return ""
}

// isShort reports whether a name is one that Windows may have made up for the file: git~1, or one of
// eight characters such as gitmod~2, gi7eba~1 and gi7eb~12.
func (s specialName) isShort(name string) bool {
	begin, number, found := strings.Cut(name, "~")
	n, err := strconv.Atoi(number)
	switch {
	case !found || err != nil || number[0] < '1' || number[0] > '9':
		return false
	case s.hashed == "":
		return begin == s.short && n == 1
	case begin == s.short:
		return n <= 4
	}
	return len(name) == len("gi7eba~1") && strings.HasPrefix(s.hashed, begin)
}

// Fold returns the one form of all paths that macOS or Windows treats as equal: case and the encoding of
// accents make no difference there.
func Fold(dir string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			least = min(least, other)
		}
		return least
	}, norm.NFC.String(dir))
}

// Within reports whether a path is a directory or lies below it.
func Within(at, dir string) bool {
	rest, begins := strings.CutPrefix(at, dir)
	return begins && (rest == "" || rest[0] == '/')
}

// BranchFault returns what is wrong with the name of a branch, by the rules of git check-ref-format. A
// name that Git refuses would make a file below refs/heads that no Git reads; one that begins with a
// dash could be an option where people use it.
func BranchFault(name string) string {
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

// BaseFault returns why a branch cannot be the base of proposals: it needs a valid name, which must
// leave room for Furrow's own branches below furrow/<base>/.
func BaseFault(name string) string {
	switch fault := BranchFault(name); {
	case fault != "":
		return fault
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }):
		return "has a character that is invisible or not UTF-8"
	case len(name) > MaxBase:
		return fmt.Sprintf("is longer than %d bytes, so Furrow's branches could get names that servers refuse", MaxBase)
	case Within(Fold(name), Fold("furrow")):
		return "is one of Furrow's own: Git keeps no branch beside others below its name"
	case strings.HasPrefix(name, "refs/"):
		return "begins with refs/"
	}
	return ""
}
