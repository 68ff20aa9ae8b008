package git

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// Ignore is what a .gitignore, or a file of the same form, excludes if it is at the
// top of a repository. The zero value excludes nothing.
type Ignore struct{ matcher gitignore.Matcher }

// ParseIgnore reads the lines of such files; where two patterns match, the later one decides.
func ParseIgnore(files ...string) Ignore {
	var patterns []gitignore.Pattern
	for _, file := range files {
		for line := range strings.Lines(file) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "#") {
				patterns = append(patterns, gitignore.ParsePattern(line, nil))
			}
		}
	}
	if patterns == nil {
		return Ignore{}
	}
	return Ignore{gitignore.NewMatcher(patterns)}
}

// LeavesOut reports whether a file is left out; name is its path in the repository, with slashes.
func (i Ignore) LeavesOut(name string) bool {
	return i.matcher != nil && i.matcher.Match(strings.Split(name, "/"), false)
}
