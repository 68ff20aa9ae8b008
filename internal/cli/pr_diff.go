package cli

import "github.com/furrow-dev/furrow/internal/git"

// diffContext is how many lines around a change are shown.
const diffContext = 3

// diffColours are those of lines that one file has alone.
var diffColours = map[string]string{"+": "32", "-": "31"}

// differingLines returns the lines that differ between two files, with some around them, as 'diff -u'
// shows them.
func differingLines(was, is []byte) []string {
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
	var out []string
	for i, line := range lines {
		switch {
		case shown[i]:
			out = append(out, line.Sign+" "+printable(line.Text))
		case i > 0 && shown[i-1]:
			out = append(out, "  …")
		}
	}
	return out
}
