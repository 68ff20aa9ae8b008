// Package truncate bounds what is repeated of other people's texts and servers' answers.
package truncate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis is the end of a text that was cut.
const Ellipsis = "…"

// Text returns a text of at most so many bytes, ending in "…" where something was left out.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Prefix(text, most-len(Ellipsis)) + Ellipsis
}

// Line is Text on one line, on which white space and control characters are single spaces.
func Line(text string, most int) string {
	separates := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return Text(strings.Join(strings.FieldsFunc(text, separates), " "), most)
}

// Prefix returns what a text begins with: whole characters, of at most so many bytes.
func Prefix(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
