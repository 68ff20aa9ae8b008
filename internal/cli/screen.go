package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen shows a text again and again: in place on a terminal; elsewhere, such as in a file or a
// pipe, one below the other, and there only if it has changed.
type screen struct {
	w        io.Writer
	terminal bool
	// size returns how many columns and lines the terminal has now, 0 if that is unknown. It is
	// asked for each text, because people change the size of terminals.
	size func() (width, height int)
	// between comes between two texts that are not shown in place.
	between string
	last    string
}

func isTerminal(w io.Writer) bool {
	file, ok := bare(w).(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func newScreen(w io.Writer) *screen {
	s := &screen{w: w, between: "\n", terminal: isTerminal(w)}
	if file, ok := bare(w).(*os.File); ok {
		s.size = func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0, 0
			}
			return width, height
		}
	}
	return s
}

// show draws a text anew and shows it. Whatever draw writes is made printable by the page.
func (s *screen) show(draw func(io.Writer)) {
	text, height := &page{}, 0
	if s.terminal {
		text = newPage(s.w)
		text.width, height = s.size()
	}
	draw(text)
	switch {
	case s.terminal:
		fmt.Fprint(bare(s.w), repaint(text.String(), text.width, height))
	case text.String() != s.last:
		if s.last != "" {
			fmt.Fprint(s.w, s.between)
		}
		fmt.Fprint(bare(s.w), text.String())
	}
	s.last = text.String()
}

// end leaves the last text on a terminal, with the cursor below it.
func (s *screen) end() {
	if s.terminal && s.last != "" {
		fmt.Fprintln(s.w)
	}
}

const (
	// cursorHome moves the cursor to the top left.
	cursorHome = "\x1b[H"
	// clearLine clears what is right of the cursor, clearBelow also what is below it.
	clearLine, clearBelow = "\x1b[K", "\x1b[J"
)

// repaint returns what writes a text over the one that a terminal shows. Each line is written over
// the old one and then cleared to its right; clearing all of it first would show an empty terminal
// for a moment, once a second.
//
// The end of a text that is too high is shown, below a line that says how many are missing: a
// terminal that scrolls would move what the next text is written over. The last line has no line
// break, for the same reason.
func repaint(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if hidden := len(lines) - len(lastLines(lines, width, height)); hidden > 0 {
		rest := lastLines(lines, width, height-1)
		lines = append([]string{fmt.Sprintf("… %s above, for which the terminal is too small", plural(len(lines)-len(rest), "line"))}, rest...)
	}
	var out strings.Builder
	out.WriteString(cursorHome)
	for i, line := range lines {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(line)
		if n := columns(line); n == 0 || width == 0 || n%width != 0 {
			out.WriteString(clearLine) // a full line has nothing to clear, and the cursor still on its last column
		}
	}
	out.WriteString(clearBelow)
	return out.String()
}

// lastLines returns the last lines that fit on a terminal, on which a long line takes several. All
// of them, if the size is unknown.
func lastLines(lines []string, width, height int) []string {
	if width == 0 || height == 0 {
		return lines
	}
	used := 0
	for i := len(lines) - 1; i >= 0; i-- {
		used += max(1, (columns(lines[i])+width-1)/width)
		if used > height {
			return lines[i+1:]
		}
	}
	return lines
}
