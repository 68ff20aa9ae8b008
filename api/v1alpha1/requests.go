package v1alpha1

import (
	"slices"
	"strings"
)

// ParseRequest parts what the annotation of a request asks for, who asks, and why, as in
// "2026-11-23T09:00:00Z by ada because it is rebuilt".
func ParseRequest(value string) (words []string, by, why string) {
	value, why, _ = strings.Cut(value, " because ")
	words = strings.Fields(value)
	if at := slices.Index(words, "by"); at > 0 {
		by, words = strings.Join(words[at+1:], " "), words[:at]
	}
	return words, by, why
}

// ParseAbandon returns the clusters in the value of AnnotationAbandon, and who asks: "edge-1,edge-2 by Ada".
func ParseAbandon(value string) (clusters []string, by string) {
	words, by, _ := ParseRequest(value)
	return strings.FieldsFunc(strings.Join(words, " "), func(c rune) bool { return c == ',' || c == ' ' }), by
}
