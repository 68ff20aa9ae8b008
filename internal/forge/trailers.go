package forge

import (
	"slices"
	"strings"
)

// Trailer is one line of a commit message's trailers.
type Trailer struct{ Key, Value string }

// Trailers reads the trailers at the end of a commit message, by the rules of git
// interpret-trailers --parse --no-divider, so people can add theirs and read ours with git. Of
// a key that is there more than once, the last value counts. Tests compare it to git itself.
func Trailers(message string) map[string]string {
	out := map[string]string{}
	for _, t := range allTrailers(message) {
		out[t.Key] = t.Value
	}
	return out
}

// allTrailers returns the trailers in their order, each on one line.
func allTrailers(message string) []Trailer {
	var out []Trailer
	lines := linesOf(message)
	open := false
	for _, line := range lines[trailerStart(lines):] {
		key, value, ok := cutTrailer(line)
		switch {
		case ok:
			out, open = append(out, Trailer{key, value}), true
		case open && startsBlank(line):
			last := &out[len(out)-1]
			last.Value = strings.TrimSpace(last.Value + " " + strings.TrimSpace(line))
		default:
			open = false
		}
	}
	return out
}

// AddTrailers ends a commit message with more trailers. Values become one line.
func AddTrailers(message string, trailers []Trailer) string {
	lines := linesOf(message)
	var b strings.Builder
	b.WriteString(strings.Join(lines, "\n"))
	b.WriteByte('\n')
	if block := lines[trailerStart(lines):]; len(block) == 0 || slices.ContainsFunc(block, isBlank) {
		b.WriteByte('\n')
	}
	for _, t := range trailers {
		b.WriteString(t.Key + ": " + oneLine(t.Value) + "\n")
	}
	return b.String()
}

// splitMessage returns a message's title, and the rest without Furrow's own trailers.
func splitMessage(message string) (title, body string) {
	lines := linesOf(message)
	start := trailerStart(lines)
	kept := slices.Clone(lines[:start])
	for _, line := range lines[start:] {
		if !strings.HasPrefix(line, trailerPrefix) {
			kept = append(kept, line)
		}
	}
	title, body, _ = strings.Cut(strings.Join(kept, "\n"), "\n")
	if body = strings.Trim(body, "\n"); body != "" {
		body += "\n"
	}
	return title, body
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// linesOf splits a message into lines, without the blank ones at its end.
func linesOf(message string) []string {
	return strings.Split(strings.TrimRight(message, " \t\r\n"), "\n")
}

func isBlank(line string) bool     { return strings.TrimSpace(line) == "" }
func isComment(line string) bool   { return strings.HasPrefix(line, "#") }
func startsBlank(line string) bool { return isBlank(line) || line[0] == ' ' || line[0] == '\t' }

// generated begin lines that git itself adds. One of them makes a last paragraph trailers although
// some of its lines are not.
var generated = []string{"Signed-off-by: ", "(cherry picked from commit "}

func isGenerated(line string) bool {
	return slices.ContainsFunc(generated, func(prefix string) bool { return strings.HasPrefix(line, prefix) })
}

// cutTrailer splits "key: value". A key has letters, digits and dashes; blanks may follow it.
func cutTrailer(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	name := strings.TrimRight(key, " \t")
	for _, r := range []byte(name) {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (r < '0' || r > '9') && r != '-' {
			return "", "", false
		}
	}
	return name, strings.TrimSpace(value), ok && name != ""
}

// paragraph counts the lines of a message's last paragraph, from its end.
type paragraph struct {
	trailers, others int
	// indented are lines that continue a trailer, if one comes before them.
	indented  int
	generated bool
}

// add counts a line; lines come from the last to the first, so an indented one belongs to the next
// line that is added.
func (p *paragraph) add(line string) {
	_, _, trailer := cutTrailer(line)
	switch {
	case isGenerated(line):
		p.generated = true
		fallthrough
	case trailer:
		p.trailers++
		p.indented = 0
	case startsBlank(line):
		p.indented++
	default:
		p.others++
		p.flush()
	}
}

// flush notes that no trailer comes before the indented lines.
func (p *paragraph) flush() { p.others, p.indented = p.others+p.indented, 0 }

func (p *paragraph) empty() bool { return *p == paragraph{} }

// isTrailers is git's rule: all lines are trailers, or git wrote one of them and at least a quarter
// are.
func (p *paragraph) isTrailers() bool {
	return p.trailers > 0 && p.others == 0 || p.generated && p.trailers*3 >= p.others
}

// trailerStart returns the index of the first line of the trailers; len(lines) if there are none.
// The first paragraph is the title and never trailers. It reads from the end: only the last
// paragraph can be the trailers, and whether it is depends on all of its lines (isTrailers).
func trailerStart(lines []string) int {
	title := slices.IndexFunc(lines, func(line string) bool { return !isComment(line) && isBlank(line) })
	if title < 0 {
		return len(lines)
	}
	var p paragraph
	for i := len(lines) - 1; i >= title; i-- {
		switch {
		case isComment(lines[i]):
			p.flush()
		case !isBlank(lines[i]):
			p.add(lines[i])
		case p.empty():
		default:
			p.flush()
			if p.isTrailers() {
				return i + 1
			}
			return len(lines)
		}
	}
	return len(lines)
}
