package manifest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable returns text with everything escaped, as Go writes it, that has no glyph of its own or
// changes how others are shown: line breaks, control characters, marks that turn the direction of
// text, zero-width characters, bytes that are not UTF-8. Text that people wrote goes through it
// before it reaches a terminal, a message or a page: escape sequences could forge what a reviewer
// reads.
func Printable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

// PrintableLines is Printable of a text of several lines.
func PrintableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}
