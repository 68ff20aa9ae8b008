package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// emitter writes block style YAML in the layout of sigs.k8s.io/yaml: keys
// sorted, list markers not indented. It does not use that library because its
// order of keys is not transitive ("0A0" < "1" < "01-" < "0A0") and differs
// between runs, it loses some strings (a key "<<", U+0085), and file hashes
// must not change with a library.
type emitter struct {
	strings.Builder
	err error
}

// emit returns a mapping as YAML. The only possible error is a value of a type that JSON does not
// have.
func emit(body map[string]any) ([]byte, error) {
	var e emitter
	e.mapping(body, 0, false)
	return []byte(e.String()), e.err
}

// mapping writes its keys at column indent; the first one follows what is on
// the line already when inline.
func (e *emitter) mapping(fields map[string]any, indent int, inline bool) {
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 || !inline {
			e.pad(indent)
		}
		const simpleKey = 128 // parsers search this far for the colon, and further
		if text := quote(key); len(text) <= simpleKey {
			e.WriteString(text + ":")
		} else {
			e.WriteString("? " + text + "\n")
			e.pad(indent)
			e.WriteByte(':')
		}
		e.field(fields[key], indent)
	}
}

// field writes a value after the colon of its key.
func (e *emitter) field(value any, indent int) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			e.WriteByte('\n')
			e.mapping(value, indent+2, false)
			return
		}
	case []any:
		if len(value) > 0 {
			e.WriteByte('\n')
			e.list(value, indent, false)
			return
		}
	}
	e.WriteByte(' ')
	e.scalar(value, indent)
}

// list writes its markers at column indent.
func (e *emitter) list(items []any, indent int, inline bool) {
	for i, item := range items {
		if i > 0 || !inline {
			e.pad(indent)
		}
		e.WriteString("- ")
		if fields, ok := item.(map[string]any); ok && len(fields) > 0 {
			e.mapping(fields, indent+2, true)
		} else if inner, ok := item.([]any); ok && len(inner) > 0 {
			e.list(inner, indent+2, true)
		} else {
			e.scalar(item, indent)
		}
	}
}

// scalar writes a value without structure and ends the line.
func (e *emitter) scalar(value any, indent int) {
	switch value := value.(type) {
	case nil:
		e.WriteString("null")
	case bool:
		e.WriteString(strconv.FormatBool(value))
	case int64:
		e.WriteString(strconv.FormatInt(value, 10))
	case float64:
		e.WriteString(strconv.FormatFloat(value, 'g', -1, 64))
	case string:
		if literal(value) {
			e.literal(value, indent+2)
			return
		}
		e.WriteString(quote(value))
	case map[string]any:
		e.WriteString("{}")
	case []any:
		e.WriteString("[]")
	default:
		e.err = fmt.Errorf("a value of type %T is not JSON", value)
	}
	e.WriteByte('\n')
}

// literal writes a | block.
func (e *emitter) literal(s string, indent int) {
	body := strings.TrimRight(s, "\n")
	switch len(s) - len(body) {
	case 0:
		e.WriteString("|-\n")
	case 1:
		e.WriteString("|\n")
	default:
		e.WriteString("|+\n")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			e.pad(indent)
		}
		e.WriteString(line + "\n")
	}
}

// pad writes an indent.
func (e *emitter) pad(indent int) {
	const spaces = "                                "
	for ; indent > len(spaces); indent -= len(spaces) {
		e.WriteString(spaces)
	}
	e.WriteString(spaces[:indent])
}

// literal reports whether text of several lines can be a | block unchanged: it must not begin with
// white space (the block's indentation would be read from it), and have no line of white space
// alone and no character that a block cannot hold.
func literal(s string) bool {
	if !strings.Contains(s, "\n") || strings.ContainsAny(s[:1], " \t\n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	for line := range strings.SplitSeq(s, "\n") {
		if line != "" && strings.TrimLeft(line, " \t") == "" {
			return false
		}
	}
	return true
}

// Quote writes text on one line as objects have it.
func Quote(s string) string { return quote(s) }

// quote writes text on one line, with quotes unless every YAML parser reads it as text without.
// If it is unclear, it quotes: a quote too many is harmless, one too few makes a number or a boolean
// of a version or a country code.
func quote(s string) string {
	if isWord(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isWord reports whether text needs no quotes, as a key or as a value.
func isWord(s string) bool {
	if !startsWord(s) || strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") ||
		strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return !slices.Contains(nullWords, s) && !slices.Contains(trueWords, s) && !slices.Contains(falseWords, s)
}

// startsWord reports whether text does not start like a number, a date, an
// indicator or a document marker.
func startsWord(s string) bool {
	if s == "" {
		return false
	}
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	switch c := s[0]; {
	case letter(c) || c == '_' || c == '/' || c == '$' || c == '(':
		return true
	case c >= '0' && c <= '9':
		const inNumbers = "0123456789abcdefABCDEFxXoObBtTzZ_.:+- "
		return strings.ContainsFunc(s, func(r rune) bool { return r < 0x80 && !strings.ContainsRune(inNumbers, r) })
	case c == '-':
		return len(s) > 1 && (letter(s[1]) || s[1] == '-') && !strings.HasPrefix(s, "---")
	case c == '.':
		return len(s) > 1 && s[1] == '/'
	}
	return false
}
