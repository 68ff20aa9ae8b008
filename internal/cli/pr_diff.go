package cli

import (
	"fmt"
	"io"

	"github.com/furrow-dev/furrow/internal/git"
)

// diffContext is how many lines around a change are shown.
const diffContext = 3

// diffColours are those of lines that one file has alone.
var diffColours = map[string]string{"+": "32", "-": "31"}

// writeLines writes the lines that differ between two files, with some around them, as 'diff -u'
// does.
func writeLines(w io.Writer, was, is []byte) {
	lines := git.DiffLines(was, is)
	shown := make([]bool, len(lines))
	for i, line := range lines {
		if line.Sign == " " {
			continue
		}
		for j := max(0, i-diffContext); j <= min(len(lines)-1, i+diffContext); j++ {
			shown[j] = true
		}
	}
	for i, line := range lines {
		switch {
		case shown[i]:
			text := line.Sign + " " + printable(line.Text)
			writeMarked(w, text, text, diffColours[line.Sign])
		case i > 0 && shown[i-1]:
			fmt.Fprintln(w, "  …")
		}
	}
}
