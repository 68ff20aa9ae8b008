package manifest

import (
	"bytes"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// valueOf returns the value that a tree has for kubectl and Flux, false where only their own parser
// can say. The two parsers share scanner and grammar, but for comments, and so they have the same
// nodes for text without tabs; they differ in types, tags, merges and aliases. What is left is
// nearly all that people write, and is read once.
//
// TestValuesAreThoseOfTheOtherParser compares the two.
func valueOf(node *yaml3.Node) (any, bool) {
	if node.Anchor != "" || node.Style&yaml3.TaggedStyle != 0 {
		return nil, false
	}
	switch node.Kind {
	case yaml3.MappingNode:
		return mappingOf(node)
	case yaml3.SequenceNode:
		items := make([]any, len(node.Content))
		for i, child := range node.Content {
			value, ok := valueOf(child)
			if !ok {
				return nil, false
			}
			items[i] = value
		}
		return items, true
	case yaml3.ScalarNode:
		return scalarOf(node)
	}
	return nil, false
}

func mappingOf(node *yaml3.Node) (any, bool) {
	fields := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		text, ok := scalarOf(key)
		name, isText := text.(string)
		if !ok || !isText || key.Anchor != "" || name == "<<" {
			return nil, false
		}
		if fields[name], ok = valueOf(node.Content[i+1]); !ok {
			return nil, false
		}
	}
	return fields, true
}

// scalarOf returns the value of a scalar.
func scalarOf(node *yaml3.Node) (any, bool) {
	if node.Kind != yaml3.ScalarNode || node.Style&yaml3.TaggedStyle != 0 {
		return nil, false
	}
	if !plain(node) {
		return node.Value, true
	}
	return plainOf(node.Value)
}

// plainOf returns the value of a text without quotes.
func plainOf(text string) (any, bool) {
	switch {
	case slices.Contains(nullWords, text):
		return nil, true
	case slices.Contains(trueWords, text):
		return true, true
	case slices.Contains(falseWords, text):
		return false, true
	}
	if number, ok := smallNumber(text); ok {
		return number, true
	}
	if text != "<<" && (strings.IndexByte("+-.0123456789", text[0]) < 0 || startsWord(text)) {
		return text, true
	}
	if _, marker := cutMarker([]byte(text)); marker != "" || strings.Contains(text, "\n") {
		return nil, false
	}
	value, err := decodeYAML([]byte(text)) // a number, a time, or text like 1.2.3
	switch value.(type) {
	case string, int64, float64:
		return value, err == nil
	}
	return nil, false
}

// smallNumber reads an integer as most are written: up to nine digits without a leading zero.
func smallNumber(text string) (int64, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || len(digits) > 9 || digits[0] == '0' && (negative || len(digits) > 1) {
		return 0, false
	}
	var n int64
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// readAlike reports whether the nodes of a text say what it means to both parsers. The two count tabs
// and the line breaks of YAML 1.1 differently where comments are, and the tag ! is not in the nodes.
func readAlike(text []byte) bool {
	for _, s := range []string{"\t", "\r", "\u0085", "\u2028", "\u2029", "\ufeff"} {
		if bytes.Contains(text, []byte(s)) {
			return false
		}
	}
	for rest := text; ; {
		_, after, found := bytes.Cut(rest, []byte{'!'})
		if !found {
			return true
		}
		if len(after) == 0 || after[0] == ' ' || after[0] == '\n' {
			return false
		}
		rest = after
	}
}
