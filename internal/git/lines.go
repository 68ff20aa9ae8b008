package git

import (
	"strings"

	"github.com/go-git/go-git/v5/utils/diff"
)

// Line is a line of two texts: of both, or of one alone. Sign is a blank, + or -, as in a unified
// diff.
type Line struct{ Sign, Text string }

// DiffLines compares two texts line by line.
func DiffLines(was, is []byte) []Line {
	var out []Line
	for _, d := range diff.Do(string(was), string(is)) {
		sign := " "
		switch {
		case d.Type > 0:
			sign = "+"
		case d.Type < 0:
			sign = "-"
		}
		for line := range strings.Lines(d.Text) {
			out = append(out, Line{sign, strings.TrimSuffix(line, "\n")})
		}
	}
	return out
}
