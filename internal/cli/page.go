package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// page is a text for a terminal of some width; 0 for lines of any length. What is written to it
// becomes printable; only the page itself adds colours, through its Builder. It is drawn as a whole
// before anything is shown.
type page struct {
	strings.Builder
	width  int
	colour bool
}

// newPage returns a page for a writer: as wide as its terminal, and with colours if it is one,
// unless NO_COLOR or a dumb TERM says that people do not want them (no-color.org).
func newPage(w io.Writer) *page {
	return &page{width: widthOf(w), colour: isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// show draws on a page for a writer.
func show(w io.Writer, draw func(io.Writer)) error {
	p := newPage(w)
	draw(p)
	_, err := io.WriteString(raw(w), p.String())
	return err
}

// Write implements io.Writer.
func (p *page) Write(data []byte) (int, error) {
	p.Builder.WriteString(printable(string(data)))
	return len(data), nil
}

// widthOf is how wide lines may be: that of the terminal; 0 for no limit.
func widthOf(w io.Writer) int {
	switch w := bare(w).(type) {
	case *page:
		return w.width
	case *os.File:
		if width, _, err := term.GetSize(int(w.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// colours are those of states, as SGR codes: red is what a person has to deal with, yellow what waits for a review, cyan what is
// under way, green what is done. Proposals have states of their own, and what a plan changes has signs.
var colours = map[string]string{
	state.Stalled: "31", string(release.Held): "31", string(release.Failed): "31", string(release.Rejected): "31", string(release.Reverted): "31",
	string(release.Proposed): "33", string(release.Outdated): "33",
	string(release.Queued): "36", string(release.Merged): "36", string(release.Progressing): "36",
	string(release.Blocked): "2", state.Unknown: "2",
	string(release.Released): "32", string(release.Gone): "32",
	"Open": "33", "Edited": "33", "Stale": "33", "Foreign": "31",
	"!":                 "33",
	signs[plan.TierNew]: "32", signs[plan.TierChanges]: "33", signs[plan.TierLeaves]: "31",
}

// bold is the SGR code of headings.
const bold = "1"

// sgr are the codes of colours.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// columns returns how wide a line is shown, without the codes of colours. Each character counts as
// one column: names and messages are nearly always of those that do.
func columns(line string) int { return utf8.RuneCountInString(sgr.ReplaceAllString(line, "")) }

// writeColoured writes a line in which the first occurrence of a text that begins with a state has
// its colour.
func writeColoured(w io.Writer, line, of string) {
	word, _, _ := strings.Cut(of, " ")
	writeMarked(w, line, of, colours[strings.TrimSuffix(word, ":")])
}

// writeMarked writes a line in which the first occurrence of a text has a colour, as an SGR code; empty for none.
func writeMarked(w io.Writer, line, of, colour string) {
	p, is := w.(*page)
	before, after, found := strings.Cut(line, of)
	if is && p.colour && colour != "" && found {
		fmt.Fprint(p, before)
		p.Builder.WriteString("\x1b[" + colour + "m")
		fmt.Fprint(p, of)
		p.Builder.WriteString("\x1b[0m")
		fmt.Fprintln(p, after)
		return
	}
	fmt.Fprintln(w, line)
}

const (
	// gap lies between two columns.
	gap = 2
	// minColumn is how narrow a column is made at most, so words stay readable.
	minColumn = 24
)

// rows writes lines of cells as a table. Where it is wider than the terminal, the widest columns
// are wrapped. A line of one cell goes across all columns, and does not count for their widths.
func rows(w io.Writer, lines [][]string) { stateRows(w, -1, lines) }

// stateRows is rows with a column of states, by its index, whose words get colours; -1 for none.
// Colours come last, when a line has been padded, so widths never count their codes.
func stateRows(w io.Writer, states int, lines [][]string) {
	lines = shownCells(lines)
	widths := columnWidths(lines)
	fit(widths, wholeWords(lines, widths), widthOf(w))
	for _, cells := range lines {
		if len(cells) == 1 && len(widths) > 1 {
			fmt.Fprintln(w, cells[0])
			continue
		}
		writeRow(w, cells, widths, states)
	}
}

// fit makes the widest columns narrower until a table has a width; 0 for any. Each step takes one
// character from the widest column, so wide columns shrink towards each other and narrow ones,
// names and states, stay as they are; shrinking all in proportion would wrap those first. No column
// becomes narrower than minColumn, nor, where there is room for that, a column of whole words: a
// table that is too wide even so is left to the terminal.
func fit(widths []int, whole []bool, limit int) {
	total, least := -gap, -gap
	for i, width := range widths {
		total += width + gap
		if !whole[i] {
			width = min(width, minColumn)
		}
		least += width + gap
	}
	for ; limit > 0 && total > limit; total-- {
		widest := -1
		for i := range widths {
			if (!whole[i] || least > limit) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 || widths[widest] <= minColumn {
			return
		}
		widths[widest]--
	}
}

// wholeWords reports which columns have one word in each cell, such as an id, after the dash of an
// item: wrapping cannot make these narrower.
func wholeWords(lines [][]string, widths []int) []bool {
	out := make([]bool, len(widths))
	for i := range out {
		out[i] = !slices.ContainsFunc(lines, func(cells []string) bool {
			return len(cells) > 1 && i < len(cells) && strings.Contains(strings.Trim(cells[i], " -"), " ")
		})
	}
	return out
}

// shownCells returns the cells as they are shown, which says how wide they are: what replaces a
// control character is longer than it.
func shownCells(lines [][]string) [][]string {
	out := make([][]string, len(lines))
	for i, cells := range lines {
		for _, cell := range cells {
			out[i] = append(out[i], printable(cell))
		}
	}
	return out
}

// columnWidths returns how wide the columns of a table are by themselves: as their longest line.
func columnWidths(lines [][]string) []int {
	columns := 0
	for _, cells := range lines {
		columns = max(columns, len(cells))
	}
	widths := make([]int, columns)
	for _, cells := range lines {
		if len(cells) == 1 && columns > 1 {
			continue
		}
		for i, cell := range cells {
			for part := range strings.SplitSeq(cell, "\n") {
				widths[i] = max(widths[i], utf8.RuneCountInString(part))
			}
		}
	}
	return widths
}

// heading writes a title above other lines, wrapped like a paragraph.
func heading(w io.Writer, text string) {
	if limit := widthOf(w); limit > gap+minColumn {
		text = strings.Join(wrapped(text, limit-gap), "\n  ")
	}
	for line := range strings.SplitSeq(text, "\n") {
		writeMarked(w, line, line, bold)
	}
}

// paragraph writes a text that is wrapped where it is wider than the terminal, its
// further lines with an indent.
func paragraph(w io.Writer, indent, text string) { stateParagraph(w, indent, text, "") }

// stateParagraph is paragraph of a text whose first line has a state.
func stateParagraph(w io.Writer, indent, text, of string) {
	if limit := widthOf(w); limit > len(indent)+minColumn {
		text = strings.Join(wrapped(text, limit-len(indent)), "\n")
	}
	first, rest, more := strings.Cut(text, "\n")
	writeColoured(w, first, of)
	if more {
		fmt.Fprintln(w, indent+strings.ReplaceAll(rest, "\n", "\n"+indent))
	}
}

// writeRow writes one line of a table, on as many lines as its longest cell needs. The further
// lines of a cell keep its indent.
func writeRow(w io.Writer, cells []string, widths []int, states int) {
	parts := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		text := strings.TrimLeft(cell, " ")
		indent := cell[:len(cell)-len(text)]
		for _, part := range wrapped(text, widths[i]-len(indent)) {
			parts[i] = append(parts[i], indent+part)
		}
		height = max(height, len(parts[i]))
	}
	for n := range height {
		var line strings.Builder
		for i := range cells {
			part := ""
			if n < len(parts[i]) {
				part = parts[i][n]
			}
			line.WriteString(part)
			line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(part))+gap))
		}
		of := ""
		if n == 0 && states >= 0 && states < len(cells) {
			of = parts[states][0]
		}
		writeColoured(w, strings.TrimRight(line.String(), " "), of)
	}
}

// wrapped breaks a text between words into lines of a width, in characters. A longer word, such as
// a URL, stays whole, so it can be copied.
func wrapped(text string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for utf8.RuneCountInString(line) > width {
			at := breakAt(line, width)
			if at < 0 {
				break
			}
			out = append(out, line[:at])
			line = strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return out
}

// breakAt returns the index of the space to break a line at: the last one within the width, else
// the first one after it; -1 if the line is one word. Spaces of an indent and after the dash of an
// item do not count, or a long first word would leave an empty line above it.
func breakAt(line string, width int) int {
	indent := len(line) - len(strings.TrimLeft(line, " -"))
	at, column := -1, 0
	for i, r := range line {
		if r == ' ' && i > indent {
			if column > width && at >= 0 {
				return at
			}
			at = i
			if column >= width {
				return at
			}
		}
		column++
	}
	return at
}
